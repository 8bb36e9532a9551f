"""Ops that give lists: the pieces of an array, and the shapes of several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...dtypes import ANY, INDEX
from ...errors import Fault
from ...spec import REQUIRED, Arg, Attr, Example, Known, Reject, op
from .array_samples import Rng, joinings, packings
from .sizes import axis_within

ROWS = [[1.0, 2.0], [3.0, 4.0]]


# ------------------------------------------------------------------ Split
def _even(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape, axis, count in [((4, 3), 0, 2), ((2, 6), -1, 3), ((2, 3), 1, 1), ((0, 2), 0, 2)]:
        yield {"axis": axis, "value": rng.uniform(0.5, 9.0, shape), "num_split": count}


@op(
    "Split",
    inputs=[Arg("axis", "int32", "", "The axis to cut."), Arg("value", "T", "*shape", "The array.")],
    outputs=[Arg("output", "T", "*_", "The pieces.", many=True, count="num_split")],
    attrs=[Attr("num_split", REQUIRED, "How many pieces, of one length.", "int")],
    types={"T": ANY},
    linear=["value"],
    example=Example({"axis": 1, "value": ROWS, "num_split": 2}, {"output": [[[1.0], [3.0]], [[2.0], [4.0]]]}),
    samples=_even,
    rejects=[
        Reject({"num_split": 3}, r"num_split == 3 must divide the length of the axis, 2"),
        Reject({"axis": 2}, r"axis == 2 out of range \[-2, 2\)"),
    ],
)
def split(axis: Any, value: Any, num_split: int) -> Any:
    """An array cut along an axis into pieces of one length."""
    return [np.ascontiguousarray(piece) for piece in np.split(value, num_split, int(axis))]


@split.shapes
def _(axis: Known, value: Known, num_split: int) -> Any:
    if num_split < 1:
        raise Fault("rule", "num_split", (), num_split, hint="must be at least 1")
    if value.shape is None or axis.value is None:
        return [[None if value.shape is None else (None,) * len(value.shape)] * num_split]
    place = axis_within("axis", int(axis.value), len(value.shape))
    length = value.shape[place]
    if length is not None and length % num_split:
        raise Fault("rule", "num_split", (), num_split, hint=f"must divide the length of the axis, {length}")
    piece = None if length is None else length // num_split
    return [[(*value.shape[:place], piece, *value.shape[place + 1 :])] * num_split]


@split.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"value": _joined(ops, g.output, x.axis)}


def _joined(ops: Any, pieces: Any, axis: Any) -> Any:
    return pieces[0] if len(pieces) == 1 else ops.ConcatV2(values=pieces, axis=axis)


# ------------------------------------------------------------------ SplitV
def _uneven(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape, sizes, axis in [((4, 3), [1, 3], 0), ((2, 6), [2, -1, 3], -1), ((2, 3), [3], 1), ((0, 2), [0, 0], 0)]:
        drawn = {"value": rng.uniform(0.5, 9.0, shape), "size_splits": np.array(sizes), "axis": axis}
        yield {**drawn, "num_split": len(sizes)}


@op(
    "SplitV",
    inputs=[
        Arg("value", "T", "*shape", "The array."),
        Arg("size_splits", "Tlen", "pieces", "The length of each piece; one may be -1, which is the rest."),
        Arg("axis", "int32", "", "The axis to cut."),
    ],
    outputs=[Arg("output", "T", "*_", "The pieces.", many=True, count="num_split")],
    attrs=[Attr("num_split", REQUIRED, "How many pieces.", "int")],
    types={"T": ANY, "Tlen": INDEX},
    linear=["value"],
    example=Example(
        {"value": [[1.0, 2.0, 3.0]], "size_splits": [1, -1], "axis": 1, "num_split": 2},
        {"output": [[[1.0]], [[2.0, 3.0]]]},
    ),
    samples=_uneven,
    rejects=[
        Reject({"size_splits": [1, 1]}, r"size_splits == \[1, 1\] must add up to the length of the axis, 3"),
        Reject({"num_split": 3}, r"num_split == 3 must be the number of size_splits, 2"),
        Reject({"axis": 2}, r"axis == 2 out of range \[-2, 2\)"),
    ],
)
def split_v(value: Any, size_splits: Any, axis: Any, num_split: int) -> Any:
    """An array cut along an axis into pieces of given lengths."""
    ends = np.cumsum(_lengths(size_splits.tolist(), value.shape[int(axis)]))
    return [np.ascontiguousarray(piece) for piece in np.split(value, ends[:-1], int(axis))]


def _lengths(sizes: list[int], length: int) -> list[int]:
    rest = length - sum(size for size in sizes if size >= 0)
    found = [rest if size == -1 else size for size in sizes]
    if sizes.count(-1) > 1 or min(found, default=0) < 0 or sum(found) != length:
        raise Fault("rule", "size_splits", (), sizes, hint=f"must add up to the length of the axis, {length}")
    return found


@split_v.shapes
def _(value: Known, size_splits: Known, axis: Known, num_split: int) -> Any:
    if num_split < 1 or (size_splits.shape is not None and size_splits.shape[0] not in (None, num_split)):
        count = None if size_splits.shape is None else size_splits.shape[0]
        raise Fault("rule", "num_split", (), num_split, hint=f"must be the number of size_splits, {count}")
    if value.shape is None or axis.value is None:
        return [[None if value.shape is None else (None,) * len(value.shape)] * num_split]
    place = axis_within("axis", int(axis.value), len(value.shape))
    length = value.shape[place]
    found: list[int | None] = [None] * num_split
    if size_splits.value is not None and length is not None:
        found = list(_lengths(size_splits.value.tolist(), length))
    return [[(*value.shape[:place], size, *value.shape[place + 1 :]) for size in found]]


@split_v.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"value": _joined(ops, g.output, x.axis)}


# ------------------------------------------------------------------ Unpack
def _stacks(rng: Rng) -> Iterator[dict[str, Any]]:
    for drawn in packings(rng):
        axis = drawn["axis"]
        value = np.stack(drawn["values"], axis)
        yield {"value": value, "num": value.shape[axis], "axis": axis}


@op(
    "Unpack",
    inputs=[Arg("value", "T", "*shape", "The array.")],
    outputs=[Arg("output", "T", "*_", "The arrays side by side in it.", many=True, count="num")],
    attrs=[
        Attr("num", REQUIRED, "How many there are: the length of the axis.", "int"),
        Attr("axis", 0, "The axis that vanishes; from the end if negative.", "int"),
    ],
    types={"T": ANY},
    linear=["value"],
    example=Example({"value": ROWS, "num": 2}, {"output": [[1.0, 2.0], [3.0, 4.0]]}),
    samples=_stacks,
    rejects=[
        Reject({"num": 3}, r"num == 3 must be the length of the axis, 2"),
        Reject({"axis": 2}, r"axis == 2 out of range \[-2, 2\)"),
    ],
)
def unpack(value: Any, num: int, axis: int) -> Any:
    """The arrays that stand side by side along an axis: the opposite of Pack."""
    front = np.moveaxis(value, axis, 0)
    return [front[k : k + 1].copy().reshape(front.shape[1:]) for k in range(num)]


@unpack.shapes
def _(value: Known, num: int, axis: int) -> Any:
    if value.shape is None:
        return [[None] * num]
    place = axis_within("axis", axis, len(value.shape))
    if value.shape[place] not in (None, num):
        raise Fault("rule", "num", (), num, hint=f"must be the length of the axis, {value.shape[place]}")
    return [[(*value.shape[:place], *value.shape[place + 1 :])] * num]


@unpack.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"value": ops.Pack(values=g.output, axis=x.axis)}


# ------------------------------------------------------------------ ShapeN
def _several(rng: Rng) -> Iterator[dict[str, Any]]:
    for drawn in joinings("axis")(rng):
        yield {"input": drawn["values"]}


@op(
    "ShapeN",
    inputs=[Arg("input", "T", "*_", "Any arrays.", many=True)],
    outputs=[Arg("output", "out_type", "_", "The lengths of the axes of each.", many=True)],
    attrs=[Attr("out_type", "int32", "The dtype of the lengths.", "type")],
    types={"T": ANY, "out_type": INDEX},
    no_grad=["input"],
    example=Example({"input": [ROWS, [1.0]]}, {"output": [[2, 2], [1]]}),
    samples=_several,
)
def shape_n(input: Any, out_type: str) -> Any:
    """The shapes of several arrays."""
    return [np.array(one.shape, out_type) for one in input]


@shape_n.shapes
def _(input: Any, out_type: str) -> Any:
    return [[(None if one.shape is None else len(one.shape),) for one in input]]


@shape_n.values
def _(input: Any, out_type: str) -> Any:
    known = [None if one.shape is None or None in one.shape else one.shape for one in input]
    return [[None if shape is None else np.array(shape, out_type) for shape in known]]


@shape_n.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}


# ------------------------------------------------------------------ ConcatOffset
def _offsets(rng: Rng) -> Iterator[dict[str, Any]]:
    for shapes, axis in [([[2, 3], [1, 3]], 0), ([[2, 3], [2, 0], [2, 2]], -1), ([[4], [1]], 0)]:
        yield {"concat_dim": axis, "shape": [np.array(shape) for shape in shapes]}


@op(
    "ConcatOffset",
    inputs=[
        Arg("concat_dim", "int32", "", "The axis along which the arrays are joined."),
        Arg("shape", "shape_type", "rank", "The shape of each array.", many=True),
    ],
    outputs=[Arg("offset", "shape_type", "rank", "Where each array begins in what is joined.", many=True)],
    types={"shape_type": INDEX},
    example=Example({"concat_dim": 1, "shape": [[2, 3], [2, 4]]}, {"offset": [[0, 0], [0, 3]]}),
    samples=_offsets,
    rejects=[
        Reject({"concat_dim": 2}, r"concat_dim == 2 out of range \[-2, 2\)"),
        Reject({"shape": [[2, 3], [1, 4]]}, r"shape\[1\]\[0\] == 1 must be the same as in shape\[0\], 2"),
    ],
)
def concat_offset(concat_dim: Any, shape: Any) -> Any:
    """Where each of some arrays begins in the array that they are joined to."""
    found, begin = [], 0
    for one in shape:
        offset = np.zeros_like(one)
        offset[int(concat_dim)] = begin
        begin += int(one[int(concat_dim)])
        found.append(offset)
    return found


@concat_offset.check
def _(concat_dim: Any, *shape: Any) -> None:
    shapes = shape[0] if len(shape) == 1 and isinstance(shape[0], list) else shape
    place = axis_within("concat_dim", int(concat_dim), len(shapes[0]))
    for number, one in enumerate(shapes):
        for axis, (here, there) in enumerate(zip(one.tolist(), shapes[0].tolist(), strict=True)):
            if axis != place and here != there:
                hint = f"must be the same as in shape[0], {there}"
                raise Fault("rule", f"shape[{number}]", (axis,), here, hint=hint)


# ------------------------------------------------------------------ IdentityN
@op(
    "IdentityN",
    inputs=[Arg("input", "T", "*_", "Any arrays.", many=True, each=True)],
    outputs=[Arg("output", "T", "*_", "The same values.", many=True, each=True)],
    types={"T": ANY},
    linear=["input"],
    example=Example({"input": [ROWS, [1.0]]}, {"output": [ROWS, [1.0]]}),
    samples=_several,
)
def identity_n(input: Any) -> Any:
    """Several inputs, as they are."""
    return [one.copy() for one in input]


@identity_n.shapes
def _(input: Any) -> Any:
    return [[one.shape for one in input]]


@identity_n.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"input": g.output}
