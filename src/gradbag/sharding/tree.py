"""Sums that are the same for every number of shards.

The pieces of a table are the leaves of a binary tree. A bag's rows are added up piece by piece, and the sums of pieces
pairwise up to the root; whoever does it gets the same bits. A shard has some pieces that follow each other: it sends
the sums of the largest subtrees that lie within them, one where the numbers of pieces and shards are powers of two.
The op TreeBag does all of it: a subtree that was added up elsewhere stands in the place of its first leaf.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

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
