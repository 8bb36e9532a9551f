"""What a caller gave for ids, offsets and weights, as arrays that kernels take as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, errors

Array = np.ndarray[Any, Any]
_INDEX = [dtypes.numpy_dtype(name) for name in dtypes.INDEX]


def integers(function: str, name: str, value: Any) -> Array:
    """int32 and int64 stay what they are, other integers become int64."""
    array = _array(function, name, value)
    if array.size == 0 and not hasattr(value, "dtype"):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise errors.wrong_type(function, name, dtypes.INDEX, dtypes.name_of(array.dtype))
    for dtype in _INDEX:
        if array.dtype == dtype:
            return array.view(dtype)  # of the integers that C knows two may be the same
    if array.dtype.kind == "u":
        fitting(function, name, array, np.dtype(np.int64))
    return array.astype(np.int64)


def floats(function: str, name: str, value: Any) -> Array:
    """Arrays keep their dtype, which must be floating; Python's numbers become float32, as in a call of an op."""
    array = _array(function, name, value)
    if not hasattr(value, "dtype") and array.dtype.kind in "iuf":
        return array.astype(np.float32)
    if dtypes.name_of(array.dtype) not in dtypes.FLOAT:
        raise errors.wrong_type(function, name, dtypes.FLOAT, dtypes.name_of(array.dtype))
    return array


def _array(function: str, name: str, value: Any) -> Array:
    array = plain(function, name, value)
    if array.ndim != 1:
        raise errors.wrong_shape(function, name, "n" if name != "offsets" else "bags", "", array.shape)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])


def plain(function: str, name: str, value: Any) -> Array:
    """NumPy's view of a value, or a refusal in words where there is none."""
    if isinstance(value, np.ma.MaskedArray):
        raise errors.about(name, errors.UnsupportedTypeError(f"{function}: {name} is a masked array; fill it first"))
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError, OverflowError) as problem:  # each framework has its own
        raise errors.unfit(function, name, "an array", f"{type(value).__name__}: {problem}") from None


def sealed(array: Array) -> Array:
    """A view that cannot be written to: what was checked stays right, as far as we have a say in it."""
    view = array.view()
    view.flags.writeable = False
    return view


def fitting(function: str, name: str, array: Array, dtype: np.dtype[Any]) -> None:
    """Refuse integers that a dtype cannot hold."""
    limits = np.iinfo(dtype)
    outside = (array < limits.min) | (array > limits.max)
    if outside.any():
        place = int(outside.argmax())
        fault = errors.Fault("rule", name, (place,), int(array[place]), hint=f"does not fit {dtype}")
        raise errors.invalid(function, fault)


def check_entries(function: str, name: str, array: Array, ids: Array) -> None:
    """Refuse an array that does not have one element for each id."""
    if len(array) != len(ids):
        raise errors.wrong_shape(function, name, "n", f"n={len(ids)}", array.shape)


def check_range(function: str, name: str, array: Array, end: int) -> None:
    """Refuse elements outside [0, end)."""
    outside = (array < 0) | (array >= end)
    if outside.any():
        place = int(outside.argmax())
        raise errors.invalid(function, errors.Fault("range", name, (place,), int(array[place]), 0, end))


def check_splits(function: str, name: str, splits: Array, end: int) -> None:
    """Refuse bounds of bags that fall, or lie outside [0, end]; the first need not be 0."""
    outside = (splits < 0) | (splits > end)
    falling = np.zeros(len(splits), bool)
    falling[1:] = splits[1:] < splits[:-1]
    bad = outside | falling
    if bad.any():
        place = int(bad.argmax())
        value, before = int(splits[place]), int(splits[place - 1])
        if outside[place]:
            raise errors.invalid(function, errors.Fault("range", name, (place,), value, 0, end + 1))
        raise errors.invalid(function, errors.Fault("order", name, (place,), value, before))


def splits_of(lengths: Array) -> Array:
    """Where runs of these lengths begin, and the end of the last; lengths that were checked."""
    splits = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=splits[1:])
    return splits


def check_lengths(function: str, splits: Array, beside: Array) -> None:
    """Refuse weights that are not as ragged as their ids."""
    if len(splits) != len(beside):
        wanted = f"in {len(splits) - 1} bags, as ids"
        raise errors.unfit(function, "weights", wanted, f"{len(beside) - 1}")
    differing = np.diff(splits) != np.diff(beside)
    if differing.any():
        bag = int(differing.argmax())
        lengths = [int(bounds[bag + 1]) - int(bounds[bag]) for bounds in (splits, beside)]
        raise errors.unfit(function, f"weights[{bag}]", f"of length {lengths[0]}, as ids[{bag}]", f"{lengths[1]}")


def read_ragged(function: str, name: str, tensor: Any) -> tuple[Any, Array]:
    """The parts of a `tf.RaggedTensor`, which NumPy can look at without TensorFlow's help."""
    if getattr(tensor, "ragged_rank", 0) != 1:
        wanted = "a RaggedTensor with one ragged axis"
        raise errors.wrong_type(function, name, [wanted], type(tensor).__name__)
    return tensor.values, integers(function, f"{name}.row_splits", tensor.row_splits)


def cast(function: str, name: str, array: Array, dtype: Any) -> Array:
    """The array in another dtype of those that it may have; None: in its own."""
    if dtype is None:
        return array
    allowed = dtypes.FLOAT if name == "weights" else dtypes.INDEX
    wanted = dtype if isinstance(dtype, str) and dtype in allowed else _name(dtype)
    if wanted not in allowed:
        raise errors.wrong_type(function, name, allowed, wanted)
    chosen = dtypes.numpy_dtype(wanted)
    if name != "weights":
        fitting(function, name, array, chosen)
    return array.astype(chosen, copy=False)


def _name(dtype: Any) -> str:
    try:
        return dtypes.name_of(np.dtype(dtype))
    except TypeError:
        return repr(dtype)
