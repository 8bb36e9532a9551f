"""JAX: every sparse op as a primitive, under `jit`, `grad`, `jvp`, `vmap` and `scan`, on the CPU.

All of it follows from the declarations: `calls` answers a raw op, at once where all values are known and by a primitive
where some are traced; `primitives` has the rules of the transformations, `gradients` the namespace in which a gradient
rule runs, `host` the same calls on NumPy arrays, and `lowering` hands a call to XLA, which calls the kernel without
Python. What JAX does not promise to keep is named in `compat`.
"""

from .calls import interpret, interpret_sized, takes
from .rows import from_row_grad

__all__ = ["from_row_grad", "interpret", "interpret_sized", "takes"]
