"""What travels: the distinct rows of a batch, or the entries of its bags."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import raw_ops
from ..bags import Bags
from .plan import Array, ShardPlan


class RowRoute(NamedTuple):
    """Every distinct row travels once."""

    rows: Array  # of each shard, shard after shard, ascending in each
    splits: Array  # how many of them belong to each shard
    places: Array  # of each entry: its row among them
    counts: Array  # how many entries each of them has

    def owners(self) -> Array:
        return np.repeat(np.arange(len(self.splits)), self.splits)


class BagRoute(NamedTuple):
    """Every pair of a bag and a shard, or a part of a shard, that has rows of it travels once."""

    rows: Array  # of each entry, shard after shard, in the order of the bags within
    order: Array  # which entry each of them is
    splits: Array  # how many of them belong to each shard
    bags: Array  # of each pair, shard after shard
    lengths: Array  # entries of each pair
    pairs: Array  # of each shard
    nodes: Array  # of each pair: which of the `starts` that it was routed by


def route_rows(plan: ShardPlan, keys: Array) -> RowRoute:
    """How to ask for the rows of these keys."""
    found = raw_ops.SortedUnique(ids=keys)
    splits = np.diff(np.searchsorted(found.output, plan.starts))
    rows = found.output - np.repeat(plan.starts[:-1], splits)
    return RowRoute(rows, splits, found.inverse, found.counts)


def no_rows(plan: ShardPlan) -> RowRoute:
    """Where no row travels."""
    empty = np.zeros(0, np.int64)
    return RowRoute(empty, np.zeros(plan.num_shards, np.int64), empty, empty)


def route_bags(plan: ShardPlan, keys: Array, offsets: Array, starts: Array | None = None) -> BagRoute:
    """How to send the entries of bags; `starts` cuts shards into smaller parts."""
    cuts = plan.starts[:-1] if starts is None else starts
    found = raw_ops.RouteBags(keys=keys, offsets=offsets, starts=cuts, num_rows=plan.num_rows)
    nodes = np.repeat(np.arange(len(cuts)), found.pairs)
    if starts is None:
        return BagRoute(*found, nodes)
    owner = np.searchsorted(plan.starts[1:], cuts, side="right").clip(max=plan.num_shards - 1)
    splits, pairs = (np.zeros(plan.num_shards, np.int64) for _ in range(2))
    np.add.at(splits, owner, found.splits)
    np.add.at(pairs, owner, found.pairs)
    rows = found.rows + np.repeat(cuts - plan.starts[owner], found.splits)
    return BagRoute(rows, found.order, splits, found.bags, found.lengths, pairs, nodes)


def without(bags: Bags, keys: Array, left_out: Array) -> tuple[Array, Array, Array]:
    """Keys and offsets of the entries that stay, and which they are."""
    stays = np.flatnonzero(~left_out)
    before = np.zeros(len(keys) + 1, np.int64)
    np.cumsum(~left_out, out=before[1:])
    return keys[stays], before[np.asarray(bags.offsets)], stays
