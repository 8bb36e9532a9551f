"""Products of dense matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import Fault
from ...spec import Arg, Attr, Example, Known, Reject, op
from .arithmetic import INEXACT
from .operands import nonzero
from .precision import rounded
from .samples import Rng


def _factors(rng: Rng) -> Iterator[dict[str, Any]]:
    for rows, inner, columns in [(2, 3, 4), (1, 1, 1), (3, 0, 2), (0, 2, 3)]:
        for turn_a, turn_b in [(False, False), (True, False), (False, True), (True, True)]:
            yield {
                "a": nonzero(rng, (inner, rows) if turn_a else (rows, inner)),
                "b": nonzero(rng, (columns, inner) if turn_b else (inner, columns)),
                "transpose_a": turn_a,
                "transpose_b": turn_b,
            }


# ------------------------------------------------------------------ MatMul
@op(
    "MatMul",
    inputs=[
        Arg("a", "T", "_ _", "The first matrix."),
        Arg("b", "T", "_ _", "The second matrix."),
    ],
    outputs=[Arg("product", "T", "rows columns", "Their product.")],
    attrs=[
        Attr("transpose_a", False, "Whether the first matrix is turned over before."),
        Attr("transpose_b", False, "Whether the second matrix is turned over before."),
        Attr("grad_a", False, "Ignored, for TensorFlow's sake: whether the first matrix is a gradient."),
        Attr("grad_b", False, "Ignored, for TensorFlow's sake: whether the second matrix is a gradient."),
    ],
    types={"T": (*INEXACT, "int32", "int64")},
    example=Example({"a": [[1.0, 2.0]], "b": [[3.0, 4.0], [5.0, 6.0]]}, {"product": [[13.0, 16.0]]}),
    samples=_factors,
    rejects=[Reject({"b": [[1.0]]}, r"b has shape \[1, 1\], which cannot be multiplied with a: .* 1 here, 2 there")],
)
def mat_mul(a: Any, b: Any, transpose_a: bool, transpose_b: bool, grad_a: bool, grad_b: bool) -> Any:
    """The product of two matrices."""
    return rounded(np.matmul, a.T if transpose_a else a, b.T if transpose_b else b)


@mat_mul.shapes
def _(a: Known, b: Known, transpose_a: bool, transpose_b: bool, grad_a: bool, grad_b: bool) -> Any:
    first, second = a.shape or (None, None), b.shape or (None, None)
    rows, inner = first[::-1] if transpose_a else first
    height, columns = second[::-1] if transpose_b else second
    if None not in (inner, height) and inner != height:
        hint = f"cannot be multiplied with a: the inner size is {height} here, {inner} there"
        raise Fault("shape", "b", (), second, hint=hint)
    return [(rows, columns)]


@mat_mul.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    turn_a, turn_b = x.transpose_a, x.transpose_b
    first = {"a": x.b, "b": g.product} if turn_a else {"a": g.product, "b": x.b}
    second = {"a": g.product, "b": x.a} if turn_b else {"a": x.a, "b": g.product}
    return {
        "a": ops.MatMul(**first, transpose_a=turn_a and turn_b, transpose_b=turn_a or not turn_b),
        "b": ops.MatMul(**second, transpose_a=turn_b or not turn_a, transpose_b=turn_b and turn_a),
    }
