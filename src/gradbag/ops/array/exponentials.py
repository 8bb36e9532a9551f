"""The exponential function and logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...spec import Example, op
from .arithmetic import INEXACT, ONE, RESULT
from .operands import positive, signed
from .precision import rounded


# ------------------------------------------------------------------ Exp
@op(
    "Exp",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": INEXACT},
    example=Example({"x": [0.0, 1.0]}, {"y": [1.0, 2.7182817]}),
    samples=signed("x"),
)
def exp(x: Any) -> Any:
    """The exponential function of each number."""
    return rounded(np.exp, x)


@exp.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.Mul(x=g.y, y=y.y)}


# ------------------------------------------------------------------ Log
@op(
    "Log",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": INEXACT},
    example=Example({"x": [1.0, 2.0]}, {"y": [0.0, 0.6931472]}),
    samples=positive("x"),
)
def log(x: Any) -> Any:
    """The natural logarithm of each number."""
    return rounded(np.log, x)


@log.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.RealDiv(x=g.y, y=x.x)}


# ------------------------------------------------------------------ Log1p
@op(
    "Log1p",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": INEXACT},
    example=Example({"x": [0.0, 1.0]}, {"y": [0.0, 0.6931472]}),
    samples=positive("x"),
)
def log1p(x: Any) -> Any:
    """The natural logarithm of one more than each number, exact for small ones too."""
    return rounded(_complex_log1p if x.dtype.kind == "c" else np.log1p, x)


def _complex_log1p(x: Any) -> Any:
    # NumPy adds the 1 first, and small numbers drown in it.
    real, imaginary = x.real, x.imag
    small = 0.5 * np.log1p(real * (2 + real) + imaginary * imaginary)
    size = np.where(np.abs(x) < 0.5, small, np.log(np.hypot(1 + real, imaginary)))
    return size + 1j * np.arctan2(imaginary, 1 + real)


@log1p.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.RealDiv(x=g.y, y=ops.AddV2(x=x.x, y=1.0))}
