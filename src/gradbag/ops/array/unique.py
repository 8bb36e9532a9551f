"""Distinct values and distinct slices, and how often each occurs."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import INDEX, REAL
from ...errors import Fault
from ...spec import Arg, Attr, Declined, Example, Reject, op
from .array_samples import repeated
from .selecting import comparable, numbered_by_first
from .sizes import axis_within

OUT_IDX = Attr("out_idx", "int32", "The dtype of idx and count.", "type")
TYPES = {"T": (*REAL, "bool", "string"), "out_idx": INDEX}
X = Arg("x", "T", "*shape", "Values, or slices along an axis, some of them more than once.")
AXIS = Arg("axis", "Taxis", "axes", "The axis along which slices are compared; empty for a vector.")
IDX = Arg("idx", "out_idx", "*places", "For each slice of x, where it stands in y.")
Y = Arg("y", "T", "*distinct", "Each slice once, in the order in which they come first.")
COUNT = Arg("count", "out_idx", "*counts", "How often each occurs.")
AXIS_REJECTS = [
    Reject({"axis": [2]}, r"axis\[0\] == 2 out of range \[-2, 2\)"),
    Reject({"axis": [0, 1]}, r"axis has shape \[2\], which must be \[1\], or \[0\] for a vector"),
    Reject({"axis": np.zeros(0, np.int64)}, r"x has shape \[3, 2\], which must have one axis if axis is empty"),
]


def _slices(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    for shape, axis in [((6, 2), [0]), ((2, 5), [1]), ((7,), []), ((3, 2, 2), [-1]), ((0, 2), [0]), ((7,), [0])]:
        yield {"x": rng.integers(1, 3, shape).astype(float), "axis": np.array(axis, np.int64)}


def first_come(x: Any, axis: int, out_idx: str) -> tuple[Any, Any, Any]:
    """The distinct slices in the order in which they come first, the place of each slice there, and their counts."""
    moved = np.moveaxis(x, axis, 0)
    rows = moved.reshape((len(moved), prod(moved.shape[1:])))
    known: dict[Any, int] = {}
    numbers = [known.setdefault(_key(row, place), len(known)) for place, row in enumerate(rows.tolist())]
    places = np.array(numbers, dtypes.numpy_dtype(out_idx))
    first = np.zeros(len(known), np.int64)
    first[places[::-1]] = np.arange(len(places))[::-1]
    counts = np.bincount(places, minlength=len(known)).astype(places.dtype)
    return np.take(x, first, axis), places, counts


def _key(row: list[Any], place: int) -> tuple[Any, ...]:
    """What is equal where slices are: NaN equals nothing, so such a slice is known by its place."""
    return (place, None) if any(value != value for value in row) else (None, *row)


def _axis(x: Any, axis: Any) -> int | None:
    """The axis as far as it is known; what cannot be one is refused."""
    if axis.shape is None or axis.shape[0] is None:
        return None
    if axis.shape[0] > 1:
        raise Fault("shape", "axis", (), axis.shape, hint="must be [1], or [0] for a vector")
    if axis.shape[0] == 0:
        if x.shape is not None and len(x.shape) != 1:
            raise Fault("shape", "x", (), x.shape, hint="must have one axis if axis is empty")
        return 0
    if axis.value is None or x.shape is None:
        return None
    return axis_within("axis", int(axis.value[0]), len(x.shape), (0,))


def _outline(x: Any, axis: int | None) -> tuple[Any, Any]:
    if x.shape is None or axis is None:
        return (None if x.shape is None else (None,) * len(x.shape)), (None,)
    return (*x.shape[:axis], None, *x.shape[axis + 1 :]), (x.shape[axis],)


# ------------------------------------------------------------------ UniqueV2
@op(
    "UniqueV2",
    inputs=[X, AXIS],
    outputs=[Y, IDX],
    attrs=[OUT_IDX],
    types={**TYPES, "Taxis": INDEX},
    no_grad=["x"],
    example=Example({"x": [[7, 1], [3, 1], [7, 1]], "axis": [0]}, {"y": [[7, 1], [3, 1]], "idx": [0, 1, 0]}),
    samples=_slices,
    rejects=AXIS_REJECTS,
)
def unique_v2(x: Any, axis: Any, out_idx: str) -> Any:
    """The slices that occur along an axis, each once."""
    return first_come(x, int(axis[0]) if len(axis) else 0, out_idx)[:2]


@unique_v2.shapes
def _(x: Any, axis: Any, out_idx: str) -> Any:
    return _outline(x, _axis(x, axis))


@unique_v2.compiled
def _(calls: Any, x: Any, axis: Any, out_idx: str) -> Any:
    _check_plain(x, axis)
    return numbered_by_first(calls, x)


def _check_plain(x: Any, axis: Any) -> None:
    """Slices of a vector are its values."""
    if x.ndim != 1 or axis.ndim != 1 or axis.tolist() not in ([], [0], [-1]):
        raise Declined


@unique_v2.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}


# ------------------------------------------------------------------ UniqueWithCounts
@op(
    "UniqueWithCounts",
    inputs=[Arg("x", "T", "count", "Values, some of them more than once.")],
    outputs=[
        Arg("y", "T", "distinct", "Each value once, in the order in which they come first."),
        Arg("idx", "out_idx", "count", "For each place of x, where its value stands in y."),
        Arg("count", "out_idx", "distinct", "How often each occurs."),
    ],
    attrs=[OUT_IDX],
    types=TYPES,
    no_grad=["x"],
    example=Example({"x": [7, 3, 7, 5, 3]}, {"y": [7, 3, 5], "idx": [0, 1, 0, 2, 1], "count": [2, 2, 1]}),
    samples=repeated,
    rejects=[Reject({"x": [[1, 2]]}, r"x must have shape \[count\]; got \[1, 2\]")],
)
def unique_with_counts(x: Any, out_idx: str) -> Any:
    """The values that occur, each once, and how often; NaN is never equal to another."""
    _, first, places = np.unique(comparable(x), return_index=True, return_inverse=True, equal_nan=False)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtypes.numpy_dtype(out_idx))
    rank[order] = np.arange(len(order))
    found = rank[places.reshape(-1)]
    return x[first[order]], found, np.bincount(found, minlength=len(order)).astype(found.dtype)


@unique_with_counts.compiled
def _(calls: Any, x: Any, out_idx: str) -> Any:
    y, idx = numbered_by_first(calls, x)
    return y, idx, np.bincount(idx, minlength=len(y)).astype(idx.dtype)


@unique_with_counts.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}


# ------------------------------------------------------------------ UniqueWithCountsV2
@op(
    "UniqueWithCountsV2",
    inputs=[X, AXIS],
    outputs=[Y, IDX, COUNT],
    attrs=[OUT_IDX],
    types={**TYPES, "Taxis": INDEX},
    no_grad=["x"],
    example=Example(
        {"x": [[7, 1], [3, 1], [7, 1]], "axis": [0]}, {"y": [[7, 1], [3, 1]], "idx": [0, 1, 0], "count": [2, 1]}
    ),
    samples=_slices,
    rejects=AXIS_REJECTS,
)
def unique_with_counts_v2(x: Any, axis: Any, out_idx: str) -> Any:
    """The slices that occur along an axis, each once, and how often."""
    return first_come(x, int(axis[0]) if len(axis) else 0, out_idx)


@unique_with_counts_v2.shapes
def _(x: Any, axis: Any, out_idx: str) -> Any:
    return *_outline(x, _axis(x, axis)), (None,)


@unique_with_counts_v2.compiled
def _(calls: Any, x: Any, axis: Any, out_idx: str) -> Any:
    _check_plain(x, axis)
    y, idx = numbered_by_first(calls, x)
    return y, idx, np.bincount(idx, minlength=len(y)).astype(idx.dtype)


@unique_with_counts_v2.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}
