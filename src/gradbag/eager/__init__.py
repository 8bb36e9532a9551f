"""The one way to run an op on NumPy arrays: check, size, allocate, then call the native kernel or the NumPy body."""

from . import prepared
from .out import Out
from .program import native
from .run import answer, available, functional, quick_run, refusal, run, run_reference, shortcut

__all__ = [
    "Out",
    "answer",
    "available",
    "functional",
    "native",
    "prepared",
    "quick_run",
    "refusal",
    "run",
    "run_reference",
    "shortcut",
]
