"""Sums of bags that are the same wherever their parts are computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..dtypes import INDEX
from ..errors import Fault
from ..spec import REQUIRED, Arg, Attr, Example, Kernel, Reject, op
from .bags import bags_of_entries, check_offsets
from .embedding_bag import IDS, OFFSETS, TABLE, WEIGHTS
from .samples import Inputs, Rng, offset_bags, values

MOST_PIECES = 1 << 12


def bags_in_pieces(rng: Rng) -> Iterator[Inputs]:
    for rows, inner, ids, offsets in offset_bags(rng):
        for count, weighted in ((1, False), (5, True), (16, False)):
            yield {
                "table": values(rng, rows, *inner),
                "ids": ids,
                "offsets": offsets,
                "pieces": rng.integers(0, count, len(ids)),
                "weights": values(rng, len(ids)) if weighted else None,
                "num_pieces": count,
            }


# ------------------------------------------------------------------ TreeBag
@op(
    "TreeBag",
    inputs=[
        TABLE,
        IDS,
        OFFSETS,
        Arg("pieces", "int64", "n", "The piece of the table that each entry's row belongs to."),
        WEIGHTS,
    ],
    attrs=[Attr("num_pieces", REQUIRED, "How many pieces there are: the leaves of the tree.", "int")],
    outputs=[Arg("output", "T", "bags *inner", "One row per bag; zeros for an empty one.")],
    types={"T": ("float32", "float64"), "Tidx": INDEX, "Toffsets": INDEX},
    kernel=Kernel("tree_bag", settings=("num_pieces",)),
    linear=["table"],
    example=Example(
        {
            "table": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]],
            "ids": [0, 2, 3, 1],
            "offsets": [0, 3, 3],
            "pieces": [0, 1, 1, 0],
            "weights": [2.0, 1.0, 1.0, 0.5],
            "num_pieces": 2,
        },
        {"output": [[14.0, 18.0], [0.0, 0.0], [1.5, 2.0]]},
    ),
    samples=bags_in_pieces,
    rejects=[
        Reject({"ids": [0, 2, 4, 1]}, r"ids\[2\] == 4 out of range \[0, 4\)"),
        Reject({"pieces": [0, 2, 1, 0]}, r"pieces\[1\] == 2 out of range \[0, 2\)"),
        Reject({"pieces": [0, 1, -1, 0], "ids": [0, 2, 9, 1]}, r"ids\[2\] == 9 out of range \[0, 4\)"),
        Reject({"offsets": [0, 3, 2]}, r"offsets\[2\] == 2 follows 3"),
        Reject({"offsets": []}, r"ids\[0\] belongs to no bag: offsets are empty"),
        Reject({"pieces": [0]}, r"pieces must have shape \[n\] with n=4; got \[1\]"),
        Reject({"num_pieces": 0}, r"num_pieces == 0 must be in \[1, 4096\]"),
        Reject({"num_pieces": 5000}, r"num_pieces == 5000 must be in \[1, 4096\]"),
    ],
)
def tree_bag(table: Any, ids: Any, offsets: Any, pieces: Any, weights: Any, *, num_pieces: int) -> Any:
    """Add up the rows of each bag, piece by piece, and then the sums of pieces pairwise up to one.

    A sum of neighbouring pieces may be computed elsewhere, and stand as one row in the place of the first of them.
    """
    check_offsets(offsets, len(ids), "ids")
    bad_ids = (ids < 0) | (ids >= len(table))
    bad = bad_ids | (pieces < 0) | (pieces >= num_pieces)
    if bad.any():
        place = int(bad.argmax())
        if bad_ids[place]:
            raise Fault("range", "ids", (place,), int(ids[place]), 0, len(table))
        raise Fault("range", "pieces", (place,), int(pieces[place]), 0, num_pieces)
    leaf = bags_of_entries(offsets, len(ids)) * num_pieces + pieces
    rows = table[ids]
    if weights is not None and len(weights):
        rows = rows * weights.reshape(-1, *[1] * (table.ndim - 1))
    flat = np.zeros((len(offsets) * num_pieces, *table.shape[1:]), table.dtype)
    np.add.at(flat, leaf, rows)  # in order
    sums = flat.reshape(len(offsets), num_pieces, *table.shape[1:])
    there = (np.bincount(leaf, minlength=len(flat)) > 0).reshape(len(offsets), num_pieces)
    while sums.shape[1] > 1:
        if sums.shape[1] % 2:
            sums, there = (np.concatenate([each, np.zeros_like(each[:, :1])], 1) for each in (sums, there))
        left, right = sums[:, 0::2], sums[:, 1::2]
        has_left, has_right = there[:, 0::2], there[:, 1::2]
        wide = (..., *[None] * (table.ndim - 1))
        sums = np.where((has_left & has_right)[wide], left + right, np.where(has_left[wide], left, right))
        there = has_left | has_right
    return sums.reshape(len(offsets), *table.shape[1:])


@tree_bag.check
def _(table: Any, ids: Any, offsets: Any, pieces: Any, weights: Any, *, num_pieces: int) -> None:
    if not 1 <= num_pieces <= MOST_PIECES:
        raise Fault("rule", "num_pieces", (), num_pieces, hint=f"must be in [1, {MOST_PIECES}]")


@tree_bag.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    entries = {"ids": x.ids, "offsets": x.offsets}
    rows = ops.rows(x.table)
    gradients = {
        "table": ops.EmbeddingBagDenseGrad(grad=g.output, weights=x.weights, num_rows=rows, combiner="sum", **entries)
    }
    if x.weights is not None:
        gradients["weights"] = ops.EmbeddingBagWeightsGrad(grad=g.output, table=x.table, **entries)
    return gradients
