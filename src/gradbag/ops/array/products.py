"""Products of many matrices at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...dtypes import FLOAT
from ...errors import Fault
from ...spec import Arg, Attr, Example, Known, Reject, op
from .broadcasting import common_shape
from .operands import nonzero
from .precision import rounded
from .samples import Rng


def _factors(rng: Rng) -> Iterator[dict[str, Any]]:
    for outer, other in [((2,), (2,)), ((3, 1), (2,)), ((), (2,)), ((0,), (1,)), ((), ())]:
        for turn_x, turn_y in [(False, False), (True, False), (False, True), (True, True)]:
            yield {
                "x": nonzero(rng, (*outer, *((3, 2) if turn_x else (2, 3)))),
                "y": nonzero(rng, (*other, *((4, 3) if turn_y else (3, 4)))),
                "adj_x": turn_x,
                "adj_y": turn_y,
            }


# ------------------------------------------------------------------ BatchMatMulV2
@op(
    "BatchMatMulV2",
    inputs=[
        Arg("x", "T", "*_", "Matrices, on the last two axes."),
        Arg("y", "T", "*_", "Matrices; the axes before are stretched to those of x."),
    ],
    outputs=[Arg("output", "T", "*result", "Their products.")],
    attrs=[
        Attr("adj_x", False, "Whether x is turned over before."),
        Attr("adj_y", False, "Whether y is turned over before."),
        Attr("grad_x", False, "Ignored, for TensorFlow's sake: whether x is a gradient."),
        Attr("grad_y", False, "Ignored, for TensorFlow's sake: whether y is a gradient."),
    ],
    types={"T": (*FLOAT, "int32", "int64")},
    example=Example({"x": [[[1.0, 2.0]]], "y": [[[3.0], [4.0]]]}, {"output": [[[11.0]]]}),
    samples=_factors,
    rejects=[
        Reject({"y": [[[1.0]]]}, r"y has shape \[1, 1, 1\], which cannot be multiplied with x: .* 1 here, 2 there"),
        Reject({"x": [1.0]}, r"x has shape \[1\], which must be that of matrices"),
    ],
)
def batch_mat_mul_v2(x: Any, y: Any, adj_x: bool, adj_y: bool, grad_x: bool, grad_y: bool) -> Any:
    """The products of matrices that stand along the other axes."""
    return rounded(np.matmul, _turned(x, adj_x), _turned(y, adj_y))


def _turned(matrices: Any, turn: bool) -> Any:
    return np.swapaxes(matrices, -1, -2) if turn else matrices


@batch_mat_mul_v2.shapes
def _(x: Known, y: Known, adj_x: bool, adj_y: bool, grad_x: bool, grad_y: bool) -> Any:
    for name, known in (("x", x), ("y", y)):
        if known.shape is not None and len(known.shape) < 2:
            raise Fault("shape", name, (), known.shape, hint="must be that of matrices")
    if x.shape is None or y.shape is None:
        return [None]
    rows, inner = x.shape[-2:][::-1] if adj_x else x.shape[-2:]
    height, columns = y.shape[-2:][::-1] if adj_y else y.shape[-2:]
    if None not in (inner, height) and inner != height:
        hint = f"cannot be multiplied with x: the inner size is {height} here, {inner} there"
        raise Fault("shape", "y", (), y.shape, hint=hint)
    return [(*common_shape(("x", x.shape[:-2]), ("y", y.shape[:-2])), rows, columns)]


@batch_mat_mul_v2.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    g_out = g.output
    first = _product(ops, g_out, x.y, False, not x.adj_y) if not x.adj_x else _product(ops, x.y, g_out, x.adj_y, True)
    second = _product(ops, x.x, g_out, not x.adj_x, False) if not x.adj_y else _product(ops, g_out, x.x, True, x.adj_x)
    return {"x": ops.sum_like(first, x.x), "y": ops.sum_like(second, x.y)}


def _product(ops: Any, x: Any, y: Any, adj_x: bool, adj_y: bool) -> Any:
    return ops.BatchMatMulV2(x=x, y=y, adj_x=adj_x, adj_y=adj_y)
