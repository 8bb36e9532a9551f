"""Whole numbers below, above and nearest."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import FLOAT
from ...spec import Example, op
from .arithmetic import ONE, RESULT
from .operands import signed


# ------------------------------------------------------------------ Floor
@op(
    "Floor",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": FLOAT},
    no_grad=["x"],
    example=Example({"x": [1.5, -1.5]}, {"y": [1.0, -2.0]}),
    samples=signed("x"),
)
def floor(x: Any) -> Any:
    """The largest whole number that is not above each number."""
    return np.floor(x)


@floor.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}


# ------------------------------------------------------------------ Ceil
@op(
    "Ceil",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": FLOAT},
    no_grad=["x"],
    example=Example({"x": [1.5, -1.5]}, {"y": [2.0, -1.0]}),
    samples=signed("x"),
)
def ceil(x: Any) -> Any:
    """The smallest whole number that is not below each number."""
    return np.ceil(x)


@ceil.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}


# ------------------------------------------------------------------ Round
@op(
    "Round",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": FLOAT},
    no_grad=["x"],
    example=Example({"x": [1.5, -0.7]}, {"y": [2.0, -1.0]}),
    samples=signed("x"),
)
def round_(x: Any) -> Any:
    """The nearest whole number of each number; of two that are as near, the even one."""
    return np.rint(x)


@round_.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}


# ------------------------------------------------------------------ Rint
@op(
    "Rint",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": ("float32", "float64")},
    no_grad=["x"],
    example=Example({"x": [1.5, -0.7]}, {"y": [2.0, -1.0]}),
    samples=signed("x"),
)
def rint(x: Any) -> Any:
    """The nearest whole number of each number; of two that are as near, the even one."""
    return np.rint(x)


@rint.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}
