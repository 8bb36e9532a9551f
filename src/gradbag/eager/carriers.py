"""The forms in which values reach a kernel that NumPy cannot hand over, or that the kernel only moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, memory
from ..spec import Op

Array = np.ndarray[Any, Any]
POSITIONS = np.dtype(np.int64)


def input_view(name: str) -> Callable[[Array], Array] | None:
    """How an input of a dtype is handed to a kernel; None: as it is."""
    return clean if name == "bool" else output_view(name)


def output_view(name: str) -> Callable[[Array], Array] | None:
    """How an output of a dtype is handed to a kernel, sharing its memory; None: as it is."""
    return _as_parts if name in dtypes.QUANTIZED else None


def lies_ready(name: str) -> bool:
    """Whether a kernel can take an input of a dtype where it lies, and no other form of it."""
    return name != "bool" and name != "string" and name not in dtypes.QUANTIZED


def clean(array: Array) -> Array:
    """A bool buffer from elsewhere may hold other bytes than 0 and 1."""
    return np.not_equal(array.view(np.uint8), 0, out=np.empty(array.shape, bool)) if array.dtype == np.bool_ else array


def _as_parts(array: Array) -> Array:
    return array.view(array.dtype[0])


def string_itemsizes(op: Op, arrays: Sequence[Array | None], itemsizes: Sequence[int]) -> list[int]:
    """What an entry of each output takes: strings of a fixed width come out as wide as the widest that went in."""
    assert op.kernel is not None
    moved = op.kernel.copies
    args = zip(op.flat_inputs(len(arrays)), arrays, strict=True)
    widest = max(a.itemsize for arg, a in args if a is not None and arg.dtype == moved)
    return [widest + n if arg.dtype == moved else n for arg, n in zip(op.outputs, itemsizes, strict=True)]


def pool_strings(op: Op, arrays: Sequence[Array | None]) -> tuple[Array, list[Array | None]]:
    """Replace strings, whatever their NumPy form, by their positions in one pool of all strings of the call."""
    assert op.kernel is not None
    strings: list[Array] = []
    replaced: list[Array | None] = []
    start = 0
    for arg, array in zip(op.flat_inputs(len(arrays)), arrays, strict=True):
        if array is not None and arg.dtype == op.kernel.copies:
            strings.append(array.reshape(-1))
            replaced.append(np.arange(start, start + array.size, dtype=POSITIONS).reshape(array.shape))
            start += array.size
        else:
            replaced.append(array)
    widest = max(s.itemsize for s in strings)
    memory.reserve(op.name, [(f"{op.kernel.copies} asks for a pool of strings", (start,), widest)])
    return np.concatenate(strings), replaced


def from_pool(op: Op, pool: Array, outputs: Sequence[Array]) -> list[Array]:
    assert op.kernel is not None
    return [pool[o] if a.dtype == op.kernel.copies else o for a, o in zip(op.outputs, outputs, strict=True)]
