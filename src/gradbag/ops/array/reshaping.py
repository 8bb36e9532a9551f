"""The same values in another shape, or in another order of axes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...dims import AnyShape
from ...dtypes import ANY, INDEX
from ...errors import Fault
from ...spec import Arg, Attr, Example, Known, Reject, op
from .array_samples import expansions, permutations, reshapings, squeezings, transpositions
from .sizes import axis_within, possible, single, unknown_sizes

INPUT = Arg("input", "T", "*shape", "Any array.")
OUTPUT = Arg("output", "T", "*result", "The same values in the new shape.")


def like(ops: Any, gradient: Any, value: Any) -> Any:
    """A gradient in the shape of what it is the gradient of."""
    return ops.Reshape(tensor=gradient, shape=ops.Shape(input=value, out_type="int64"))


# ------------------------------------------------------------------ Reshape
@op(
    "Reshape",
    inputs=[
        Arg("tensor", "T", "*before", "Any array."),
        Arg("shape", "Tshape", "*rank", "The new shape; one -1 stands for the size that is left."),
    ],
    outputs=[Arg("output", "T", "*after", "The same values in the new shape.")],
    types={"T": ANY, "Tshape": INDEX},
    linear=["tensor"],
    example=Example({"tensor": [1.0, 2.0, 3.0, 4.0], "shape": [2, -1]}, {"output": [[1.0, 2.0], [3.0, 4.0]]}),
    samples=reshapings,
    rejects=[
        Reject({"shape": [3, 2]}, r"shape == \[3, 2\] has room for 6 values, but tensor has 4"),
        Reject({"shape": [3, -1]}, r"shape == \[3, -1\] cannot be filled by the 4 values of tensor"),
        Reject({"shape": [-1, -1]}, r"shape\[1\] == -1 is the second unknown size"),
        Reject({"shape": [-2, 2]}, r"shape\[0\] == -2 must not be negative"),
        Reject(
            {"shape": np.array([2**62, 2**62, 0])}, r"shape == \[4611686018427387904, .* more than any memory holds"
        ),
    ],
)
def reshape(tensor: Any, shape: Any) -> Any:
    """The same values, in the same order, in another shape."""
    return tensor.reshape(_filled(Known("", tensor.shape), shape.reshape(-1).tolist()))


@reshape.shapes
def _(tensor: Any, shape: Any) -> Any:
    if shape.shape is not None and len(shape.shape) > 1:
        raise Fault("shape", "shape", (), shape.shape, hint="must have one axis")
    if shape.value is None:
        return [(None,) if shape.shape == () else unknown_sizes(shape.shape)]
    wanted = shape.value.reshape(-1).tolist()
    for place, size in enumerate(wanted):
        if size < -1:
            raise Fault("negative", "shape", (place,), size)
        if size == -1 and -1 in wanted[:place]:
            raise Fault("rule", "shape", (place,), size, hint="is the second unknown size; only one can be left open")
    possible("shape", [abs(size) for size in wanted], tensor.dtype)
    return [_filled(tensor, wanted)]


def _filled(tensor: Any, wanted: list[int]) -> AnyShape:
    """The shape with -1 replaced by what the number of values leaves for it."""
    if tensor.shape is None or None in tensor.shape:
        return tuple(None if size == -1 else size for size in wanted)
    count, room = prod(tensor.shape), prod(size for size in wanted if size != -1)
    if -1 not in wanted:
        if count != room:
            raise Fault("rule", "shape", (), wanted, hint=f"has room for {room} values, but tensor has {count}")
        return tuple(wanted)
    if room == 0 and count == 0:
        # Any size would do: TensorFlow takes what the other sizes of the tensor leave, rounded down.
        room = prod(size for size in wanted if size > 0)
        left = prod(size for size in tensor.shape if size) // room
        return tuple(left if size == -1 else size for size in wanted)
    if room == 0 or count % room:
        raise Fault("rule", "shape", (), wanted, hint=f"cannot be filled by the {count} values of tensor")
    return tuple(count // room if size == -1 else size for size in wanted)


@reshape.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"tensor": like(ops, g.output, x.tensor)}


# ------------------------------------------------------------------ ExpandDims
@op(
    "ExpandDims",
    inputs=[INPUT, Arg("axis", "Tdim", "*one", "Where the new axis stands in the result; from the end if negative.")],
    outputs=[OUTPUT],
    types={"T": ANY, "Tdim": INDEX},
    linear=["input"],
    example=Example({"input": [1.0, 2.0], "axis": 0}, {"output": [[1.0, 2.0]]}),
    samples=expansions,
    rejects=[
        Reject({"axis": 2}, r"axis == 2 out of range \[-2, 2\)"),
        Reject({"axis": [0, 1]}, r"axis has shape \[2\], which must be that of a scalar"),
    ],
)
def expand_dims(input: Any, axis: Any) -> Any:
    """The same values with one more axis, of length one."""
    return np.expand_dims(input, int(axis.reshape(-1)[0]))


@expand_dims.shapes
def _(input: Any, axis: Any) -> Any:
    place = single("axis", axis)
    if input.shape is None:
        return [None]
    if place is None:
        return [(None,) * (len(input.shape) + 1)]
    place = axis_within("axis", place, len(input.shape) + 1)
    return [possible("input", (*input.shape[:place], 1, *input.shape[place:]), input.dtype)]


@expand_dims.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"input": like(ops, g.output, x.input)}


# ------------------------------------------------------------------ Squeeze
@op(
    "Squeeze",
    inputs=[INPUT],
    outputs=[OUTPUT],
    attrs=[Attr("squeeze_dims", (), "The axes to drop; all of length one, if none is named.", "ints")],
    types={"T": ANY},
    linear=["input"],
    example=Example({"input": [[[1.0], [2.0]]], "squeeze_dims": [0]}, {"output": [[1.0], [2.0]]}),
    samples=squeezings,
    rejects=[
        Reject({"squeeze_dims": [1]}, r"input has shape \[1, 2, 1\], which has length 2 along axis 1"),
        Reject({"squeeze_dims": [0, 3]}, r"squeeze_dims\[1\] == 3 out of range \[-3, 3\)"),
    ],
)
def squeeze(input: Any, squeeze_dims: tuple[int, ...]) -> Any:
    """The same values without axes of length one."""
    dropped = {axis % input.ndim for axis in squeeze_dims}
    return input.reshape([n for axis, n in enumerate(input.shape) if axis not in dropped and (n != 1 or dropped)])


@squeeze.shapes
def _(input: Any, squeeze_dims: tuple[int, ...]) -> Any:
    if input.shape is None:
        return [None]
    dropped = {axis_within("squeeze_dims", a, len(input.shape), [p]) for p, a in enumerate(squeeze_dims)}
    for axis in sorted(dropped):
        if input.shape[axis] not in (1, None):
            hint = f"has length {input.shape[axis]} along axis {axis}; only axes of length 1 can be dropped"
            raise Fault("shape", "input", (), input.shape, hint=hint)
    if dropped:
        return [tuple(n for axis, n in enumerate(input.shape) if axis not in dropped)]
    return [None if None in input.shape else tuple(n for n in input.shape if n != 1)]


@squeeze.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"input": like(ops, g.output, x.input)}


# ------------------------------------------------------------------ Transpose
@op(
    "Transpose",
    inputs=[
        Arg("x", "T", "*shape", "Any array."),
        Arg("perm", "Tperm", "rank", "For each axis of the result, the axis of x that it is."),
    ],
    outputs=[Arg("y", "T", "*result", "The same values, axes exchanged.")],
    types={"T": ANY, "Tperm": INDEX},
    linear=["x"],
    example=Example(
        {"x": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "perm": [1, 0]}, {"y": [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]}
    ),
    samples=transpositions,
    rejects=[
        Reject({"perm": [0, 2]}, r"perm\[1\] == 2 out of range \[-2, 2\)"),
        Reject({"perm": [1, 1]}, r"perm\[1\] == 1 names an axis a second time"),
        Reject({"perm": [0]}, r"perm has shape \[1\], which must name each of the 2 axes of x"),
    ],
)
def transpose(x: Any, perm: Any) -> Any:
    """The same values with the axes in another order."""
    return np.ascontiguousarray(x.transpose(perm)).reshape([x.shape[axis] for axis in perm])


@transpose.shapes
def _(x: Any, perm: Any) -> Any:
    count = None if perm.shape is None else perm.shape[0]
    if x.shape is None:
        return [None if count is None else (None,) * count]
    if count not in (None, len(x.shape)):
        raise Fault("shape", "perm", (), perm.shape, hint=f"must name each of the {len(x.shape)} axes of x")
    if perm.value is None:
        return [(None,) * len(x.shape)]
    axes: list[int] = []
    for place, axis in enumerate(perm.value.tolist()):
        axes.append(axis_within("perm", axis, len(x.shape), [place]))
        if axes[-1] in axes[:-1]:
            raise Fault("rule", "perm", (place,), axis, hint="names an axis a second time")
    return [tuple(x.shape[axis] for axis in axes)]


@transpose.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # Twice all axes, read from the second half on: so a negative axis is counted from the front.
    rank = ops.Rank(input=x.x)
    axes = ops.Range(start=0, limit=rank, delta=1)
    places = ops.AddV2(x=ops.Cast(x=x.perm, DstT="int32"), y=rank)
    perm = ops.GatherV2(params=ops.ConcatV2(values=[axes, axes], axis=0), indices=places, axis=0)
    return {"x": ops.Transpose(x=g.y, perm=ops.InvertPermutation(x=perm))}


# ------------------------------------------------------------------ InvertPermutation
@op(
    "InvertPermutation",
    inputs=[Arg("x", "T", "count", "Each number from 0 to its length, once.")],
    outputs=[Arg("y", "T", "count", "y[x[i]] == i.")],
    types={"T": INDEX},
    example=Example({"x": [2, 0, 1]}, {"y": [1, 2, 0]}),
    samples=permutations,
    rejects=[
        Reject({"x": [0, 3, 1]}, r"x\[1\] == 3 out of range \[0, 3\)"),
        Reject({"x": [0, 1, 1]}, r"x\[2\] == 1 stands twice"),
    ],
)
def invert_permutation(x: Any) -> Any:
    """Where each number stands in a permutation."""
    y = np.full(len(x), -1, x.dtype)
    for place, value in enumerate(x.tolist()):
        if not 0 <= value < len(x):
            raise Fault("range", "x", (place,), value, 0, len(x))
        if y[value] >= 0:
            raise Fault("rule", "x", (place,), value, hint="stands twice in the permutation")
        y[value] = place
    return y
