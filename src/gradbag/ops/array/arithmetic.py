"""Arithmetic on elements, with broadcasting."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ...dims import AnyShape
from ...dtypes import COMPLEX, FLOAT, NUMBER, is_string
from ...spec import Arg, Example, Kernel, Reject, op
from ..pooling import accumulator
from .broadcasting import broadcast
from .conjugates import conjugate
from .operands import nonzero, signed, signed_pairs
from .samples import Rng, pairs

INEXACT = FLOAT + COMPLEX
SIGNED = (*INEXACT, "int8", "int16", "int32", "int64")
X = Arg("x", "T", "*first", "The first operand.")
Y = Arg("y", "T", "*second", "The second operand; the shapes are stretched to each other.")
Z = Arg("z", "T", "*result", "One result per element.")
ONE = Arg("x", "T", "*shape", "The operand.")
RESULT = Arg("y", "T", "*shape", "One result per element.")
DY = Arg("dy", "T", "*shape", "The gradient that comes in.")
UNLIKE = Reject({"dy": [1.0]}, r"dy must have shape \[\*shape\]")
UNSTRETCHABLE = Reject({"x": [1.0, 2.0], "y": [1.0, 2.0, 3.0]}, r"y has shape \[3\], which cannot be stretched")


def stretched(x: Any, y: Any) -> list[AnyShape]:
    """The rule about shapes of every op of two operands, x and y."""
    return [broadcast(("x", x), ("y", y))]


# ------------------------------------------------------------------ AddV2
@op(
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


add_v2.shapes(stretched)


@add_v2.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.sum_like(g.z, x.x), "y": ops.sum_like(g.z, x.y)}


# ------------------------------------------------------------------ Add
@op(
    "Add",
    inputs=[X, Y],
    outputs=[Z],
    types={"T": (*SIGNED, "uint8", "string")},
    linear=["x", "y"],
    example=Example({"x": [1.0, 2.0], "y": 10.0}, {"z": [11.0, 12.0]}),
    samples=pairs,
    rejects=[UNSTRETCHABLE],
)
def add(x: Any, y: Any) -> Any:
    """The sum of two arrays, element by element; strings are joined."""
    if is_string(x.dtype) and "O" not in (x.dtype.kind, y.dtype.kind):
        return np.strings.add(x, y)
    return np.asarray(np.add(x, y), x.dtype)  # of two single objects, NumPy gives no array


add.shapes(stretched)


@add.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.sum_like(g.z, x.x), "y": ops.sum_like(g.z, x.y)}


# ------------------------------------------------------------------ AddN
def _lists(rng: Rng) -> Any:
    for count, shape in [(3, (2, 3)), (1, (4,)), (5, ()), (2, (0, 3))]:
        yield {"inputs": [nonzero(rng, shape) for _ in range(count)]}


@op(
    "AddN",
    inputs=[Arg("inputs", "T", "*shape", "The arrays to add, all of one shape.", many=True)],
    outputs=[Arg("sum", "T", "*shape", "Their sum.")],
    types={"T": NUMBER},
    kernel=Kernel("add_n"),
    linear=["inputs"],
    example=Example({"inputs": [[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]}, {"sum": [111.0, 222.0]}),
    samples=_lists,
    rejects=[
        Reject(
            {"inputs": [[1.0, 2.0], [1.0]]},
            r"inputs\[1\] must have shape \[\*shape\] with shape=\[2\]; got \[1\]",
        ),
        Reject({"inputs": []}, r"inputs == \[\] must hold at least one array"),
    ],
)
def add_n(inputs: Any) -> Any:
    """The sum of a list of arrays of one shape; nothing is stretched."""
    dtype = inputs[0].dtype
    return np.asarray(reduce(np.add, inputs[1:], inputs[0].astype(accumulator(dtype)))).astype(dtype)


@add_n.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"inputs": [g.sum for _ in x.inputs]}


# ------------------------------------------------------------------ Sub
@op(
    "Sub",
    inputs=[X, Y],
    outputs=[Z],
    types={"T": NUMBER},
    linear=["x", "y"],
    example=Example({"x": [[1.0], [2.0]], "y": [10.0, 20.0]}, {"z": [[-9.0, -19.0], [-8.0, -18.0]]}),
    samples=pairs,
    rejects=[UNSTRETCHABLE],
)
def sub(x: Any, y: Any) -> Any:
    """The difference of two arrays, element by element."""
    return np.subtract(x, y)


sub.shapes(stretched)


@sub.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.sum_like(g.z, x.x), "y": ops.sum_like(ops.Neg(x=g.z), x.y)}


# ------------------------------------------------------------------ Mul
@op(
    "Mul",
    inputs=[X, Y],
    outputs=[Z],
    types={"T": NUMBER},
    example=Example({"x": [[1.0], [2.0]], "y": [10.0, 20.0]}, {"z": [[10.0, 20.0], [20.0, 40.0]]}),
    samples=signed_pairs,
    rejects=[UNSTRETCHABLE],
)
def mul(x: Any, y: Any) -> Any:
    """The product of two arrays, element by element."""
    return np.multiply(x, y)


mul.shapes(stretched)


@mul.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.sum_like(ops.Mul(x=g.z, y=x.y), x.x), "y": ops.sum_like(ops.Mul(x=g.z, y=x.x), x.y)}


# ------------------------------------------------------------------ SquaredDifference
@op(
    "SquaredDifference",
    inputs=[X, Y],
    outputs=[Z],
    types={"T": (*INEXACT, "int32", "int64")},
    example=Example({"x": [1.0, 2.0], "y": [4.0, 4.0]}, {"z": [9.0, 4.0]}),
    samples=signed_pairs,
    rejects=[UNSTRETCHABLE],
)
def squared_difference(x: Any, y: Any) -> Any:
    """The square of the difference, element by element; of complex numbers, the square of its size."""
    difference = np.subtract(x, y)
    return np.multiply(difference, np.conjugate(difference) if x.dtype.kind == "c" else difference)


squared_difference.shapes(stretched)


@squared_difference.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    both = ops.AddV2(x=g.z, y=conjugate(ops, g.z))
    moved = ops.Mul(x=both, y=conjugate(ops, ops.Sub(x=x.x, y=x.y)))
    return {"x": ops.sum_like(moved, x.x), "y": ops.sum_like(ops.Neg(x=moved), x.y)}


# ------------------------------------------------------------------ Neg
@op(
    "Neg",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": SIGNED},
    linear=["x"],
    example=Example({"x": [1.0, -2.0]}, {"y": [-1.0, 2.0]}),
    samples=signed("x"),
)
def neg(x: Any) -> Any:
    """The numbers with the other sign."""
    return np.negative(x)


@neg.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.Neg(x=g.y)}


# ------------------------------------------------------------------ Square
@op(
    "Square",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": NUMBER},
    example=Example({"x": [1.0, -2.0]}, {"y": [1.0, 4.0]}),
    samples=signed("x"),
)
def square(x: Any) -> Any:
    """The squares."""
    return np.multiply(x, x)


@square.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.Mul(x=g.y, y=ops.Mul(x=x.x, y=2.0))}


# ------------------------------------------------------------------ Abs
@op(
    "Abs",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": (*FLOAT, "int8", "int16", "int32", "int64")},
    example=Example({"x": [1.0, -2.0]}, {"y": [1.0, 2.0]}),
    samples=signed("x"),
)
def abs_(x: Any) -> Any:
    """The numbers without their signs."""
    return np.absolute(x)


@abs_.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.Mul(x=g.y, y=ops.Sign(x=x.x))}


# ------------------------------------------------------------------ Sign
@op(
    "Sign",
    inputs=[ONE],
    outputs=[RESULT],
    types={"T": SIGNED},
    no_grad=["x"],
    example=Example({"x": [1.5, 0.0, -2.0]}, {"y": [1.0, 0.0, -1.0]}),
    samples=signed("x"),
)
def sign(x: Any) -> Any:
    """-1, 0 or 1; of a complex number, the number of size 1 with its direction."""
    return np.sign(x)


@sign.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}
