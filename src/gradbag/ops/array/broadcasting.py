"""Shapes of results whose inputs are stretched to each other, as in NumPy and TensorFlow."""

from __future__ import annotations

from math import prod

from ... import dtypes
from ...dims import AnyShape, Shape, Size
from ...errors import Fault
from ...spec import Known
from .sizes import MOST_BYTES


def broadcast(*inputs: tuple[str, Known]) -> AnyShape:
    """The common shape of named inputs; a size that is not known yet may still turn out to be 1."""
    shapes = [(name, known.shape) for name, known in inputs if known.shape is not None]
    result = common_shape(*shapes)
    if len(shapes) < len(inputs):
        return None
    widest = max(dtypes.numpy_dtype(known.dtype).itemsize for _, known in inputs)
    sizes = [size for size in result if isinstance(size, int) and size]  # NumPy limits the axes beside a zero too
    if prod(sizes) * widest > MOST_BYTES:
        name, shape = shapes[-1]
        raise Fault("shape", name, (), shape, hint=f"stretched to that of {shapes[0][0]} is more than any memory holds")
    return result


def common_shape(*shapes: tuple[str, Shape]) -> Shape:
    """What named shapes are stretched to."""
    result: list[Size] = []
    for name, shape in shapes:
        shared = min(len(shape), len(result))
        result[:0] = shape[: len(shape) - shared]
        for place in range(1, shared + 1):
            size, before = shape[-place], result[-place]
            if size == before:
                continue  # asked first: of sizes that depend on data, a compiler knows when they are the same, no more
            if before == 1:
                result[-place] = size
            elif before is None:
                result[-place] = None if size in (1, None) else size
            elif size not in (1, None, before):
                others = ", ".join(other for other, _ in shapes if other != name)
                hint = f"cannot be stretched to that of {others}: axis {-place} is {size} here, {before} there"
                raise Fault("shape", name, (), shape, hint=hint)
    return tuple(result)
