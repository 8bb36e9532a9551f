"""What a caller gave, turned into arrays of the declared dtypes; nothing is cast silently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import dtypes, errors, memory
from .spec import Arg, Op

Array = np.ndarray[Any, Any]

# Which dtype a Python value takes when nothing else decides: TensorFlow's choice first.
_PREFERRED = {
    "b": ("bool",),
    "i": ("int32", "int64", "uint64", "float32"),
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


def with_sizes(op: Op, values: Sequence[Any]) -> Sequence[Any]:
    """Python integers for sizes become arrays at once: the commonest call that is not all arrays."""
    changed = values
    args = op.flat_inputs(len(values))
    for place, value in enumerate(values):
        if type(value) is int:
            limits = _INTEGERS.get(args[place].dtype)
            if limits is not None and limits[1] <= value <= limits[2]:
                if changed is values:
                    changed = list(values)
                changed[place] = np.array(value, limits[0])  # type: ignore[index]
    return changed


def dtype_of_int(op: Op, arg: Arg) -> str | None:
    """The dtype that a small Python integer takes as an input; None where another input has a say in it."""
    if arg.dtype in op.types and sum(other.dtype == arg.dtype for other in op.inputs) > 1:
        return None
    return next((name for name in _PREFERRED["i"] if name in op.allowed(arg)), None)


def to_arrays(op: Op, values: Sequence[Any]) -> list[Any]:
    """Arrays keep their dtype; Python numbers, strings and lists take the one that the other arguments need.

    What is left out stays None.
    """
    try:
        return _to_arrays(op, values)
    except RecursionError:
        names = ", ".join(op.input_names)
        raise errors.InvalidArgumentError(f"{op.name}: one of {names} is nested too deeply") from None
    except (MemoryError, OverflowError) as problem:
        if isinstance(problem, errors.Error):
            raise
        raise errors.ResourceExhaustedError(f"{op.name}: an argument is too large: {problem}") from None


def _to_arrays(op: Op, values: Sequence[Any]) -> list[Any]:
    arrays: list[Any] = [None] * len(values)
    bound: dict[str, Array] = {}
    args = op.flat_inputs(len(values))
    for place, (arg, value) in enumerate(zip(args, values, strict=True)):
        if value is None and arg.optional:
            continue
        # np.float64 is a Python float to isinstance, but it has a dtype of its own.
        if isinstance(value, np.generic) or not isinstance(value, (int, float, complex, str, bytes, list, tuple)):
            arrays[place] = array = _from_array(op, arg, value)
        elif isinstance(value, (list, tuple)) and _all_numpy(value):
            arrays[place] = array = _from_array(op, arg, _rectangular(op, arg, value))
        else:
            continue
        if arg.dtype in op.types:
            bound.setdefault(arg.dtype, array)
    rest = [p for p, found in enumerate(arrays) if found is None and not (values[p] is None and args[p].optional)]
    for place in sorted(rest, key=lambda place: _is_empty(values[place])):  # an empty list takes what the others need
        arg = args[place]
        arrays[place] = array = _from_python(op, arg, values[place], bound.get(arg.dtype))
        if arg.dtype in op.types:
            bound.setdefault(arg.dtype, array)
    if any(variable in bound and dtypes.is_string(bound[variable].dtype) for variable in op.types):
        _check_families(op, arrays)
    return arrays


def constant(op: Op, name: str, value: Any, dtype: str) -> Array:
    """The array of a value whose dtype is decided, or a type variable of the op: an array must have it, Python values
    must fit it."""
    if type(value) is np.ndarray and dtypes.plain_name(value.dtype) == dtype:
        return value
    arg = Arg(name, dtype, "*shape", "")
    if isinstance(value, np.generic) or not isinstance(value, (int, float, complex, str, bytes, list, tuple)):
        return _from_array(op, arg, value)
    if isinstance(value, (list, tuple)) and _all_numpy(value):
        return _from_array(op, arg, _rectangular(op, arg, value))
    return _from_python(op, arg, value, None)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _is_empty(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and not any(True for _ in _leaves(value))


def _all_numpy(value: Any) -> bool:
    """A list of NumPy scalars or arrays: their dtype is known, however they are packed."""
    return not _is_empty(value) and all(isinstance(leaf, (np.generic, np.ndarray)) for leaf in _leaves(value))


def _rectangular(op: Op, arg: Arg, value: Any) -> Array:
    try:
        return np.asarray(value)
    except (ValueError, OverflowError) as problem:
        raise errors.InvalidArgumentError(f"{op.name}: {arg.name} is not a rectangular array: {problem}") from None


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


def _from_python(op: Op, arg: Arg, value: Any, beside: Array | None) -> Array:
    kind, natural = _natural(op, arg, value)
    allowed = op.allowed(arg)
    if kind == "string":
        return _string_array(op, arg, natural, beside)
    like = None if beside is None else beside.dtype
    if natural.size == 0:
        names = [n for n in ("int32", "float32", *allowed) if n in allowed]
        return natural.astype(like if like is not None else dtypes.numpy_dtype(names[0]))
    if like is not None:
        target = like
    else:
        whole = kind in "iu" and not set(allowed).isdisjoint(dtypes.INTEGER)  # then it stays a whole number
        preferred = [n for n in _PREFERRED[kind] if n in allowed and not (whole and n in dtypes.FLOAT)]
        fits = [n for n in preferred if _fits(natural, dtypes.numpy_dtype(n))]
        # One dtype only (say int64 or bool): the declaration decides, and the check below says if it cannot hold it.
        if not fits and len(allowed) > 1:
            fits = preferred or [n for n in allowed if _holds(kind, dtypes.numpy_dtype(n))]
            fits.sort(key=lambda n: -dtypes.numpy_dtype(n).itemsize)
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
    array = _rectangular(op, arg, value)
    types = {type(leaf) for leaf in _leaves(value)}
    if types == {int} and array.dtype.kind not in "iu":  # beyond 64 bits, or NumPy has made floats of integers
        return "i", np.asarray(value, dtype=object)
    if array.dtype.kind in "SUO" and array.size and all(issubclass(t, (str, bytes)) for t in types):
        return "string", np.asarray(value, dtype=object)
    if array.dtype.kind not in _HOLDS or (bool in types and len(types) > 1):  # to NumPy, True is one
        raise errors.wrong_type(op.name, arg.name, op.allowed(arg), "a list of mixed Python values")
    return array.dtype.kind, array


def _holds(kind: str, target: np.dtype[Any]) -> bool:
    name = dtypes.name_of(target)
    target_kind = "f" if name in dtypes.FLOAT else target.kind
    return target_kind in _HOLDS[kind]


def _fits(natural: Any, target: np.dtype[Any]) -> bool:
    natural = np.asarray(natural)
    if natural.size == 0:
        return True
    if target.kind not in "iu":
        try:
            with np.errstate(all="ignore"):  # a finite number must not become infinite
                cast = natural.astype(target)
        except OverflowError:
            return False
        return bool((np.isfinite(cast) | (False if natural.dtype == object else ~np.isfinite(natural))).all())
    limits = np.iinfo(target)
    return natural.dtype.kind in "iuO" and bool(int(natural.min()) >= limits.min and int(natural.max()) <= limits.max)


def _string_array(op: Op, arg: Arg, natural: Array, beside: Array | None) -> Array:
    like = None if beside is None else beside.dtype
    if "string" not in op.allowed(arg) or (like is not None and not dtypes.is_string(like)):
        wanted = op.allowed(arg) if like is None else [dtypes.name_of(like)]
        raise errors.wrong_type(op.name, arg.name, wanted, "a Python string")
    if beside is None or like is None:
        return natural
    try:
        if _families(beside) == {"bytes"}:
            encoded = [v.encode() if isinstance(v, str) else v for v in natural.flat]
            return np.array(encoded, dtype="S" if like.kind == "S" else object).reshape(natural.shape)
        if like.kind == "O":
            return natural
        if "bytes" in _families(natural):
            raise errors.wrong_type(op.name, arg.name, ["str"], "bytes", "like the other strings of the call")
        return np.array(list(natural.flat), dtype="U" if like.kind == "U" else like).reshape(natural.shape)
    except UnicodeEncodeError as problem:
        raise errors.InvalidArgumentError(f"{op.name}: {arg.name} cannot be encoded: {problem}") from None


def _families(array: Array) -> set[str]:
    """What an array of strings holds: bytes, str, or both if it is of objects."""
    if array.dtype.kind != "O":
        return {"bytes" if array.dtype.kind == "S" else "str"}
    return {"bytes" if isinstance(v, bytes) else "str" for v in array.flat}


def _check_strings(op: Op, arg: Arg, array: Array) -> None:
    memory.reserve(op.name, [(arg.name, array.shape, array.itemsize)])  # a broadcast array has no end
    for number, text in enumerate(array.flat):
        if not isinstance(text, (str, bytes)):
            place = np.unravel_index(number, array.shape)
            where = f"{arg.name}[{', '.join(map(str, place))}]" if place else arg.name
            raise errors.wrong_type(op.name, where, ["str or bytes"], type(text).__name__)


def _check_families(op: Op, arrays: Sequence[Array | None]) -> None:
    """NumPy would decode bytes as ASCII to join them with str: a cast that nobody asked for."""
    for variable in op.types:
        first: tuple[str, str] | None = None
        for arg, array in zip(op.flat_inputs(len(arrays)), arrays, strict=True):
            if array is None or arg.dtype != variable or not dtypes.is_string(array.dtype):
                continue
            for family in sorted(_families(array)):
                first = first or (family, arg.name)
                if family != first[0]:
                    got = str(array.dtype) if array.dtype.kind in "SUT" else family
                    raise errors.wrong_type(op.name, arg.name, [first[0]], got, f"like {first[1]}")
