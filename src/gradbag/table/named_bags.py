"""Bags of ids that are not rows yet: any int64, or strings."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from .. import errors, hashing
from ..bags import Bags
from .batches import Array

_BUCKETS = 1 << 62


class NamedBags(NamedTuple):
    """Flat ids, as a vocabulary takes them, where each bag begins, and weights."""

    ids: Any
    size: int
    offsets: Array
    weights: Any

    def over(self, rows: Array) -> Bags:
        """The same bags of rows."""
        return Bags(rows, self.offsets, self.weights)


def named_bags(function: str, kind: str, bags: Any, offsets: Any, weights: Any) -> NamedBags:
    """Of flat ids and offsets, or of whatever has lists of ids."""
    if offsets is not None:
        count = len(bags)
        checked = Bags(np.zeros(count, np.int64), offsets, weights)
        return NamedBags(bags, count, checked.offsets, checked.weights)
    if kind == "int64":
        of_numbers = Bags.of(bags, weights)
        return NamedBags(of_numbers.ids, of_numbers.count, of_numbers.offsets, of_numbers.weights)
    in_columns = any(hasattr(bags, name) for name in ("to_arrow", "combine_chunks", "value_lengths"))
    flat, lengths = _columns(bags) if in_columns else _lists(function, bags)
    begins = np.append(0, np.cumsum(lengths))
    given = None if weights is None else np.fromiter(chain.from_iterable(weights), np.float32)
    checked = Bags(np.zeros(begins[-1], np.int64), begins[:-1], given)
    return NamedBags(flat, len(flat), checked.offsets, checked.weights)


def _columns(column: Any) -> tuple[Any, Array]:
    """A column of lists of pyarrow, or of what becomes one; a null list is empty."""
    array = column.to_arrow() if hasattr(column, "to_arrow") else column
    array = array.combine_chunks() if hasattr(array, "combine_chunks") else array
    return array.flatten(), array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)


def _lists(function: str, lists: Any) -> tuple[list[Any], Array]:
    flat: list[Any] = []
    lengths = []
    for place, items in enumerate(lists):
        if isinstance(items, (str, bytes)) or not hasattr(items, "__iter__"):
            raise errors.wrong_type(function, f"bags[{place}]", ["a list of strings"], type(items).__name__)
        before = len(flat)
        flat.extend(items)
        lengths.append(len(flat) - before)
    return flat, np.array(lengths, np.int64)


def keys_of(kind: str, ids: Any, places: Array) -> Array:
    """A number for each of some ids, on which depends what its row begins with."""
    if kind == "int64":
        return np.asarray(ids).reshape(-1)[places].astype(np.int64)
    return hashing.string_to_hash_bucket_fast(strings_at(ids, places), _BUCKETS)


def strings_at(ids: Any, places: Array) -> list[Any]:
    """Some of the strings; one that is null is nothing of theirs."""
    if hasattr(ids, "take"):  # NumPy, pyarrow, pandas
        chosen = ids.take(places)
        return list(chosen.to_pylist() if hasattr(chosen, "to_pylist") else chosen)
    return [ids[place] for place in places.tolist()]
