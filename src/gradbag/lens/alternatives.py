"""What else might stand in one unit of an input: one of its rows, if they are records, else one of its entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from .masks import Array


def replaced(values: Sequence[Array], place: int, unit: int, records: bool) -> Iterator[Array]:
    """Inputs in place of one of `values`, in which a unit is something else."""
    value = values[place]
    units = value if records else value.reshape(-1)
    for new in _records(value, unit) if records else _entries(values, value, unit):
        if not np.array_equal(new, units[unit]):
            changed = units.copy()
            changed[unit] = new
            yield changed.reshape(value.shape)


def swapped(values: Sequence[Array], place: int, unit: int, records: bool) -> Iterator[Array]:
    """A permutation stays one when two of its units change places."""
    value = values[place]
    units = value if records else value.reshape(-1)
    for other in (unit + 1, unit - 1, 0, len(units) - 1):
        if 0 <= other < len(units) and not np.array_equal(units[other], units[unit]):
            changed = units.copy()
            changed[[unit, other]] = units[[other, unit]]
            yield changed.reshape(value.shape)


def _records(value: Array, unit: int) -> list[Any]:
    old = value[unit]
    near = [value[k] for k in (unit + 1, unit - 1) if 0 <= k < len(value)]
    with np.errstate(all="ignore"):
        last = [np.concatenate([old[:-1], old[-1:] + step]) for step in (1, -1)] if old.ndim else []
        return [old + 1, old - 1, *near, *last, value.min(0), value.max(0)]


def _entries(values: Sequence[Array], value: Array, unit: int) -> list[Any]:
    old = value.reshape(-1)[unit]
    if dtypes.is_string(value.dtype):
        return [b"another word", b""]
    if value.dtype.kind == "b":
        return [not old]
    beside = [
        v.reshape(-1)[unit]
        for v in values
        if v.shape == value.shape and v is not value and np.can_cast(v.dtype, value.dtype, "same_kind")
    ]
    numbers = [v for v in values if v.dtype.kind in "iuf" and v.size and v.dtype.kind == value.dtype.kind]
    low = min([v.min() for v in numbers], default=old)
    high = max([v.max() for v in numbers], default=old)
    with np.errstate(all="ignore"):
        return [*beside, high + 1, low - 1, old + 1, old - 1]
