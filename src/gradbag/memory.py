"""The memory budget, with which sizes are compared before anything is allocated, and the cache of freed blocks."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import errors

__all__ = ["get_block_cache_limit", "get_memory_limit", "set_block_cache_limit", "set_memory_limit"]

# Below this size the machine is not asked how much memory it has: asking takes longer than a small call.
SMALL = 1 << 26
# From this size on a result lies in a block of the cache: fresh memory would take longer to get than to fill.
LARGE = 1 << 20
CACHE_LINE = 64
_LARGEST = (1 << 63) - 1
_limit: int | None = None
_blocks: Any = None  # the module that has the cache; without compiled kernels there is none
_block_cache_limit = 0


def set_memory_limit(limit: int | None) -> None:
    """Let no single call ask for more than `limit` bytes of results and scratch.

    None, the default, means what the machine has available at the time of the call.
    """
    global _limit
    if limit is not None:
        errors.check_natural("set_memory_limit", "limit", limit, "an int or None")
    _limit = limit
    _limit_shortcuts()


def get_memory_limit() -> int:
    """How many bytes a single call may ask for, now."""
    return _available() if _limit is None else _limit


def unchecked() -> int:
    """A total of bytes up to which a call need not ask `reserve`."""
    return SMALL if _limit is None else min(SMALL, _limit)


def _limit_shortcuts() -> None:
    """Shortcuts neither ask `reserve` nor know of blocks: they answer only what needs neither."""
    if _blocks is not None:
        _blocks.set_shortcut_limit(min(unchecked(), LARGE - 1))


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
    if limit < total <= limit + _cached() and _limit is None:  # what is kept unused makes room
        _blocks.clear_block_cache()
        limit = get_memory_limit()
    if total > limit:
        name, shape, _ = max(wanted, key=lambda w: count_bytes(w[1], w[2]))
        raise errors.too_large(op, name, shape, total, limit)


# ------------------------------------------------------------------ freed blocks
def set_block_cache_limit(limit: int) -> None:
    """Keep at most `limit` bytes of the memory of large results that are gone, for the results to come.

    A training loop makes results of the same sizes again and again, and fresh memory costs a page fault for every few
    kilobytes. The default is 1 GiB, or an eighth of what the machine has if that is less; 0 turns the cache off.
    Lowering the limit gives memory back at once.
    """
    global _block_cache_limit
    errors.check_natural("set_block_cache_limit", "limit", limit)
    _block_cache_limit = min(limit, _LARGEST)
    if _blocks is not None:
        _blocks.set_block_cache_limit(_block_cache_limit)


def get_block_cache_limit() -> int:
    """How many bytes of freed results are kept at most."""
    return _block_cache_limit


def keep_blocks_in(module: Any) -> None:
    """The compiled module, if there is one, brings the cache."""
    global _blocks
    _blocks = module
    set_block_cache_limit(min(1 << 30, _available() // 8))
    _limit_shortcuts()


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array with any content; a large one lies in a block, which goes back when the last view of it is gone."""
    size = math.prod(shape) * dtype.itemsize
    if size < LARGE or _blocks is None or not _block_cache_limit:
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, _blocks.empty_block(size))


def zeros_on_lines(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Zeros that begin with a cache line: rows that straddle lines are read up to a third slower.

    NumPy begins a quarter of a line later. Pages that nobody has written to take no memory, as in np.zeros.
    """
    size = math.prod(shape) * dtype.itemsize
    room = np.zeros(size + CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + size].view(dtype).reshape(shape)


def _cached() -> int:
    return 0 if _blocks is None else int(_blocks.block_cache_size())


# ------------------------------------------------------------------ what there is
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
    """What is left below the process's own ceiling (ulimit -v), which a batch system may have set far below the
    machine's memory."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has none
        return _LARGEST
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return _LARGEST
    try:
        with open("/proc/self/statm", encoding="ascii") as numbers:
            return max(soft - int(numbers.read().split()[0]) * resource.getpagesize(), 0)
    except OSError:
        return soft
