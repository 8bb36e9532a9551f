"""Division, of numbers and of whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dims import AnyShape
from ...dtypes import INTEGER, REAL
from ...errors import Fault
from ...spec import Arg, Example, Known, Reject, op
from .arithmetic import DY, INEXACT, ONE, RESULT, UNLIKE, UNSTRETCHABLE, X, Y, Z, stretched
from .conjugates import conjugate
from .operands import signed, signed_pairs
from .precision import rounded

BY_ZERO = Reject({"x": [1, 2], "y": [1, 0]}, r"y\[1\] == 0 divides an integer")


# ------------------------------------------------------------------ RealDiv
@op(
    "RealDiv",
    inputs=[X, Y],
    outputs=[Z],
    types={"T": INEXACT},
    example=Example({"x": [[1.0], [3.0]], "y": [2.0, 4.0]}, {"z": [[0.5, 0.25], [1.5, 0.75]]}),
    samples=signed_pairs,
    rejects=[UNSTRETCHABLE],
)
def real_div(x: Any, y: Any) -> Any:
    """The quotient of two arrays, element by element."""
    return rounded(np.divide, x, y)


real_div.shapes(stretched)


@real_div.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    share = ops.RealDiv(x=g.z, y=x.y)
    return {"x": ops.sum_like(share, x.x), "y": ops.sum_like(ops.Neg(x=ops.Mul(x=share, y=y.z)), x.y)}


# ------------------------------------------------------------------ DivNoNan
@op(
    "DivNoNan",
    inputs=[X, Y],
    outputs=[Z],
    types={"T": INEXACT},
    example=Example({"x": [1.0, 3.0], "y": [0.0, 4.0]}, {"z": [0.0, 0.75]}),
    samples=signed_pairs,
    rejects=[UNSTRETCHABLE],
)
def div_no_nan(x: Any, y: Any) -> Any:
    """The quotient of two arrays, element by element; 0 where the divisor is 0."""
    return rounded(lambda x, y: np.where(y == 0, 0, np.divide(x, y)), x, y)


div_no_nan.shapes(stretched)


@div_no_nan.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    share = ops.DivNoNan(x=g.z, y=x.y)
    return {"x": ops.sum_like(share, x.x), "y": ops.sum_like(ops.Neg(x=ops.Mul(x=share, y=y.z)), x.y)}


# ------------------------------------------------------------------ FloorDiv
def _stretched_without_zeros(x: Known, y: Known) -> list[AnyShape]:
    """Integers have no infinity to answer with; a zero that divides nothing, beside an empty array, may stay."""
    shape = stretched(x, y)[0]
    if y.dtype in INTEGER and y.value is not None and shape is not None and 0 not in shape and not y.value.all():
        place = np.unravel_index(np.argmin(y.value != 0), y.value.shape)
        raise Fault("rule", "y", [int(k) for k in place], 0, hint="divides an integer")
    return [shape]


@op(
    "FloorDiv",
    inputs=[X, Y],
    outputs=[Z],
    types={"T": REAL},
    no_grad=["x", "y"],
    example=Example({"x": [7, -7], "y": [2, 2]}, {"z": [3, -4]}),
    samples=signed_pairs,
    rejects=[UNSTRETCHABLE, BY_ZERO],
)
def floor_div(x: Any, y: Any) -> Any:
    """The quotient of two arrays, rounded down to a whole number."""
    if x.dtype.kind in "iu":
        return np.floor_divide(x, y)
    # NumPy's floor_divide avoids the rounding of the quotient, TensorFlow does not: 1.0 by 0.1 is 10.
    return np.floor(np.divide(x, y))


floor_div.shapes(_stretched_without_zeros)


@floor_div.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}


# ------------------------------------------------------------------ FloorMod
@op(
    "FloorMod",
    inputs=[X, Y],
    outputs=[Z],
    types={"T": REAL},
    example=Example({"x": [7, -7], "y": [4, 4]}, {"z": [3, 1]}),
    samples=signed_pairs,
    rejects=[UNSTRETCHABLE, BY_ZERO],
)
def floor_mod(x: Any, y: Any) -> Any:
    """What the division that rounds down leaves; it has the sign of the divisor."""
    return np.mod(x, y) if x.dtype.kind in "iu" else rounded(_float_mod, x, y)


def _float_mod(x: Any, y: Any) -> Any:
    # Unlike np.mod, this keeps the sign of a zero, as TensorFlow does.
    left = np.fmod(x, y)
    return np.where((left != 0) & ((left < 0) != (y < 0)), left + y, left)


floor_mod.shapes(_stretched_without_zeros)


@floor_mod.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    times = ops.FloorDiv(x=x.x, y=x.y)
    return {"x": ops.sum_like(g.z, x.x), "y": ops.sum_like(ops.Neg(x=ops.Mul(x=g.z, y=times)), x.y)}


# ------------------------------------------------------------------ Reciprocal
@op(
    "Reciprocal",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": INEXACT},
    example=Example({"x": [2.0, -4.0]}, {"y": [0.5, -0.25]}),
    samples=signed("x"),
)
def reciprocal(x: Any) -> Any:
    """One divided by each number."""
    return rounded(lambda x: np.divide(1, x), x)


@reciprocal.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.ReciprocalGrad(y=conjugate(ops, y.y), dy=g.y)}


# ------------------------------------------------------------------ ReciprocalGrad
@op(
    "ReciprocalGrad",
    inputs=[Arg("y", "T", "*shape", "What Reciprocal gave."), DY],
    outputs=[Arg("z", "T", "*shape", "The gradient of Reciprocal's operand.")],
    types={"T": INEXACT},
    example=Example({"y": [0.5, -0.25], "dy": [1.0, 4.0]}, {"z": [-0.25, -0.25]}),
    samples=signed("y", "dy"),
    rejects=[UNLIKE],
)
def reciprocal_grad(y: Any, dy: Any) -> Any:
    """The gradient of Reciprocal, from its result: `-dy * conj(y) ** 2`; 0 where dy is."""
    return rounded(lambda y, dy: np.where(dy == 0, 0, -dy * np.conj(y) * np.conj(y)), y, dy)


@reciprocal_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    slope = ops.Mul(x=ops.Mul(x=x.dy, y=-2.0), y=conjugate(ops, x.y))
    return {"y": conjugate(ops, ops.Mul(x=g.z, y=slope)), "dy": ops.ReciprocalGrad(y=x.y, dy=g.z)}
