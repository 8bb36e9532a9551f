"""Sums of rows that belong together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import INDEX, NUMBER
from ...errors import Fault
from ...spec import Arg, Example, Reject, op
from .array_samples import segments, unsorted_segments
from .precision import wider
from .sizes import possible

OUTPUT = Arg("output", "T", "*result", "One sum per segment; zeros where a segment has no rows.")


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


# ------------------------------------------------------------------ SegmentSum
@op(
    "SegmentSum",
    inputs=[
        Arg("data", "T", "rows *inner", "A table of rows."),
        Arg("segment_ids", "Tindices", "rows", "For each row its segment, never decreasing."),
    ],
    outputs=[OUTPUT],
    types={"T": NUMBER, "Tindices": INDEX},
    linear=["data"],
    example=Example(
        {"data": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "segment_ids": [0, 0, 2]},
        {"output": [[4.0, 6.0], [0.0, 0.0], [5.0, 6.0]]},
    ),
    samples=segments,
    rejects=[
        Reject({"segment_ids": [0, 2, 1]}, r"segment_ids\[2\] == 1 follows 2, but ids must not decrease"),
        Reject({"segment_ids": [-1, 0, 1]}, r"segment_ids\[0\] == -1 must not be negative"),
        Reject({"segment_ids": [0, 0]}, r"segment_ids must have shape \[rows\] with rows=3; got \[2\]"),
        Reject({"segment_ids": np.array([0, 0, 2**62])}, r"segment_ids == .* asks for more than any memory holds"),
    ],
)
def segment_sum(data: Any, segment_ids: Any) -> Any:
    """The sum of the rows of each segment."""
    return summed(data, segment_ids, int(segment_ids[-1]) + 1 if len(segment_ids) else 0)


@segment_sum.shapes
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


@segment_sum.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"data": ops.GatherV2(params=g.output, indices=x.segment_ids, axis=0)}


# ------------------------------------------------------------------ UnsortedSegmentSum
@op(
    "UnsortedSegmentSum",
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
    outputs=[OUTPUT],
    types={"T": NUMBER, "Tindices": ("int16", *INDEX), "Tnumsegments": INDEX},
    linear=["data"],
    example=Example(
        {"data": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "segment_ids": [1, -1, 1], "num_segments": 3},
        {"output": [[0.0, 0.0], [6.0, 8.0], [0.0, 0.0]]},
    ),
    samples=unsorted_segments,
    rejects=[
        Reject({"segment_ids": [0, 3, 0]}, r"segment_ids\[1\] == 3 out of range \[0, 3\)"),
        Reject({"num_segments": -1}, r"num_segments == -1 must not be negative"),
        Reject({"segment_ids": [0, 1]}, r"segment_ids has shape \[2\], which is not how the shape of data begins"),
        Reject({"num_segments": np.array(2**61)}, r"num_segments == .* asks for more than any memory holds"),
    ],
)
def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any) -> Any:
    """The sum of the rows of each segment, which may lie anywhere."""
    rows = data.reshape((segment_ids.size, *data.shape[segment_ids.ndim :]))
    return summed(rows, segment_ids.reshape(-1), int(num_segments))


@unsorted_segment_sum.shapes
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


@unsorted_segment_sum.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # A row of zeros in front, which is where the dropped rows look.
    sizes = ops.Shape(input=g.output, out_type="int64")
    rows = ops.Slice(input=sizes, begin=[0], size=[1])
    shape = ops.ConcatV2(values=[ops.AddV2(x=rows, y=1), ops.Slice(input=sizes, begin=[1], size=[-1])], axis=0)
    table = ops.StridedSliceGrad(shape=shape, begin=[1], end=[0], strides=[1], dy=g.output, end_mask=1)
    places = ops.AddV2(x=ops.Cast(x=x.segment_ids, DstT="int64"), y=1)
    return {"data": ops.GatherV2(params=table, indices=ops.Maximum(x=places, y=0), axis=0)}
