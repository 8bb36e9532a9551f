"""The memory budget: sizes are compared with it before anything is allocated."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

from . import errors

__all__ = ["get_memory_limit", "set_memory_limit"]

# Below this size the machine is not asked how much memory it has: asking takes longer than a small call.
SMALL = 1 << 26
_LARGEST = (1 << 63) - 1
_limit: int | None = None


def set_memory_limit(limit: int | None) -> None:
    """Let no single call ask for more than `limit` bytes of results and scratch.

    None, the default, means what the machine has available at the time of the call.
    """
    global _limit
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
        raise errors.UnsupportedTypeError(f"set_memory_limit: limit must be an int or None; got {type(limit).__name__}")
    if limit is not None and limit < 0:
        raise errors.InvalidArgumentError(f"set_memory_limit: limit == {limit} must not be negative")
    _limit = limit


def get_memory_limit() -> int:
    """How many bytes a single call may ask for, now."""
    return _available() if _limit is None else _limit


def unchecked() -> int:
    """A total of bytes up to which a call need not ask `reserve`."""
    return SMALL if _limit is None else min(SMALL, _limit)


def count_bytes(shape: Sequence[int], itemsize: int) -> int:
    """Bytes of an array; a shape with a zero in it is as large as its other axes ask for, if NumPy refuses it."""
    spread = math.prod(n for n in shape if n) * itemsize
    return 0 if 0 in shape and spread <= _LARGEST else spread


def reserve(op: str, wanted: Sequence[tuple[str, Sequence[int], int]]) -> None:
    """Refuse a call whose arrays (name, shape, itemsize) do not fit the budget together."""
    total = sum(count_bytes(shape, itemsize) for _, shape, itemsize in wanted)
    if total <= unchecked():
        return
    limit = get_memory_limit()
    if total > limit:
        name, shape, _ = max(wanted, key=lambda w: count_bytes(w[1], w[2]))
        raise errors.too_large(op, name, shape, total, limit)


def _available() -> int:
    return min(_machine(), _container(), _process())


def _machine() -> int:
    """What the machine could give without swapping."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 34  # a machine that tells nothing: assume a laptop


def _container() -> int:
    """What is left below the ceiling of a container, which is killed, not told, when it goes beyond."""
    group = Path("/sys/fs/cgroup")
    try:
        ceiling = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        pages = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return max(ceiling - used + int(pages["file"]), 0)  # cached files make room when asked
    except (OSError, ValueError, KeyError):  # no container, or one without a ceiling ("max")
        return _LARGEST


def _process() -> int:
    """The process's own ceiling (ulimit -v), which a batch system may have set far below the machine's memory."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has none
        return _LARGEST
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return _LARGEST if soft == resource.RLIM_INFINITY else soft
