"""Where the largest and the smallest stand, and what is among the largest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import INDEX, REAL
from ...errors import Fault
from ...spec import Arg, Attr, Example, Known, Reject, op, titled
from .array_samples import Rng


def _tables(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape, axis in [((3, 4), 1), ((3, 4), 0), ((2, 1, 3), -2), ((5,), 0), ((0, 2), 1)]:
        yield {"input": rng.uniform(0.5, 9.0, shape), "dimension": np.array(axis)}


def _declare(name: str, doc: str, find: Callable[..., Any], example: list[int]) -> None:
    def body(input: Any, dimension: Any, output_type: str) -> Any:
        return find(input, int(dimension)).astype(dtypes.numpy_dtype(output_type))

    declared = op(
        name,
        inputs=[
            Arg("input", "T", "*shape", "The array."),
            Arg("dimension", "Tidx", "", "The axis to go along; a negative one counts from the end."),
        ],
        outputs=[Arg("output", "output_type", "*result", "The places along the axis.")],
        attrs=[Attr("output_type", "int64", "The dtype of the places.", "type", INDEX)],
        types={"T": REAL, "Tidx": INDEX, "output_type": INDEX},
        no_grad=["input"],
        example=Example({"input": [[1.0, 5.0, 2.0], [9.0, 3.0, 3.0]], "dimension": 1}, {"output": example}),
        samples=_tables,
        rejects=[
            Reject({"dimension": 2}, r"dimension == 2 out of range \[-2, 2\)"),
            Reject({"input": np.zeros((2, 0))}, r"input has shape \[2, 0\], which has nothing along axis 1"),
        ],
    )(titled(name, doc)(body))

    @declared.shapes
    def _(input: Known, dimension: Known, output_type: str) -> Any:
        if input.shape is None:
            return [None]
        rank = len(input.shape)
        if dimension.value is None:
            return [(None,) * max(rank - 1, 0)]
        axis = int(dimension.value)
        if not -rank <= axis < rank:
            raise Fault("range", "dimension", (), axis, -rank, rank)
        rest = [size for place, size in enumerate(input.shape) if place != axis % rank]
        if input.shape[axis] == 0:
            raise Fault("shape", "input", (), input.shape, hint=f"has nothing along axis {axis}")
        return [tuple(rest)]


_declare("ArgMax", "Where the largest stands along an axis, the first of equal ones.", np.argmax, [1, 0])
_declare("ArgMin", "Where the smallest stands along an axis, the first of equal ones.", np.argmin, [0, 1])


# ------------------------------------------------------------------ InTopKV2
def _ranked(rng: Rng) -> Iterator[dict[str, Any]]:
    for rows, k in [(4, 2), (3, 0), (0, 1), (2, 9)]:
        yield {"predictions": rng.uniform(0, 1, (rows, 5)), "targets": rng.integers(0, 5, rows), "k": np.array(k)}


@op(
    "InTopKV2",
    inputs=[
        Arg("predictions", "float32", "batch classes", "How likely each class is."),
        Arg("targets", "T", "batch", "The class of each row."),
        Arg("k", "T", "", "How many classes count as the largest."),
    ],
    outputs=[Arg("precision", "bool", "batch", "Whether the class is among them.")],
    types={"T": INDEX},
    no_grad=["predictions"],
    example=Example(
        {"predictions": [[0.1, 0.9, 0.3], [0.7, 0.2, 0.1]], "targets": [2, 2], "k": 2}, {"precision": [True, False]}
    ),
    samples=_ranked,
)
def in_top_kv2(predictions: Any, targets: Any, k: Any) -> Any:
    """Whether fewer than k classes of its row are likelier than a class; one that is not finite never counts."""
    inside = (targets >= 0) & (targets < predictions.shape[1])
    if not predictions.shape[1]:
        return np.zeros(len(targets), bool)
    own = predictions[np.arange(len(targets)), np.where(inside, targets, 0)]
    with np.errstate(invalid="ignore"):
        above = (predictions > own[:, None]).sum(1)
    finite = np.isfinite(predictions).all(1) & np.isfinite(own)
    return inside & finite & (above < k)
