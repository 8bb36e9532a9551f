"""Calls that a rule of the op answers by compiled kernels, where words about shapes cannot tell a kernel what it needs.

A rule (`spec.Op.compiled`) gives the bits of the body, or declines: then the body answers, which alone has words for
what is wrong. So a rule may decline whatever it does not care for, and a kernel that finds a fault declines too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import arguments, dtypes, errors, memory
from ..spec import Declined, Op
from . import carriers, prepared
from .program import native

Array = np.ndarray[Any, Any]
_MOST_AXES = 64  # of a NumPy array
_READY = 0x101  # NumPy's flags for C-contiguous and aligned
_numbers = np.arange(0, dtype=np.int32)


class Compiled:
    """What a rule may call, for definite dtypes. In names of kernels, {T} is the dtype of the type variable T."""

    def __init__(self, op: Op, types: dict[str, str]) -> None:
        self.op, self.types = op, types
        self._kernels: dict[str, Any] = {}
        self._dtypes: dict[str, Any] = {}

    def fill(self, name: str, arrays: Sequence[Any], settings: tuple[Any, ...] = (), plan: Any = None) -> None:
        """Have a kernel fill the outputs, which are the last of the arrays; a list of arrays is one argument."""
        if self._kernel(name).fill(plan, [_ready(array) for array in arrays], settings) is not None:
            raise Declined

    def count(self, name: str, arrays: Sequence[Any], settings: tuple[Any, ...] = ()) -> Any:
        """Have a kernel count: a plan, with sizes."""
        plan = self._kernel(name).count([_ready(array) for array in arrays], settings)
        if type(plan) is tuple:
            raise Declined
        return plan

    def empty(self, shape: Sequence[int], dtype: str, scratch: int = 0) -> Array:
        """An output with any content, if it fits the budget together with so many bytes of working memory.

        Its dtype is a name, or a type variable of the op.
        """
        kind = self._dtypes.get(dtype)
        if kind is None:
            kind = self._dtypes[dtype] = dtypes.numpy_dtype(self.types.get(dtype, dtype))
        if len(shape) > _MOST_AXES:
            raise Declined
        total = kind.itemsize
        for size in shape:
            if size < 0:
                raise Declined
            total *= size or 1  # NumPy limits the axes beside a zero too
        if total + scratch < memory.LARGE and total + scratch <= memory.unchecked():
            return np.empty(shape, kind)
        if total + scratch > memory.unchecked():
            try:
                memory.reserve(self.op.name, [("output", tuple(shape), kind.itemsize), ("scratch", (scratch,), 1)])
            except errors.Error:
                raise Declined from None
        return memory.empty(tuple(shape), kind)

    def numbers(self, count: int) -> Array:
        """0, 1, 2, ... as a kernel wants indices: an array that is shared, and must not be written."""
        global _numbers
        if count >= 2**31:
            raise Declined
        if len(_numbers) < count:
            made = np.arange(max(count, 2 * len(_numbers), 1024), dtype=np.int32)
            made.flags.writeable = False
            _numbers = made
        return _numbers[:count]

    def _kernel(self, name: str) -> Any:
        found = self._kernels.get(name)
        if found is None:
            found = native.find_kernel(name.format(**self.types))
            if found is None:
                raise Declined
            self._kernels[name] = found
        return found


def _ready(array: Any) -> Any:
    if isinstance(array, list):
        return [_ready(member) for member in array]
    return array if array.flags.num & _READY == _READY else np.array(array, order="C")


def plain(op: Op, values: Sequence[Any]) -> Sequence[Array] | None:
    """The values as arrays, where they are arrays, numbers of NumPy, or Python integers of which the dtype is clear."""
    if all(type(value) is np.ndarray for value in values):
        return values
    arrays: list[Any] = []
    for arg, value in zip(op.flat_inputs(len(values)), values, strict=True):
        if type(value) is np.ndarray:
            arrays.append(value)
        elif isinstance(value, np.number):
            arrays.append(np.asarray(value))
        elif type(value) is int and -(2**31) <= value < 2**31 and arguments.dtype_of_int(op, arg) in dtypes.INDEX:
            arrays.append(np.array(value, arguments.dtype_of_int(op, arg)))
        else:
            return None
    return arrays


def outputs(op: Op, arrays: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """What the rule answers to plain arrays, or NotImplemented."""
    if native is None:
        return NotImplemented
    kept = prepared.of(op)
    key = tuple([array.dtype for array in arrays])
    if kept.typed:
        key += tuple([attrs[name] for name in kept.typed])
    calls = kept.compiled.get(key)
    if calls is None:
        kinds = [array.dtype for array in arrays]
        if not all(kind.isnative and not dtypes.is_string(kind) for kind in kinds):
            return NotImplemented
        try:
            calls = kept.compiled[key] = Compiled(
                op, op.resolve_types([dtypes.name_of(a.dtype) for a in arrays], attrs)
            )
        except (errors.Error, TypeError):
            return NotImplemented
    assert op.compiled_rule is not None
    try:
        # Another thread may give an array another shape during the call; that of a view stays.
        return op.compiled_rule(calls, *op.grouped([carriers.clean(array.view()) for array in arrays]), **attrs)
    except (Declined, errors.Fault, MemoryError):
        return NotImplemented
