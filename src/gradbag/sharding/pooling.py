"""Rows into bags where the bags are, parts of bags where the rows are, and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import raw_ops
from ..bags import Bags
from ..ops.combiners import COMBINERS
from ..ops.pooling import accumulator
from ..table.batches import Block
from .plan import Array, ShardPlan
from .routes import BagRoute, RowRoute
from .tree import forest_of


def starts_of(lengths: Array) -> Array:
    """Where bags of these lengths begin."""
    return np.cumsum(lengths, dtype=np.int64) - lengths


def _sums(table: Array, ids: Array, offsets: Array, weights: Array | None) -> Array:
    sums: Array = raw_ops.EmbeddingBag(table=table, ids=ids, offsets=offsets, weights=weights, combiner="sum")
    return sums


def taken(table: Array, rows: Array) -> Array:
    """A copy of some rows, by as many threads as there are."""
    return _sums(table, rows, np.arange(len(rows)), None)


# ------------------------------------------------------------------ forward
def pool(rows: Array, route: RowRoute, bags: Bags, combiner: str) -> Array:
    """The rows that have come, in bags: the op that one process would call on the table, so its bits."""
    pooled: Array = raw_ops.EmbeddingBag(
        table=rows, ids=route.places, offsets=bags.offsets, weights=_like(bags, rows), combiner=combiner
    )
    return pooled


def _like(bags: Bags, rows: Array) -> Array | None:
    return None if bags.weights is None else bags.weights.astype(rows.dtype, copy=False)


def pool_by_tree(rows: Array, route: RowRoute, plan: ShardPlan, keys: Array, bags: Bags) -> Array:
    """The numerators of bags, of rows that have come, as `finish` would have them of partial sums."""
    return _tree(rows, route.places, bags.offsets, plan.piece_of(keys), _like(bags, rows), plan)


def partial_sums(block: Block, plan: ShardPlan, shard: int, lengths: Array, weights: Array | None) -> Array:
    """What the owner of rows answers: the sum of each pair, by the tree. Nothing is divided here."""
    rows = block.ids if block.rows is None else block.rows[block.ids]
    table, ids = block.values, block.ids
    if accumulator(table.dtype) != table.dtype:
        table, ids = taken(table, ids).astype(accumulator(table.dtype)), np.arange(len(ids))
    return _tree(table, ids, starts_of(lengths), plan.piece_of(rows + plan.starts[shard]), weights, plan)


def finish(parts: Array, route: BagRoute, bags: Bags, plan: ShardPlan) -> Array:
    """The numerators of bags, of the partial sums of all shards, shard after shard."""
    leaf = np.array([node.number << node.level for node in forest_of(plan).nodes], np.int64)
    order = np.argsort(route.bags, kind="stable")
    offsets = starts_of(np.bincount(route.bags, minlength=len(bags)))
    return _tree(parts, order, offsets, leaf[route.nodes[order]], None, plan)


def _tree(table: Array, ids: Array, offsets: Array, pieces: Array, weights: Array | None, plan: ShardPlan) -> Array:
    sums: Array = raw_ops.TreeBag(
        table=table, ids=ids, offsets=offsets, pieces=pieces, weights=weights, num_pieces=plan.pieces
    )
    return sums


def divided(numerators: Array, bags: Bags, combiner: str) -> Array:
    """The combined rows of bags: each sum over the denominator of its whole bag, where there is one."""
    divisors = denominators(bags, combiner, numerators.dtype)
    if divisors is None:
        return numerators
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = numerators / divisors[:, None]
    rows[divisors == 0] = 0
    return rows


def denominators(bags: Bags, combiner: str, dtype: Any) -> Array | None:
    """What the sum of each bag is divided by; None where nothing is."""
    row = COMBINERS[combiner]
    if not row.power:
        return None
    if bags.weights is None:
        return row.divisor(bags.lengths).astype(dtype)
    weighed = row.weighed(bags.weights.astype(dtype))
    total = _sums(weighed, np.arange(len(weighed)), bags.offsets, None)
    return row.rooted(total)


# ------------------------------------------------------------------ backward
def shares(bags: Bags, combiner: str, dtype: Any) -> Array | None:
    """What the gradient of its bag is multiplied with for each entry; None without weights."""
    if bags.weights is None:
        return None
    weights = bags.weights.astype(accumulator(np.dtype(dtype)))
    normal: Array = raw_ops.NormalizeBagWeights(weights=weights, offsets=bags.offsets, combiner=combiner)
    return normal


def bag_gradient(grad: Array, route: BagRoute, bags: Bags, combiner: str, exact: bool) -> Array:
    """What each pair's shard needs of the gradient of its bag, scaled by the whole bag, in the accumulator's dtype.

    With weights, exactly what one process computes takes `shares` at the owner, and the gradient as it is.
    """
    wide = grad.astype(accumulator(grad.dtype), copy=False)
    if COMBINERS[combiner].power and not (exact and bags.weights is not None):
        if bags.weights is None:
            scale = (1.0 / COMBINERS[combiner].divisor(np.maximum(bags.lengths, 1))).astype(wide.dtype)
            wide = wide * scale[:, None]
        else:
            wide = divided(wide, bags, combiner)
    return taken(wide, route.bags)


def owner_gradient(
    grads: Array, rows: Array, lengths: Array, factors: Array | None, num_rows: int
) -> tuple[Array, Array]:
    """Rows of a shard and their gradient, of the entries of all workers in the order of their ranks."""
    gradient, touched = raw_ops.EmbeddingBagGrad(
        grad=grads, ids=rows, offsets=starts_of(lengths), weights=factors, num_rows=num_rows, combiner="sum"
    )
    return touched, gradient
