"""Arrays of JAX as NumPy arrays and back, and the names of their dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ... import dtypes, errors
from ...spec import Arg, Op

Array = np.ndarray[Any, Any]
_LARGE = 1 << 16  # bytes from which on a copy takes longer than asking JAX to share memory
_given = jax.jit(lambda *arrays: arrays)  # the quickest way from NumPy to JAX, which also turns 64 bits into 32


def has_64_bits() -> bool:
    return bool(jax.config.jax_enable_x64)


def name_of(op: Op, arg: Arg, dtype: Any) -> str:
    """The name of the declared dtype that a JAX array stands for: without 64 bits, int32 goes as int64 too."""
    name = dtypes.name_of(np.dtype(dtype)) if not jax.dtypes.issubdtype(dtype, jax.dtypes.extended) else str(dtype)
    if name == "int32" and name not in op.allowed(arg) and "int64" in op.allowed(arg) and not has_64_bits():
        return "int64"
    return name


def shown_dtype(name: str) -> np.dtype[Any]:
    """The dtype in which JAX shows an output of a declared dtype."""
    return np.dtype(jax.dtypes.canonicalize_dtype(dtypes.numpy_dtype(name)))


def known(value: Any) -> Any:
    """The array behind a value of JAX, also while it is differentiated; None where it is traced."""
    return value.to_concrete_value() if isinstance(value, jax.core.Tracer) else value


def to_array(op: Op, arg: Arg, value: Any) -> Array:
    """The memory of a JAX array, in the declared dtype."""
    if any(device.platform != "cpu" for device in value.devices()):
        raise errors.wrong_type(op.name, arg.name, ["an array on the CPU"], f"one on {value.device}")
    wanted = name_of(op, arg, value.dtype)
    if wanted not in op.allowed(arg):
        raise errors.wrong_type(op.name, arg.name, op.allowed(arg), wanted)
    array = np.asarray(value)
    return array if array.dtype == dtypes.numpy_dtype(wanted) else array.astype(dtypes.numpy_dtype(wanted))


def from_arrays(arrays: Sequence[Array]) -> Sequence[Any]:
    """JAX arrays of arrays that nobody else has."""
    if sum([array.nbytes for array in arrays]) < _LARGE:
        return _given(*arrays)  # type: ignore[no-any-return]
    return [_shared(array) for array in arrays]


def _shared(array: Array) -> Any:
    shared = array.nbytes >= _LARGE and array.dtype.kind in "fiu" and array.dtype == shown_dtype(str(array.dtype))
    return jnp.from_dlpack(array) if shared else _given(array)[0]
