"""Sine, cosine, and the error function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...dtypes import FLOAT
from ...spec import Example, op
from .arithmetic import INEXACT, ONE, RESULT
from .operands import signed
from .precision import rounded

_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


# ------------------------------------------------------------------ Sin
@op(
    "Sin",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": INEXACT},
    example=Example({"x": [0.0, 1.0]}, {"y": [0.0, 0.84147096]}),
    samples=signed("x"),
)
def sin(x: Any) -> Any:
    """The sine of each number."""
    return rounded(np.sin, x)


@sin.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.Mul(x=g.y, y=ops.Cos(x=x.x))}


# ------------------------------------------------------------------ Cos
@op(
    "Cos",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": INEXACT},
    example=Example({"x": [0.0, 1.0]}, {"y": [1.0, 0.5403023]}),
    samples=signed("x"),
)
def cos(x: Any) -> Any:
    """The cosine of each number."""
    return rounded(np.cos, x)


@cos.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.Neg(x=ops.Mul(x=g.y, y=ops.Sin(x=x.x)))}


# ------------------------------------------------------------------ Erf
def _slope(ops: Any, x: Any, g: Any, sign: float) -> Any:
    """The derivative of the error function is a bell."""
    bell = ops.Exp(x=ops.Neg(x=ops.Square(x=x)))
    return ops.Mul(x=g, y=ops.Mul(x=bell, y=sign * 2 / math.sqrt(math.pi)))


@op(
    "Erf",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": FLOAT},
    example=Example({"x": [0.0, 1.0]}, {"y": [0.0, 0.8427008]}),
    samples=signed("x"),
)
def erf(x: Any) -> Any:
    """The error function of each number."""
    return rounded(_erf, x) if x.size else x.copy()


@erf.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": _slope(ops, x.x, g.y, 1)}


# ------------------------------------------------------------------ Erfc
@op(
    "Erfc",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": FLOAT},
    example=Example({"x": [0.0, 1.0]}, {"y": [1.0, 0.1572992]}),
    samples=signed("x"),
)
def erfc(x: Any) -> Any:
    """What the error function of each number lacks to 1."""
    return rounded(_erfc, x) if x.size else x.copy()


@erfc.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": _slope(ops, x.x, g.y, -1)}
