"""Complex conjugates."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import COMPLEX
from ...spec import Arg, Example, op
from .operands import signed


# ------------------------------------------------------------------ Conj
@op(
    "Conj",
    inputs=[Arg("input", "T", "*shape", "The complex numbers.")],
    outputs=[Arg("output", "T", "*shape", "Their conjugates.")],
    types={"T": COMPLEX},
    linear=["input"],
    example=Example({"input": [1.0, 2.0]}, {"output": [complex(1.0, -0.0), complex(2.0, -0.0)]}),
    samples=signed("input"),
)
def conj(input: Any) -> Any:
    """The complex numbers with the other sign of their imaginary parts."""
    return np.conjugate(input)


@conj.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"input": ops.Conj(input=g.output)}


def is_complex(value: Any) -> bool:
    """Whether a value of a gradient rule has complex numbers."""
    return "complex" in str(value.dtype)


def conjugate(ops: Any, value: Any) -> Any:
    """The conjugate in a gradient rule; a real number is its own."""
    return ops.Conj(input=value) if is_complex(value) else value
