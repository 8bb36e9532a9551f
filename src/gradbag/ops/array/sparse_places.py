"""The places of sparse entries: rows of coordinates, compared one axis after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dims import AnyShape
from ...errors import Fault


def row_major(indices: Any) -> Any:
    """The order in which places come when they are read row by row; equal ones keep theirs."""
    if indices.shape[1] == 0:
        return np.arange(len(indices))
    return np.lexsort(indices.T[::-1])


def starts(ordered: Any) -> Any:
    """Where the places in an order are new; the first always is."""
    new = np.ones(len(ordered), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(1)
    return new


def numbered(indices: Any) -> tuple[Any, Any]:
    """For each entry the number of its place among the distinct ones in row-major order, and these."""
    order = row_major(indices)
    ordered = indices[order]
    new = starts(ordered)
    numbers = np.empty(len(indices), np.int64)
    numbers[order] = np.cumsum(new) - 1
    return numbers, ordered[new]


def is_ascending(indices: Any) -> bool:
    """Whether places come in row-major order, none of them twice."""
    if len(indices) < 2:
        return True
    after, equal = np.zeros(len(indices) - 1, bool), np.ones(len(indices) - 1, bool)
    for column in indices.T:
        after |= equal & (column[1:] > column[:-1])
        equal &= column[1:] == column[:-1]
    return bool(after.all())


def check_within(argument: str, indices: Any, shape: Sequence[int]) -> None:
    """Refuse the first place that is outside of a shape."""
    plain = indices.dtype == np.int64 and indices.flags.c_contiguous and min(shape, default=0) >= 0
    # A negative number is a huge one without a sign, so one comparison covers both ends.
    if plain and (indices.view(np.uint64) < np.array(shape, np.uint64)).all():
        return
    wrong = (indices < 0) | (indices >= np.array(shape, np.int64))
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise Fault("range", argument, (row, column), int(indices[row, column]), 0, int(shape[column]))


def flat_places(indices: Any, shape: Sequence[int]) -> Any:
    """The places in an array of this shape that is laid out row by row."""
    flat = np.zeros(len(indices), np.int64)
    for column, size in zip(indices.T, shape, strict=True):
        flat = flat * size + column
    return flat


def rank_of(indices: AnyShape, shape: AnyShape) -> int | None:
    """The number of axes, as far as the shapes of the places or of the sizes tell it."""
    if indices is not None and indices[1] is not None:
        return indices[1]
    return None if shape is None else shape[0]
