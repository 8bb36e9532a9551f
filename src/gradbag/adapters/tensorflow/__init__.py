"""TensorFlow: a raw op that is given tensors or variables answers with tensors, on the tape.

An eager call looks at the tensors as NumPy arrays; in a `tf.function` the call becomes a node of its own. Both are
differentiated by the op's rule, which calls ops again, so that gradients have gradients. Computation is on the CPU.

`calls` answers a raw op, `views` has the way from tensors to arrays and back, `tape` makes a call known to whoever
differentiates, and `gradients` has the namespace in which a gradient rule runs. What TensorFlow does not promise to
keep is named in `compat`.
"""

from .calls import interpret, takes
from .gradients import from_row_grad

__all__ = ["from_row_grad", "interpret", "takes"]
