"""Rows that belong together made one: sums, means, products, the largest and the smallest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ...dtypes import FLOAT, INDEX, NUMBER, REAL, name_of
from ...errors import Fault
from ...spec import Arg, Declined, Example, Reject, op, titled
from ..combiners import COMBINERS
from ..pooling import accumulator, pool, scatter
from .array_samples import segments, unsorted_segments
from .sizes import possible


def add_rows(total: Any, ids: Any, rows: Any) -> None:
    """Add each row to the row of the total that its id names, in the order of the rows; a negative id drops it."""
    order = np.argsort(ids, kind="stable")
    order = order[np.searchsorted(ids, 0, sorter=order) :]
    sorted_ids = ids[order]
    starts = np.flatnonzero(np.diff(sorted_ids, prepend=-1))
    if len(starts):
        total[sorted_ids[starts]] += np.add.reduceat(rows[order].astype(total.dtype, copy=False), starts, 0)


def _in_place(ids: Any) -> Any:
    """A place for each row of data, in order: sums of rows of a table are those of data when row i is entry i."""
    return np.arange(len(ids))


def summed(rows: Any, ids: Any, count: int) -> Any:
    """Rows added up by their ids in the order of SparseSegmentSum; 16-bit floats in a wider type, rounded once.

    TensorFlow's SegmentSum has another order for more than nine rows, which depends on the number of columns.
    """
    return pool(rows, _in_place(ids), ids, count, COMBINERS["sum"])


def summed_anywhere(rows: Any, ids: Any, count: int) -> Any:
    """The same of ids in any order: one row after the other, as TensorFlow adds them, too."""
    kept = np.flatnonzero(ids >= 0)
    return scatter(rows, ids[kept], kept, count, COMBINERS["sum"])


def multiplied(rows: Any, ids: Any, count: int) -> Any:
    """Rows multiplied by their ids, one after the other."""
    kept = np.flatnonzero(ids >= 0)
    total = np.ones((count, *rows.shape[1:]), accumulator(rows.dtype))
    np.multiply.at(total, ids[kept], rows[kept].astype(total.dtype, copy=False))
    return total.astype(rows.dtype, copy=False)


def reduced(ufunc: Any, rows: Any, ids: Any, count: int, empty: Any) -> Any:
    """Rows put together by their ids with a function that may be applied in any order."""
    total = np.full((count, *rows.shape[1:]), empty, rows.dtype)
    order = np.argsort(ids, kind="stable")
    order = order[np.searchsorted(ids, 0, sorter=order) :]
    sorted_ids = ids[order]
    starts = np.flatnonzero(np.diff(sorted_ids, prepend=-1))
    if len(starts):
        total[sorted_ids[starts]] = ufunc.reduceat(rows[order], starts, 0)
    return total


def chosen(ufunc: Any, rows: Any, ids: Any, count: int) -> Any:
    """The first row of each segment that has what np.maximum or np.minimum choose, column by column; -1 for none."""
    kept = np.flatnonzero(ids >= 0)
    own, there = ids[kept], rows[kept]
    best = reduced(ufunc, there, own, count, 0)[own]
    numbers = np.broadcast_to(kept.reshape(-1, *[1] * (rows.ndim - 1)), there.shape)
    has_it = (there == best) | ((there != there) & (best != best))
    return reduced(np.minimum, np.where(has_it, numbers, len(rows)), own, count, -1)


def picked(rows: Any, positions: Any, empty: Any) -> Any:
    """The elements of rows at these positions of their columns, and `empty` where there is none."""
    if not len(rows):
        return np.full(positions.shape, empty, rows.dtype)
    return np.where(positions < 0, np.array(empty, rows.dtype), np.take_along_axis(rows, np.maximum(positions, 0), 0))


def averaged(rows: Any, ids: Any, count: int) -> Any:
    """The sums divided by the numbers of rows; integers towards zero."""
    if rows.dtype.kind not in "iu":
        return pool(rows, _in_place(ids), ids, count, COMBINERS["mean"])
    total = np.zeros((count, *rows.shape[1:]), rows.dtype)
    add_rows(total, ids, rows)
    counts = np.maximum(np.bincount(ids, minlength=count), 1).reshape(-1, *[1] * (rows.ndim - 1))
    if rows.dtype.kind == "u":
        return total // counts.astype(rows.dtype)
    return (np.sign(total) * (np.abs(total) // counts.astype(rows.dtype))).astype(rows.dtype)


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
    "Sum": Kind(
        summed, summed_anywhere, NUMBER, [[4.0, 6.0], [0.0, 0.0], [5.0, 6.0]], "The sum of the rows of each segment"
    ),
    "Mean": Kind(averaged, None, NUMBER, [[2.0, 3.0], [0.0, 0.0], [5.0, 6.0]], "The mean of the rows of each segment"),
    "Prod": Kind(
        multiplied,
        multiplied,
        NUMBER,
        [[3.0, 8.0], [1.0, 1.0], [5.0, 6.0]],
        "The product of the rows of each segment",
    ),
    "Max": Kind(
        lambda rows, ids, count: picked(rows, chosen(np.maximum, rows, ids, count), 0),
        lambda rows, ids, count: picked(rows, chosen(np.maximum, rows, ids, count), bounds(rows.dtype)[0]),
        REAL,
        [[3.0, 4.0], [0.0, 0.0], [5.0, 6.0]],
        "The largest of the rows of each segment, column by column",
    ),
    "Min": Kind(
        lambda rows, ids, count: picked(rows, chosen(np.minimum, rows, ids, count), 0),
        lambda rows, ids, count: picked(rows, chosen(np.minimum, rows, ids, count), bounds(rows.dtype)[1]),
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

    @segment.compiled
    def _(calls: Any, data: Any, segment_ids: Any) -> Any:
        if data.ndim == 0 or segment_ids.shape != data.shape[:1]:
            raise Declined
        count = int(segment_ids[-1]) + 1 if len(segment_ids) else 0
        output = calls.empty((count, *data.shape[1:]), "T")
        if name in ("Sum", "Mean"):
            if name == "Mean" and data.dtype.kind in "iu":
                raise Declined
            entries = [data, calls.numbers(len(data)), segment_ids, output]
            calls.fill("segment_reduce__{T}_int32_{Tindices}", entries, (name.lower(),))
        else:
            calls.fill("segment_fold__{T}_{Tindices}", [data, segment_ids, output], (name.lower(), True))
        return output

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

    @segment.compiled
    def _(calls: Any, data: Any, segment_ids: Any, num_segments: Any) -> Any:
        axes = segment_ids.ndim
        if num_segments.ndim or data.shape[:axes] != segment_ids.shape or axes > data.ndim:
            raise Declined
        output = calls.empty((int(num_segments), *data.shape[axes:]), "T")
        if axes != 1:
            data, segment_ids = data.reshape(segment_ids.size, *data.shape[axes:]), segment_ids.reshape(-1)
        if name == "Sum":
            add_anywhere(calls, data, segment_ids, output)
        else:
            calls.fill("segment_fold__{T}_{Tindices}", [data, segment_ids, output], (name.lower(), False))
        return output

    return segment


def add_anywhere(calls: Any, data: Any, segment_ids: Any, output: Any) -> None:
    """By the kernel that adds rows of a gradient to those of a table; it refuses negative ids."""
    index = "int64" if segment_ids.dtype == np.int64 else "int32"
    if segment_ids.dtype == np.int16:
        segment_ids = segment_ids.astype(np.int32)
    name = _ADDING[index]
    try:
        calls.fill(name, [data, segment_ids, calls.numbers(len(data)), output], ("sum",))
    except Declined:
        kept = np.flatnonzero(segment_ids >= 0).astype(np.int32)
        if len(kept) == len(data):
            raise
        calls.fill(name, [data, segment_ids[kept], kept, output], ("sum",))


_ADDING = {index: f"segment_grad__{{T}}_{index}_int32" for index in INDEX}


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
