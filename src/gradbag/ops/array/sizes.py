"""Sizes and axes that inputs ask for: checked before anything is allocated."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ... import dtypes
from ...dims import AnyShape, Size
from ...errors import Fault
from ...spec import Known

MOST_AXES = 64  # of a NumPy array
MOST_BYTES = 2**63 - 1


def possible(argument: str, shape: Sequence[Size], dtype: str) -> tuple[Size, ...]:
    """The shape that an argument asks for, if an array can have it: NumPy limits the axes beside a zero too."""
    if len(shape) > MOST_AXES:
        raise Fault("rule", argument, (), list(shape), hint=f"has {len(shape)} sizes; an array has at most {MOST_AXES}")
    if prod(size for size in shape if size) * dtypes.numpy_dtype(dtype).itemsize > MOST_BYTES:
        raise Fault("rule", argument, (), list(shape), hint="asks for more than any memory holds")
    return tuple(shape)


def held_sizes(argument: str, value: Any) -> list[int]:
    """The contents of an argument that lists sizes; none may be negative."""
    sizes: list[int] = value.tolist()
    for place, size in enumerate(sizes):
        if size < 0:
            raise Fault("negative", argument, (place,), size)
    return sizes


def unknown_sizes(shape: AnyShape) -> AnyShape:
    """A shape of as many unknown sizes as a list of sizes, itself of this shape, has entries."""
    return None if not shape or shape[0] is None else (None,) * shape[0]


def axis_within(argument: str, axis: int, rank: int, position: Sequence[int] = ()) -> int:
    """An axis counted from the front; a negative one counts from the end."""
    if not -rank <= axis < rank:
        raise Fault("range", argument, position, axis, -rank, rank)
    return axis % rank


def agreed(argument: str, first: AnyShape, argument_of_second: str, second: AnyShape) -> AnyShape:
    """The shape of two arguments that must have the same; what one does not know the other may."""
    if first is None or second is None:
        return second if first is None else first
    if len(first) != len(second) or any(None not in (a, b) and a != b for a, b in zip(first, second, strict=True)):
        wanted = ", ".join("?" if n is None else str(n) for n in first)
        raise Fault("shape", argument_of_second, (), second, hint=f"must be that of {argument}, [{wanted}]")
    return tuple(b if a is None else a for a, b in zip(first, second, strict=True))


def single(argument: str, known: Known) -> int | None:
    """The one number of an argument that may be a scalar or, as in old graphs, hold it in one element."""
    if known.shape is not None and None not in known.shape and prod(n or 0 for n in known.shape) != 1:
        raise Fault("shape", argument, (), known.shape, hint="must be that of a scalar")
    return None if known.value is None else int(known.value.reshape(-1)[0])
