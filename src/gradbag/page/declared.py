"""What a node of a page may be: an op of the registry, or the gradient of an output by an input.

`"d": {"op": "Gradient", "in": {"of": {"from": "pooled"}, "by": {"from": "table"}}}` is always the gradient of what the
page says now. After `by` may also stand `{"input": "pooled.data"}`: what that input gets, typed in or wired.
"""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..spec import Arg, Example, Op, registry


def gradient(of: Any, by: Any, grad: Any) -> Any:
    """The gradient of an output by an input, always that of the page as it is now.

    output = Σ grad[i] · ∂of[i] / ∂by

    It is no op: when the page is drawn, the ops that compute it are put in its place, so it can be differentiated
    again. Without grad, ones are taken: the gradient of the sum.
    """
    raise NotImplementedError("a gradient is written out before anything runs")


GRADIENT = Op(
    "Gradient",
    gradient,
    inputs=[
        Arg("of", "T", "*outcome", "The output that is differentiated."),
        Arg("by", "S", "*values", "The output by which, or an input of a block that it is computed from."),
        Arg("grad", "T", "*outcome", "The weight of each element of `of`; ones if it is left out.", optional=True),
    ],
    outputs=[Arg("output", "S", "*values", "The gradient, of the form of `by`.")],
    types={"T": dtypes.FLOAT + dtypes.COMPLEX, "S": dtypes.FLOAT + dtypes.COMPLEX},
    example=Example({"of": 0.0, "by": 0.0}, {"output": 0.0}),
    samples=lambda _: iter(()),
)


def declared(name: Any) -> Op | None:
    """What a node of a page may be: an op, or a gradient."""
    if not isinstance(name, str):
        return None
    return GRADIENT if name == GRADIENT.name else registry.get(name)
