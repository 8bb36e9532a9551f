"""What a caller gave, turned into arrays of the declared dtypes; nothing is cast silently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import dtypes, errors, memory
from .spec import Arg, Op

Array = np.ndarray[Any, Any]

# Which dtype a Python value takes when nothing else decides: TensorFlow's choice first.
_PREFERRED = {
    "b": ("bool",),
    "i": ("int32", "int64", "float32"),
    "u": ("uint64", "float32"),
    "f": ("float32", "float64"),
    "c": ("complex128", "complex64"),
    "string": ("string",),
}
# Which kinds of dtype can hold a Python value of a kind without changing its meaning.
_HOLDS = {"b": "b", "i": "iufc", "u": "iufc", "f": "fc", "c": "c"}
_INTEGERS = {
    name: (dtypes.numpy_dtype(name), int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in dtypes.INDEX
}


def ready(op: Op, values: Sequence[Any]) -> Sequence[Array] | None:
    """The values if they are arrays already, or Python integers for sizes: the common call, without a detour."""
    arrays = values
    for place, value in enumerate(values):
        kind = type(value)
        if kind is np.ndarray:
            continue
        limits = _INTEGERS.get(op.inputs[place].dtype) if kind is int else None
        if limits is None or not limits[1] <= value <= limits[2]:
            return None
        if arrays is values:
            arrays = list(values)
        arrays[place] = np.array(value, limits[0])  # type: ignore[index]
    return arrays


def to_arrays(op: Op, values: Sequence[Any]) -> list[Array]:
    """Arrays keep their dtype; Python numbers, strings and lists take the one that the other arguments need."""
    try:
        return _to_arrays(op, values)
    except (MemoryError, OverflowError) as problem:
        if isinstance(problem, errors.Error):
            raise
        raise errors.ResourceExhaustedError(f"{op.name}: an argument is too large: {problem}") from None


def _to_arrays(op: Op, values: Sequence[Any]) -> list[Array]:
    arrays: list[Array | None] = [None] * len(values)
    bound: dict[str, np.dtype[Any]] = {}
    for place, (arg, value) in enumerate(zip(op.inputs, values, strict=True)):
        # np.float64 is a Python float to isinstance, but it has a dtype of its own.
        if isinstance(value, np.generic) or not isinstance(value, (int, float, complex, str, bytes, list, tuple)):
            arrays[place] = array = _from_array(op, arg, value)
            if arg.dtype in op.types:
                bound.setdefault(arg.dtype, array.dtype)
    for place, (arg, value) in enumerate(zip(op.inputs, values, strict=True)):
        if arrays[place] is None:
            arrays[place] = array = _from_python(op, arg, value, bound.get(arg.dtype))
            if arg.dtype in op.types:
                bound.setdefault(arg.dtype, array.dtype)
    if any(variable in bound and bound[variable].kind in "SUT" for variable in op.types):
        _check_families(op, [a for a in arrays if a is not None])
    return [a for a in arrays if a is not None]


def _from_array(op: Op, arg: Arg, value: Any) -> Array:
    if type(value) is np.ndarray and dtypes.plain_name(value.dtype) in op.allowed(arg):
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise errors.UnsupportedTypeError(f"{op.name}: {arg.name} is a masked array; fill it first (value.filled(...))")
    if value is None or not (isinstance(value, np.generic) or hasattr(value, "__array__")):
        raise errors.wrong_type(op.name, arg.name, op.allowed(arg), type(value).__name__)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        got = f"{type(value).__name__}, which cannot become an array"
        raise errors.wrong_type(op.name, arg.name, op.allowed(arg), got) from None
    if not array.dtype.isnative:
        memory.reserve(op.name, [(f"a copy of {arg.name}", array.shape, array.itemsize)])
        array = array.astype(array.dtype.newbyteorder("="))
    name = dtypes.name_of(array.dtype)
    if name not in op.allowed(arg):
        raise errors.wrong_type(op.name, arg.name, op.allowed(arg), "object" if array.dtype == object else name)
    if array.dtype == object:
        _check_strings(op, arg, array)
    return array


def _from_python(op: Op, arg: Arg, value: Any, like: np.dtype[Any] | None) -> Array:
    kind, natural = _natural(op, arg, value)
    allowed = op.allowed(arg)
    if kind == "string":
        return _string_array(op, arg, natural, like)
    if natural.size == 0:
        names = [n for n in ("int32", "float32", *allowed) if n in allowed]
        return natural.astype(like if like is not None else dtypes.numpy_dtype(names[0]))
    if like is not None:
        target = like
    else:
        fits = [n for n in _PREFERRED[kind] if n in allowed and _fits(natural, dtypes.numpy_dtype(n))]
        # One dtype only (say int64 or bool): the declaration decides, and the check below says if it cannot hold it.
        if not fits and len(allowed) > 1:
            fits = [n for n in allowed if _holds(kind, dtypes.numpy_dtype(n))]
        target = dtypes.numpy_dtype(fits[0] if fits else allowed[0])
    name = dtypes.name_of(target)
    if not _holds(kind, target):
        kinds = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
        raise errors.wrong_type(op.name, arg.name, allowed if like is None else [name], f"a Python {kinds[kind]}")
    if not _fits(natural, target):
        bad = next(p for p in np.ndindex(natural.shape) if not _fits(natural[p], target))
        fault = errors.Fault("rule", arg.name, bad, natural[bad], hint=f"does not fit {name}")
        raise errors.invalid(op.name, fault)
    return natural.astype(target)


def _natural(op: Op, arg: Arg, value: Any) -> tuple[str, Array]:
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError) as problem:
        raise errors.InvalidArgumentError(f"{op.name}: {arg.name} is not a rectangular array: {problem}") from None
    if array.dtype.kind == "f" and array.size and np.abs(array).max() >= 2.0**63:
        array = np.asarray(value, dtype=object)  # NumPy makes floats of integers that fit no integer dtype together
        if not all(type(v) is int for v in array.flat):
            array = array.astype(np.float64)
    if array.dtype.kind in "SUO" and array.size:
        values = np.asarray(value, dtype=object)
        if all(isinstance(v, (str, bytes)) for v in values.flat):
            return "string", values
        if not all(type(v) is int for v in values.flat):
            raise errors.wrong_type(op.name, arg.name, op.allowed(arg), "a list of mixed Python values")
        if set(op.allowed(arg)) <= dtypes.DIFFERENTIABLE:
            return "f", values.astype(np.float64)
        if all(0 <= v < 2**64 for v in values.flat):
            return "u", values.astype(np.uint64)
        bad = next(p for p in np.ndindex(values.shape) if not -(2**63) <= values[p] < 2**63)
        raise errors.invalid(op.name, errors.Fault("rule", arg.name, bad, values[bad], hint="does not fit int64"))
    return array.dtype.kind, array


def _holds(kind: str, target: np.dtype[Any]) -> bool:
    name = dtypes.name_of(target)
    target_kind = "f" if name in dtypes.FLOAT else target.kind
    return target_kind in _HOLDS[kind]


def _fits(natural: Any, target: np.dtype[Any]) -> bool:
    if natural.size == 0:
        return True
    if target.kind not in "iu":
        with np.errstate(all="ignore"):  # a finite number must not become infinite
            return bool((np.isfinite(natural.astype(target)) | ~np.isfinite(natural)).all())
    limits = np.iinfo(target)
    return natural.dtype.kind in "iu" and bool(int(natural.min()) >= limits.min and int(natural.max()) <= limits.max)


def _string_array(op: Op, arg: Arg, natural: Array, like: np.dtype[Any] | None) -> Array:
    if "string" not in op.allowed(arg) or (like is not None and not dtypes.is_string(like)):
        wanted = op.allowed(arg) if like is None else [dtypes.name_of(like)]
        raise errors.wrong_type(op.name, arg.name, wanted, "a Python string")
    if like is None or like.kind == "O":
        return natural
    if like.kind == "S":
        encoded = [v.encode() if isinstance(v, str) else v for v in natural.flat]
        return np.array(encoded, dtype="S").reshape(natural.shape)
    if any(isinstance(v, bytes) for v in natural.flat):
        raise errors.wrong_type(op.name, arg.name, ["str"], "bytes", "like the other strings of the call")
    return np.array(list(natural.flat), dtype="U" if like.kind == "U" else like).reshape(natural.shape)


def _check_strings(op: Op, arg: Arg, array: Array) -> None:
    memory.reserve(op.name, [(arg.name, array.shape, array.itemsize)])  # a broadcast array has no end
    for number, text in enumerate(array.flat):
        if not isinstance(text, (str, bytes)):
            place = np.unravel_index(number, array.shape)
            where = f"{arg.name}[{', '.join(map(str, place))}]" if place else arg.name
            raise errors.wrong_type(op.name, where, ["str or bytes"], type(text).__name__)


def _check_families(op: Op, arrays: Sequence[Array]) -> None:
    """NumPy would decode bytes as ASCII to join them with str: a cast that nobody asked for."""
    for variable in op.types:
        strings = [
            (a, x) for a, x in zip(op.inputs, arrays, strict=True) if a.dtype == variable and x.dtype.kind in "SUT"
        ]
        for arg, array in strings[1:]:
            first, like = strings[0]
            if (array.dtype.kind == "S") != (like.dtype.kind == "S"):
                wanted = "bytes" if like.dtype.kind == "S" else "str"
                raise errors.wrong_type(op.name, arg.name, [wanted], str(array.dtype), f"like {first.name}")
