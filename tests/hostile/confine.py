"""What the child processes of this folder have in common: little memory, none of it clean."""

from __future__ import annotations

import resource
from collections.abc import Iterable
from typing import Any

import numpy as np

from gradbag.spec import Op
from gradbag.testing.cases import usual_types

Array = np.ndarray[Any, Any]
ADDRESS_SPACE = 6 << 30


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


def take_cached_blocks(arrays: Iterable[Array]) -> list[Array]:
    """Hold every block of these sizes that NumPy keeps for reuse, so that the next ones come from malloc, poisoned."""
    return [np.empty(array.nbytes, np.uint8) for array in arrays for _ in range(8)]


def some_types(op: Op) -> list[dict[str, str]]:
    """Every dtype of every type variable, though not in every combination; the usual ones first."""
    usual = usual_types(op)
    return [usual, *({**usual, v: name} for v, names in op.types.items() for name in names if name != usual[v])]


def peak_memory() -> int:
    """The most memory, in KiB, that the process has had in use. Unlike ru_maxrss, without its parent's share."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def forget_peak_memory() -> None:
    with open("/proc/self/clear_refs", "w", encoding="ascii") as switch:
        switch.write("5")
