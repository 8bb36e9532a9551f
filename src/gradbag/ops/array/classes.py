"""Numbers to classes and back: one-hot vectors, buckets, what is in one list and not in another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...dims import AnyShape
from ...dtypes import ANY, INDEX, REAL
from ...errors import Fault
from ...spec import REQUIRED, Arg, Attr, Example, Known, Reject, op
from .array_samples import Rng
from .sizes import possible


# ------------------------------------------------------------------ OneHot
def _hot(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape, depth, axis in [
        ((3,), 4, -1),
        ((2, 3), 5, 0),
        ((2, 2), 3, 1),
        ((), 2, -1),
        ((0,), 3, -1),
        ((2,), 0, -1),
    ]:
        drawn = {"indices": rng.integers(-1, depth + 2, shape), "depth": depth, "on_value": 2.0, "off_value": 0.5}
        yield {**drawn, "axis": axis}


@op(
    "OneHot",
    inputs=[
        Arg("indices", "TI", "*shape", "The numbers of classes; for one that is out of range nothing is hot."),
        Arg("depth", "int32", "", "How many classes there are."),
        Arg("on_value", "T", "", "What stands at the place of a class."),
        Arg("off_value", "T", "", "What stands everywhere else."),
    ],
    outputs=[Arg("output", "T", "*result", "A vector for each index.")],
    attrs=[Attr("axis", -1, "Where the new axis stands in the result; -1 for the last.", "int")],
    types={"T": ANY, "TI": ("uint8", "int8", *INDEX)},
    linear=["on_value", "off_value"],
    example=Example(
        {"indices": [1, 0], "depth": 2, "on_value": 1.0, "off_value": 0.0}, {"output": [[0.0, 1.0], [1.0, 0.0]]}
    ),
    samples=_hot,
    rejects=[
        Reject({"depth": -1}, r"depth == -1 must not be negative"),
        Reject({"axis": 2}, r"axis == 2 out of range \[-1, 2\)"),
    ],
)
def one_hot(indices: Any, depth: Any, on_value: Any, off_value: Any, axis: int) -> Any:
    """Vectors that have one value at the place of a class and another one everywhere else."""
    wide = np.expand_dims(indices.astype(np.int64), axis if axis >= 0 else indices.ndim)
    places = np.arange(int(depth))
    behind = 0 if axis < 0 else indices.ndim - axis
    return np.asarray(np.where(wide == places.reshape(-1, *[1] * behind), on_value, off_value), on_value.dtype)


@one_hot.shapes
def _(indices: Known, depth: Known, on_value: Known, off_value: Known, axis: int) -> Any:
    if depth.value is not None and depth.value < 0:
        raise Fault("negative", "depth", (), int(depth.value))
    if indices.shape is None:
        return [None]
    rank = len(indices.shape)
    if not -1 <= axis <= rank:
        raise Fault("range", "axis", (), axis, -1, rank + 1)
    place = rank if axis < 0 else axis
    size = None if depth.value is None else int(depth.value)
    return [possible("depth", (*indices.shape[:place], size, *indices.shape[place:]), on_value.dtype)]


@one_hot.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    settings = {"indices": x.indices, "depth": x.depth, "axis": x.axis}
    one, none = (ops.OnesLike(x=x.on_value), ops.ZerosLike(x=x.on_value))
    hot = ops.OneHot(**settings, on_value=one, off_value=none)
    cold = ops.OneHot(**settings, on_value=none, off_value=one)
    return {
        "on_value": ops.sum_like(ops.Mul(x=g.output, y=hot), x.on_value),
        "off_value": ops.sum_like(ops.Mul(x=g.output, y=cold), x.off_value),
    }


# ------------------------------------------------------------------ Bucketize
def _ages(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape in [(5,), (2, 3), (), (0,)]:
        yield {"input": rng.integers(-2, 12, shape), "boundaries": [0.0, 3.0, 10.0]}


@op(
    "Bucketize",
    inputs=[Arg("input", "T", "*shape", "Any numbers.")],
    outputs=[Arg("output", "int32", "*shape", "The number of the bucket of each.")],
    attrs=[Attr("boundaries", REQUIRED, "Where one bucket ends and the next begins, in order.", "floats")],
    types={"T": ("int32", "int64", "float32", "float64")},
    no_grad=["input"],
    example=Example({"input": [-5.0, 3.0, 12.0], "boundaries": [0.0, 3.0, 10.0]}, {"output": [0, 2, 3]}),
    samples=_ages,
    rejects=[Reject({"boundaries": [3.0, 0.0]}, r"boundaries == \[3\.0, 0\.0\] must be in order")],
)
def bucketize(input: Any, boundaries: Any) -> Any:
    """In which of the ranges between some boundaries each number is."""
    return np.searchsorted(np.array(boundaries, np.float32), input, "right").astype(np.int32)


@bucketize.check
def _(input: Any, boundaries: Any) -> None:
    if list(boundaries) != sorted(boundaries):
        raise Fault("rule", "boundaries", (), list(boundaries), hint="must be in order")


# ------------------------------------------------------------------ ListDiff
def _lists(rng: Rng) -> Iterator[dict[str, Any]]:
    for x, y in [([1, 2, 3, 2, 5], [2, 4]), ([], [1]), ([3, 3], []), ([1], [1])]:
        yield {"x": np.array(x, float), "y": np.array(y, float)}


@op(
    "ListDiff",
    inputs=[Arg("x", "T", "n", "Some values."), Arg("y", "T", "m", "The values to leave out.")],
    outputs=[
        Arg("out", "T", "left", "The values of x that are not in y, in their order."),
        Arg("idx", "out_idx", "left", "Where they stand in x."),
    ],
    attrs=[Attr("out_idx", "int32", "The dtype of the places.", "type")],
    types={"T": (*REAL, "string"), "out_idx": INDEX},
    no_grad=["x", "y"],
    example=Example({"x": [1.0, 2.0, 3.0], "y": [2.0]}, {"out": [1.0, 3.0], "idx": [0, 2]}),
    samples=_lists,
)
def list_diff(x: Any, y: Any, out_idx: str) -> Any:
    """What is in one list and not in another."""
    known = set(y.tolist())
    places = np.array([place for place, value in enumerate(x.tolist()) if value not in known], out_idx)
    return x[places], places


@list_diff.shapes
def _(x: Known, y: Known, out_idx: str) -> list[AnyShape]:
    return [(None,), (None,)]
