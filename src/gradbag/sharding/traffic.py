"""What a step moves between hosts, before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..bags import Bags
from ..ops.pooling import accumulator
from .plan import Array, ShardPlan
from .routes import BagRoute, RowRoute, route_bags, route_rows, without
from .tree import forest_of

HEADER_BYTES = 8 * 5  # for each other rank, of one feature
LENGTH_BYTES = 4


@dataclass(frozen=True)
class Traffic:
    """Bytes of one worker's batch to and from other hosts, and messages."""

    header: int
    ids: int
    forward: int
    backward: int
    messages: int

    @property
    def total(self) -> int:
        return self.header + self.ids + self.forward + self.backward


def traffic(
    plan: ShardPlan,
    bags: Any,
    columns: int,
    dtype: Any = "float32",
    *,
    way: str = "exact",
    rank: int = 0,
    training: bool = True,
) -> Traffic:
    """The bytes that the batch of a worker moves over the net: what it sends, and what others send it for that.

        >>> import gradbag
        >>> from gradbag.sharding import ShardPlan, traffic
        >>> bags = gradbag.Bags.of([[0, 1, 4, 5], [1, 5]])
        >>> for way in ("exact", "partial"):
        ...     print(way, traffic(ShardPlan(8, 2), bags, 16, way=way))
        exact Traffic(header=40, ids=32, forward=128, backward=128, messages=6)
        partial Traffic(header=40, ids=24, forward=128, backward=128, messages=6)

    The `way` is "exact" (rows forward, bags backward), "rows", "partial" or "hybrid". A worker that is the `rank` of a
    shard has the rows of that one at home. The sum over all workers is what goes over the wire.
    """
    bags = Bags.of(bags)
    dtype = np.dtype(dtype)
    keys = plan.keys(bags.ids)
    rows = route_rows(plan, keys)
    starts = None if way == "exact" else forest_of(plan).starts
    pairs = route_bags(plan, keys, np.asarray(bags.offsets), starts)
    if way == "hybrid":
        hot = rows.counts[rows.places] >= max(2, plan.num_shards)
        cold_keys, offsets, _ = without(bags, keys, hot)
        rows, pairs = route_rows(plan, keys[hot]), route_bags(plan, cold_keys, offsets, starts)
    away = np.arange(plan.num_shards) != rank
    asked = 0 if way == "partial" else int(rows.splits[away].sum())
    sends_entries = training or way in ("partial", "hybrid")
    entries = int(pairs.splits[away].sum()) * sends_entries
    answered = int(pairs.pairs[away].sum()) * sends_entries
    id_bytes, wide = plan.row_dtype.itemsize, accumulator(dtype).itemsize
    weight_bytes = 0 if bags.weights is None else wide
    sums = answered if way in ("partial", "hybrid") else 0
    returned = answered + (asked if way == "hybrid" else 0)
    others = plan.num_shards - 1
    return Traffic(
        header=HEADER_BYTES * others,
        ids=asked * id_bytes + entries * (id_bytes + weight_bytes) + answered * LENGTH_BYTES,
        forward=asked * columns * dtype.itemsize + sums * columns * wide,
        backward=returned * columns * wide * training,
        messages=others * (6 if training else 5),
    )


def choose(rows: RowRoute, pairs: BagRoute, feature: Any) -> str:
    """Rows or partial sums: what moves fewer bytes forward. Both are added up by one tree, so the bits are the same."""
    size, wide = np.dtype(feature.dtype).itemsize, accumulator(np.dtype(feature.dtype)).itemsize
    as_rows = len(rows.rows) * (feature.columns * size + feature.plan.row_dtype.itemsize)
    as_sums = len(pairs.bags) * feature.columns * wide
    return "rows" if as_rows < as_sums else "partial"


def zipf_ids(rng: np.random.Generator, count: int, rows: int, exponent: float) -> Array:
    """Ids of which the k-th most frequent occurs as 1 / k**exponent; frequent ones are spread over the table."""
    uniform = rng.random(count)
    if exponent == 1:
        ranks = np.exp(uniform * np.log(rows + 1))
    else:
        top = (rows + 1.0) ** (1 - exponent)
        ranks = (uniform * (top - 1) + 1) ** (1 / (1 - exponent))
    drawn = np.minimum(ranks.astype(np.int64) - 1, rows - 1)
    return ShardPlan(rows, 1, "hash").keys(drawn)
