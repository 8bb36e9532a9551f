"""Powers and roots."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dims import AnyShape
from ...dtypes import INTEGER
from ...errors import Fault
from ...spec import Arg, Example, Known, Reject, op
from .arithmetic import DY, INEXACT, ONE, RESULT, SIGNED, UNLIKE, UNSTRETCHABLE, X, Y, Z, stretched
from .conjugates import conjugate, is_complex
from .operands import positive, signed
from .precision import rounded
from .samples import pairs


# ------------------------------------------------------------------ Pow
@op(
    "Pow",
    inputs=[X, Y],
    outputs=[Z],
    types={"T": SIGNED},
    example=Example({"x": [2.0, 9.0], "y": [3.0, 0.5]}, {"z": [8.0, 3.0]}),
    samples=pairs,
    rejects=[UNSTRETCHABLE, Reject({"x": [2, 3], "y": [1, -1]}, r"y\[1\] == -1 would give a fraction")],
)
def pow_(x: Any, y: Any) -> Any:
    """The first operand to the power of the second, element by element."""
    return rounded(np.power, x, y)


@pow_.shapes
def _(x: Known, y: Known) -> list[AnyShape]:
    shape = stretched(x, y)[0]
    if y.dtype in INTEGER and y.value is not None and shape is not None and 0 not in shape and (y.value < 0).any():
        place = tuple(int(k) for k in np.unravel_index(np.argmax(y.value < 0), y.value.shape))
        raise Fault("rule", "y", place, y.value[place], hint="would give a fraction, which an integer cannot hold")
    return [shape]


@pow_.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # Where both are 0 the power is flat in x, but its derivative's formula would multiply 0 by infinity.
    flat = ops.LogicalAnd(x=ops.Equal(x=x.x, y=0.0), y=ops.Equal(x=x.y, y=0.0))
    exponent = ops.SelectV2(condition=flat, t=x.y, e=ops.Sub(x=x.y, y=1.0))
    base = ops.Mul(x=x.y, y=ops.Pow(x=x.x, y=exponent))
    # The power of a negative number is none for the exponents beside a whole one: no derivative there, as TensorFlow.
    smooth = ops.NotEqual(x=x.x, y=0.0) if is_complex(x.x) else ops.Greater(x=x.x, y=0.0)
    safe = ops.SelectV2(condition=smooth, t=x.x, e=1.0)  # whose logarithm is 0
    growth = ops.Mul(x=y.z, y=ops.Log(x=safe))
    return {"x": ops.sum_like(ops.Mul(x=g.z, y=base), x.x), "y": ops.sum_like(ops.Mul(x=g.z, y=growth), x.y)}


# ------------------------------------------------------------------ Sqrt
@op(
    "Sqrt",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": INEXACT},
    example=Example({"x": [4.0, 9.0]}, {"y": [2.0, 3.0]}),
    samples=positive("x"),
)
def sqrt(x: Any) -> Any:
    """The square roots."""
    return rounded(np.sqrt, x)


@sqrt.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.SqrtGrad(y=conjugate(ops, y.y), dy=g.y)}


# ------------------------------------------------------------------ SqrtGrad
@op(
    "SqrtGrad",
    inputs=[Arg("y", "T", "*shape", "What Sqrt gave."), DY],
    outputs=[Arg("z", "T", "*shape", "The gradient of Sqrt's operand.")],
    types={"T": INEXACT},
    example=Example({"y": [2.0, 4.0], "dy": [1.0, 2.0]}, {"z": [0.25, 0.25]}),
    samples=signed("y", "dy"),
    rejects=[UNLIKE],
)
def sqrt_grad(y: Any, dy: Any) -> Any:
    """The gradient of Sqrt, from its result: `dy / 2 / conj(y)`; 0 where dy is."""
    return rounded(lambda y, dy: np.where(dy == 0, 0, dy * 0.5 / np.conj(y)), y, dy)


@sqrt_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    slope = ops.RealDiv(x=ops.Neg(x=y.z), y=conjugate(ops, x.y))
    return {"y": conjugate(ops, ops.Mul(x=g.z, y=slope)), "dy": ops.SqrtGrad(y=x.y, dy=g.z)}


# ------------------------------------------------------------------ Rsqrt
@op(
    "Rsqrt",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": INEXACT},
    example=Example({"x": [4.0, 16.0]}, {"y": [0.5, 0.25]}),
    samples=positive("x"),
)
def rsqrt(x: Any) -> Any:
    """One divided by the square roots."""
    return rounded(lambda x: np.divide(1, np.sqrt(x)), x)


@rsqrt.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.RsqrtGrad(y=conjugate(ops, y.y), dy=g.y)}


# ------------------------------------------------------------------ RsqrtGrad
@op(
    "RsqrtGrad",
    inputs=[Arg("y", "T", "*shape", "What Rsqrt gave."), DY],
    outputs=[Arg("z", "T", "*shape", "The gradient of Rsqrt's operand.")],
    types={"T": INEXACT},
    example=Example({"y": [1.0, 2.0], "dy": [1.0, 2.0]}, {"z": [-0.5, -8.0]}),
    samples=signed("y", "dy"),
    rejects=[UNLIKE],
)
def rsqrt_grad(y: Any, dy: Any) -> Any:
    """The gradient of Rsqrt, from its result: `-dy / 2 * conj(y) ** 3`; 0 where dy is."""

    def gradient(y: Any, dy: Any) -> Any:
        other = np.conj(y)
        return np.where(dy == 0, 0, -0.5 * dy * other * other * other)

    return rounded(gradient, y, dy)


@rsqrt_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    slope = ops.Mul(x=ops.Mul(x=x.dy, y=-1.5), y=ops.Square(x=conjugate(ops, x.y)))
    return {"y": conjugate(ops, ops.Mul(x=g.z, y=slope)), "dy": ops.RsqrtGrad(y=x.y, dy=g.z)}
