"""Several arrays made into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dims import AnyShape, Size
from ...dtypes import ANY, INDEX
from ...errors import Fault
from ...spec import Arg, Attr, Example, Known, Reject, op
from .array_samples import joinings, packings
from .sizes import agreed, axis_within, possible, single

VALUES = Arg("values", "T", "*_", "Arrays that differ at most along the axis.", many=True)
OUTPUT = Arg("output", "T", "*result", "All values.")
TWO_ROWS = {"output": [[1.0, 2.0], [3.0, 4.0]]}


def joined(argument: str, axis: int | None, values: Sequence[Known]) -> AnyShape:
    """The shape of arrays put one behind the other."""
    if len(values) < 2:
        raise Fault("rule", "values", (), f"{len(values)} arrays", hint="are not enough: there must be two at least")
    ranks = {len(known.shape) for known in values if known.shape is not None}
    if not ranks:
        return None
    rank = min(ranks)
    for number, known in enumerate(values):
        if known.shape is not None and (len(known.shape) > rank or rank == 0):
            hint = "has no axis to join along" if rank == 0 else f"must have {rank} axes, as another of the values has"
            raise Fault("shape", "values", (number,), known.shape, hint=hint)
    if axis is None:
        return (None,) * rank
    place = axis_within(argument, axis, rank)
    total: Size = 0
    others: AnyShape = None
    for number, known in enumerate(values):
        size = None if known.shape is None else known.shape[place]
        total = None if total is None or size is None else total + size
        rest = None if known.shape is None else (*known.shape[:place], None, *known.shape[place + 1 :])
        others = agreed("those before, with any length along the axis", others, f"values[{number}]", rest)
    assert others is not None
    return possible("values", (*others[:place], total, *others[place + 1 :]), values[0].dtype)


def parts(ops: Any, values: Sequence[Any], axis: Any, g: Any) -> list[Any]:
    """The pieces of a gradient that belong to each of the joined arrays."""
    start: Any = np.int64(0)
    pieces = []
    place = ops.Reshape(tensor=axis, shape=[1])
    for value in values:
        sizes = ops.Shape(input=value, out_type="int64")
        # Picked by slicing, for an axis may be negative.
        length = ops.StridedSlice(
            input=sizes, begin=place, end=place, strides=ops.OnesLike(x=place), shrink_axis_mask=1
        )
        end = ops.AddV2(x=start, y=length)
        places = ops.Range(start=start, limit=end, delta=1)
        pieces.append(ops.GatherV2(params=g, indices=places, axis=ops.Reshape(tensor=axis, shape=[])))
        start = end
    return pieces


# ------------------------------------------------------------------ ConcatV2
@op(
    "ConcatV2",
    inputs=[VALUES, Arg("axis", "Tidx", "*one", "The axis to join along; from the end if negative.")],
    outputs=[OUTPUT],
    types={"T": ANY, "Tidx": INDEX},
    linear=["values"],
    example=Example({"values": [[[1.0, 2.0]], [[3.0, 4.0]]], "axis": 0}, TWO_ROWS),
    samples=joinings("axis"),
    rejects=[
        Reject({"axis": 2}, r"axis == 2 out of range \[-2, 2\)"),
        Reject(
            {"values": [[[1.0, 2.0]], [[3.0]]]}, r"values\[1\] has shape \[\?, 1\], which must be that of those before"
        ),
        Reject({"values": [[[1.0, 2.0]], [3.0]]}, r"values\[0\] has shape \[1, 2\], which must have 1 axes"),
        Reject({"values": [[[1.0, 2.0]]]}, r"values == 1 arrays are not enough"),
    ],
)
def concat_v2(values: Any, axis: Any) -> Any:
    """Arrays put one behind the other, along an axis that they have."""
    return np.concatenate(values, int(axis.reshape(-1)[0]))


@concat_v2.shapes
def _(values: Any, axis: Any) -> Any:
    return [joined("axis", single("axis", axis), values)]


@concat_v2.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"values": parts(ops, x.values, x.axis, g.output)}


# ------------------------------------------------------------------ Concat
@op(
    "Concat",
    inputs=[Arg("concat_dim", "int32", "*one", "The axis to join along; from the end if negative."), VALUES],
    outputs=[OUTPUT],
    types={"T": ANY},
    linear=["values"],
    example=Example({"concat_dim": 0, "values": [[[1.0, 2.0]], [[3.0, 4.0]]]}, TWO_ROWS),
    samples=joinings("concat_dim"),
    rejects=[Reject({"concat_dim": 2}, r"concat_dim == 2 out of range \[-2, 2\)")],
)
def concat(concat_dim: Any, values: Any) -> Any:
    """Arrays put one behind the other; the older form of ConcatV2."""
    return np.concatenate(values, int(concat_dim.reshape(-1)[0]))


@concat.shapes
def _(concat_dim: Any, values: Any) -> Any:
    return [joined("concat_dim", single("concat_dim", concat_dim), values)]


@concat.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"values": parts(ops, x.values, x.concat_dim, g.output)}


# ------------------------------------------------------------------ Pack
@op(
    "Pack",
    inputs=[Arg("values", "T", "*_", "Arrays of the same shape.", many=True)],
    outputs=[OUTPUT],
    attrs=[Attr("axis", 0, "Where the new axis stands in the result; from the end if negative.", "int")],
    types={"T": ANY},
    linear=["values"],
    example=Example({"values": [[1.0, 2.0], [3.0, 4.0]]}, TWO_ROWS),
    samples=packings,
    rejects=[
        Reject({"axis": 2}, r"axis == 2 out of range \[-2, 2\)"),
        Reject(
            {"values": [[1.0, 2.0], [3.0]]}, r"values\[1\] has shape \[1\], which must be that of values\[0\], \[2\]"
        ),
        Reject({"values": []}, r"values == \[\] must hold at least one array"),
    ],
)
def pack(values: Any, axis: int) -> Any:
    """Arrays side by side, along a new axis."""
    return np.stack(values, axis)


@pack.shapes
def _(values: Any, axis: int) -> Any:
    if not values:
        raise Fault("rule", "values", (), "no arrays", hint="are not enough: there must be one at least")
    common: AnyShape = None
    for number, known in enumerate(values):
        common = agreed("values[0]", common, f"values[{number}]", known.shape)
    if common is None:
        return [None]
    place = axis_within("axis", axis, len(common) + 1)
    return [possible("values", (*common[:place], len(values), *common[place:]), values[0].dtype)]


@pack.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"values": [ops.GatherV2(params=g.output, indices=k, axis=x.axis) for k in range(len(x.values))]}
