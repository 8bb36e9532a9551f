"""Softmax, its logarithm's sum, and the largest with its place, of the rows of each segment: gradbag's own."""

from __future__ import annotations

from math import factorial
from typing import Any, NamedTuple

import numpy as np

from ...dtypes import FLOAT, INDEX
from ...errors import Fault
from ...spec import Arg, Declined, Example, Reject, op
from ..pooling import accumulator
from .array_samples import segments
from .segments import chosen, picked, reduced, spread
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


class Exponential(NamedTuple):
    """How the exponential of a float type is computed: powers of two, times a series for what is left."""

    least: float  # below it is nothing left
    per_step: float
    step_high: float
    step_low: float
    rounding: float  # added and taken away again, it leaves a whole number
    bits: int
    bias: int
    terms: int

    def __call__(self, x: Any) -> Any:
        """Of numbers that are not positive; operation by operation that of the kernel, so the bits are the same."""
        real, whole = x.dtype.type, np.dtype(f"i{x.itemsize}").type
        held = np.where(x < real(self.least), real(self.least), x)
        shifted = held * real(self.per_step) + real(self.rounding)
        steps = shifted - real(self.rounding)
        rest = (held - steps * real(self.step_high)) - steps * real(self.step_low)
        total = np.full_like(x, real(1) / real(factorial(self.terms - 1)))
        for term in range(self.terms - 2, -1, -1):
            total = total * rest + real(1) / real(factorial(term))
        count = shifted.view(whole) - np.array(self.rounding, real).view(whole)
        half = count >> whole(1)
        for part in (half, count - half):
            total = total * ((part + whole(self.bias)) << whole(self.bits)).view(real)
        return np.where(x < real(self.least), real(0), total)


EXPONENTIALS = {
    "float32": Exponential(
        -104.0,
        float.fromhex("0x1.715476p+0"),
        float.fromhex("0x1.62e4p-1"),
        float.fromhex("0x1.7f7d1cp-20"),
        1.5 * 2.0**23,
        23,
        127,
        8,
    ),
    "float64": Exponential(
        -746.0,
        float.fromhex("0x1.71547652b82fep+0"),
        float.fromhex("0x1.62e42feep-1"),
        float.fromhex("0x1.a39ef35793c76p-33"),
        1.5 * 2.0**52,
        52,
        1023,
        14,
    ),
}


def _powers(data: Any, ids: Any, count: int) -> tuple[Any, Any, Any, Any]:
    """Which rows stay, the largest of each segment, the exponentials below it, and their sums in double."""
    kept = ids >= 0
    wide, own = data[kept].astype(accumulator(data.dtype)), ids[kept]
    largest = reduced(np.maximum, wide, own, count, -np.inf)
    powers = EXPONENTIALS[wide.dtype.name](np.where(np.isneginf(wide), wide, wide - largest[own]))
    total = np.zeros(largest.shape)
    np.add.at(total, own, powers.astype(np.float64))
    return kept, largest, powers, total


def _given(calls: Any, data: Any, segment_ids: Any, num_segments: Any) -> tuple[Any, Any]:
    """Working memory for a row per segment: the largest, and the sums."""
    if data.ndim == 0 or segment_ids.shape != data.shape[:1] or num_segments.ndim:
        raise Declined
    shape = (int(num_segments), *data.shape[1:])
    return calls.empty(shape, "T"), calls.empty(shape, "float64")


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
    output[kept] = (powers * (1 / total).astype(powers.dtype)[segment_ids[kept]]).astype(data.dtype)
    return output


@segment_softmax.compiled
def _(calls: Any, data: Any, segment_ids: Any, num_segments: Any) -> Any:
    largest, total = _given(calls, data, segment_ids, num_segments)
    output = calls.empty(data.shape, "T")
    calls.fill("segment_softmax__{T}_{Tindices}", [data, segment_ids, output, largest, total])
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
    return _logarithms(largest, total).astype(data.dtype)


def _logarithms(largest: Any, total: Any) -> Any:
    with np.errstate(all="ignore"):
        return largest + np.log(total)


@segment_log_sum_exp.compiled
def _(calls: Any, data: Any, segment_ids: Any, num_segments: Any) -> Any:
    largest, total = _given(calls, data, segment_ids, num_segments)
    calls.fill("segment_powers__{T}_{Tindices}", [data, segment_ids, largest, total])
    return _logarithms(largest, total).astype(data.dtype)


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
        {**GIVEN, "data": [[1.0, 2.0], [0.0, 4.0], [5.0, 6.0]]},
        {"output": [[1.0, 4.0], [0.0, 0.0], [5.0, 6.0]], "positions": [[0, 1], [-1, -1], [2, 2]]},
    ),
    samples=_samples,
    rejects=REJECTS,
)
def segment_max_with_positions(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    """The largest of the rows of each segment, column by column, and the row in which it stands."""
    positions = chosen(np.maximum, data, segment_ids, int(num_segments))
    return picked(data, positions, 0), positions


@segment_max_with_positions.compiled
def _(calls: Any, data: Any, segment_ids: Any, num_segments: Any) -> Any:
    if data.ndim == 0 or segment_ids.shape != data.shape[:1] or num_segments.ndim:
        raise Declined
    shape = (int(num_segments), *data.shape[1:])
    output, positions = calls.empty(shape, "T"), calls.empty(shape, "int64")
    calls.fill("segment_max_with_positions__{T}_{Tindices}", [data, segment_ids, output, positions])
    return output, positions


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
