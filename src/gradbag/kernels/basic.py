"""Calls of basic ops: NumPy does the work, once the declaration has checked dtypes, shapes and memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .. import dtypes, errors, memory
from ..spec import Op
from . import carriers

Array = np.ndarray[Any, Any]


def run_basic(op: Op, arrays: Sequence[Array], attrs: dict[str, Any], share: bool = False) -> list[Array]:
    """Check the call and compute its outputs; `arrays` are flat. With `share`, outputs may be views of inputs."""
    names = [dtypes.name_of(a.dtype) for a in arrays]
    inferred = op.infer([a.shape for a in arrays], names, arrays, attrs)
    wanted = [
        (arg.name, [n or 0 for n in shape or ()], name) for arg, (shape, name) in zip(op.outputs, inferred, strict=True)
    ]
    if sum(prod(shape) * dtypes.numpy_dtype(name).itemsize for _, shape, name in wanted) > memory.unchecked():
        memory.reserve(op.name, [(what, shape, dtypes.numpy_dtype(name).itemsize) for what, shape, name in wanted])
    try:
        with np.errstate(all="ignore"):  # an overflow to infinity is the answer, not a warning
            answer = op.body(*op.grouped([carriers.clean(a) for a in arrays]), **attrs)
    except errors.Fault as fault:
        raise errors.invalid(op.name, fault) from None
    except MemoryError as problem:
        if isinstance(problem, errors.Error):
            raise
        raise errors.ResourceExhaustedError(f"{op.name}: not enough memory: {problem}") from None
    outputs = answer if op.result is not None else [answer] if op.outputs else []
    checked = [_checked(output, name) for output, (_, name) in zip(outputs, inferred, strict=True)]
    return checked if share else [_own(output, arrays) for output in checked]


def _checked(output: Any, name: str) -> Array:
    array = np.asarray(output)
    if name != "string" and array.dtype != dtypes.numpy_dtype(name):
        raise AssertionError(f"a body gave {array.dtype} where {name} is declared")
    return array


def _own(array: Array, arrays: Sequence[Array]) -> Array:
    """An output that shares no memory with an input."""
    return array.copy() if array.base is not None or any(array is a for a in arrays) else array
