"""Shapes of results whose inputs are stretched to each other, as in NumPy and TensorFlow."""

from __future__ import annotations

from ...dims import AnyShape, Size
from ...errors import Fault
from ...spec import Known


def broadcast(*inputs: tuple[str, Known]) -> AnyShape:
    """The common shape of named inputs; a size that is not known yet may still turn out to be 1."""
    if any(known.shape is None for _, known in inputs):
        return None
    result: list[Size] = []
    for name, known in inputs:
        shape = known.shape or ()
        result[:0] = [1] * (len(shape) - len(result))
        for place in range(1, len(shape) + 1):
            size, before = shape[-place], result[-place]
            if before == 1:
                result[-place] = size
            elif before is None:
                result[-place] = None if size in (1, None) else size
            elif size not in (1, None, before):
                others = ", ".join(other for other, _ in inputs if other != name)
                hint = f"cannot be stretched to that of {others}: axis {-place} is {size} here, {before} there"
                raise Fault("shape", name, (), shape, hint=hint)
    return tuple(result)
