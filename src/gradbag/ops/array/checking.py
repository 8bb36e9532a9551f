"""Ops that refuse what should not be, and otherwise hand on what they were given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...dims import AnyShape
from ...dtypes import ANY, FLOAT
from ...errors import Fault, shown
from ...spec import REQUIRED, Arg, Attr, Example, Known, Reject, op
from .array_samples import Rng, arrays
from .sizes import agreed


# ------------------------------------------------------------------ Assert
def _true(rng: Rng) -> Iterator[dict[str, Any]]:
    yield {"condition": True, "data": [rng.uniform(0.5, 2.0, 3), rng.uniform(0.5, 2.0, ())]}


@op(
    "Assert",
    inputs=[
        Arg("condition", "bool", "", "What must be true."),
        Arg("data", "T", "*_", "What to show if it is not.", many=True, each=True),
    ],
    outputs=[],
    attrs=[Attr("summarize", 3, "How many entries of each array to show.", "int")],
    types={"T": ANY},
    no_grad=["data"],
    example=Example({"condition": True, "data": [[1.0, 2.0]]}, {}),
    samples=_true,
    rejects=[Reject({"condition": False}, r"condition == False must be True: \[1\.0, 2\.0\]")],
)
def assert_(condition: Any, data: Any, summarize: int) -> Any:
    """Stop the run if a condition is not true, and show some data."""


@assert_.check
def _(condition: Any, *data: Any, summarize: int = 3) -> None:
    if not condition:
        flat = data[0] if len(data) == 1 and isinstance(data[0], list) else data
        seen = [np.asarray(one).reshape(-1)[: None if summarize < 0 else summarize].tolist() for one in flat]
        text = ", ".join(shown(one[0] if np.ndim(a) == 0 and one else one) for a, one in zip(flat, seen, strict=True))
        raise Fault("rule", "condition", (), False, hint=f"must be True: {text}")


# ------------------------------------------------------------------ EnsureShape
def _shaped(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape, wanted in [((2, 3), [None, 3]), ((), []), ((0, 2), [0, 2]), ((4,), None)]:
        yield {"input": rng.uniform(0.5, 9.0, shape), "shape": wanted}


@op(
    "EnsureShape",
    inputs=[Arg("input", "T", "*given", "Any array.")],
    outputs=[Arg("output", "T", "*result", "The same values.")],
    attrs=[Attr("shape", REQUIRED, "The shape that it must have; None for sizes that do not matter.", "shape")],
    types={"T": ANY},
    linear=["input"],
    example=Example({"input": [1.5, 2.0], "shape": [None]}, {"output": [1.5, 2.0]}),
    samples=_shaped,
    rejects=[Reject({"shape": [3]}, r"input has shape \[2\], which must be that of the attribute shape, \[3\]")],
)
def ensure_shape(input: Any, shape: AnyShape) -> Any:
    """The input, if it has the shape that is asked for."""
    return input.copy()


@ensure_shape.shapes
def _(input: Known, shape: AnyShape) -> Any:
    return [agreed("the attribute shape", shape, "input", input.shape)]


@ensure_shape.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"input": g.output}


# ------------------------------------------------------------------ CheckNumerics
@op(
    "CheckNumerics",
    inputs=[Arg("tensor", "T", "*shape", "Any numbers.")],
    outputs=[Arg("output", "T", "*shape", "The same values.")],
    attrs=[Attr("message", REQUIRED, "Said where there is no number.", "string")],
    types={"T": FLOAT},
    linear=["tensor"],
    example=Example({"tensor": [1.5, 2.0], "message": "the loss"}, {"output": [1.5, 2.0]}),
    samples=lambda rng: ({**drawn, "message": "here"} for drawn in arrays("tensor")(rng)),
    rejects=[Reject({"tensor": [1.0, np.inf]}, r"tensor\[1\] == inf must be finite: the loss")],
)
def check_numerics(tensor: Any, message: str) -> Any:
    """The input, if all of it are finite numbers."""
    return tensor.copy()


@check_numerics.check
def _(tensor: Any, message: str) -> None:
    wrong = np.argwhere(~np.isfinite(tensor.astype(np.float64)))
    if len(wrong):
        place = tuple(wrong[0].tolist())
        raise Fault("rule", "tensor", place, float(tensor[place]), hint=f"must be finite: {message}")


@check_numerics.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"tensor": g.output}
