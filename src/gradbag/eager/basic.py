"""Calls of basic ops: NumPy does the work, once the declaration has checked dtypes, shapes and memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, errors, memory
from ..spec import Op
from . import carriers

Array = np.ndarray[Any, Any]
_MOST_OUTLINES = 1024


def run_basic(op: Op, arrays: Sequence[Array], attrs: dict[str, Any], share: bool = False) -> list[Array]:
    """Check the call and compute its outputs; `arrays` are flat. With `share`, outputs may be views of inputs."""
    outline = _outline(op, arrays, attrs)
    if outline.total > memory.unchecked():
        memory.reserve(op.name, outline.wanted)
    try:
        with np.errstate(all="ignore"):  # an overflow to infinity is the answer, not a warning
            answer = op.body(*op.grouped([carriers.clean(a) if a.dtype == bool else a for a in arrays]), **attrs)
    except errors.Fault as fault:
        raise errors.invalid(op.name, fault) from None
    except MemoryError as problem:
        if isinstance(problem, errors.Error):
            raise
        raise errors.ResourceExhaustedError(f"{op.name}: not enough memory: {problem}") from None
    outputs = answer if op.result is not None else [answer] if op.outputs else []
    checked = [_checked(output, name) for output, name in zip(outputs, outline.names, strict=True)]
    return checked if share else [_own(output, arrays) for output in checked]


class Outline(NamedTuple):
    """What is known of the outputs before the call: their dtypes, and what to ask the budget for."""

    names: list[str]
    wanted: list[tuple[str, list[int], int]]
    total: int


def _outline(op: Op, arrays: Sequence[Array], attrs: dict[str, Any]) -> Outline:
    """It is kept for calls of the same shapes and dtypes where nothing else decides it."""
    # The first word keeps it apart from the route of a call without inputs, whose key is empty.
    key: Any = ("outline", *[(a.dtype, a.shape) for a in arrays], *attrs.values())
    try:
        found: Outline | None = op.routes.get(key)
    except TypeError:  # an array among the attributes
        found, key = None, None
    if found is not None:
        return found
    names = [dtypes.name_of(a.dtype) for a in arrays]
    inferred, alone = op.outline([a.shape for a in arrays], names, arrays, attrs)
    wanted = [
        (arg.name, [n or 0 for n in shape or ()], dtypes.numpy_dtype(name).itemsize)
        for arg, (shape, name) in zip(op.outputs, inferred, strict=True)
    ]
    total = sum(prod(shape) * itemsize for _, shape, itemsize in wanted)
    outline = Outline([name for _, name in inferred], wanted, total)
    if alone and key is not None and not any(dtypes.is_string(a.dtype) for a in arrays):
        if len(op.routes) >= _MOST_OUTLINES:
            op.routes.clear()
        op.routes[key] = outline
    return outline


def _checked(output: Any, name: str) -> Array:
    array = np.asarray(output)
    if name != "string" and array.dtype != dtypes.numpy_dtype(name):
        raise AssertionError(f"a body gave {array.dtype} where {name} is declared")
    return array


def _own(array: Array, arrays: Sequence[Array]) -> Array:
    """An output that shares no memory with an input."""
    return array.copy() if array.base is not None or any(array is a for a in arrays) else array
