"""TensorProto and TensorShapeProto, read with suspicion and written in one form only."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import dtypes, errors
from ...dims import AnyShape
from . import messages

Array = np.ndarray[Any, Any]
MOST_AXES = 254  # of a shape in TensorFlow
MOST_ARRAY_AXES = 64  # of an array in NumPy
_LARGEST = 2**63 - 1

# Which list holds the values of a dtype, where it is not the content.
_LISTS = {
    **dict.fromkeys(("int32", "uint8", "int16", "int8", "uint16", "qint8", "quint8", "qint32"), "int_val"),
    **dict.fromkeys(("float16", "bfloat16"), "half_val"),
    "float32": "float_val",
    "float64": "double_val",
    "int64": "int64_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "bool": "bool_val",
    "string": "string_val",
    "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
}
_ALL_LISTS = sorted(set(_LISTS.values()))


class Budget:
    """How many bytes the constants of a graph may still take."""

    def __init__(self, limit: int) -> None:
        self.limit = self.left = limit

    def take(self, size: int) -> None:
        if size > self.left:
            raise errors.ResourceExhaustedError(
                f"the constants up to here need {errors.in_bytes(self.limit - self.left + size)}, "
                f"but only {errors.in_bytes(self.limit)} may be used (constant_limit)"
            )
        self.left -= size


# ------------------------------------------------------------------ shapes
def read_shape(proto: Any) -> AnyShape:
    """Sizes, None where one is not known; None alone if not even their number is."""
    if proto.unknown_rank:
        if proto.dim:
            raise errors.InvalidArgumentError("the shape has sizes although their number is not known")
        return None
    if len(proto.dim) > MOST_AXES:
        raise errors.InvalidArgumentError(f"the shape has {len(proto.dim)} axes, more than {MOST_AXES}")
    sizes = [dim.size for dim in proto.dim]
    for size in sizes:
        if size < -1:
            raise errors.InvalidArgumentError(f"the shape has the size {size}")
    # With a zero among the sizes the product would hide the others, which TensorFlow multiplies too.
    if prod(size for size in sizes if size > 0) > _LARGEST:
        raise errors.InvalidArgumentError(f"the shape {errors.shown(sizes)} has more elements than can be counted")
    return tuple(None if size == -1 else size for size in sizes)


def write_shape(shape: AnyShape, proto: Any) -> None:
    proto.SetInParent()
    if shape is None:
        proto.unknown_rank = True
        return
    for size in shape:
        proto.dim.add(size=-1 if size is None else size)


# ------------------------------------------------------------------ reading
def read_tensor(proto: Any, budget: Budget) -> Array:
    """The array; one that repeats a single value is a view of it, and takes memory only when it is used."""
    name = read_type(proto.dtype)
    shape = read_shape(proto.tensor_shape)
    if shape is None or None in shape:
        raise errors.InvalidArgumentError("the tensor has an unknown shape")
    if len(shape) > MOST_ARRAY_AXES:
        raise errors.InvalidArgumentError(f"the tensor has {len(shape)} axes, more than {MOST_ARRAY_AXES}")
    sizes = [size for size in shape if size is not None]
    count = prod(sizes)
    dtype = dtypes.numpy_dtype(name)
    budget.take(count * dtype.itemsize)
    wanted = _LISTS[name]
    for other in _ALL_LISTS:
        if other != wanted and len(getattr(proto, other)):
            raise errors.InvalidArgumentError(f"the tensor is {name}, but its values stand in {other}")
    values = getattr(proto, wanted)
    if proto.tensor_content:
        if len(values):
            raise errors.InvalidArgumentError(f"the tensor has values both in tensor_content and in {wanted}")
        return _from_content(proto.tensor_content, name, dtype, count).reshape(sizes)
    parts = 2 if name in dtypes.COMPLEX else 1
    given = len(values)
    if given > count * parts or given % parts:
        raise errors.InvalidArgumentError(
            f"the tensor of shape {errors.shown(sizes)} takes {count * parts} numbers in {wanted}; got {given}"
        )
    if given == 0:
        listed = np.array([""], object) if name == "string" else np.zeros(1, dtype)
        listed = listed if count else listed[:0]
    else:
        listed = _from_list(values, name, dtype)
    if len(listed) == count:
        return listed.reshape(sizes)
    if len(listed) == 1:
        return np.broadcast_to(listed.reshape(()), sizes)
    # TensorFlow leaves out the last values of a list where they repeat.
    return np.concatenate([listed, np.broadcast_to(listed[-1:], (count - len(listed),))]).reshape(sizes)


def read_type(number: int) -> str:
    """The name of a dtype that some op takes."""
    name = messages.NAMES.get(number)
    if name is None:
        raise errors.UnsupportedTypeError(f"gradbag has no dtype {messages.type_names([number])[0]}")
    return name


def _from_content(content: bytes, name: str, dtype: Any, count: int) -> Array:
    if name == "string":
        raise errors.InvalidArgumentError("the tensor has strings in tensor_content; they belong into string_val")
    if len(content) != count * dtype.itemsize:
        raise errors.InvalidArgumentError(
            f"the tensor takes {count * dtype.itemsize} bytes of tensor_content; got {len(content)}"
        )
    if name == "bool" and content.translate(None, b"\0\1"):
        raise errors.InvalidArgumentError("the tensor has bytes other than 0 and 1 for bool in tensor_content")
    # A copy: it is aligned, and may be written to.
    return np.frombuffer(content, _little(dtype)).astype(dtype)


def _from_list(values: Any, name: str, dtype: Any) -> Array:
    if name == "string":
        return _strings(values)
    if name in ("float16", "bfloat16"):
        return _fitting(values, np.dtype(np.uint16)).view(dtype)
    if name in dtypes.QUANTIZED:
        return _fitting(values, dtype[0]).view(dtype)
    if name in dtypes.COMPLEX:
        part = np.dtype(np.float32 if name == "complex64" else np.float64)
        return np.fromiter(values, part, len(values)).view(dtype)
    if _LISTS[name] == "int_val":
        return _fitting(values, dtype)
    return np.fromiter(values, dtype, len(values))


def _fitting(values: Any, dtype: Any) -> Array:
    wide = np.fromiter(values, np.int64, len(values))
    limits = np.iinfo(dtype)
    if wide.size and (wide.min() < limits.min or wide.max() > limits.max):
        raise errors.InvalidArgumentError(f"the tensor has values beyond {limits.min} to {limits.max}")
    return wide.astype(dtype)


def _strings(values: Any) -> Array:
    """Text where all of it is UTF-8, as Python callers feed it; bytes otherwise."""
    array = np.empty(len(values), object)
    try:
        array[:] = [value.decode() for value in values]
    except UnicodeDecodeError:
        array[:] = list(values)
    return array


# ------------------------------------------------------------------ writing
def write_tensor(array: Array, name: str, proto: Any) -> None:
    """One form for equal arrays: a single value if all are the same bits, else the content."""
    proto.dtype = messages.NUMBERS[name]
    write_shape(array.shape, proto.tensor_shape)
    if name == "string":
        proto.string_val.extend(_encoded(array))
        return
    flat = np.ascontiguousarray(array[(slice(0, 1),) * array.ndim] if _is_splat(array) else array).reshape(-1)
    if flat.size > 1 and _same_bits(flat):
        flat = flat[:1]
    if flat.size != 1 or not _as_number(flat, name, proto):
        if array.size > 1 and flat.size == 1:
            flat = np.broadcast_to(flat, (array.size,))
        proto.tensor_content = flat.astype(_little(flat.dtype), copy=False).tobytes()


def _is_splat(array: Array) -> bool:
    return array.size > 1 and not any(
        stride for stride, size in zip(array.strides, array.shape, strict=True) if size > 1
    )


def _same_bits(flat: Array) -> bool:
    content = flat.view(np.uint8).reshape(flat.size, flat.itemsize)
    return bool((content[-1] == content[0]).all() and (content == content[0]).all())


def _as_number(flat: Array, name: str, proto: Any) -> bool:
    """Write a single value into the list of its dtype, unless that could change its bits."""
    values = getattr(proto, _LISTS[name])
    if name in ("float16", "bfloat16"):
        values.append(int(flat.view(np.uint16)[0]))
    elif name in dtypes.QUANTIZED:
        values.append(int(flat.view(flat.dtype[0])[0]))
    elif flat.dtype.kind in "fc":
        if flat[0] != flat[0]:  # a NaN has bits that no number in a list keeps
            return False
        numbers = [flat[0].real, flat[0].imag] if flat.dtype.kind == "c" else [flat[0]]
        values.extend([float(number) for number in numbers])
    else:
        values.append(flat[0].item())
    return True


def _encoded(array: Array) -> list[bytes]:
    try:
        return [value if isinstance(value, bytes) else str(value).encode() for value in array.reshape(-1).tolist()]
    except UnicodeEncodeError as problem:
        raise errors.InvalidArgumentError(f"a string has no UTF-8 form: {problem.reason}") from None


def _little(dtype: Any) -> Any:
    """The dtype in the byte order of the file."""
    return dtype.newbyteorder("<")
