"""Running an op on NumPy arrays: check, size, allocate, then call the native kernel or the NumPy body."""

from .call import available, find, follow, refusal, run, run_reference, run_shared
from .out import Out

__all__ = ["Out", "available", "find", "follow", "refusal", "run", "run_reference", "run_shared"]
