"""One op of every kind, as somebody would declare it who reads CONTRIBUTING.md; tests load this file for a while."""

from typing import Any

import numpy as np

from gradbag.dtypes import FLOAT
from gradbag.spec import Arg, Attr, Example, Reject, op

X = Arg("x", "T", "rows *inner", "Numbers.")
Y = Arg("y", "T", "rows *inner", "As many of them.")


def rows(rng: np.random.Generator) -> Any:
    for shape in ((4,), (2, 3), (0, 2)):
        yield {"x": rng.uniform(0.5, 2.0, shape)}


# ------------------------------------------------------------------ CubeRows: not linear
@op(
    "CubeRows",
    inputs=[X],
    outputs=[Y],
    types={"T": FLOAT},
    example=Example({"x": [1.0, 2.0]}, {"y": [1.0, 8.0]}),
    samples=rows,
    rejects=[Reject({"x": 1.0}, r"x must have shape \[rows \*inner\]; got \[\]")],
)
def cube_rows(x: Any) -> Any:
    """The third power of each number."""
    return x * x * x


@cube_rows.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    square = ops.Mul(x=x.x, y=x.x)
    return {"x": ops.Mul(x=g.y, y=ops.AddN(inputs=[square, square, square]))}


# ------------------------------------------------------------------ RoundRows: no derivative
@op(
    "RoundRows",
    inputs=[X],
    outputs=[Y],
    types={"T": FLOAT},
    example=Example({"x": [1.25, 2.75]}, {"y": [1.0, 3.0]}),
    samples=rows,
)
def round_rows(x: Any) -> Any:
    """The nearest whole number of each."""
    return np.rint(x)


# ------------------------------------------------------------------ PowerRows: attributes
@op(
    "PowerRows",
    inputs=[X],
    attrs=[Attr("power", 2, "How often to multiply.", "int"), Attr("factor", 1.0, "What to begin with.", "float")],
    outputs=[Y],
    types={"T": FLOAT},
    example=Example({"x": [1.0, 2.0], "power": 3, "factor": 0.5}, {"y": [0.5, 4.0]}),
    samples=rows,
)
def power_rows(x: Any, *, power: int = 2, factor: float = 1.0) -> Any:
    """A power of each number, times a factor."""
    return (factor * x**power).astype(x.dtype)


@power_rows.check
def _(x: Any, power: int) -> None:
    from gradbag.errors import Fault

    if power < 0:
        raise Fault("negative", "power", (), power)


@power_rows.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    if x.power == 0:
        return {"x": ops.ZerosLike(x=x.x)}
    return {"x": ops.Mul(x=g.y, y=ops.PowerRows(x=x.x, power=x.power - 1, factor=x.factor * x.power))}


# ------------------------------------------------------------------ ProductOfRows: a list
def lists(rng: np.random.Generator) -> Any:
    for count, shape in ((1, (3,)), (3, (2, 2)), (2, (0, 3))):
        yield {"factors": [rng.uniform(0.5, 2.0, shape) for _ in range(count)]}


@op(
    "ProductOfRows",
    inputs=[Arg("factors", "T", "rows *inner", "Arrays of one shape.", many=True)],
    outputs=[Y],
    types={"T": FLOAT},
    example=Example({"factors": [[1.0, 2.0], [3.0, 4.0]]}, {"y": [3.0, 8.0]}),
    samples=lists,
    rejects=[Reject({"factors": [[1.0], [1.0, 2.0]]}, r"factors\[1\] must have shape \[rows \*inner\] with rows=1")],
)
def product_of_rows(factors: Any) -> Any:
    """The product of a list of arrays, element by element."""
    product = factors[0].copy()
    for factor in factors[1:]:
        product = (product * factor).astype(product.dtype)
    return product


@product_of_rows.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    def others(place: int) -> Any:
        return ops.ProductOfRows(factors=[g.y, *x.factors[:place], *x.factors[place + 1 :]])

    return {"factors": [others(place) for place in range(len(x.factors))]}


# ------------------------------------------------------------------ ShiftRows: an optional input
def shifts(rng: np.random.Generator) -> Any:
    for number, sample in enumerate(rows(rng)):
        yield {**sample, "shift": rng.uniform(0.5, 2.0, sample["x"].shape) if number % 2 else None}


@op(
    "ShiftRows",
    inputs=[X, Arg("shift", "T", "rows *inner", "What is added.", optional=True)],
    outputs=[Y],
    types={"T": FLOAT},
    linear=["x", "shift"],
    example=Example({"x": [1.0, 2.0], "shift": [10.0, 20.0]}, {"y": [11.0, 22.0]}),
    samples=shifts,
)
def shift_rows(x: Any, shift: Any) -> Any:
    """Add numbers to numbers, if there are any."""
    return x.copy() if shift is None else x + shift


@shift_rows.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": g.y} if x.shift is None else {"x": g.y, "shift": g.y}


# ------------------------------------------------------------------ DecayRows: an update
@op(
    "DecayRows",
    inputs=[
        Arg("table", "T", "rows *inner", "The rows that decay.", updates=True),
        Arg("rate", "T", "", "By how much."),
    ],
    outputs=[Arg("largest", "T", "", "The largest number that is left.")],
    types={"T": FLOAT},
    example=Example({"table": [[1.0, 2.0]], "rate": 0.5}, {"largest": 1.0}, after={"table": [[0.5, 1.0]]}),
    samples=lambda rng: [{"table": rng.uniform(0.5, 2.0, (3, 2)), "rate": 0.25}],
)
def decay_rows(table: Any, rate: Any) -> Any:
    """Make all numbers of a table smaller, in place."""
    left = (table * (table.dtype.type(1) - rate)).astype(table.dtype)
    return left, left.max()


# ------------------------------------------------------------------ PowersOfRows: a list of outputs
@op(
    "PowersOfRows",
    inputs=[X],
    attrs=[Attr("most", 2, "How many powers.", "int")],
    outputs=[Arg("powers", "T", "rows *inner", "The first power, the second, ...", many=True, count="most")],
    types={"T": FLOAT},
    example=Example({"x": [1.0, 2.0], "most": 3}, {"powers": [[1.0, 2.0], [1.0, 4.0], [1.0, 8.0]]}),
    samples=rows,
)
def powers_of_rows(x: Any, most: int) -> Any:
    """The powers of each number up to some exponent."""
    return [x ** (k + 1) for k in range(most)]


@powers_of_rows.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    ones = ops.OnesLike(x=x.x)
    slopes = [ops.PowerRows(x=x.x, power=k, factor=float(k + 1)) if k else ones for k in range(len(y.powers))]
    return {"x": ops.AddN(inputs=[ops.Mul(x=a, y=b) for a, b in zip(g.powers, slopes, strict=True)])}


# ------------------------------------------------------------------ NegatedRows: lists in and out, and a number beside
@op(
    "NegatedRows",
    inputs=[Arg("parts", "T", "_ *_", "Arrays of any shapes and dtypes.", many=True, each=True)],
    outputs=[
        Arg("negated", "T", "*_", "The same with the other sign.", many=True, each=True),
        Arg("count", "int32", "", "How many there are."),
    ],
    types={"T": FLOAT},
    linear=["parts"],
    example=Example({"parts": [[1.0, 2.0], [3.0]]}, {"negated": [[-1.0, -2.0], [-3.0]], "count": 2}),
    samples=lambda rng: [{"parts": [rng.uniform(0.5, 2.0, shape) for shape in ((3,), (2, 2), (0,))]}],
)
def negated_rows(parts: Any) -> Any:
    """Each of some arrays, negated."""
    return [-part for part in parts], np.int32(len(parts))


@negated_rows.shapes
def _(parts: Any) -> Any:
    return [part.shape for part in parts], ()


@negated_rows.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"parts": ops.NegatedRows(parts=g.negated).negated}
