"""Rows of a table that lies in pieces on several hosts: which piece has a row, and which entries go to which host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..dtypes import INDEX
from ..errors import Fault
from ..spec import REQUIRED, Arg, AtLeast, Attr, Example, Kernel, Reject, op
from .bags import bags_of_entries, check_offsets
from .embedding_bag import OFFSETS
from .pooling import Array
from .samples import Inputs, Rng, offset_bags

STRATEGIES = ("div", "mod", "hash")
NUM_ROWS = Attr("num_rows", REQUIRED, "How many rows the table has.", "int")
_U64 = np.uint64
# What is added and what is multiplied with in each round; odd, as SplitMix64 has them.
_ROUNDS = (
    (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9),
    (0xD1B54A32D192ED03, 0x94D049BB133111EB),
    (0x8CB92BA72F3D8DD7, 0xFF51AFD7ED558CCD),
)


# ------------------------------------------------------------------ samples
def ids_to_place(rng: Rng) -> Iterator[Inputs]:
    for rows, pieces in ((0, 3), (1, 1), (2, 5), (10, 3), (64, 8), (1000, 7), (2**31 - 1, 64), (50000, 4)):
        for strategy in STRATEGIES:
            ids = rng.integers(0, rows, 40 if rows < 50000 else 9000) if rows else np.zeros(0, np.int64)
            yield {"ids": ids, "num_rows": rows, "num_pieces": pieces, "strategy": strategy}


def bags_to_route(rng: Rng) -> Iterator[Inputs]:
    for rows, _, keys, offsets in offset_bags(rng):
        for shards in (1, 3):
            starts = np.arange(shards) * rows // shards
            yield {"keys": keys, "offsets": offsets, "starts": starts, "num_rows": rows}
    lengths = rng.integers(0, 9, 1100)  # more than a thread takes at once
    keys = rng.integers(0, 5000, lengths.sum())
    for starts in (np.array([0, 1000, 2000, 4000]), np.array([0, 0, 4999, 5000])):  # shards without rows
        yield {
            "keys": keys,
            "offsets": np.cumsum(lengths) - lengths,
            "starts": starts,
            "num_rows": 5000,
        }


# ------------------------------------------------------------------ ShardKeys
def shuffled(numbers: Array, count: int) -> Array:
    """The numbers below `count` in another order, which depends on nothing else."""
    bits = max(count - 1, 0).bit_length()
    mask, shift = _U64((1 << bits) - 1), _U64((bits + 1) // 2)
    keys = numbers.astype(np.uint64)
    left = np.arange(len(keys)) if bits else np.zeros(0, np.int64)
    while len(left):  # what leaves the range goes round again, and so comes back into it
        moved = keys[left]
        for added, factor in _ROUNDS:
            moved = ((moved + _U64(added)) * _U64(factor)) & mask
            moved ^= moved >> shift
        keys[left] = moved
        left = left[moved >= _U64(count)]
    return keys.astype(np.int64)


def unshuffled(keys: Array, count: int) -> Array:
    """Which numbers `shuffled` has given these keys."""
    bits = max(count - 1, 0).bit_length()
    mask, shift = _U64((1 << bits) - 1), _U64((bits + 1) // 2)
    numbers = keys.astype(np.uint64)
    left = np.arange(len(numbers)) if bits else np.zeros(0, np.int64)
    while len(left):
        moved = numbers[left]
        for added, factor in reversed(_ROUNDS):
            moved ^= moved >> shift
            moved = (moved * _U64(pow(factor, -1, 1 << 64)) - _U64(added)) & mask
        numbers[left] = moved
        left = left[moved >= _U64(count)]
    return numbers.astype(np.int64)


@op(
    "ShardKeys",
    inputs=[Arg("ids", "Tidx", "n", "Numbers of rows.")],
    attrs=[
        NUM_ROWS,
        Attr("num_pieces", REQUIRED, "How many pieces the table is cut into, at least 1.", "int"),
        Attr(
            "strategy",
            "mod",
            "Which piece a row is in: equally many consecutive ones in each (div), in turns (mod), or by a hash.",
            "string",
            STRATEGIES,
        ),
    ],
    outputs=[Arg("keys", "int64", "n", "The place of each row among all, piece after piece.")],
    types={"Tidx": INDEX},
    kernel=Kernel("shard_keys", settings=("num_rows", "num_pieces", "strategy")),
    example=Example({"ids": [0, 1, 4, 9], "num_rows": 10, "num_pieces": 3}, {"keys": [0, 4, 5, 3]}),
    samples=ids_to_place,
    rejects=[
        Reject({"ids": [0, 10]}, r"ids\[1\] == 10 out of range \[0, 10\)"),
        Reject({"ids": [-1, 10]}, r"ids\[0\] == -1 out of range \[0, 10\)"),
        Reject({"num_rows": -1}, r"num_rows == -1 must not be negative"),
        Reject({"num_pieces": 0}, r"num_pieces == 0 must be at least 1"),
        Reject({"strategy": "row"}, r"strategy must be one of 'div', 'mod', 'hash'; got 'row'"),
    ],
)
def shard_keys(ids: Any, *, num_rows: int, num_pieces: int, strategy: str = "mod") -> Any:
    """Number the rows of a table that is cut into pieces, piece after piece; the first pieces may have a row more."""
    bad = (ids < 0) | (ids >= num_rows)
    if bad.any():
        place = int(bad.argmax())
        raise Fault("range", "ids", (place,), int(ids[place]), 0, num_rows)
    if strategy == "hash":
        return shuffled(ids, num_rows)
    if strategy == "div":
        return ids.astype(np.int64)
    line, piece = np.divmod(ids.astype(np.int64), num_pieces)
    small, larger = divmod(num_rows, num_pieces)
    return piece * small + np.minimum(piece, larger) + line


@shard_keys.check
def _(ids: Any, *, num_rows: int, num_pieces: int, strategy: str) -> None:
    _check_rows(num_rows)
    if num_pieces < 1:
        raise Fault("rule", "num_pieces", (), num_pieces, hint="must be at least 1")


def _check_rows(num_rows: int) -> None:
    if num_rows < 0:
        raise Fault("negative", "num_rows", (), num_rows)


# ------------------------------------------------------------------ RouteBags
@op(
    "RouteBags",
    inputs=[
        Arg("keys", "int64", "n", "The key of each entry's row, bag after bag; see ShardKeys."),
        OFFSETS,
        Arg("starts", "int64", "shards", "The first key of each shard; from 0 on, ascending."),
    ],
    attrs=[NUM_ROWS],
    outputs=[
        Arg("rows", "int64", "n", "The row of each entry in its shard, shard after shard."),
        Arg("order", "int64", "n", "Which entry each of them was."),
        Arg("splits", "int64", "shards", "How many of them belong to each shard."),
        Arg("bags", "int64", "pairs", "The bag of each pair of a shard and a bag with entries there."),
        Arg("lengths", "int64", "pairs", "How many entries each pair has."),
        Arg("pairs", "int64", "shards", "How many pairs each shard has."),
    ],
    types={"Toffsets": INDEX},
    kernel=Kernel("route_bags", settings=("num_rows",), scratch=("n", "n", "bags")),
    example=Example(
        {"keys": [0, 5, 1, 4], "offsets": [0, 3, 3], "starts": [0, 3], "num_rows": 6},
        {
            "rows": [0, 1, 2, 1],
            "order": [0, 2, 1, 3],
            "splits": [2, 2],
            "bags": [0, 0, 2],
            "lengths": [2, 1, 1],
            "pairs": [1, 2],
        },
    ),
    samples=bags_to_route,
    rejects=[
        Reject({"keys": [0, 6, 1, 4]}, r"keys\[1\] == 6 out of range \[0, 6\)"),
        Reject({"keys": [0, 5, -1, 4]}, r"keys\[2\] == -1 out of range \[0, 6\)"),
        Reject({"offsets": [0, 5, 5]}, r"offsets\[1\] == 5 out of range \[0, 5\)"),
        Reject({"offsets": [0, 3, 2]}, r"offsets\[2\] == 2 follows 3"),
        Reject({"offsets": []}, r"keys\[0\] belongs to no bag: offsets are empty"),
        Reject({"starts": [1, 3]}, r"starts\[0\] == 1 out of range \[0, 1\)"),
        Reject({"starts": [0, 7]}, r"starts\[1\] == 7 out of range \[0, 7\)"),
        Reject({"starts": [0, 3, 2]}, r"starts\[2\] == 2 follows 3"),
        Reject({"starts": []}, r"num_rows == 6 needs at least one of starts"),
        Reject({"num_rows": -1}, r"num_rows == -1 must not be negative"),
    ],
)
def route_bags(keys: Any, offsets: Any, starts: Any, *, num_rows: int) -> Any:
    """Bring the entries of bags to the shards of a table that have their rows.

    Shard after shard; in a shard, the entries stay in order.
    """
    _check_starts(starts, num_rows)
    check_offsets(offsets, len(keys), "keys")
    bad = (keys < 0) | (keys >= num_rows)
    if bad.any():
        place = int(bad.argmax())
        raise Fault("range", "keys", (place,), int(keys[place]), 0, num_rows)
    shard = np.searchsorted(starts, keys, side="right") - 1
    order = np.argsort(shard, kind="stable")
    shard, bag = shard[order], bags_of_entries(offsets, len(keys))[order]
    begins = np.ones(len(keys), bool)
    begins[1:] = (shard[1:] != shard[:-1]) | (bag[1:] != bag[:-1])
    places = np.flatnonzero(begins)
    return (
        keys[order] - starts[shard],
        order.astype(np.int64),
        np.bincount(shard, minlength=len(starts)).astype(np.int64),
        bag[places].astype(np.int64),
        np.diff(places, append=len(keys)).astype(np.int64),
        np.bincount(shard[places], minlength=len(starts)).astype(np.int64),
    )


def _check_starts(starts: Array, num_rows: int) -> None:
    bounds = np.full(len(starts), num_rows + 1)
    bounds[0] = 1
    outside = (starts < 0) | (starts >= bounds)
    falling = np.zeros_like(outside)
    falling[1:] = starts[1:] < starts[:-1]
    bad = outside | falling
    if bad.any():
        place = int(bad.argmax())
        if outside[place]:
            raise Fault("range", "starts", (place,), int(starts[place]), 0, int(bounds[place]))
        raise Fault("order", "starts", (place,), int(starts[place]), int(starts[place - 1]))


@route_bags.check
def _(keys: Any, offsets: Any, starts: Any, *, num_rows: int) -> None:
    _check_rows(num_rows)
    if not len(starts):
        raise Fault("rule", "num_rows", (), num_rows, hint="needs at least one of starts")


@route_bags.sizes
def _(keys: Any, offsets: Any, starts: Any) -> Any:
    return {"pairs": AtLeast(min(len(keys), 1))}
