"""Arrays of JAX as NumPy arrays and back, and the names of their dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import jax
import numpy as np

from ... import dtypes, errors
from ...spec import Arg, Op
from . import compat

Array = np.ndarray[Any, Any]


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
    shown: np.dtype[Any] = np.dtype(jax.dtypes.canonicalize_dtype(dtypes.numpy_dtype(name)))
    return shown


def to_array(op: Op, arg: Arg, value: Any) -> Array:
    """The memory of a JAX array, or a NumPy array behind a tracer, in the declared dtype."""
    if isinstance(value, jax.Array) and not _is_on_cpu(value.sharding):
        raise errors.wrong_type(op.name, arg.name, ["an array on the CPU"], f"one on {value.device}")
    wanted = _wanted(op, arg, value.dtype, has_64_bits())
    array = np.asarray(value)
    return array if array.dtype is wanted else array.astype(wanted, copy=False)


@lru_cache(maxsize=1024)  # a call of ten ids should cost little more than its kernel
def _is_on_cpu(sharding: Any) -> bool:
    return all(device.platform == "cpu" for device in sharding.device_set)


@lru_cache(maxsize=4096)
def _wanted(op: Op, arg: Arg, dtype: Any, wide: bool) -> np.dtype[Any]:
    name = name_of(op, arg, dtype)
    if name not in op.allowed(arg):
        raise errors.wrong_type(op.name, arg.name, op.allowed(arg), name)
    return dtypes.numpy_dtype(name)


def from_arrays(found: Sequence[Array]) -> list[Any]:
    """JAX arrays, on the CPU, of arrays that nobody else has: JAX may keep their memory."""
    if not has_64_bits():
        found = [array.astype(shown_dtype(dtypes.name_of(array.dtype)), copy=False) for array in found]
    return [_placed(array) for array in found]


def _placed(array: Array) -> Any:
    if compat.batched_device_put is None:
        return jax.device_put(array, _cpu())
    # jnp.asarray comes to the same function, by way of 40 microseconds of Python.
    return compat.batched_device_put(_outline(array.shape, array.dtype), _sharding(), [array], [_cpu()], False)


@lru_cache(maxsize=4096)
def _outline(shape: tuple[int, ...], dtype: Any) -> Any:
    return compat.ShapedArray(shape, dtype)


@cache
def _cpu() -> Any:
    return jax.local_devices(backend="cpu")[0]


@cache
def _sharding() -> Any:
    return jax.sharding.SingleDeviceSharding(_cpu())
