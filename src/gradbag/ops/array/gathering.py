"""Slices picked out of an array by their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dims import AnyShape
from ...dtypes import ANY, INDEX
from ...errors import Fault
from ...spec import Arg, Attr, Declined, Example, Known, Reject, op
from ..pooling import check_indices
from .array_samples import gatherings, row_gatherings
from .sizes import axis_within, possible

OUTPUT = Arg("output", "Tparams", "*result", "The slices, in the order of the indices.")


def taken(params: Known, indices: Known, axis: int, batch_dims: int) -> AnyShape:
    """The shape of a gather; params has the axis, and shares its first `batch_dims` axes with the indices."""
    assert params.shape is not None
    if indices.shape is None:
        return None
    for place in range(batch_dims):
        here, there = params.shape[place], indices.shape[place]
        if None not in (here, there) and here != there:
            hint = f"must have the length of params along the batch axis {place}, {here}"
            raise Fault("shape", "indices", (), indices.shape, hint=hint)
    limit = params.shape[axis]
    if limit is not None and indices.value is not None:
        check_indices("indices", indices.value, limit)
    return possible(
        "indices", (*params.shape[:axis], *indices.shape[batch_dims:], *params.shape[axis + 1 :]), params.dtype
    )


# ------------------------------------------------------------------ Gather
@op(
    "Gather",
    inputs=[
        Arg("params", "Tparams", "rows *inner", "A table of rows."),
        Arg("indices", "Tindices", "*places", "The numbers of the wanted rows."),
    ],
    outputs=[OUTPUT],
    attrs=[Attr("validate_indices", True, "Without effect: indices are always checked.")],
    types={"Tparams": ANY, "Tindices": INDEX},
    linear=["params"],
    example=Example(
        {"params": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "indices": [2, 0]}, {"output": [[5.0, 6.0], [1.0, 2.0]]}
    ),
    samples=row_gatherings,
    rejects=[Reject({"indices": [0, 3]}, r"indices\[1\] == 3 out of range \[0, 3\)")],
)
def gather(params: Any, indices: Any, validate_indices: bool) -> Any:
    """Rows of a table, by their numbers; the older form of GatherV2."""
    return np.asarray(params[indices], params.dtype)


@gather.shapes
def _(params: Any, indices: Any, validate_indices: bool) -> Any:
    return [None if params.shape is None else taken(params, indices, 0, 0)]


@gather.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    sizes = ops.Shape(input=x.params, out_type="int64")
    rows = ops.StridedSlice(input=sizes, begin=[0], end=[1], strides=[1], shrink_axis_mask=1)
    return {"params": ops.UnsortedSegmentSum(data=g.output, segment_ids=x.indices, num_segments=rows)}


# ------------------------------------------------------------------ GatherV2
@op(
    "GatherV2",
    inputs=[
        Arg("params", "Tparams", "*shape", "Any array that has the axis."),
        Arg("indices", "Tindices", "*places", "The numbers of the wanted slices."),
        Arg("axis", "Taxis", "", "The axis along which the slices are numbered; from the end if negative."),
    ],
    outputs=[OUTPUT],
    attrs=[Attr("batch_dims", 0, "How many first axes params and indices share, one gather for each.", "int")],
    types={"Tparams": ANY, "Tindices": ("int16", *INDEX), "Taxis": INDEX},
    linear=["params"],
    example=Example(
        {"params": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "indices": [2, 0], "axis": 1},
        {"output": [[3.0, 1.0], [6.0, 4.0]]},
    ),
    samples=gatherings,
    rejects=[
        Reject({"indices": [0, 3]}, r"indices\[1\] == 3 out of range \[0, 3\)"),
        Reject({"indices": [[0, 1], [-1, 0]]}, r"indices\[1, 0\] == -1 out of range \[0, 3\)"),
        Reject({"axis": 2}, r"axis == 2 out of range \[-2, 2\)"),
        Reject({"indices": [[0], [1]], "batch_dims": 1, "axis": 0}, r"batch_dims == 1 must not be beyond the axis, 0"),
        Reject({"indices": [0, 1], "batch_dims": 2}, r"batch_dims == 2 out of range \[-1, 2\)"),
        Reject({"indices": [[0]], "batch_dims": 1}, r"indices has shape \[1, 1\].*batch axis 0, 2"),
    ],
)
def gather_v2(params: Any, indices: Any, axis: Any, batch_dims: int) -> Any:
    """Slices of an array along an axis, by their numbers."""
    place, shared = int(axis) % params.ndim, batch_dims + (indices.ndim if batch_dims < 0 else 0)
    if not shared:
        return np.asarray(np.take(params, indices, place), params.dtype)
    # One row of indices per batch; the axes between the batch and the axis move behind it while picking.
    moved = np.moveaxis(params, place, shared)
    batch = np.ogrid[tuple(slice(n) for n in params.shape[:shared])]
    picked = moved[(*[b.reshape(b.shape + (1,) * (indices.ndim - shared)) for b in batch], indices)]
    inner = range(shared, indices.ndim)
    return np.ascontiguousarray(np.moveaxis(picked, list(inner), [place + k for k in range(len(inner))]))


@gather_v2.compiled
def _(calls: Any, params: Any, indices: Any, axis: Any, batch_dims: int) -> Any:
    if batch_dims or axis.ndim or int(axis) not in (0, -params.ndim) or not params.ndim:
        raise Declined
    output = calls.empty((*indices.shape, *params.shape[1:]), "Tparams")
    sizes = np.array(params.shape[:1], np.int64)
    calls.fill("gather_rows__{Tindices}", [params, indices.reshape(-1, 1), sizes, output])
    return output


@gather_v2.shapes
def _(params: Any, indices: Any, axis: Any, batch_dims: int) -> Any:
    shared = batch_dims
    if indices.shape is not None:
        rank = len(indices.shape)
        if not -rank <= batch_dims <= rank:
            raise Fault("range", "batch_dims", (), batch_dims, -rank, rank + 1)
        shared = batch_dims % rank if batch_dims < 0 else batch_dims
    if params.shape is None:
        return [None]
    if not params.shape:
        raise Fault("shape", "params", (), params.shape, hint="has no axis to pick along")
    if axis.value is None or shared < 0:
        return [None]
    place = axis_within("axis", int(axis.value), len(params.shape))
    if shared > place:
        raise Fault("rule", "batch_dims", (), batch_dims, hint=f"must not be beyond the axis, {place}")
    return [taken(params, indices, place, shared)]


@gather_v2.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # The slices first, then the rest: what is left is to add rows that have the same number, batch by batch.
    sizes = ops.Shape(input=x.params, out_type="int64")
    rank = ops.Rank(input=x.params)
    place = _counted_from_front(ops, x.axis, rank)
    after = ops.AddV2(x=place, y=1)
    shared = np.int32(x.batch_dims)
    if x.batch_dims < 0:
        shared = ops.AddV2(x=ops.Rank(input=x.indices), y=shared)
    count = _product(ops, sizes, place, after)
    batches, outer, inner = (
        _product(ops, sizes, 0, shared),
        _product(ops, sizes, shared, place),
        _product(ops, sizes, after, rank),
    )
    places = ops.Shape(input=x.indices, out_type="int64")
    picked = _product(ops, places, shared, ops.Rank(input=x.indices))
    blocks = ops.Reshape(tensor=g.output, shape=ops.Pack(values=[batches, outer, picked, inner]))
    rows = ops.Transpose(x=blocks, perm=[0, 2, 1, 3])
    numbers = ops.Reshape(tensor=ops.Cast(x=x.indices, DstT="int64"), shape=ops.Pack(values=[batches, picked]))
    total = ops.Mul(x=batches, y=count)
    first = ops.Mul(x=ops.Range(start=0, limit=batches, delta=1), y=count)
    added = ops.UnsortedSegmentSum(
        data=rows, segment_ids=ops.AddV2(x=numbers, y=ops.ExpandDims(input=first, axis=1)), num_segments=total
    )
    back = ops.Reshape(tensor=added, shape=ops.Pack(values=[batches, count, outer, inner]))
    return {"params": ops.Reshape(tensor=ops.Transpose(x=back, perm=[0, 2, 1, 3]), shape=sizes)}


def _counted_from_front(ops: Any, axis: Any, rank: Any) -> Any:
    place = ops.Reshape(tensor=axis, shape=[1])
    return ops.StridedSlice(
        input=ops.Range(start=0, limit=rank, delta=1),
        begin=place,
        end=place,
        strides=ops.OnesLike(x=place),
        shrink_axis_mask=1,
    )


def _product(ops: Any, sizes: Any, start: Any, end: Any) -> Any:
    """The product of some of the sizes."""
    between = ops.Slice(
        input=sizes,
        begin=ops.Reshape(tensor=start, shape=[1]),
        size=ops.Reshape(tensor=ops.Sub(x=end, y=start), shape=[1]),
    )
    return ops.Prod(input=between, axis=0)
