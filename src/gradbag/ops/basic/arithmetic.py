"""Arithmetic on elements, with broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import NUMBER
from ...spec import Arg, Example, Reject, basic_op
from .broadcasting import broadcast
from .samples import pairs

X = Arg("x", "T", "*first", "The first operand.")
Y = Arg("y", "T", "*second", "The second operand; the shapes are stretched to each other.")
Z = Arg("z", "T", "*result", "One result per element.")
UNSTRETCHABLE = Reject({"x": [1.0, 2.0], "y": [1.0, 2.0, 3.0]}, r"y has shape \[3\], which cannot be stretched")


# ------------------------------------------------------------------ AddV2
@basic_op(
    "AddV2",
    inputs=[X, Y],
    outputs=[Z],
    types={"T": NUMBER},
    linear=["x", "y"],
    example=Example({"x": [[1.0], [2.0]], "y": [10.0, 20.0]}, {"z": [[11.0, 21.0], [12.0, 22.0]]}),
    samples=pairs,
    rejects=[UNSTRETCHABLE],
)
def add_v2(x: Any, y: Any) -> Any:
    """The sum of two arrays, element by element."""
    return np.add(x, y)


@add_v2.shapes
def _(x: Any, y: Any) -> Any:
    return [broadcast(("x", x), ("y", y))]


@add_v2.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.sum_like(g.z, x.x), "y": ops.sum_like(g.z, x.y)}
