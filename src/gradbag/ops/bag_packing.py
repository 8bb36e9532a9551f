"""Making bags of what users hold: entries with rows or offsets, of which some are to be left out and some are missing.

The bags are those of EmbeddingBag. Which entries stay is decided once, and has no derivative; `positions` tell where
each came from, so that whatever belongs to the entries, such as weights, can follow with its gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..dtypes import FLOAT, INDEX
from ..errors import Fault
from ..spec import Arg, AtLeast, Attr, Example, Kernel, Reject, op
from .bags import bags_of_entries, check_offsets
from .embedding_bag import IDS, OFFSETS
from .pooling import Array, accumulator
from .samples import Inputs, Rng, offset_bags, values

KEEP = Arg("keep", "int8", "n", "Zero for entries that are left out; if not given, all stay.", optional=True)
DEFAULT_ID = Arg(
    "default_id", "Tidx", "", "The id that a bag without entries gets; left out, it stays empty.", optional=True
)
NUM_ROWS = Arg("num_rows", "int64", "", "What ids must be below; left out, it is not looked at.", optional=True)
PACKED = [
    Arg("packed_ids", "Tidx", "packed", "The ids that stay, bag after bag."),
    Arg("packed_offsets", "int64", "bags", "Where each bag begins."),
    Arg("positions", "int64", "packed", "The entry that each of them came from; n for one that was filled in."),
]


# ------------------------------------------------------------------ samples
def _choices(rng: Rng, ids: Any, rows: int) -> Iterator[Inputs]:
    """Some ids below zero, beside all that may be left out."""
    spoiled = np.where(rng.random(len(ids)) < 0.2, -1 - ids, ids)
    keep = rng.choice(np.array([0, 1, -1], np.int8), len(ids))
    default = np.array(max(rows - 1, 0))
    yield {"ids": ids, "keep": None, "default_id": None, "num_rows": None}
    yield {"ids": spoiled, "keep": None, "default_id": None, "num_rows": np.array(rows)}
    yield {"ids": spoiled, "keep": None, "default_id": default, "num_rows": None}
    yield {"ids": spoiled, "keep": keep, "default_id": default, "num_rows": np.array(rows)}
    yield {"ids": ids, "keep": keep, "default_id": None, "num_rows": None}


def rows_to_pack(rng: Rng) -> Iterator[Inputs]:
    def lists() -> Iterator[tuple[int, Any, int]]:
        for rows, _, ids, offsets in offset_bags(rng):
            own = bags_of_entries(offsets, len(ids))
            yield rows, own, len(offsets)
            yield rows, rng.permutation(own), len(offsets) + 2
        yield 9, np.sort(rng.integers(0, 3000, 9000)), 3001  # more than a thread takes at once
        yield 9, np.repeat([0, 4, 9], 3000), 10  # bags that go on from one part to the next
        yield 9, np.append(np.arange(4096), np.arange(9)), 4100  # in order as far as a thread sees
        yield 9, rng.integers(0, 8000, 50), 8000  # few entries, bags with large numbers

    for number, (rows, own, bags) in enumerate(lists()):
        rank = 1 + number % 3
        indices = np.stack([own, *rng.integers(0, 7, (rank - 1, len(own)))], 1)
        for chosen in _choices(rng, rng.integers(0, max(rows, 1), len(own)), rows):
            yield {"indices": indices, "dense_shape": np.array([bags, 7, 7][:rank]), **chosen}
    strict = {"indices": np.array([[0], [0], [2]]), "ids": np.array([1, 2, 0]), "dense_shape": np.array([4])}
    yield {**strict, "keep": None, "default_id": None, "num_rows": None, "strict": True}


def bags_to_prune(rng: Rng) -> Iterator[Inputs]:
    def lists() -> Iterator[tuple[int, Any, Any]]:
        for rows, _, ids, offsets in offset_bags(rng):
            yield rows, ids, offsets
        lengths = rng.integers(0, 4, 6000)  # more than a thread takes at once
        yield 9, rng.integers(0, 9, lengths.sum()), np.cumsum(lengths) - lengths

    for rows, ids, offsets in lists():
        for chosen in _choices(rng, ids, rows):
            yield {"offsets": offsets, **chosen}


def weights_to_pack(rng: Rng) -> Iterator[Inputs]:
    for count, packed in ((3, 5), (4, 2), (40, 70), (0, 0), (0, 3), (4, 0)):
        positions = rng.integers(0, count + 1, packed)
        yield {"weights": values(rng, count), "positions": positions, "default_weight": values(rng)}


def packed_gradients(rng: Rng) -> Iterator[Inputs]:
    for given in weights_to_pack(rng):
        positions = given["positions"]
        count = np.array(len(given["weights"]))
        yield {"grad": values(rng, len(positions)), "positions": positions, "num_entries": count}


# ------------------------------------------------------------------ what packing means
def pack(own: Array, bags: int, ids: Array, stays: Array, default_id: Array | None) -> tuple[Array, Array, Array]:
    """Group the entries that stay by their bag, in order, and give a default to bags that have none."""
    places = np.flatnonzero(stays)
    places = places[np.argsort(own[places], kind="stable")]
    counts = np.bincount(own[places], minlength=bags)[:bags]
    filled = (counts == 0) & (default_id is not None)
    lengths = counts + filled
    packed_offsets = np.cumsum(lengths) - lengths
    to = np.arange(len(places)) + np.cumsum(filled)[own[places]]
    packed_ids = np.full(lengths.sum(), 0 if default_id is None else default_id, ids.dtype)
    positions = np.full(lengths.sum(), len(ids), np.int64)
    packed_ids[to], positions[to] = ids[places], places
    return packed_ids, packed_offsets.astype(np.int64), positions


def _staying(ids: Array, keep: Array | None, num_rows: Array | None, strict: bool) -> tuple[Array, Array]:
    """Which entries stay, and which of those have an id that is out of range."""
    looked_at = np.ones(len(ids), bool) if keep is None else keep != 0
    stays = looked_at if strict else looked_at & (ids >= 0)
    return stays, stays & ((ids < 0) | (ids >= _bound(num_rows)))


def _bound(num_rows: Array | None) -> int:
    return np.iinfo(np.int64).max if num_rows is None else max(int(num_rows), 0)


def _refuse(bad_ids: Array, ids: Array, num_rows: Array | None) -> None:
    if bad_ids.any():
        place = int(bad_ids.argmax())
        raise Fault("range", "ids", (place,), int(ids[place]), 0, _bound(num_rows))


# ------------------------------------------------------------------ PackBags
@op(
    "PackBags",
    inputs=[
        Arg("indices", "int64", "n rank", "The place of each entry; its bag is column 0, the rest is not looked at."),
        Arg("ids", "Tidx", "n", "The row of a table that each entry picks."),
        Arg("dense_shape", "int64", "rank", "The shape of the tensor of ids.", holds="bags *_", gives="packed"),
        KEEP,
        DEFAULT_ID,
        NUM_ROWS,
    ],
    attrs=[Attr("strict", False, "Refuse ids below zero and bags that descend, in place of leaving out and grouping.")],
    outputs=PACKED,
    types={"Tidx": INDEX},
    kernel=Kernel("pack_bags", scratch=("n", "n", "n"), settings=("strict",)),
    example=Example(
        {
            "indices": [[0, 1], [2, 0], [0, 3], [2, 1]],
            "ids": [5, 7, -1, 6],
            "dense_shape": [4, 5],
            "keep": [1, 1, 1, 1],
            "default_id": 9,
            "num_rows": 10,
        },
        {"packed_ids": [5, 9, 7, 6, 9], "packed_offsets": [0, 1, 2, 4], "positions": [0, 4, 1, 3, 4]},
    ),
    samples=rows_to_pack,
    rejects=[
        Reject({"indices": [[0, 1], [4, 0], [0, 3], [2, 1]]}, r"indices\[1, 0\] == 4 out of range \[0, 4\)"),
        Reject({"indices": [[0, 1], [2, 0], [0, 3], [-1, 1]]}, r"indices\[3, 0\] == -1 out of range \[0, 4\)"),
        Reject({"ids": [5, 7, -1, 10]}, r"ids\[3\] == 10 out of range \[0, 10\)"),
        Reject({"strict": True}, r"indices\[2, 0\] == 0 follows 2"),
        Reject({"strict": True, "indices": [[0, 0]] * 4}, r"ids\[2\] == -1 out of range \[0, 10\)"),
        Reject({"dense_shape": [-1, 5]}, r"dense_shape\[0\] == -1 must not be negative"),
        Reject({"dense_shape": [4, 5, 6]}, r"dense_shape must have shape \[rank\] with rank=2; got \[3\]"),
        Reject({"ids": [1]}, r"ids must have shape \[n\] with n=4; got \[1\]"),
        Reject({"keep": [1]}, r"keep must have shape \[n\] with n=4; got \[1\]"),
    ],
)
def pack_bags(
    indices: Any, ids: Any, dense_shape: Any, keep: Any, default_id: Any, num_rows: Any, *, strict: bool = False
) -> Any:
    """Make bags of the entries of a sparse tensor of ids.

    Ids below zero are left out, entries are grouped by their bag, and inside a bag keep their order.
    """
    own, bags = indices[:, 0], int(dense_shape[0])
    bad_bags = (own < 0) | (own >= bags)
    descends = np.zeros(len(own), bool)
    descends[1:] = strict & (own[1:] < own[:-1])
    stays, bad_ids = _staying(ids, keep, num_rows, strict)
    bad = bad_bags | descends | bad_ids
    if bad.any():
        place = int(bad.argmax())
        if bad_bags[place]:
            raise Fault("range", "indices", (place, 0), int(own[place]), 0, bags)
        if descends[place]:
            raise Fault("order", "indices", (place, 0), int(own[place]), int(own[place - 1]))
        _refuse(bad_ids, ids, num_rows)
    return pack(own, bags, ids, stays, default_id)


@pack_bags.sizes
def _(indices: Any, ids: Any, dense_shape: Any, keep: Any, default_id: Any, num_rows: Any) -> Any:
    return {"packed": AtLeast(0 if default_id is None else int(dense_shape[0]))}


# ------------------------------------------------------------------ PruneBags
@op(
    "PruneBags",
    inputs=[IDS, OFFSETS, KEEP, DEFAULT_ID, NUM_ROWS],
    outputs=PACKED,
    types={"Tidx": INDEX, "Toffsets": INDEX},
    kernel=Kernel("prune_bags", scratch=("n", "bags")),
    example=Example(
        {
            "ids": [5, -1, 7, 6],
            "offsets": [0, 2, 2],
            "keep": [1, 1, 1, 0],
            "default_id": 9,
            "num_rows": 10,
        },
        {"packed_ids": [5, 9, 7], "packed_offsets": [0, 1, 2], "positions": [0, 4, 2]},
    ),
    samples=bags_to_prune,
    rejects=[
        Reject({"num_rows": 7}, r"ids\[2\] == 7 out of range \[0, 7\)"),
        Reject({"offsets": [1, 3, 3]}, r"offsets\[0\] == 1 out of range \[0, 1\)"),
        Reject({"offsets": [0, 3, 5]}, r"offsets\[2\] == 5 out of range \[0, 5\)"),
        Reject({"offsets": [0, 3, 2]}, r"offsets\[2\] == 2 follows 3"),
        Reject({"offsets": []}, r"ids\[0\] belongs to no bag: offsets are empty"),
        Reject({"keep": [1]}, r"keep must have shape \[n\] with n=4; got \[1\]"),
        Reject({"default_id": [9]}, r"default_id must have shape \[\]; got \[1\]"),
    ],
)
def prune_bags(ids: Any, offsets: Any, keep: Any, default_id: Any, num_rows: Any) -> Any:
    """Leave entries out of bags: those with an id below zero, and those that are not to be kept."""
    check_offsets(offsets, len(ids), "ids")
    stays, bad_ids = _staying(ids, keep, num_rows, False)
    _refuse(bad_ids, ids, num_rows)
    return pack(bags_of_entries(offsets, len(ids)), len(offsets), ids, stays, default_id)


@prune_bags.sizes
def _(ids: Any, offsets: Any, keep: Any, default_id: Any, num_rows: Any) -> Any:
    return {"packed": AtLeast(0 if default_id is None else len(offsets))}


# ------------------------------------------------------------------ PackWeights
POSITIONS = Arg(
    "positions", "int64", "packed", "The entry that each packed one came from; n for one that was filled in."
)


@op(
    "PackWeights",
    inputs=[
        Arg("weights", "T", "n", "A number for each entry."),
        POSITIONS,
        Arg("default_weight", "T", "", "What an entry gets that was filled in."),
    ],
    outputs=[Arg("output", "T", "packed", "A number for each packed entry.")],
    types={"T": FLOAT},
    kernel=Kernel("pack_weights", copies="T"),
    linear=["weights", "default_weight"],
    example=Example(
        {"weights": [0.5, 2.0, 3.0], "positions": [0, 3, 2], "default_weight": 1.0}, {"output": [0.5, 1.0, 3.0]}
    ),
    samples=weights_to_pack,
    rejects=[
        Reject({"positions": [0, 4, 2]}, r"positions\[1\] == 4 out of range \[0, 4\)"),
        Reject({"positions": [0, 3, -1]}, r"positions\[2\] == -1 out of range \[0, 4\)"),
        Reject({"default_weight": [1.0]}, r"default_weight must have shape \[\]; got \[1\]"),
    ],
)
def pack_weights(weights: Any, positions: Any, default_weight: Any) -> Any:
    """Bring what belongs to entries, such as weights, into the order of PackBags or PruneBags.

    output[k] = weights[positions[k]], or default_weight where positions[k] == n
    """
    _check_positions(positions, len(weights))
    return np.append(weights, default_weight)[positions]


@pack_weights.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    pulled = ops.PackWeightsGrad(grad=g.output, positions=x.positions, num_entries=ops.rows(x.weights))
    return {"weights": pulled.d_weights, "default_weight": pulled.d_default_weight}


# ------------------------------------------------------------------ PackWeightsGrad
@op(
    "PackWeightsGrad",
    inputs=[
        Arg("grad", "T", "packed", "The gradient of the packed numbers."),
        POSITIONS,
        Arg("num_entries", "int64", "", "How many entries there were.", holds="n"),
    ],
    outputs=[
        Arg("d_weights", "T", "n", "The gradient of each entry's number; zero for one that was left out."),
        Arg("d_default_weight", "T", "", "The gradient of the default: all that was filled in."),
    ],
    types={"T": FLOAT},
    kernel=Kernel("pack_weights_grad", passes=("grad", "positions"), scratch=("n",)),
    linear=["grad"],
    example=Example(
        {"grad": [1.0, 10.0, 3.0, 4.0], "positions": [0, 3, 2, 3], "num_entries": 3},
        {"d_weights": [1.0, 0.0, 3.0], "d_default_weight": 14.0},
    ),
    samples=packed_gradients,
    rejects=[
        Reject({"positions": [0, 4, 2, 3]}, r"positions\[1\] == 4 out of range \[0, 4\)"),
        Reject({"num_entries": -1}, r"num_entries == -1 must not be negative"),
    ],
)
def pack_weights_grad(grad: Any, positions: Any, num_entries: Any) -> Any:
    """The gradient of PackWeights: every entry gets back what became of it, the default gets the rest."""
    _check_positions(positions, int(num_entries))
    sums = np.zeros(int(num_entries) + 1, accumulator(grad.dtype))
    np.add.at(sums, positions, grad.astype(sums.dtype))
    rounded = sums.astype(grad.dtype)
    return rounded[:-1], rounded[-1]


@pack_weights_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"grad": ops.PackWeights(weights=g.d_weights, positions=x.positions, default_weight=g.d_default_weight)}


def _check_positions(positions: Array, entries: int) -> None:
    bad = (positions < 0) | (positions > entries)
    if bad.any():
        place = int(bad.argmax())
        raise Fault("range", "positions", (place,), int(positions[place]), 0, entries + 1)
