"""Ops that hand their input on, and say something about its gradient; and the one that does nothing."""

from __future__ import annotations

from typing import Any

from ...dtypes import ANY, NUMBER
from ...errors import UnsupportedTypeError
from ...spec import Arg, Attr, Example, op
from .array_samples import arrays, nothing

INPUT = Arg("input", "T", "*shape", "Any array.")
OUTPUT = Arg("output", "T", "*shape", "The same values.")
SAME = Example({"input": [1.5, 2.0]}, {"output": [1.5, 2.0]})


# ------------------------------------------------------------------ NoOp
@op("NoOp", inputs=[], outputs=[], types={}, example=Example({}, {}), samples=nothing)
def no_op() -> Any:
    """Nothing; it stands for the ops that must run before it."""


# ------------------------------------------------------------------ Identity
@op(
    "Identity",
    inputs=[INPUT],
    outputs=[OUTPUT],
    types={"T": ANY},
    linear=["input"],
    example=SAME,
    samples=arrays("input"),
)
def identity(input: Any) -> Any:
    """The input, as it is."""
    return input.copy()


@identity.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"input": g.output}


# ------------------------------------------------------------------ Snapshot
@op(
    "Snapshot",
    inputs=[INPUT],
    outputs=[OUTPUT],
    types={"T": (*NUMBER, "bool")},
    linear=["input"],
    example=SAME,
    samples=arrays("input"),
)
def snapshot(input: Any) -> Any:
    """A copy of the input."""
    return input.copy()


@snapshot.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"input": g.output}


# ------------------------------------------------------------------ StopGradient
@op(
    "StopGradient",
    inputs=[INPUT],
    outputs=[OUTPUT],
    types={"T": ANY},
    no_grad=["input"],
    example=SAME,
    samples=arrays("input"),
)
def stop_gradient(input: Any) -> Any:
    """The input, as if it were a constant: nothing is differentiated through it."""
    return input.copy()


@stop_gradient.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}


# ------------------------------------------------------------------ PreventGradient
@op(
    "PreventGradient",
    inputs=[INPUT],
    outputs=[OUTPUT],
    attrs=[Attr("message", "", "Said when somebody asks for the gradient.", "string")],
    types={"T": ANY},
    no_grad=["input"],
    example=SAME,
    samples=arrays("input"),
)
def prevent_gradient(input: Any, message: str) -> Any:
    """The input, through which nothing may be differentiated: asking for its gradient is an error."""
    return input.copy()


@prevent_gradient.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    raise UnsupportedTypeError(f"PreventGradient: the gradient is not to be asked for here. {x.message}".rstrip())
