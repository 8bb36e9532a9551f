"""What the machine allows a step on a table: the memory that nobody can leave unmoved, moved by limit.cpp.

The rows of the table are read in the order of the ids, the output is filled and the ids are read; then the distinct
rows, and those of as many states as have columns, are read and written in ascending order. One after another.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from limit import on_lines

LIBRARY = ctypes.CDLL(str(Path(__file__).parent.parent / "build" / "benchmarks" / "liblimit.so"))


def set_threads(count: int) -> None:
    LIBRARY.limit_set_threads(ctypes.c_size_t(count))


def step(table: Any, ids: Any, output_bytes: int, changed: int) -> Callable[[], None]:
    """`changed` arrays of the size of the table are read and written at the rows that occur."""
    rows = np.unique(ids)
    arrays = [on_lines(table) for _ in range(changed)]
    output = on_lines(np.zeros(output_bytes, np.uint8))
    row_bytes = ctypes.c_size_t(table[:1].nbytes)

    def run() -> None:
        LIBRARY.limit_gather_64(_at(arrays[0]), row_bytes, _at(ids), ctypes.c_size_t(len(ids)))
        LIBRARY.limit_fill(_at(output), ctypes.c_size_t(output.nbytes))
        LIBRARY.limit_read(_at(ids), ctypes.c_size_t(ids.nbytes))
        for array in arrays:
            LIBRARY.limit_change_64(_at(array), row_bytes, _at(rows), ctypes.c_size_t(len(rows)))

    return run


def _at(array: Any) -> Any:
    return ctypes.c_void_p(array.ctypes.data)
