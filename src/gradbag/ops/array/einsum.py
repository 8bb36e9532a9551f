"""Sums of products along named axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...dtypes import FLOAT
from ...errors import Fault
from ...spec import REQUIRED, Arg, Attr, Example, Known, Reject, op
from .array_samples import Rng
from .operands import nonzero
from .precision import rounded


def _products(rng: Rng) -> Iterator[dict[str, Any]]:
    drawn: list[tuple[str, list[tuple[int, ...]]]] = [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bhqk,bhkd->bqhd", [(2, 1, 3, 2), (2, 1, 2, 4)]),
        ("bd,bcd->bc", [(2, 3), (2, 4, 3)]),
        ("ij->ji", [(2, 3)]),
        ("i,i->", [(3,), (3,)]),
    ]
    for equation, shapes in drawn:
        yield {"inputs": [nonzero(rng, shape) for shape in shapes], "equation": equation}


# ------------------------------------------------------------------ Einsum
@op(
    "Einsum",
    inputs=[Arg("inputs", "T", "*_", "One array or two.", many=True)],
    outputs=[Arg("output", "T", "*result", "The sums.")],
    attrs=[
        Attr(
            "equation", REQUIRED, "A letter for each axis: those before -> that are not behind it are added.", "string"
        )
    ],
    types={"T": FLOAT},
    example=Example({"inputs": [[[1.0, 2.0]], [[3.0], [4.0]]], "equation": "ij,jk->ik"}, {"output": [[11.0]]}),
    samples=_products,
    rejects=[
        Reject({"equation": "ij,kj->ik"}, r"inputs\[1\] has shape \[2, 1\].* j is 1 here, 2 before"),
        Reject({"equation": "ij->ij"}, r"equation == ij->ij must name the axes of 2 inputs"),
        Reject({"equation": "ij,jk->iz"}, r"equation == ij,jk->iz must not have z behind -> alone"),
        Reject({"equation": "ii,jk->ik"}, r"equation == ii,jk->ik must not name an axis of one array twice"),
    ],
)
def einsum(inputs: Any, equation: str) -> Any:
    """Products of numbers of two arrays, added along the axes whose letters the result does not have."""
    return rounded(lambda *arrays: np.einsum(equation, *[np.asarray(a, order="C") for a in arrays]), *inputs)


def _terms(equation: str, count: int) -> tuple[list[str], str]:
    """The letters of each input, and of the result."""
    left, arrow, result = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow or len(terms) != count or (not "".join([*terms, result]).isalpha() and "".join([*terms, result])):
        hint = f"must name the axes of {count} inputs by letters, and behind -> those of the result"
        raise Fault("rule", "equation", (), equation, hint=hint)
    for term in (*terms, result):
        if len(set(term)) < len(term):
            raise Fault("rule", "equation", (), equation, hint="must not name an axis of one array twice")
    for letter in result:
        if letter not in left:
            raise Fault("rule", "equation", (), equation, hint=f"must not have {letter} behind -> alone")
    return terms, result


@einsum.shapes
def _(inputs: list[Known], equation: str) -> Any:
    terms, result = _terms(equation, len(inputs))
    sizes: dict[str, int | None] = {}
    for number, (term, known) in enumerate(zip(terms, inputs, strict=True)):
        if known.shape is None:
            continue
        if len(known.shape) != len(term):
            raise Fault("shape", f"inputs[{number}]", (), known.shape, hint=f"must have {len(term)} axes, {term}")
        for letter, size in zip(term, known.shape, strict=True):
            before = sizes.get(letter)
            if None not in (before, size) and before != size:
                hint = f"cannot be multiplied: {letter} is {size} here, {before} before"
                raise Fault("shape", f"inputs[{number}]", (), known.shape, hint=hint)
            sizes[letter] = size if before is None else before
    return [tuple(sizes.get(letter) for letter in result)]


@einsum.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    terms, result = _terms(x.equation, len(x.inputs))
    found = []
    for place, term in enumerate(terms):
        others = [(t, value) for k, (t, value) in enumerate(zip(terms, x.inputs, strict=True)) if k != place]
        # Axes that this input has alone were added: their sum's gradient is the same all along them.
        alone = "".join(c for c in term if c not in result and all(c not in t for t, _ in others))
        kept = "".join(c for c in term if c not in alone)
        equation = f"{','.join([result, *[t for t, _ in others]])}->{kept}"
        pulled = ops.Einsum(inputs=[g.output, *[value for _, value in others]], equation=equation)
        if alone:
            for axis, letter in enumerate(term):
                if letter in alone:
                    pulled = ops.ExpandDims(input=pulled, axis=np.int32(axis))
            pulled = ops.BroadcastTo(input=pulled, shape=ops.Shape(input=x.inputs[place]))
        found.append(pulled)
    return {"inputs": found}
