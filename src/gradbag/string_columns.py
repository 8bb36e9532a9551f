"""Strings as compiled code reads them: Arrow columns and NumPy's bytes in place, everything else copied as UTF-8."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import dtypes, errors, memory
from .eager.program import native

# What can be read, in the words of a refusal.
FORMS = ["an Arrow column, a NumPy array or a list of str or bytes"]


def read(function: str, argument: str, value: Any) -> tuple[Any, tuple[int, ...]]:
    """The strings of a value, one after another, and its shape; what is null stays null."""
    try:
        if isinstance(value, (str, bytes)):
            return native.Strings.of_objects([value]), ()
        if hasattr(value, "__arrow_c_array__"):
            return _column(native.Strings.of_arrow(*value.__arrow_c_array__()))
        if hasattr(value, "__arrow_c_stream__"):
            return _column(native.Strings.of_arrow_stream(value.__arrow_c_stream__()))
        if isinstance(value, (list, tuple)):
            if not any(isinstance(item, (list, tuple, np.ndarray)) for item in value):
                return _column(native.Strings.of_objects(value))
            value = np.array(value, object)  # in rows, or refused
        return _of_array(function, argument, value)
    except errors.Error:
        raise
    except TypeError as problem:
        raise errors.about(argument, errors.UnsupportedTypeError(_sentence(function, argument, problem))) from None
    except ValueError as problem:
        raise errors.about(argument, errors.InvalidArgumentError(_sentence(function, argument, problem))) from None
    except MemoryError:
        raise errors.ResourceExhaustedError(f"{function}: there is no memory for a copy of {argument}") from None


def _column(strings: Any) -> tuple[Any, tuple[int, ...]]:
    return strings, (len(strings),)


def _of_array(function: str, argument: str, value: Any) -> tuple[Any, tuple[int, ...]]:
    if isinstance(value, np.ma.MaskedArray) or not (isinstance(value, np.generic) or hasattr(value, "__array__")):
        raise errors.wrong_type(function, argument, FORMS, type(value).__name__)
    array = np.asarray(value)
    if not dtypes.is_string(array.dtype):
        raise errors.wrong_type(function, argument, FORMS, dtypes.name_of(array.dtype))
    if not array.flags.c_contiguous or not array.dtype.isnative:  # a broadcast array has no end
        memory.reserve(function, [(f"a copy of {argument}", array.shape, array.itemsize)])
    if array.dtype.kind == "O":
        return native.Strings.of_objects(array.ravel()), array.shape
    plain = np.ascontiguousarray(array, array.dtype.newbyteorder("=") if array.dtype.kind == "U" else None)
    return native.Strings.of_array(plain), array.shape


def _sentence(function: str, argument: str, problem: Exception) -> str:
    text = str(problem)
    return f"{function}: {argument}{'' if text.startswith('[') else ' '}{text}"


def integers(function: str, argument: str, value: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """A value as int64, from int64, int32 or Python's integers."""
    if isinstance(value, (list, tuple)) and not value:
        return np.empty(0, np.int64)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError) as problem:
        raise errors.wrong_type(function, argument, list(dtypes.INDEX), f"what is no array: {problem}") from None
    if isinstance(value, np.ma.MaskedArray) or dtypes.name_of(array.dtype) not in dtypes.INDEX:
        got = "a masked array" if isinstance(value, np.ma.MaskedArray) else dtypes.name_of(array.dtype)
        raise errors.wrong_type(function, argument, list(dtypes.INDEX), got)
    if array.dtype != np.int64 or not array.flags.c_contiguous:
        memory.reserve(function, [(f"a copy of {argument}", array.shape, 8)])
    return np.ascontiguousarray(array, np.int64).reshape(array.shape)


def results(function: str, name: str, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Room for one int64 a string or number."""
    memory.reserve(function, [(name, shape, 8)])
    return memory.empty((math.prod(shape),), np.dtype(np.int64))
