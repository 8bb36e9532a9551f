"""Sums that run along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import INDEX, NUMBER
from ...spec import Arg, Attr, Example, Reject, op
from .array_samples import running_sums
from .precision import wider
from .sizes import axis_within


# ------------------------------------------------------------------ Cumsum
@op(
    "Cumsum",
    inputs=[
        Arg("x", "T", "*shape", "Any numbers."),
        Arg("axis", "Tidx", "", "The axis to add along; from the end if negative."),
    ],
    outputs=[Arg("out", "T", "*shape", "At each place the sum up to there.")],
    attrs=[
        Attr("exclusive", False, "Leave out the place itself, so that the first sum is zero."),
        Attr("reverse", False, "Add from the last place on."),
    ],
    types={"T": NUMBER, "Tidx": INDEX},
    linear=["x"],
    example=Example({"x": [1.0, 2.0, 4.0], "axis": 0}, {"out": [1.0, 3.0, 7.0]}),
    samples=running_sums,
    rejects=[Reject({"axis": 1}, r"axis == 1 out of range \[-1, 1\)")],
)
def cumsum(x: Any, axis: Any, exclusive: bool, reverse: bool) -> Any:
    """Sums along an axis, from its first place up to each."""
    place = int(axis) % x.ndim
    along = np.moveaxis(x, place, 0)[:: -1 if reverse else 1]
    out = np.zeros(along.shape, wider(x.dtype))
    if exclusive:
        np.cumsum(along[:-1], 0, out.dtype, out=out[1:])
    else:
        np.cumsum(along, 0, out.dtype, out=out)
    return np.ascontiguousarray(np.moveaxis(out[:: -1 if reverse else 1], 0, place)).astype(x.dtype)


@cumsum.shapes
def _(x: Any, axis: Any, exclusive: bool, reverse: bool) -> Any:
    if x.shape is not None and axis.value is not None:
        axis_within("axis", int(axis.value), len(x.shape))
    return [x.shape]


@cumsum.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.Cumsum(x=g.out, axis=x.axis, exclusive=x.exclusive, reverse=not x.reverse)}


# ------------------------------------------------------------------ Cumprod
@op(
    "Cumprod",
    inputs=[
        Arg("x", "T", "*shape", "Any numbers."),
        Arg("axis", "Tidx", "", "The axis to multiply along; from the end if negative."),
    ],
    outputs=[Arg("out", "T", "*shape", "At each place the product up to there.")],
    attrs=[
        Attr("exclusive", False, "Leave out the place itself, so that the first product is one."),
        Attr("reverse", False, "Multiply from the last place on."),
    ],
    types={"T": NUMBER, "Tidx": INDEX},
    example=Example({"x": [1.0, 2.0, 4.0], "axis": 0}, {"out": [1.0, 2.0, 8.0]}),
    samples=running_sums,
    rejects=[Reject({"axis": 1}, r"axis == 1 out of range \[-1, 1\)")],
)
def cumprod(x: Any, axis: Any, exclusive: bool, reverse: bool) -> Any:
    """Products along an axis, from its first place up to each."""
    place = int(axis) % x.ndim
    along = np.moveaxis(x, place, 0)[:: -1 if reverse else 1]
    out = np.ones(along.shape, wider(x.dtype))
    if exclusive:
        np.cumprod(along[:-1], 0, out.dtype, out=out[1:])
    else:
        np.cumprod(along, 0, out.dtype, out=out)
    return np.ascontiguousarray(np.moveaxis(out[:: -1 if reverse else 1], 0, place)).astype(x.dtype)


@cumprod.shapes
def _(x: Any, axis: Any, exclusive: bool, reverse: bool) -> Any:
    if x.shape is not None and axis.value is not None:
        axis_within("axis", int(axis.value), len(x.shape))
    return [x.shape]


@cumprod.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    weighed = ops.Mul(x=y.out, y=g.out)
    summed = ops.Cumsum(x=weighed, axis=x.axis, exclusive=x.exclusive, reverse=not x.reverse)
    return {"x": ops.DivNoNan(x=summed, y=x.x)}
