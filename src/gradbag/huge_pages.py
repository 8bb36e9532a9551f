"""Huge pages for large tables: looking up rows all over one, the processor misses fewer addresses of pages."""

from __future__ import annotations

import ctypes
import mmap
import sys

HUGE_BYTES = 1 << 22  # two huge pages: below that a table has none of its own for sure


def ask_for_huge_pages(address: int, size: int) -> bool:
    """Ask the system to back this memory with huge pages when it is first written; whether it agreed.

    Nothing changes but the speed. Only Linux has this; elsewhere, and for less than 4 MiB, nothing is asked.
    """
    if size < HUGE_BYTES or sys.platform != "linux":
        return False
    # Whole pages alone, and none that somebody else has a part of.
    begin = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
    length = (address + size - begin) // mmap.PAGESIZE * mmap.PAGESIZE
    try:
        ask = ctypes.CDLL(None).madvise
        return bool(ask(ctypes.c_void_p(begin), ctypes.c_size_t(length), mmap.MADV_HUGEPAGE) == 0)
    except (AttributeError, OSError):  # a system, or a Python, that does not know of them
        return False
