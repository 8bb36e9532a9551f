"""Sums that are the same for every number of shards.

The pieces of a table are the leaves of a binary tree. A bag's rows are added up piece by piece, and the sums of pieces
pairwise up to the root; whoever does it gets the same bits. A shard has some pieces that follow each other: it sends
the sums of the largest subtrees that lie within them, one where the numbers of pieces and shards are powers of two.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import raw_ops
from .plan import Array, ShardPlan


class Node(NamedTuple):
    """A subtree: all leaves whose number, without its last `level` bits, is `number`."""

    level: int
    number: int


class Forest(NamedTuple):
    """The subtrees of all shards, from left to right."""

    nodes: list[Node]
    starts: Array  # the first key of each
    first: list[int]  # of the nodes of each shard, and at last how many there are
    height: int  # of the whole tree


@lru_cache(maxsize=64)
def forest_of(plan: ShardPlan) -> Forest:
    nodes: list[Node] = []
    first = [0]
    for shard in range(plan.num_shards):
        pieces = plan.pieces_of(shard)
        nodes += _subtrees(pieces.start, pieces.stop)
        first.append(len(nodes))
    starts = plan.piece_start(np.array([node.number << node.level for node in nodes], np.int64))
    return Forest(nodes, starts, first, max(plan.pieces - 1, 0).bit_length())


def _subtrees(begin: int, end: int) -> list[Node]:
    """The largest subtrees within a range of leaves."""
    found = []
    while begin < end:
        level = (begin & -begin).bit_length() - 1 if begin else end.bit_length()
        while begin + (1 << level) > end:
            level -= 1
        found.append(Node(level, begin >> level))
        begin += 1 << level
    return found


def leaves(plan: ShardPlan, keys: Array, offsets: Array) -> Any:
    """The entries of bags, brought into the order of pieces; see RouteBags."""
    starts = plan.piece_start(np.arange(plan.pieces, dtype=np.int64))
    return raw_ops.RouteBags(keys=keys, offsets=offsets, starts=starts, num_rows=plan.num_rows)


def climb(rows: Array, levels: Array, indices: Array, bags: Array, num_bags: int, to: int) -> tuple[Array, Array]:
    """Add up the sums of subtrees pairwise, from level to level; gives sums and which bag and subtree each is of.

    The second is `index * num_bags + bag`, ascending.
    """
    waiting = indices * num_bags + bags
    level = int(levels.min(initial=to))
    here = levels == level
    sums, names, (rows, waiting, levels) = rows[here], waiting[here], (rows[~here], waiting[~here], levels[~here])
    while level < to:
        index, bag = np.divmod(names, max(num_bags, 1))
        found = raw_ops.SortedUnique(ids=(index >> 1) * num_bags + bag)
        sums, names = _added(sums, found.inverse, len(found.output)), found.output
        level += 1
        here = levels == level
        if here.any():
            sums, names = np.concatenate([sums, rows[here]]), np.concatenate([names, waiting[here]])
            rows, waiting, levels = rows[~here], waiting[~here], levels[~here]
    return sums, names


def _added(rows: Array, places: Array, count: int) -> Array:
    added: Array = raw_ops.EmbeddingBagDenseGrad(
        grad=rows, ids=places, offsets=np.arange(len(rows)), num_rows=count, combiner="sum"
    )
    return added
