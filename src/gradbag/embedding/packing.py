"""Entries as the bags that EmbeddingBag takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import raw_ops
from ..autodiff.trace import Traced, plain
from .entries import Entries
from .frameworks import Packed, answers_for, dtype_name


class PackedBags(NamedTuple):
    """Bags of entries that stay."""

    ids: Any
    offsets: Any
    weights: Any
    positions: Any = None  # of the entries among those that there were; None: all stay where they are
    has_spare: bool = False

    def weights_like(self, table: Any) -> Any:
        """The weights of the entries that stay, in the dtype of a table; one for entries that were filled in."""
        if self.weights is None:
            return None
        weights = answers_for(self.weights).cast(self.weights, table)
        if self.positions is None:
            return weights
        return raw_ops.PackWeights(weights=weights, positions=self.positions, default_weight=1.0)

    def without_spare(self, pooled: Any) -> Any:
        return pooled[:-1] if self.has_spare else pooled


def pack(
    entries: Entries, row_count: int | None, strict: bool, prune_weights: bool, default_id: Any, size: int | None
) -> PackedBags:
    """Strict: no entry is left out, and what is not in order is refused."""
    if strict and entries.offsets is not None:
        return PackedBags(entries.ids, entries.offsets, entries.weights)
    keep = _above_zero(entries.weights) if prune_weights and entries.weights is not None else None
    found = packed(entries, keep, row_count, strict, default_id, size)
    positions = found.positions
    if strict and not found.has_spare:  # all stay, and their order is that of the bags
        positions = None
    return PackedBags(found.ids, found.offsets, entries.weights, positions, found.has_spare)


def packed(
    entries: Entries, keep: Any, row_count: int | None, strict: bool = False, default_id: Any = None, size: Any = None
) -> Packed:
    """The entries that stay, of which ids are below `row_count` if that is known."""
    given = {"ids": entries.ids, "keep": keep, "default_id": None, "num_rows": None}
    if default_id is not None:
        given["default_id"] = _as_integer(default_id, entries.ids)
    if row_count is not None:
        given["num_rows"] = np.array(row_count)
    if entries.offsets is not None:
        given |= {"offsets": entries.offsets}
        name = "PruneBags"
    else:
        given |= {"indices": entries.indices, "dense_shape": entries.dense_shape, "strict": strict}
        name = "PackBags"
    return answers_for(*given.values()).packed(name, given, size)


def _above_zero(weights: Any) -> Any:
    """Marks for the weights that count; none for NaN."""
    if isinstance(weights, Traced):
        weights = plain(weights)
    elif hasattr(weights, "detach"):
        weights = weights.detach()
    with np.errstate(invalid="ignore"):  # NumPy warns of NaN in 16 bits
        return answers_for(weights).marks(weights > 0)


def _as_integer(value: Any, ids: Any) -> Any:
    """A Python number in the dtype of the ids."""
    return np.array(value, dtype_name(ids)) if isinstance(value, int) else value
