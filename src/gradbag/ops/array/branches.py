"""The control flow of graphs: a value goes into one of two branches, and the one that is alive comes out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...dtypes import ANY
from ...spec import Arg, Example, Known, op
from .array_samples import SHAPES, Rng


def _chosen(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape in SHAPES:
        yield {"data": rng.uniform(0.5, 9.0, shape), "pred": bool(rng.integers(2))}


# ------------------------------------------------------------------ Switch
@op(
    "Switch",
    inputs=[Arg("data", "T", "*shape", "Any value."), Arg("pred", "bool", "", "Which branch is taken.")],
    outputs=[
        Arg("output_false", "T", "*shape", "The value, for the branch that is taken if `pred` is false."),
        Arg("output_true", "T", "*shape", "The value, for the branch that is taken if `pred` is true."),
    ],
    types={"T": ANY},
    state="switch",
    linear=["data"],
    example=Example({"data": [1.5, 2.0], "pred": True}, {"output_false": [1.5, 2.0], "output_true": [1.5, 2.0]}),
    samples=_chosen,
)
def switch(data: Any, pred: Any) -> Any:
    """Hand a value to one of two branches. In a graph nothing runs that reads the other output.

    Outside of a graph there are no branches, and both outputs are the value.
    """
    return data.copy(), data.copy()


@switch.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"data": ops.Merge(inputs=[g.output_false, g.output_true]).output}


# ------------------------------------------------------------------ Merge
def _sides(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape in SHAPES:
        yield {"inputs": [rng.uniform(0.5, 9.0, shape) for _ in range(2)]}


@op(
    "Merge",
    inputs=[Arg("inputs", "T", "*_", "The ends of branches.", many=True)],
    outputs=[
        Arg("output", "T", "*result", "The one that is alive."),
        Arg("value_index", "int32", "", "Its number."),
    ],
    types={"T": ANY},
    state="merge",
    example=Example({"inputs": [[1.5, 2.0], [3.0, 4.0]]}, {"output": [1.5, 2.0], "value_index": 0}),
    samples=_sides,
)
def merge(inputs: Any) -> Any:
    """The value of the branch that was taken; outside of a graph all are, and the first counts."""
    return inputs[0].copy(), np.int32(0)


@merge.shapes
def _(inputs: list[Known]) -> Any:
    shapes = [known.shape for known in inputs]
    if any(shape is None or len(shape) != len(shapes[0] or ()) for shape in shapes):
        return [None, ()]
    sizes = zip(*[shape or () for shape in shapes], strict=True)
    return [tuple(each[0] if len(set(each)) == 1 else None for each in sizes), ()]


@merge.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    found = []
    for place in range(len(x.inputs)):
        alive = ops.Equal(x=y.value_index, y=np.int32(place))
        found.append(ops.Switch(data=g.output, pred=alive).output_true)
    return {"inputs": found}
