"""What the machine allows: what nobody can leave out of an op, done by a few lines of C++ (limit.cpp).

* gather: a byte of each cache line of the rows that the op reads in no regular order, asked for ahead of time. These
  are the table's rows for the forward op and, for the dense gradient, the result's rows that it adds to; for the
  compact gradient the rows of `grad`, in the order of the rows of the result; for SparseFillEmptyRowsGrad the values by
  their map, if that is in no order. Otherwise the ops that fill and slice read all in order.
* fill: memory of the size of the results, allocated and touched beforehand; past the caches if it is large.
* read: the ids, once.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from workloads import Bags, Inputs, Task

from gradbag.memory import zeros_on_lines

LIBRARY = Path(__file__).parent.parent / "build" / "benchmarks" / "liblimit.so"

Part = Callable[[], object]


def call(task: Task, inputs: Inputs, results: Any) -> Callable[[], None]:
    """The parts of the limit of a task, one after another."""
    outputs = [np.asarray(r) for r in (results if isinstance(results, tuple) else [results])]
    parts = [_fill(out.nbytes) for out in outputs if out.ndim]
    if isinstance(task.workload, Bags):
        reads = [inputs["indices"], inputs["segment_ids"]]
        if task.kind == "compact":
            order = np.argsort(inputs["indices"], kind="stable")
            parts.append(_gather(inputs["grad"], inputs["segment_ids"][order]))
        else:
            parts.append(_gather(inputs["data"], inputs["indices"]))
    elif task.op == "SparseFillEmptyRowsGrad" and "random" in task.workload.order:
        reads = [inputs["reverse_index_map"]]
        parts.append(_gather(inputs["grad_values"], inputs["reverse_index_map"]))
    else:
        reads = [array for array in inputs.values() if array.ndim]
    parts += [_read(array) for array in reads]
    _library().limit_set_threads(task.threads)

    def run() -> None:
        for part in parts:
            part()

    return run


def on_lines(array: Any) -> Any:
    """A copy that begins with a cache line, as TensorFlow's and PyTorch's do.

    NumPy's large arrays begin 16 bytes later, so that a row of 128 bytes lies in three lines and not in two.
    """
    if array.dtype.hasobject:
        return array
    copy = zeros_on_lines(array.shape, array.dtype)
    copy[...] = array
    return copy


def _gather(table: Any, ids: Any) -> Part:
    function = _library().limit_gather_32 if ids.itemsize == 4 else _library().limit_gather_64
    row_bytes = table[:1].nbytes
    return _bound(function, on_lines(table), row_bytes, on_lines(ids), len(ids))


def _fill(size: int) -> Part:
    return _bound(_library().limit_fill, on_lines(np.zeros(size, np.uint8)), size)


def _read(array: Any) -> Part:
    return _bound(_library().limit_read, on_lines(array), array.nbytes)


def _bound(function: Any, *arguments: Any) -> Part:
    """The call with these arguments; as long as it is kept, so are the arrays."""
    given = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_size_t(a) for a in arguments]

    def part(_kept: Any = arguments) -> object:
        return function(*given)

    return part


@functools.cache
def _library() -> Any:
    if not LIBRARY.exists():
        raise SystemExit(f"{LIBRARY} is missing: `make bench` and `make bench-quick` build it")
    return ctypes.CDLL(str(LIBRARY))
