"""PyTorch: every sparse op as `torch.ops.gradbag.<name>`, on the tape, in forward mode, batched and compiled.

All of it follows from the declarations: `operators` has the schemas and says which function answers for what, `views`
passes memory to the kernels and back, `shapes` answers for tensors without data, `gradients` for the tape and
`batches` for `vmap`.
"""

from .operators import interpret, takes, trace

__all__ = ["interpret", "takes", "trace"]
