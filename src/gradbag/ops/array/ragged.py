"""Rows of different lengths, given by where each begins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import ANY, INDEX
from ...errors import Fault
from ...spec import Arg, Attr, Example, Reject, op
from ..samples import values
from .sizes import possible


def _nested(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    nested: list[tuple[list[list[int]], tuple[int, ...]]] = [
        ([[2, 0, 3]], ()),
        ([[1, 2], [2, 0, 4]], (2,)),
        ([[]], ()),
        ([[0, 0]], (3,)),
        ([[3]], (1, 2)),
    ]
    for lengths, inner in nested:
        splits = [np.cumsum([0, *one]) for one in lengths]
        yield {"rt_nested_splits": splits, "rt_dense_values": values(rng, int(splits[-1][-1]), *inner)}


def _check_splits(argument: str, splits: Any, count: int | None) -> None:
    if not len(splits):
        raise Fault("shape", argument, (), splits.shape, hint="must hold at least one number")
    if splits[0]:
        raise Fault("rule", argument, (0,), int(splits[0]), hint="must be zero, where the first row begins")
    falls = np.flatnonzero(splits[1:] < splits[:-1])
    if len(falls):
        place = int(falls[0]) + 1
        raise Fault("order", argument, (place,), int(splits[place]), int(splits[place - 1]))
    if count is not None and splits[-1] != count:
        place = len(splits) - 1
        raise Fault(
            "rule", argument, (place,), int(splits[place]), hint=f"must be {count}, as many values as there are"
        )


# ------------------------------------------------------------------ RaggedTensorToSparse
@op(
    "RaggedTensorToSparse",
    inputs=[
        Arg("rt_nested_splits", "Tsplits", "_", "Where rows begin, outer ones first.", many=True, count="RAGGED_RANK"),
        Arg("rt_dense_values", "T", "*shape", "What stands in the innermost rows."),
    ],
    outputs=[
        Arg("sparse_indices", "int64", "*places", "The place of each value, in row-major order."),
        Arg("sparse_values", "T", "*count", "The values."),
        Arg("sparse_dense_shape", "int64", "*rank", "The shape into which all rows fit."),
    ],
    types={"T": ANY, "Tsplits": INDEX},
    linear=["rt_dense_values"],
    example=Example(
        {"rt_nested_splits": [[0, 2, 2, 3]], "rt_dense_values": [1.0, 2.0, 3.0]},
        {
            "sparse_indices": [[0, 0], [0, 1], [2, 0]],
            "sparse_values": [1.0, 2.0, 3.0],
            "sparse_dense_shape": [3, 2],
        },
    ),
    samples=_nested,
    rejects=[
        Reject({"rt_nested_splits": [[0, 2, 1, 3]]}, r"rt_nested_splits\[0\]\[2\] == 1 follows 2, but ids must not"),
        Reject({"rt_nested_splits": [[1, 2, 3]]}, r"rt_nested_splits\[0\]\[0\] == 1 must be zero"),
        Reject({"rt_nested_splits": [[0, 2]]}, r"rt_nested_splits\[0\]\[1\] == 2 must be 3, as many values"),
        Reject({"rt_dense_values": 1.0}, r"rt_dense_values has shape \[\], which has no rows"),
    ],
)
def ragged_tensor_to_sparse(rt_nested_splits: Any, rt_dense_values: Any) -> Any:
    """Rows of different lengths as a sparse array that has all of them from the left."""
    inner = rt_dense_values.shape[1:]
    columns, rows, sizes = [], np.arange(len(rt_nested_splits[0]) - 1), [len(rt_nested_splits[0]) - 1]
    columns.append(rows)
    for splits in rt_nested_splits:
        lengths = np.diff(splits).astype(np.int64)
        columns = [np.repeat(column, lengths) for column in columns]
        columns.append(np.arange(int(splits[-1])) - np.repeat(splits[:-1].astype(np.int64), lengths))
        sizes.append(int(lengths.max(initial=0)))
    outer = np.stack(columns, 1)
    cells = np.argwhere(np.ones(inner, bool))
    places = np.concatenate([np.repeat(outer, len(cells), 0), np.tile(cells, (len(outer), 1))], 1)
    return places.astype(np.int64), rt_dense_values.reshape(-1), np.array([*sizes, *inner], np.int64)


@ragged_tensor_to_sparse.shapes
def _(rt_nested_splits: Any, rt_dense_values: Any) -> Any:
    shape = rt_dense_values.shape
    if shape == ():
        raise Fault("shape", "rt_dense_values", (), (), hint="has no rows")
    counts = [None if s.shape is None or s.shape[0] is None else s.shape[0] - 1 for s in rt_nested_splits[1:]]
    counts.append(None if shape is None else shape[0])
    for place, (splits, count) in enumerate(zip(rt_nested_splits, counts, strict=True)):
        if splits.value is not None:
            _check_splits(f"rt_nested_splits[{place}]", splits.value, count)
    if shape is None:
        return [(None, None), (None,), (None,)]
    rank = len(rt_nested_splits) + len(shape)
    count = None if None in shape else int(np.prod(shape, dtype=object))
    return [(count, rank), (count,), (rank,)]


@ragged_tensor_to_sparse.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"rt_dense_values": ops.Reshape(tensor=g.sparse_values, shape=ops.Shape(input=x.rt_dense_values))}


# ------------------------------------------------------------------ RaggedRange
def _ranges(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    yield {"starts": np.array([0, 5, 8]), "limits": np.array([3, 5, 2]), "deltas": np.array([1, 1, -2])}
    yield {"starts": np.array(0), "limits": np.array([3, 0, 2]), "deltas": np.array(1), "Tsplits": "int32"}
    yield {"starts": np.array(2), "limits": np.array(9), "deltas": np.array(3)}
    yield {"starts": np.zeros(0, int), "limits": np.zeros(0, int), "deltas": np.array(3)}


@op(
    "RaggedRange",
    inputs=[
        Arg("starts", "T", "*starts", "Where each range begins; one for all, or one for each."),
        Arg("limits", "T", "*limits", "Where it ends; the limit itself is left out."),
        Arg("deltas", "T", "*deltas", "The step, which may be negative."),
    ],
    outputs=[
        Arg("rt_nested_splits", "Tsplits", "*splits", "Where each range begins among the values."),
        Arg("rt_dense_values", "T", "*values", "The values of all ranges."),
    ],
    attrs=[Attr("Tsplits", "int64", "The dtype of the splits.", "type")],
    types={"T": INDEX, "Tsplits": INDEX},
    example=Example(
        {"starts": [0, 5], "limits": [3, 1], "deltas": [1, -2]},
        {"rt_nested_splits": [0, 3, 5], "rt_dense_values": [0, 1, 2, 5, 3]},
    ),
    samples=_ranges,
    rejects=[
        Reject({"deltas": [1, 0]}, r"deltas\[1\] == 0 must not be zero"),
        Reject({"limits": [1, 2, 3]}, r"limits has shape \[3\], which must be \[2\], or that of a scalar"),
        Reject({"starts": [[0, 5]]}, r"starts has shape \[1, 2\], which must have at most one axis"),
        Reject({"limits": np.array([2**62, 0]), "starts": np.array([-(2**62), 0])}, r"limits == .* asks for more than"),
    ],
)
def ragged_range(starts: Any, limits: Any, deltas: Any, Tsplits: str) -> Any:  # noqa: N803  # TensorFlow's name
    """Ranges of numbers, one after the other, and where each begins."""
    first, _, step = _stretched(starts, limits, deltas)
    lengths = _lengths(starts, limits, deltas)
    splits = np.cumsum([0, *lengths])
    inside = np.arange(int(splits[-1])) - np.repeat(splits[:-1], lengths)
    found = np.repeat(first, lengths) + inside * np.repeat(step, lengths)
    return splits.astype(dtypes.numpy_dtype(Tsplits)), found.astype(starts.dtype)


def _stretched(*given: Any) -> Any:
    return np.broadcast_arrays(*[np.atleast_1d(one.astype(np.int64)) for one in given])


def _lengths(starts: Any, limits: Any, deltas: Any) -> list[int]:
    """How many numbers each range has, in Python's integers, which do not wrap around."""
    rows = zip(*[one.tolist() for one in _stretched(starts, limits, deltas)], strict=True)
    return [max(0, -((first - last) // step)) for first, last, step in rows]


@ragged_range.shapes
def _(starts: Any, limits: Any, deltas: Any, Tsplits: str) -> Any:  # noqa: N803  # TensorFlow's name
    named = {"starts": starts, "limits": limits, "deltas": deltas}
    count: int | None = 1
    known = True
    for argument, one in named.items():
        if one.shape is None:
            known = False
        elif len(one.shape) > 1:
            raise Fault("shape", argument, (), one.shape, hint="must have at most one axis")
    vectors = {name: one.shape[0] for name, one in named.items() if one.shape}
    sizes = {size for size in vectors.values() if size is not None}
    if len(sizes) > 1:
        first = next(size for size in vectors.values() if size is not None)
        name = next(name for name, size in vectors.items() if size not in (None, first))
        raise Fault("shape", name, (), named[name].shape, hint=f"must be [{first}], or that of a scalar")
    if vectors:
        count = next(iter(sizes)) if sizes else None
    if deltas.value is not None and not deltas.value.all():
        place = tuple(np.argwhere(deltas.value == 0)[0].tolist())
        raise Fault("rule", "deltas", place, 0, hint="must not be zero")
    total = None
    if all(one.value is not None for one in named.values()):
        total = sum(_lengths(starts.value, limits.value, deltas.value))
        possible("limits", (total,), starts.dtype)
    return [(None if count is None or not known else count + 1,), (total,)]
