"""What an array's shape is, as numbers."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import ANY, INDEX
from ...errors import Fault
from ...spec import Arg, Attr, Example, op
from .array_samples import arrays

INPUT = Arg("input", "T", "*shape", "Any array; its values do not matter.")
OUT_TYPE = Attr("out_type", "int32", "int32, or int64 for large arrays.", "type")


# ------------------------------------------------------------------ Shape
@op(
    "Shape",
    inputs=[INPUT],
    outputs=[Arg("output", "out_type", "rank", "The length of each axis.")],
    attrs=[OUT_TYPE],
    types={"T": ANY, "out_type": INDEX},
    no_grad=["input"],
    example=Example({"input": [[1.0, 2.0, 3.0]]}, {"output": [1, 3]}),
    samples=arrays("input"),
)
def shape(input: Any, out_type: str) -> Any:
    """The lengths of an array's axes."""
    return np.array(input.shape, dtypes.numpy_dtype(out_type))


@shape.shapes
def _(input: Any, out_type: str) -> Any:
    for size in input.shape or ():
        _fits(input, size, out_type)
    return [(None if input.shape is None else len(input.shape),)]


@shape.values
def _(input: Any, out_type: str) -> Any:
    known = input.shape is not None and None not in input.shape
    return [np.array(input.shape, dtypes.numpy_dtype(out_type)) if known else None]


@shape.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}


# ------------------------------------------------------------------ Size
@op(
    "Size",
    inputs=[INPUT],
    outputs=[Arg("output", "out_type", "", "The number of elements.")],
    attrs=[OUT_TYPE],
    types={"T": ANY, "out_type": INDEX},
    no_grad=["input"],
    example=Example({"input": [[1.0, 2.0, 3.0]]}, {"output": 3}),
    samples=arrays("input"),
)
def size(input: Any, out_type: str) -> Any:
    """How many elements an array has."""
    return np.array(input.size, dtypes.numpy_dtype(out_type))


@size.shapes
def _(input: Any, out_type: str) -> Any:
    if input.shape is not None and None not in input.shape:
        _fits(input, prod(input.shape), out_type)
    return [()]


@size.values
def _(input: Any, out_type: str) -> Any:
    known = input.shape is not None and None not in input.shape
    return [np.array(prod(input.shape), dtypes.numpy_dtype(out_type)) if known else None]


@size.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}


def _fits(input: Any, count: int | None, out_type: str) -> None:
    if count is not None and count > np.iinfo(out_type).max:
        raise Fault("shape", "input", (), input.shape, hint=f"does not fit {out_type}; ask for out_type int64")


# ------------------------------------------------------------------ Rank
@op(
    "Rank",
    inputs=[INPUT],
    outputs=[Arg("output", "int32", "", "The number of axes.")],
    types={"T": ANY},
    no_grad=["input"],
    example=Example({"input": [[1.0, 2.0, 3.0]]}, {"output": 2}),
    samples=arrays("input"),
)
def rank(input: Any) -> Any:
    """How many axes an array has."""
    return np.array(input.ndim, np.int32)


@rank.values
def _(input: Any) -> Any:
    return [None if input.shape is None else np.array(len(input.shape), np.int32)]


@rank.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}
