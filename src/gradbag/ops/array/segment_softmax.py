"""Softmax, its logarithm's sum, and the largest with its place, of the rows of each segment: gradbag's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import FLOAT, INDEX
from ...errors import Fault
from ...spec import Arg, Example, Reject, op
from .array_samples import segments
from .precision import wider
from .segments import _reduced, add_rows, spread
from .sizes import possible

DATA = Arg("data", "T", "rows *inner", "A table of rows, say scores.")
IDS = Arg("segment_ids", "Tindices", "rows", "For each row its segment, in any order; a negative one drops the row.")
COUNT = Arg("num_segments", "int64", "", "How many segments there are.", holds="segments")
TYPES = {"T": FLOAT, "Tindices": INDEX}
GIVEN = {"data": [[1.0, 2.0], [1.0, 4.0], [5.0, 6.0]], "segment_ids": [0, 0, 2], "num_segments": 3}
REJECTS = [
    Reject({"segment_ids": [0, 3, 0]}, r"segment_ids\[1\] == 3 out of range \[0, 3\)"),
    Reject({"num_segments": -1}, r"num_segments == -1 must not be negative"),
    Reject({"segment_ids": [0, 0]}, r"segment_ids must have shape \[rows\] with rows=3; got \[2\]"),
]


def _samples(rng: np.random.Generator) -> Any:
    for sample in segments(rng):
        data = rng.permutation(sample["data"].size).reshape(sample["data"].shape) / 7 + 0.25  # no two are equal
        ids = sample["segment_ids"].copy()
        yield {"data": data, "segment_ids": ids, "num_segments": int(ids.max(initial=-1)) + 2}
        ids = rng.permutation(np.where(np.arange(len(ids)) == 1, -1, ids))
        yield {"data": data, "segment_ids": ids, "num_segments": int(ids.max(initial=-1)) + 1}


def _check(data: Any, segment_ids: Any, num_segments: Any) -> None:
    wrong = np.flatnonzero(segment_ids >= int(num_segments))
    if len(wrong):
        place = int(wrong[0])
        raise Fault("range", "segment_ids", (place,), int(segment_ids[place]), 0, int(num_segments))
    possible("num_segments", (int(num_segments), *data.shape[1:]), "float64")


def _powers(data: Any, ids: Any, count: int) -> tuple[Any, Any, Any, Any]:
    """Which rows stay, the largest of each segment, the exponentials below it and their sums, in a wider type."""
    kept = ids >= 0
    wide, own = data[kept].astype(wider(data.dtype)), ids[kept]
    largest = _reduced(np.maximum, wide, own, count, -np.inf)
    with np.errstate(invalid="ignore"):
        powers = np.exp(np.where(np.isneginf(wide), -np.inf, wide - largest[own]))
    total = np.zeros_like(largest)
    add_rows(total, own, powers)
    return kept, largest, powers, total


# ------------------------------------------------------------------ SegmentSoftmax
@op(
    "SegmentSoftmax",
    inputs=[DATA, IDS, COUNT],
    outputs=[Arg("output", "T", "rows *inner", "For each row its share of its segment; zero for dropped rows.")],
    types=TYPES,
    example=Example(GIVEN, {"output": [[0.5, 0.11920292], [0.5, 0.88079708], [1.0, 1.0]]}),
    samples=_samples,
    rejects=REJECTS,
)
def segment_softmax(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    """The exponentials of the rows divided by their sum in each segment, column by column.

    output[r] = exp(data[r]) / sum of exp(data[s]) over the rows s of the same segment
    """
    kept, _, powers, total = _powers(data, segment_ids, int(num_segments))
    output = np.zeros_like(data)
    output[kept] = (powers / total[segment_ids[kept]]).astype(data.dtype)
    return output


@segment_softmax.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    weighted = ops.UnsortedSegmentSum(
        data=ops.Mul(x=g.output, y=y.output), segment_ids=x.segment_ids, num_segments=x.num_segments
    )
    return {"data": ops.Mul(x=y.output, y=ops.Sub(x=g.output, y=spread(ops, x, weighted)))}


# ------------------------------------------------------------------ SegmentLogSumExp
@op(
    "SegmentLogSumExp",
    inputs=[DATA, IDS, COUNT],
    outputs=[Arg("output", "T", "segments *inner", "A row per segment; minus infinity where a segment has no rows.")],
    types=TYPES,
    example=Example(GIVEN, {"output": [[1.6931472, 4.1269280], [float("-inf"), float("-inf")], [5.0, 6.0]]}),
    samples=_samples,
    rejects=REJECTS,
)
def segment_log_sum_exp(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    """The logarithm of the sum of the exponentials of the rows of each segment, column by column."""
    _, largest, _, total = _powers(data, segment_ids, int(num_segments))
    return (largest + np.log(total)).astype(data.dtype)


@segment_log_sum_exp.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    shares = ops.SegmentSoftmax(data=x.data, segment_ids=x.segment_ids, num_segments=x.num_segments)
    return {"data": ops.Mul(x=shares, y=spread(ops, x, g.output))}


# ------------------------------------------------------------------ SegmentMaxWithPositions
@op(
    "SegmentMaxWithPositions",
    inputs=[DATA, IDS, COUNT],
    outputs=[
        Arg("output", "T", "segments *inner", "The largest of each segment; zero where it has no rows."),
        Arg("positions", "int64", "segments *inner", "The first row that has it; -1 where a segment has no rows."),
    ],
    types=TYPES,
    example=Example(
        GIVEN,
        {"output": [[1.0, 4.0], [0.0, 0.0], [5.0, 6.0]], "positions": [[0, 1], [-1, -1], [2, 2]]},
    ),
    samples=_samples,
    rejects=REJECTS,
)
def segment_max_with_positions(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    """The largest of the rows of each segment, column by column, and the row in which it stands."""
    count, kept = int(num_segments), np.flatnonzero(segment_ids >= 0)
    own = segment_ids[kept]
    largest = _reduced(np.maximum, data[kept], own, count, 0)
    rows = np.broadcast_to(kept.reshape(-1, *[1] * (data.ndim - 1)), data[kept].shape)
    far = np.where(data[kept] == largest[own], rows, len(data))
    positions = _reduced(np.minimum, far.astype(np.int64), own, count, -1)
    return largest, positions


@segment_max_with_positions.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # The first of several equal ones gets the gradient, as it is the one whose place is told.
    rows = ops.Range(start=np.int64(0), limit=ops._size(ops.rows(x.data)), delta=np.int64(1))
    rest = ops.ZerosLike(x=ops.Slice(input=ops.Shape(input=x.data), begin=[1], size=[-1]))
    shape = ops.ConcatV2(values=[ops.Shape(input=rows), ops.AddV2(x=rest, y=1)], axis=0)
    marks = ops.Equal(x=ops.Reshape(tensor=rows, shape=shape), y=spread(ops, x, y.positions))
    pulled = spread(ops, x, g.output)
    return {"data": ops.SelectV2(condition=marks, t=pulled, e=ops.ZerosLike(x=pulled))}


for _made in (segment_softmax, segment_log_sum_exp, segment_max_with_positions):
    _made.check(_check)
