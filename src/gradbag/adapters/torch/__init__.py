"""PyTorch: every op as `torch.ops.gradbag.<name>`, on the tape, in forward mode, batched and compiled.

All of it follows from the declarations: `operators` has the schemas and says which function answers for what, `values`
makes tensors of what a caller gave, `views` passes memory to the kernels and back, `shapes` answers for tensors without
data, `steps` for the tape, `gradients` for what a rule may call, and `batches` for `vmap`. What PyTorch does not
promise to keep is named in `compat`.
"""

from .operators import interpret, takes, trace
from .views import from_row_grad

__all__ = ["from_row_grad", "interpret", "takes", "trace"]
