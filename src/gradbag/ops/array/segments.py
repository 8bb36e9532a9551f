"""Rows that belong together made one: sums, means, products, the largest and the smallest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ...dtypes import FLOAT, INDEX, NUMBER, REAL, name_of
from ...errors import Fault
from ...spec import Arg, Example, Reject, op, titled
from .array_samples import segments, unsorted_segments
from .precision import wider
from .sizes import possible


def add_rows(total: Any, ids: Any, rows: Any) -> None:
    """Add each row to the row of the total that its id names, in the order of the rows; a negative id drops it."""
    order = np.argsort(ids, kind="stable")
    order = order[np.searchsorted(ids, 0, sorter=order) :]
    sorted_ids = ids[order]
    starts = np.flatnonzero(np.diff(sorted_ids, prepend=-1))
    if len(starts):
        total[sorted_ids[starts]] += np.add.reduceat(rows[order].astype(total.dtype, copy=False), starts, 0)


def summed(rows: Any, ids: Any, count: int) -> Any:
    """Rows added up by their ids; floats in a wider type, rounded once."""
    total = np.zeros((count, *rows.shape[1:]), wider(rows.dtype))
    add_rows(total, ids, rows)
    return total.astype(rows.dtype, copy=False)


def _reduced(ufunc: Any, rows: Any, ids: Any, count: int, empty: Any, wide: bool = False) -> Any:
    """Rows put together by their ids with a function; `empty` where a segment has none."""
    total = np.full((count, *rows.shape[1:]), empty, wider(rows.dtype) if wide else rows.dtype)
    order = np.argsort(ids, kind="stable")
    order = order[np.searchsorted(ids, 0, sorter=order) :]
    sorted_ids = ids[order]
    starts = np.flatnonzero(np.diff(sorted_ids, prepend=-1))
    if len(starts):
        total[sorted_ids[starts]] = ufunc.reduceat(rows[order].astype(total.dtype, copy=False), starts, 0)
    return total.astype(rows.dtype, copy=False)


def averaged(rows: Any, ids: Any, count: int) -> Any:
    """The sums divided by the numbers of rows; integers towards zero."""
    total = np.zeros((count, *rows.shape[1:]), wider(rows.dtype))
    add_rows(total, ids, rows)
    counts = np.maximum(np.bincount(ids, minlength=count), 1).reshape(-1, *[1] * (rows.ndim - 1))
    if rows.dtype.kind == "u":
        return total // counts.astype(rows.dtype)
    if rows.dtype.kind == "i":
        return (np.sign(total) * (np.abs(total) // counts.astype(rows.dtype))).astype(rows.dtype)
    return (total / counts).astype(rows.dtype)


def bounds(dtype: Any) -> tuple[Any, Any]:
    """The smallest and the largest finite number of a dtype."""
    limits: Any = ml_dtypes.finfo(dtype) if name_of(dtype) in FLOAT else np.iinfo(dtype)  # type: ignore[no-untyped-call]
    return limits.min, limits.max


class Kind(NamedTuple):
    """How rows of a segment become one, and what the segment is that has none: if sorted, and if not."""

    body: Callable[[Any, Any, int], Any]
    unsorted_body: Callable[[Any, Any, int], Any] | None
    types: tuple[str, ...]
    example: list[list[float]]
    doc: str


KINDS = {
    "Sum": Kind(summed, summed, NUMBER, [[4.0, 6.0], [0.0, 0.0], [5.0, 6.0]], "The sum of the rows of each segment"),
    "Mean": Kind(averaged, None, NUMBER, [[2.0, 3.0], [0.0, 0.0], [5.0, 6.0]], "The mean of the rows of each segment"),
    "Prod": Kind(
        lambda rows, ids, count: _reduced(np.multiply, rows, ids, count, 1, wide=True),
        lambda rows, ids, count: _reduced(np.multiply, rows, ids, count, 1, wide=True),
        NUMBER,
        [[3.0, 8.0], [1.0, 1.0], [5.0, 6.0]],
        "The product of the rows of each segment",
    ),
    "Max": Kind(
        lambda rows, ids, count: _reduced(np.maximum, rows, ids, count, 0),
        lambda rows, ids, count: _reduced(np.maximum, rows, ids, count, bounds(rows.dtype)[0]),
        REAL,
        [[3.0, 4.0], [0.0, 0.0], [5.0, 6.0]],
        "The largest of the rows of each segment, column by column",
    ),
    "Min": Kind(
        lambda rows, ids, count: _reduced(np.minimum, rows, ids, count, 0),
        lambda rows, ids, count: _reduced(np.minimum, rows, ids, count, bounds(rows.dtype)[1]),
        REAL,
        [[1.0, 2.0], [0.0, 0.0], [5.0, 6.0]],
        "The smallest of the rows of each segment, column by column",
    ),
}
EMPTY = {"Max": ("the smallest number there is", 0), "Min": ("the largest number there is", 1)}


# ------------------------------------------------------------------ SegmentSum, -Mean, -Prod, -Max, -Min
def _sorted(name: str, kind: Kind) -> Any:
    empty = "one" if name == "Prod" else "zero"

    @op(
        f"Segment{name}",
        inputs=[
            Arg("data", "T", "rows *inner", "A table of rows."),
            Arg("segment_ids", "Tindices", "rows", "For each row its segment, never decreasing."),
        ],
        outputs=[Arg("output", "T", "*result", f"A row per segment; {empty} where a segment has no rows.")],
        types={"T": kind.types, "Tindices": INDEX},
        linear=["data"] if name in ("Sum", "Mean") else [],
        example=Example(
            {"data": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "segment_ids": [0, 0, 2]}, {"output": kind.example}
        ),
        samples=segments,
        rejects=[
            Reject({"segment_ids": [0, 2, 1]}, r"segment_ids\[2\] == 1 follows 2, but ids must not decrease"),
            Reject({"segment_ids": [-1, 0, 1]}, r"segment_ids\[0\] == -1 must not be negative"),
            Reject({"segment_ids": [0, 0]}, r"segment_ids must have shape \[rows\] with rows=3; got \[2\]"),
            Reject({"segment_ids": np.array([0, 0, 2**62])}, r"segment_ids == .* asks for more than any memory holds"),
        ],
    )
    @titled(f"Segment{name}", f"{kind.doc}.")
    def segment(data: Any, segment_ids: Any) -> Any:
        return kind.body(data, segment_ids, int(segment_ids[-1]) + 1 if len(segment_ids) else 0)

    @segment.shapes
    def _(data: Any, segment_ids: Any) -> Any:
        count = None
        if segment_ids.value is not None:
            ids = segment_ids.value
            if len(ids) and ids[0] < 0:
                raise Fault("negative", "segment_ids", (0,), ids[0].item())
            falls = np.flatnonzero(ids[1:] < ids[:-1])
            if len(falls):
                place = int(falls[0]) + 1
                raise Fault("order", "segment_ids", (place,), ids[place].item(), ids[place - 1].item())
            count = int(ids[-1]) + 1 if len(ids) else 0
        return [None if data.shape is None else possible("segment_ids", (count, *data.shape[1:]), data.dtype)]

    return segment


# ------------------------------------------------------------------ UnsortedSegmentSum, -Prod, -Max, -Min
def _unsorted(name: str, kind: Kind) -> Any:
    said, bound = EMPTY.get(name, ("one" if name == "Prod" else "zero", None))
    empty = {"Prod": 1.0, "Sum": 0.0}.get(name)
    empty = float(bounds(np.dtype("float32"))[bound]) if bound is not None else empty
    combined = {"Sum": [6.0, 8.0], "Prod": [5.0, 12.0], "Max": [5.0, 6.0], "Min": [1.0, 2.0]}[name]

    @op(
        f"UnsortedSegment{name}",
        inputs=[
            Arg("data", "T", "*shape", "Rows, or an array of rows of any shape."),
            Arg(
                "segment_ids",
                "Tindices",
                "*places",
                "For each row its segment, in any order; a negative one drops the row.",
            ),
            Arg("num_segments", "Tnumsegments", "", "How many segments there are."),
        ],
        outputs=[Arg("output", "T", "*result", f"A row per segment; {said} where a segment has no rows.")],
        types={"T": kind.types, "Tindices": ("int16", *INDEX) if name == "Sum" else INDEX, "Tnumsegments": INDEX},
        linear=["data"] if name == "Sum" else [],
        example=Example(
            {"data": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "segment_ids": [1, -1, 1], "num_segments": 3},
            {"output": [[empty, empty], combined, [empty, empty]]},
        ),
        samples=unsorted_segments,
        rejects=[
            Reject({"segment_ids": [0, 3, 0]}, r"segment_ids\[1\] == 3 out of range \[0, 3\)"),
            Reject({"num_segments": -1}, r"num_segments == -1 must not be negative"),
            Reject({"segment_ids": [0, 1]}, r"segment_ids has shape \[2\], which is not how the shape of data begins"),
            Reject({"num_segments": np.array(2**61)}, r"num_segments == .* asks for more than any memory holds"),
        ],
    )
    @titled(f"UnsortedSegment{name}", f"{kind.doc}; they may lie anywhere.")
    def segment(data: Any, segment_ids: Any, num_segments: Any) -> Any:
        rows = data.reshape((segment_ids.size, *data.shape[segment_ids.ndim :]))
        assert kind.unsorted_body is not None
        return kind.unsorted_body(rows, segment_ids.reshape(-1), int(num_segments))

    @segment.shapes
    def _(data: Any, segment_ids: Any, num_segments: Any) -> Any:
        count = None if num_segments.value is None else int(num_segments.value)
        if count is not None and count < 0:
            raise Fault("negative", "num_segments", (), count)
        if count is not None and segment_ids.value is not None and (segment_ids.value >= count).any():
            place = tuple(np.argwhere(segment_ids.value >= count)[0].tolist())
            raise Fault("range", "segment_ids", place, segment_ids.value[place].item(), 0, count)
        if data.shape is None or segment_ids.shape is None:
            return [None]
        axes = len(segment_ids.shape)
        pairs = zip(segment_ids.shape, data.shape, strict=False)
        if axes > len(data.shape) or any(None not in pair and pair[0] != pair[1] for pair in pairs):
            hint = f"is not how the shape of data begins, {['?' if n is None else n for n in data.shape]}"
            raise Fault("shape", "segment_ids", (), segment_ids.shape, hint=hint)
        return [possible("num_segments", (count, *data.shape[axes:]), data.dtype)]

    return segment


# ------------------------------------------------------------------ gradients
def spread(ops: Any, x: Any, rows: Any) -> Any:
    """The row of its segment for each row of data; zeros for rows that were dropped."""
    if not hasattr(x, "num_segments"):
        return ops.GatherV2(params=rows, indices=x.segment_ids, axis=0)
    # A row of zeros in front, which is where the dropped rows look.
    sizes = ops.Shape(input=rows, out_type="int64")
    first = ops.Slice(input=sizes, begin=[0], size=[1])
    shape = ops.ConcatV2(values=[ops.AddV2(x=first, y=1), ops.Slice(input=sizes, begin=[1], size=[-1])], axis=0)
    table = ops.StridedSliceGrad(shape=shape, begin=[1], end=[0], strides=[1], dy=rows, end_mask=1)
    places = ops.AddV2(x=ops.Cast(x=x.segment_ids, DstT="int64"), y=1)
    return ops.GatherV2(params=table, indices=ops.Maximum(x=places, y=0), axis=0)


def gathered_sum(ops: Any, x: Any, rows: Any) -> Any:
    """The sums of rows like data, by its segments."""
    if hasattr(x, "num_segments"):
        return ops.UnsortedSegmentSum(data=rows, segment_ids=x.segment_ids, num_segments=x.num_segments)
    return ops.SegmentSum(data=rows, segment_ids=x.segment_ids)


def _of_sum(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"data": spread(ops, x, g.output)}


def _of_mean(ops: Any, x: Any, y: Any, g: Any) -> Any:
    rows = spread(ops, x, g.output)
    counts = spread(ops, x, gathered_sum(ops, x, ops.OnesLike(x=rows)))
    return {"data": ops.RealDiv(x=rows, y=counts)}


def marked(ops: Any, condition: Any, like: Any) -> Any:
    """Ones where a condition holds and zeros elsewhere, of the dtype of some array of that shape."""
    return ops.SelectV2(condition=condition, t=ops.OnesLike(x=like), e=ops.ZerosLike(x=like))


def _of_choice(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # Those that are chosen share the gradient evenly.
    marks = marked(ops, ops.Equal(x=x.data, y=spread(ops, x, y.output)), x.data)
    count = gathered_sum(ops, x, marks)
    return {"data": ops.Mul(x=marks, y=spread(ops, x, ops.DivNoNan(x=g.output, y=count)))}


def _of_product(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # As for Prod: beside one zero all others get nothing, and it gets theirs; from the second order on this is exact
    # only where there is no zero.
    zero = ops.Equal(x=x.data, y=0.0)
    nonzero = ops.SelectV2(condition=zero, t=1.0, e=x.data)
    if hasattr(x, "num_segments"):
        given = {"segment_ids": x.segment_ids, "num_segments": x.num_segments}
        product = ops.UnsortedSegmentProd(data=nonzero, **given)
    else:
        product = ops.SegmentProd(data=nonzero, segment_ids=x.segment_ids)
    count = ops.Cast(x=zero, DstT="int64")
    alone = ops.Equal(x=spread(ops, x, gathered_sum(ops, x, count)), y=count)
    others = ops.SelectV2(condition=alone, t=ops.RealDiv(x=spread(ops, x, product), y=nonzero), e=0.0)
    return {"data": ops.Mul(x=others, y=spread(ops, x, g.output))}


RULES = {"Sum": _of_sum, "Mean": _of_mean, "Prod": _of_product, "Max": _of_choice, "Min": _of_choice}
for _name, _kind in KINDS.items():
    _sorted(_name, _kind).gradient(RULES[_name])
    if _kind.unsorted_body is not None:
        _unsorted(_name, _kind).gradient(RULES[_name])
