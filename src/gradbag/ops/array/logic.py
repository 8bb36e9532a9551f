"""Logic on elements, and choosing by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...dims import AnyShape
from ...dtypes import ANY
from ...errors import Fault
from ...spec import Arg, Example, Reject, op
from .arithmetic import stretched
from .broadcasting import broadcast
from .operands import nonzero, signed, signed_pairs
from .samples import Rng
from .sizes import agreed

X = Arg("x", "bool", "*first", "The first operand.")
Y = Arg("y", "bool", "*second", "The second operand; the shapes are stretched to each other.")
Z = Arg("z", "bool", "*result", "One answer per element.")
OPERANDS = {"x": [False, False, True, True], "y": [False, True, False, True]}
UNSTRETCHABLE = Reject({"x": [True, False, True]}, r"y has shape \[4\], which cannot be stretched")


# ------------------------------------------------------------------ LogicalAnd
@op(
    "LogicalAnd",
    inputs=[X, Y],
    outputs=[Z],
    types={},
    example=Example(OPERANDS, {"z": [False, False, False, True]}),
    samples=signed_pairs,
    rejects=[UNSTRETCHABLE],
)
def logical_and(x: Any, y: Any) -> Any:
    """Whether both are true, element by element."""
    return np.logical_and(x, y)


logical_and.shapes(stretched)


# ------------------------------------------------------------------ LogicalOr
@op(
    "LogicalOr",
    inputs=[X, Y],
    outputs=[Z],
    types={},
    example=Example(OPERANDS, {"z": [False, True, True, True]}),
    samples=signed_pairs,
    rejects=[UNSTRETCHABLE],
)
def logical_or(x: Any, y: Any) -> Any:
    """Whether one of both is true, or both, element by element."""
    return np.logical_or(x, y)


logical_or.shapes(stretched)


# ------------------------------------------------------------------ LogicalNot
@op(
    "LogicalNot",
    inputs=[Arg("x", "bool", "*shape", "The operand.")],
    outputs=[Arg("y", "bool", "*shape", "One answer per element.")],
    types={},
    example=Example({"x": [False, True]}, {"y": [True, False]}),
    samples=signed("x"),
)
def logical_not(x: Any) -> Any:
    """Whether each element is false."""
    return np.logical_not(x)


# ------------------------------------------------------------------ Select
def _rows(rng: Rng) -> Iterator[dict[str, Any]]:
    for condition, chosen in [((2, 3), (2, 3)), ((), (2, 3)), ((4,), (4, 2)), ((4,), (4,)), ((0,), (0, 2)), ((), ())]:
        yield {"condition": nonzero(rng, condition), "x": nonzero(rng, chosen), "y": nonzero(rng, chosen)}


@op(
    "Select",
    inputs=[
        Arg("condition", "bool", "*condition", "Which one to take: a scalar, or one per row, or one per element."),
        Arg("x", "T", "*shape", "What to take where the condition is true."),
        Arg("y", "T", "*shape", "What to take where it is not."),
    ],
    outputs=[Arg("output", "T", "*shape", "The chosen elements.")],
    types={"T": ANY},
    linear=["x", "y"],
    example=Example(
        {"condition": [True, False], "x": [[1.0, 2.0], [3.0, 4.0]], "y": [[5.0, 6.0], [7.0, 8.0]]},
        {"output": [[1.0, 2.0], [7.0, 8.0]]},
    ),
    samples=_rows,
    rejects=[
        Reject({"y": [1.0]}, r"y must have shape \[\*shape\] with shape=\[2, 2\]; got \[1\]"),
        Reject({"condition": [True] * 3}, r"condition has shape \[3\], which is neither that of x nor its rows'"),
    ],
)
def select(condition: Any, x: Any, y: Any) -> Any:
    """Elements of one array where a condition holds, and of another where it does not, without stretching."""
    if condition.ndim == 1:
        condition = condition.reshape(-1, *[1] * (x.ndim - 1))
    return np.where(condition, x, y)


@select.shapes
def _(condition: Any, x: Any, y: Any) -> Any:
    shape = agreed("x", x.shape, "y", y.shape)
    if shape is None:  # one condition per element knows the shape; one per row does not
        return [condition.shape if condition.shape and len(condition.shape) > 1 else None]
    if condition.shape in (None, ()):
        return [shape]
    rows = condition.shape if len(condition.shape) > 1 else (*condition.shape, *shape[1:])
    if len(rows) != len(shape) or any(None not in (m, n) and m != n for m, n in zip(rows, shape, strict=True)):
        raise Fault("shape", "condition", (), condition.shape, hint="is neither that of x nor its rows'")
    return [tuple(m if n is None else n for m, n in zip(rows, shape, strict=True))]


@select.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    nothing = ops.ZerosLike(x=g.output)
    return {
        "x": ops.Select(condition=x.condition, x=g.output, y=nothing),
        "y": ops.Select(condition=x.condition, x=nothing, y=g.output),
    }


# ------------------------------------------------------------------ SelectV2
def _triples(rng: Rng) -> Iterator[dict[str, Any]]:
    for shapes in [
        ((2, 3), (2, 3), (2, 3)),
        ((3, 1), (4,), ()),
        ((), (2, 1), (1, 3)),
        ((0, 1), (2,), ()),
        ((), (), ()),
    ]:
        yield dict(zip(("condition", "t", "e"), [nonzero(rng, shape) for shape in shapes], strict=True))


@op(
    "SelectV2",
    inputs=[
        Arg("condition", "bool", "*condition", "Which one to take."),
        Arg("t", "T", "*first", "What to take where the condition is true."),
        Arg("e", "T", "*second", "What to take where it is not; the three shapes are stretched to each other."),
    ],
    outputs=[Arg("output", "T", "*result", "The chosen elements.")],
    types={"T": ANY},
    linear=["t", "e"],
    example=Example({"condition": [True, False], "t": [[1.0], [2.0]], "e": 0.0}, {"output": [[1.0, 0.0], [2.0, 0.0]]}),
    samples=_triples,
    rejects=[Reject({"e": [1.0, 2.0, 3.0]}, r"e has shape \[3\], which cannot be stretched")],
)
def select_v2(condition: Any, t: Any, e: Any) -> Any:
    """Elements of one array where a condition holds, and of another where it does not."""
    return np.where(condition, t, e)


@select_v2.shapes
def _(condition: Any, t: Any, e: Any) -> list[AnyShape]:
    return [broadcast(("condition", condition), ("t", t), ("e", e))]


@select_v2.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {
        "t": ops.sum_like(ops.SelectV2(condition=x.condition, t=g.output, e=0.0), x.t),
        "e": ops.sum_like(ops.SelectV2(condition=x.condition, t=0.0, e=g.output), x.e),
    }
