"""The table of a look-up: one array, or shards of it, perhaps with rows that are clipped."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors, raw_ops
from .entries import Entries
from .frameworks import Packed, answers_for
from .packing import packed

STRATEGIES = ("div", "mod")


class Tables:
    """What rows are looked up in."""

    def __init__(self, function: str, argument: str, given: Any, strategy: str, max_norm: float | None) -> None:
        if strategy not in STRATEGIES:
            raise errors.unfit(function, "partition_strategy", "one of 'div', 'mod'", repr(strategy))
        self.function, self.strategy, self.max_norm = function, strategy, max_norm
        # A list of arrays is a list of shards, as in TensorFlow; one of numbers is a table.
        listed = isinstance(given, (list, tuple)) and all(hasattr(shard, "shape") for shard in given)
        if type(given).__name__ == "PartitionedVariable":
            given, listed = list(given), True
        if given is None or (listed and not given):
            raise errors.unfit(function, argument, "a table, or a list of at least one shard", repr(given))
        shards = given if listed else [given if hasattr(given, "shape") else np.asarray(given, np.float32)]
        self.shards = [answers_for(shard).table(shard) for shard in shards]
        for shard in self.shards:
            if len(shard.shape) < 1:
                raise errors.wrong_shape(function, argument, "rows *inner", "", tuple(shard.shape))

    @property
    def row_count(self) -> int | None:
        """How many rows all shards have; None where that is not known yet."""
        counts = [shard.shape[0] for shard in self.shards]
        return None if None in counts else sum(counts)

    def check_default(self, default_id: Any) -> None:
        rows = self.row_count
        if isinstance(default_id, (int, np.integer)) and rows is not None and not 0 <= default_id < rows:
            raise errors.invalid(self.function, errors.Fault("range", "default_id", (), int(default_id), 0, rows))

    def rows_for(self, ids: Any, sparse_gradient: bool) -> tuple[Any, Any, bool]:
        """A table that has the rows of these ids, the ids by which it has them, and whether it is the one given."""
        if len(self.shards) == 1 and self.max_norm is None:
            return self.shards[0], ids, True
        answers = answers_for(ids)
        distinct, places = answers.distinct(ids)
        if len(self.shards) == 1:
            rows = _gathered(self.shards[0], Packed(distinct, answers.counting(distinct), None), sparse_gradient)
        else:
            rows = self._joined(distinct, sparse_gradient)
        if self.max_norm is not None:
            rows = answers_for(rows).clipped(rows, self.max_norm)
        return rows, places, False

    def _joined(self, ids: Any, sparse_gradient: bool) -> Any:
        """The rows of these ids from all shards; each shard gives zeros for those that others have."""
        total, count = self.row_count, len(self.shards)
        if total is None:
            raise errors.unfit(self.function, "the number of rows of each shard", "known", "one that is not")
        found, answers = None, answers_for(ids)
        for number, shard in enumerate(self.shards):
            if self.strategy == "mod":
                own, keep = ids // count, ids % count == number
            else:
                first, end = (k * (total // count) + min(k, total % count) for k in (number, number + 1))
                own, keep = ids - first, ids < end
            bags = packed(Entries(own, None, offsets=answers.counting(ids)), answers.marks(keep), shard.shape[0])
            rows = _gathered(shard, bags, sparse_gradient)
            found = rows if found is None else found + rows
        return found


def _gathered(table: Any, bags: Packed, sparse_gradient: bool) -> Any:
    """The row of each bag, which has one id or none."""
    entries = {"ids": bags.ids, "offsets": bags.offsets, "weights": None}
    rows = raw_ops.EmbeddingBag(table=table, **entries, combiner="sum", sparse_gradient=sparse_gradient)
    return rows[:-1] if bags.has_spare else rows
