"""Rows of different lengths, given by where each begins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import ANY, INDEX
from ...errors import Fault
from ...spec import REQUIRED, Arg, Attr, Example, Reject, op
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


# ------------------------------------------------------------------ RaggedGather
def _gathered(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    for sample in _nested(rng):
        count = len(sample["rt_nested_splits"][0]) - 1
        for shape in [(4,), (2, 3)] if count else [(0,)]:
            yield {
                "params_nested_splits": sample["rt_nested_splits"],
                "params_dense_values": sample["rt_dense_values"],
                "indices": rng.integers(0, max(count, 1), shape),
                "OUTPUT_RAGGED_RANK": len(sample["rt_nested_splits"]) + len(shape) - 1,
            }


@op(
    "RaggedGather",
    inputs=[
        Arg(
            "params_nested_splits",
            "Tsplits",
            "_",
            "Where rows begin, outer ones first.",
            many=True,
            count="PARAMS_RAGGED_RANK",
        ),
        Arg("params_dense_values", "Tvalues", "*shape", "What stands in the innermost rows."),
        Arg("indices", "Tindices", "*places", "The outermost rows to take."),
    ],
    outputs=[
        Arg(
            "output_nested_splits",
            "Tsplits",
            "*splits",
            "Where the rows that were taken begin.",
            many=True,
            count="OUTPUT_RAGGED_RANK",
        ),
        Arg("output_dense_values", "Tvalues", "*values", "What stands in them."),
    ],
    attrs=[Attr("OUTPUT_RAGGED_RANK", REQUIRED, "That of the rows, and one less than the rank of indices.", "int")],
    types={"Tvalues": ANY, "Tsplits": INDEX, "Tindices": INDEX},
    linear=["params_dense_values"],
    example=Example(
        {
            "params_nested_splits": [[0, 2, 2, 3]],
            "params_dense_values": [1.0, 2.0, 3.0],
            "indices": [2, 0, 1],
            "OUTPUT_RAGGED_RANK": 1,
        },
        {"output_nested_splits": [[0, 1, 3, 3]], "output_dense_values": [3.0, 1.0, 2.0]},
    ),
    samples=_gathered,
    rejects=[
        Reject({"indices": [0, 3]}, r"indices\[1\] == 3 out of range \[0, 3\)"),
        Reject({"params_nested_splits": [[0, 2, 1, 3]]}, r"params_nested_splits\[0\]\[2\] == 1 follows 2"),
        Reject({"params_nested_splits": [[0, 2]]}, r"params_nested_splits\[0\]\[1\] == 2 must be 3, as many values"),
        Reject({"OUTPUT_RAGGED_RANK": 2}, r"OUTPUT_RAGGED_RANK == 2 must be 1, that of the rows with indices"),
    ],
)
def ragged_gather(params_nested_splits: Any, params_dense_values: Any, indices: Any, OUTPUT_RAGGED_RANK: int) -> Any:  # noqa: N803
    """Rows of different lengths by their numbers, and where each begins then."""
    found = [np.arange(n + 1) * size for n, size in _outer(indices.shape)]
    begins, ends = indices.reshape(-1).astype(np.int64), indices.reshape(-1).astype(np.int64) + 1
    for splits in params_nested_splits:
        wide = splits.astype(np.int64)
        found.append(np.cumsum([0, *_row_lengths(wide, begins, ends)]))
        begins, ends = wide[begins], wide[ends]
    chosen = _spread(begins, ends)
    kind = params_nested_splits[0].dtype
    return [splits.astype(kind) for splits in found], params_dense_values[chosen]


def _outer(shape: Any) -> Iterator[tuple[int, int]]:
    """The rows and the length of each that indices of several axes add around the rows."""
    count = 1
    for place, size in enumerate(shape[:-1]):
        count *= size
        yield count, int(shape[place + 1])


def _row_lengths(splits: Any, begins: Any, ends: Any) -> Any:
    rows = _spread(begins, ends)
    return splits[rows + 1] - splits[rows]


def _spread(begins: Any, ends: Any) -> Any:
    lengths = ends - begins
    return np.repeat(begins - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))


@ragged_gather.shapes
def _(params_nested_splits: Any, params_dense_values: Any, indices: Any, OUTPUT_RAGGED_RANK: int) -> Any:  # noqa: N803
    shape = params_dense_values.shape
    if shape == ():
        raise Fault("shape", "params_dense_values", (), (), hint="has no rows")
    counts = [None if s.shape is None or s.shape[0] is None else s.shape[0] - 1 for s in params_nested_splits[1:]]
    counts.append(None if shape is None else shape[0])
    for place, (splits, count) in enumerate(zip(params_nested_splits, counts, strict=True)):
        if splits.value is not None:
            _check_splits(f"params_nested_splits[{place}]", splits.value, count)
    if indices.shape is not None:
        rank = len(params_nested_splits) + len(indices.shape) - 1
        if rank != OUTPUT_RAGGED_RANK or not indices.shape:
            hint = f"must be {rank}, that of the rows with indices"
            raise Fault("rule", "OUTPUT_RAGGED_RANK", (), OUTPUT_RAGGED_RANK, hint=hint)
    outer = params_nested_splits[0].shape
    rows = None if outer is None or outer[0] is None else outer[0] - 1
    if indices.value is not None and rows is not None:
        outside = np.argwhere((indices.value < 0) | (indices.value >= rows))
        if len(outside):
            first = tuple(outside[0].tolist())
            raise Fault("range", "indices", first, int(indices.value[first]), 0, rows)
    return [[(None,)] * OUTPUT_RAGGED_RANK, None if shape is None else (None, *shape[1:])]


@ragged_gather.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # Which value each one is: gathered themselves, their numbers tell where a gradient belongs.
    count = ops.rows(x.params_dense_values)
    numbers = ops.RaggedGather(
        params_nested_splits=x.params_nested_splits,
        params_dense_values=ops.Range(start=0, limit=count, delta=1),
        indices=x.indices,
        OUTPUT_RAGGED_RANK=x.OUTPUT_RAGGED_RANK,
    ).output_dense_values
    summed = ops.UnsortedSegmentSum(data=g.output_dense_values, segment_ids=numbers, num_segments=count)
    return {"params_dense_values": summed}
