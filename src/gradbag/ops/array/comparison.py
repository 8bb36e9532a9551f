"""Comparisons of elements, with broadcasting, and the larger or smaller of two."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dims import AnyShape
from ...dtypes import ANY, REAL
from ...errors import Fault
from ...spec import Arg, Attr, Example, op
from .arithmetic import UNSTRETCHABLE, X, Y, Z, stretched
from .broadcasting import common_shape
from .operands import pairs_with_ties, signed_pairs

ANSWER = Arg("z", "bool", "*result", "One answer per element.")
INCOMPATIBLE = Attr(
    "incompatible_shape_error",
    True,
    "Whether shapes that cannot be stretched to each other are refused; if not, such arrays differ as a whole.",
)
COMPARISON: dict[str, Any] = {
    "inputs": [X, Y],
    "outputs": [ANSWER],
    "no_grad": ["x", "y"],
    "samples": pairs_with_ties,
    "rejects": [UNSTRETCHABLE],
}
OPERANDS = {"x": [1, 2, 3], "y": [2, 2, 2]}


def _answers(*z: bool) -> Example:
    return Example(OPERANDS, {"z": list(z)})


def _stretched_or_not(x: Any, y: Any, incompatible_shape_error: bool) -> list[AnyShape]:
    if incompatible_shape_error:
        return stretched(x, y)
    if x.shape is None or y.shape is None:
        return [None]
    try:
        common_shape(("x", x.shape), ("y", y.shape))
    except Fault:
        return [()]
    # A size that is not known may turn out not to fit, and the answer to be a single one.
    return [None] if None in (*x.shape, *y.shape) else stretched(x, y)


def _fit(x: Any, y: Any) -> bool:
    """Whether the shapes can be stretched to each other."""
    return all(m == n or 1 in (m, n) for m, n in zip(x.shape[::-1], y.shape[::-1], strict=False))


# ------------------------------------------------------------------ Equal
@op("Equal", types={"T": ANY}, attrs=[INCOMPATIBLE], example=_answers(False, True, False), **COMPARISON)
def equal(x: Any, y: Any, incompatible_shape_error: bool) -> Any:
    """Whether the elements of two arrays are equal."""
    return np.equal(x, y) if _fit(x, y) else np.False_


equal.shapes(_stretched_or_not)


# ------------------------------------------------------------------ NotEqual
@op("NotEqual", types={"T": ANY}, attrs=[INCOMPATIBLE], example=_answers(True, False, True), **COMPARISON)
def not_equal(x: Any, y: Any, incompatible_shape_error: bool) -> Any:
    """Whether the elements of two arrays differ."""
    return np.not_equal(x, y) if _fit(x, y) else np.True_


not_equal.shapes(_stretched_or_not)


# ------------------------------------------------------------------ Less
@op("Less", types={"T": REAL}, example=_answers(True, False, False), **COMPARISON)
def less(x: Any, y: Any) -> Any:
    """Whether the elements of the first array are less than those of the second."""
    return np.less(x, y)


less.shapes(stretched)


# ------------------------------------------------------------------ LessEqual
@op("LessEqual", types={"T": REAL}, example=_answers(True, True, False), **COMPARISON)
def less_equal(x: Any, y: Any) -> Any:
    """Whether the elements of the first array are at most those of the second."""
    return np.less_equal(x, y)


less_equal.shapes(stretched)


# ------------------------------------------------------------------ Greater
@op("Greater", types={"T": REAL}, example=_answers(False, False, True), **COMPARISON)
def greater(x: Any, y: Any) -> Any:
    """Whether the elements of the first array are greater than those of the second."""
    return np.greater(x, y)


greater.shapes(stretched)


# ------------------------------------------------------------------ GreaterEqual
@op("GreaterEqual", types={"T": REAL}, example=_answers(False, True, True), **COMPARISON)
def greater_equal(x: Any, y: Any) -> Any:
    """Whether the elements of the first array are at least those of the second."""
    return np.greater_equal(x, y)


greater_equal.shapes(stretched)


# ------------------------------------------------------------------ Maximum
@op(
    "Maximum",
    inputs=[X, Y],
    outputs=[Z],
    types={"T": REAL},
    example=Example({"x": [1.0, 5.0], "y": [2.0, 4.0]}, {"z": [2.0, 5.0]}),
    samples=signed_pairs,
    rejects=[UNSTRETCHABLE],
)
def maximum(x: Any, y: Any) -> Any:
    """The larger of two elements; NaN where one of them is. Of equal ones, the first gets the gradient."""
    return np.maximum(x, y)


maximum.shapes(stretched)


@maximum.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return _shared(ops, x, g, ops.GreaterEqual(x=x.x, y=x.y))


# ------------------------------------------------------------------ Minimum
@op(
    "Minimum",
    inputs=[X, Y],
    outputs=[Z],
    types={"T": REAL},
    example=Example({"x": [1.0, 5.0], "y": [2.0, 4.0]}, {"z": [1.0, 4.0]}),
    samples=signed_pairs,
    rejects=[UNSTRETCHABLE],
)
def minimum(x: Any, y: Any) -> Any:
    """The smaller of two elements; NaN where one of them is. Of equal ones, the first gets the gradient."""
    return np.minimum(x, y)


minimum.shapes(stretched)


@minimum.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return _shared(ops, x, g, ops.LessEqual(x=x.x, y=x.y))


def _shared(ops: Any, x: Any, g: Any, first: Any) -> Any:
    """Each element of the gradient goes to the operand that was chosen."""
    return {
        "x": ops.sum_like(ops.SelectV2(condition=first, t=g.z, e=0.0), x.x),
        "y": ops.sum_like(ops.SelectV2(condition=first, t=0.0, e=g.z), x.y),
    }
