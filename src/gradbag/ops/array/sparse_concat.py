"""Sparse arrays put together along an axis, and cut apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import ANY
from ...errors import Fault
from ...spec import REQUIRED, Arg, Attr, Declined, Example, Known, Reject, op
from .sizes import axis_within, held_sizes
from .sparse_places import check_within, row_major
from .sparse_samples import concatenations, splits


def cut_up(ops: Any, whole: Any, parts: Any) -> list[Any]:
    """One array in consecutive pieces, each as long as one of some vectors."""
    pieces, start = [], np.int64(0)
    for part in parts:
        end = ops.AddV2(x=start, y=ops.Size(input=part, out_type="int64"))
        pieces.append(ops.GatherV2(params=whole, indices=ops.Range(start=start, limit=end, delta=np.int64(1)), axis=0))
        start = end
    return pieces


def joined(ops: Any, parts: Any) -> Any:
    """Arrays one after the other; of one alone there is nothing to join."""
    return parts[0] if len(parts) == 1 else ops.ConcatV2(values=parts, axis=0)


def put_back(ops: Any, moved: Any, places: Any, like: Any) -> Any:
    """A vector as long as `like` that has each value at its place."""
    return ops.UnsortedSegmentSum(data=moved, segment_ids=places, num_segments=ops.Size(input=like, out_type="int64"))


def in_row_major_order(calls: Any, indices: Any, values: Any) -> tuple[Any, Any]:
    """Entries in row-major order, by a kernel."""
    if indices.ndim != 2 or values.shape != indices.shape[:1]:
        raise Declined
    found = calls.empty(indices.shape, "int64", 32 * len(values)), calls.empty(values.shape, "T")
    calls.fill("row_major_entries", [indices, values, *found])
    return found


# ------------------------------------------------------------------ SparseConcat
@op(
    "SparseConcat",
    inputs=[
        Arg("indices", "int64", "_ rank", "The places of the entries of each array.", many=True),
        Arg("values", "T", "_", "Their values.", many=True),
        Arg("shapes", "int64", "rank", "The shape of each array; they differ along the one axis only.", many=True),
    ],
    outputs=[
        Arg("output_indices", "int64", "*places", "The places of all entries, in row-major order."),
        Arg("output_values", "T", "*count", "Their values."),
        Arg("output_shape", "int64", "rank", "The shape of the whole."),
    ],
    attrs=[Attr("concat_dim", REQUIRED, "The axis to put them together along, from the end if negative.", "int")],
    types={"T": ANY},
    linear=["values"],
    example=Example(
        {
            "indices": [[[0, 1], [1, 0]], [[0, 0]]],
            "values": [[1.0, 2.0], [3.0]],
            "shapes": [[2, 2], [2, 1]],
            "concat_dim": 1,
        },
        {"output_indices": [[0, 1], [0, 2], [1, 0]], "output_values": [1.0, 3.0, 2.0], "output_shape": [2, 3]},
    ),
    samples=concatenations,
    rejects=[
        Reject({"concat_dim": 2}, r"concat_dim == 2 out of range \[-2, 2\)"),
        Reject({"shapes": [[2, 2], [3, 1]]}, r"shapes\[1\] == \[3, 1\] must be that of shapes\[0\] but for axis 1"),
        Reject({"shapes": [[2, 2], [2, -1]]}, r"shapes\[1\]\[1\] == -1 must not be negative"),
        Reject({"shapes": [[2, 2], [2, 2**63 - 1]]}, r"shapes == .* is too long along axis 1"),
        Reject(
            {"indices": [[[0, 1], [1, 0]]], "values": [[1.0, 2.0]], "shapes": [[2, 2]]},
            r"indices == 1 must be at least",
        ),
        Reject({"values": [[1.0, 2.0], [[3.0]]]}, r"values\[1\] must have shape \[_\]; got \[1, 1\]"),
        Reject({"shapes": [[2, 2], [2]]}, r"shapes\[1\] must have shape \[rank\] with rank=2; got \[1\]"),
        Reject({"values": [[1.0], [3.0]]}, r"values\[0\] has shape \[1\], which must be \[2\], one for each place"),
    ],
)
def sparse_concat(indices: Any, values: Any, shapes: Any, concat_dim: int) -> Any:
    """Sparse arrays put together along an axis; the result is in row-major order."""
    axis, start, moved = concat_dim % len(shapes[0]), 0, []
    for places, shape in zip(indices, shapes, strict=True):
        moved.append(places.copy())
        moved[-1][:, axis] += start
        start += int(shape[axis])
    whole = np.concatenate(moved)
    order = row_major(whole)
    shape = shapes[0].copy()
    shape[axis] = start
    return whole[order], np.concatenate(values)[order], shape


@sparse_concat.shapes
def _(indices: Any, values: Any, shapes: Any, concat_dim: int) -> Any:
    if len(indices) < 2:
        raise Fault("rule", "indices", (), len(indices), hint="must be at least 2 arrays")
    ranks = [s.shape[0] for s in shapes if s.shape is not None and s.shape[0] is not None]
    ranks += [i.shape[1] for i in indices if i.shape is not None and i.shape[1] is not None]
    axis = axis_within("concat_dim", concat_dim, ranks[0]) if ranks else None
    counts = [_count(place, i.shape, v.shape) for place, (i, v) in enumerate(zip(indices, values, strict=True))]
    known = [(place, held_sizes(f"shapes[{place}]", s.value)) for place, s in enumerate(shapes) if s.value is not None]
    for place, sizes in known[1:]:
        if axis is not None and sizes[:axis] + sizes[axis + 1 :] != known[0][1][:axis] + known[0][1][axis + 1 :]:
            hint = f"must be that of shapes[{known[0][0]}] but for axis {axis}, {known[0][1]}"
            raise Fault("rule", f"shapes[{place}]", (), sizes, hint=hint)
    if axis is not None and sum(sizes[axis] for _, sizes in known) >= 2**63:
        raise Fault("rule", "shapes", (), [sizes for _, sizes in known], hint=f"is too long along axis {axis}")
    count = None if None in counts else sum(c for c in counts if c is not None)
    rank = ranks[0] if ranks else None
    return [(count, rank), (count,), (rank,)]


def _count(place: int, indices: Any, values: Any) -> int | None:
    one, other = (None if shape is None else shape[0] for shape in (indices, values))
    if None not in (one, other) and one != other:
        raise Fault("shape", f"values[{place}]", (), values, hint=f"must be [{one}], one for each place")
    return other if one is None else one


@sparse_concat.compiled
def _(calls: Any, indices: Any, values: Any, shapes: Any, concat_dim: int) -> Any:
    given = [Known("int64", i.shape) for i in indices], [Known("", v.shape) for v in values]
    held = [Known("int64", s.shape, s) for s in shapes]
    if any(v.ndim != 1 for v in (*values, *shapes)) or any(
        i.ndim != 2 or i.shape[1] != len(shapes[0]) for i in indices
    ):
        raise Declined
    if any(len(s) != len(shapes[0]) for s in shapes):
        raise Declined
    assert sparse_concat.shape_rule is not None
    sparse_concat.shape_rule(*given, held, concat_dim)  # refuses what does not go together
    axis, start = concat_dim % len(shapes[0]), 0
    whole = calls.empty((sum(map(len, indices)), len(shapes[0])), "int64")
    np.concatenate(indices, out=whole)
    row = 0
    for places, shape in zip(indices, shapes, strict=True):
        if start:
            whole[row : row + len(places), axis] += start
        row, start = row + len(places), start + int(shape[axis])
    size = shapes[0].copy()
    size[axis] = start
    return *in_row_major_order(calls, whole, np.concatenate(values)), size


@sparse_concat.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # Numbers go the way that the values went.
    count = ops.Size(input=g.output_values, out_type="int64")
    numbers = cut_up(ops, ops.Range(start=np.int64(0), limit=count, delta=np.int64(1)), x.values)
    came = ops.SparseConcat(indices=x.indices, values=numbers, shapes=x.shapes, concat_dim=x.concat_dim)
    pulled = put_back(ops, g.output_values, came.output_values, g.output_values)
    return {"values": cut_up(ops, pulled, x.values)}


# ------------------------------------------------------------------ SparseSplit
@op(
    "SparseSplit",
    inputs=[
        Arg("split_dim", "int64", "", "The axis to cut, from the end if negative."),
        Arg("indices", "int64", "nnz rank", "The places of the entries."),
        Arg("values", "T", "nnz", "Their values."),
        Arg("shape", "int64", "rank", "The shape of the whole."),
    ],
    outputs=[
        Arg("output_indices", "int64", "*places", "The places in each piece.", many=True, count="num_split"),
        Arg("output_values", "T", "*count", "Their values.", many=True, count="num_split"),
        Arg("output_shape", "int64", "rank", "The shape of each piece.", many=True, count="num_split"),
    ],
    attrs=[Attr("num_split", REQUIRED, "Into how many pieces; the first ones are longer if need be.", "int")],
    types={"T": ANY},
    linear=["values"],
    example=Example(
        {
            "split_dim": 1,
            "indices": [[0, 1], [0, 2], [1, 0]],
            "values": [1.0, 2.0, 3.0],
            "shape": [2, 3],
            "num_split": 2,
        },
        {
            "output_indices": [[[0, 1], [1, 0]], [[0, 0]]],
            "output_values": [[1.0, 3.0], [2.0]],
            "output_shape": [[2, 2], [2, 1]],
        },
    ),
    samples=splits,
    rejects=[
        Reject({"split_dim": 2}, r"split_dim == 2 out of range \[-2, 2\)"),
        Reject({"num_split": 4}, r"num_split == 4 must be from 1 to the length of the axis, 3"),
        Reject({"num_split": 0}, r"num_split == 0 must be from 1 to the length of the axis, 3"),
        Reject({"indices": [[0, 1], [0, 3], [1, 0]]}, r"indices\[1, 1\] == 3 out of range \[0, 3\)"),
        Reject({"shape": [-2, 3]}, r"shape\[0\] == -2 must not be negative"),
    ],
)
def sparse_split(split_dim: Any, indices: Any, values: Any, shape: Any, num_split: int) -> Any:
    """A sparse array cut along an axis into pieces of nearly the same length; entries keep their order."""
    axis = int(split_dim) % len(shape)
    part, longer = divmod(int(shape[axis]), num_split)
    places, entries, sizes, start = [], [], [], 0
    for number in range(num_split):
        length = part + (number < longer)
        inside = (indices[:, axis] >= start) & (indices[:, axis] < start + length)
        moved = indices[inside]
        moved[:, axis] -= start
        size = shape.copy()
        size[axis] = length
        places.append(moved)
        entries.append(values[inside])
        sizes.append(size)
        start += length
    return places, entries, sizes


@sparse_split.shapes
def _(split_dim: Any, indices: Any, values: Any, shape: Any, num_split: int) -> Any:
    rank = shape.shape[0] if shape.shape is not None else None if indices.shape is None else indices.shape[1]
    axis = None
    if split_dim.value is not None and rank is not None:
        axis = axis_within("split_dim", int(split_dim.value), rank)
    if shape.value is not None:
        sizes = held_sizes("shape", shape.value)
        if axis is not None and not 1 <= num_split <= sizes[axis]:
            hint = f"must be from 1 to the length of the axis, {sizes[axis]}"
            raise Fault("rule", "num_split", (), num_split, hint=hint)
        if indices.value is not None:
            check_within("indices", indices.value, sizes)
    return [[(None, rank)] * num_split, [(None,)] * num_split, [(rank,)] * num_split]


@sparse_split.compiled
def _(calls: Any, split_dim: Any, indices: Any, values: Any, shape: Any, num_split: int) -> Any:
    if split_dim.ndim or shape.ndim != 1 or values.ndim != 1 or indices.shape != (len(values), len(shape)):
        raise Declined
    axis, sizes = axis_within("split_dim", int(split_dim), len(shape)), held_sizes("shape", shape)
    if not 1 <= num_split <= sizes[axis] or num_split >= 2**31:
        raise Declined
    check_within("indices", indices, sizes)
    part, longer = divmod(sizes[axis], num_split)
    starts = [number * part + min(number, longer) for number in range(num_split)]
    along = indices[:, axis]
    pieces = (
        along // part
        if not longer
        else np.where(along < longer * (part + 1), along // (part + 1), (along - longer) // part)
    )
    plan = calls.count("partition_rows_plan", [pieces.astype(np.int32)], (num_split,))
    places = [calls.empty((count, len(shape)), "int64") for count in plan.sizes]
    entries = [calls.empty((count,), "T") for count in plan.sizes]
    calls.fill("partition_rows", [indices, places], (), plan)
    calls.fill("partition_rows", [values, entries], (), plan)
    lengths = []
    for number, start in enumerate(starts):
        if start:
            places[number][:, axis] -= start
        lengths.append(shape.copy())
        lengths[-1][axis] = part + (number < longer)
    return places, entries, lengths


@sparse_split.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # Numbers go the way that the values went.
    count = ops.Size(input=x.values, out_type="int64")
    went = ops.SparseSplit(
        split_dim=x.split_dim,
        indices=x.indices,
        values=ops.Range(start=np.int64(0), limit=count, delta=np.int64(1)),
        shape=x.shape,
        num_split=x.num_split,
    )
    moved, places = (joined(ops, parts) for parts in (g.output_values, went.output_values))
    return {"values": put_back(ops, moved, places, x.values)}
