"""The bags of a call, as the kernels of one table take them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import errors
from ..bags import Bags
from ..embedding.entries import Entries
from ..embedding.packing import pack
from ..ops.combiners import COMBINERS

Array = np.ndarray[Any, Any]


class Batch(NamedTuple):
    """Entries that stay, in bags; every id is a row."""

    ids: Array
    offsets: Array
    weights: Array | None


class Block(NamedTuple):
    """Rows in memory, of which each entry picks one; `rows` are their numbers in the table, None where it is all."""

    values: Array
    state: dict[str, Any]
    ids: Array
    rows: Array | None


def usable(function: str, bags: Any, rows: int, combiner: str, default_id: Any, dtype: np.dtype[Any]) -> Batch:
    """What a safe look-up takes: without negative ids and, unless they are added up, weights that are not above zero.

    A bag without entries gets the row `default_id`, if there is one.
    """
    bags = Bags.of(bags)
    ids, offsets, weights = bags.to_offsets()
    check_rows(function, "ids", ids, rows, below=None)
    check_default(function, default_id, rows)
    prune_weights = weights is not None and bool(COMBINERS[combiner].power)
    is_whole = default_id is None and not (len(ids) and ids.min() < 0)
    if is_whole and not (prune_weights and not (weights > 0).all()):
        return Batch(ids, offsets, None if weights is None else weights.astype(dtype, copy=False))
    packed = pack(Entries(ids, weights, offsets=offsets), rows, False, prune_weights, default_id, None)
    return Batch(packed.ids, packed.offsets, packed.weights_like(np.empty(0, dtype)))


def check_rows(function: str, name: str, rows: Array, count: int, below: int | None = 0) -> None:
    """Refuse what is no row of a table of so many; with `below` None, what is negative is left to others."""
    outside = len(rows) and (rows.max() >= count or (below is not None and rows.min() < below))
    if outside:
        bad = rows >= count if below is None else (rows >= count) | (rows < below)
        place = int(bad.argmax())
        raise errors.invalid(function, errors.Fault("range", name, (place,), int(rows[place]), 0, count))


def check_default(function: str, default_id: Any, rows: int) -> None:
    if default_id is None:
        return
    errors.check_natural(function, "default_id", default_id, "an int or None")
    if default_id >= rows:
        raise errors.invalid(function, errors.Fault("range", "default_id", (), default_id, 0, rows))


def check_norm(function: str, max_norm: Any) -> None:
    if max_norm is None:
        return
    if isinstance(max_norm, bool) or not isinstance(max_norm, (int, float, np.floating)):
        raise errors.wrong_type(function, "max_norm", ["a number or None"], type(max_norm).__name__)
    if not 0 < max_norm < np.inf:
        raise errors.unfit(function, "max_norm", "in (0, inf)", str(max_norm))
