"""Tensors as NumPy arrays and back, and the dtypes that the two do not share."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from ... import dtypes

_LARGE = 1 << 16  # bytes from which on a copy takes longer than asking TensorFlow to share memory
QUANTIZED = {tf.as_dtype(name): tf.as_dtype(dtypes.numpy_dtype(name)[0]) for name in dtypes.QUANTIZED}


def to_array(tensor: Any) -> Any:
    """A view of a tensor."""
    try:
        array = np.asarray(tensor)
    except ValueError:  # to TensorFlow, a single string or bfloat16 is no array
        array = np.asarray(tensor.numpy(), object if tensor.dtype == tf.string else None)
    return as_declared(array, tensor.dtype.name)


def to_tensor(array: Any) -> Any:
    """The tensor of an array that nobody else has."""
    if array.dtype.names is not None:
        return tf.constant(as_integers(array), tf.as_dtype(dtypes.name_of(array.dtype)))
    return tf.constant(array) if array.nbytes < _LARGE else tf.convert_to_tensor(array)


# To NumPy, TensorFlow's quantized numbers are plain integers; gradbag's arrays have dtypes that tell them apart.
def as_declared(array: Any, name: str) -> Any:
    return array.view(dtypes.numpy_dtype(name)) if name in dtypes.QUANTIZED else array


def as_integers(array: Any) -> Any:
    return array if array.dtype.names is None else array[array.dtype.names[0]]


def stand_in(tensor: Any) -> Any:
    """An array of a tensor's dtype, from which Python values in the call take theirs."""
    name = tensor.dtype.name
    return np.array([b""], object) if name == "string" else np.zeros(1, dtypes.numpy_dtype(name))
