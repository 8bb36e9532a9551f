"""Rows of different lengths, laid into a dense array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...dims import AnyShape
from ...dtypes import ANY, INDEX
from ...errors import Fault
from ...spec import REQUIRED, Arg, Attr, Example, Known, Reject, op
from ..samples import values as drawn
from .sizes import possible

FIRST, SPLITS, IDS = "FIRST_DIM_SIZE", "ROW_SPLITS", "VALUE_ROWIDS"


def _partitioned(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    def made(shape: Any, count: int, inner: Sequence[int], default: Any, parts: Any, types: Any) -> dict[str, Any]:
        return {
            "shape": np.array(shape),
            "values": drawn(rng, count, *inner),
            "default_value": default,
            "row_partition_tensors": [np.array(part) for part in parts],
            "row_partition_types": types,
        }

    yield made(-1, 5, (), 0.5, [[0, 2, 2, 5]], [SPLITS])
    yield made([-1, 2], 5, (), 0.5, [4, [0, 0, 1, 1, 1]], [FIRST, IDS])
    yield made([2, -1, 4], 6, (), 0.25, [[0, 2, 3], [0, 1, 4, 6]], [SPLITS, SPLITS])
    yield made(-1, 3, (2,), np.array([0.5, 1.5]), [[0, 1, 3]], [SPLITS])
    yield made([3, 3, 2], 0, (2,), 0.5, [[0, 0, 0]], [SPLITS])


# ------------------------------------------------------------------ RaggedTensorToTensor
@op(
    "RaggedTensorToTensor",
    inputs=[
        Arg("shape", "Tshape", "*_", "The shape of the result: -1 for a size that the rows decide; -1 alone for all."),
        Arg("values", "T", "*values", "What stands in the innermost rows."),
        Arg("default_value", "T", "*default", "What stands where a row has ended; it is stretched to a value's shape."),
        Arg(
            "row_partition_tensors",
            "Tindex",
            "*_",
            "How values are divided into rows, outer divisions first.",
            many=True,
            count="num_row_partition_tensors",
        ),
    ],
    outputs=[Arg("result", "T", "*result", "The rows, filled up or cut off to one length.")],
    attrs=[
        Attr(
            "row_partition_types",
            REQUIRED,
            f"What each division is: {SPLITS}, {IDS}, or at first {FIRST}, how many rows there are.",
            "strings",
        )
    ],
    types={"T": ANY, "Tindex": INDEX, "Tshape": INDEX},
    linear=["values", "default_value"],
    example=Example(
        {
            "shape": [-1, 3],
            "values": [1.0, 2.0, 3.0],
            "default_value": 0.0,
            "row_partition_tensors": [[0, 2, 2, 3]],
            "row_partition_types": [SPLITS],
        },
        {"result": [[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]]},
    ),
    samples=_partitioned,
    rejects=[
        Reject({"row_partition_tensors": [[0, 2, 1, 3]]}, r"row_partition_tensors\[0\]\[2\] == 1 follows 2"),
        Reject({"row_partition_tensors": [[1, 2, 3]]}, r"row_partition_tensors\[0\]\[0\] == 1 must be zero"),
        Reject({"row_partition_types": ["ROWS"]}, r"row_partition_types == .* must name"),
        Reject({"shape": [-1, 3, 1]}, r"shape == .* must have 2 sizes, or be -1"),
        Reject({"shape": [-1, -2]}, r"shape\[1\] == -2 must be -1, or not negative"),
    ],
)
def ragged_tensor_to_tensor(
    shape: Any, values: Any, default_value: Any, row_partition_tensors: Any, row_partition_types: Any
) -> Any:
    """Rows of different lengths as a dense array; TensorFlow's RaggedTensor.to_tensor."""
    places, sizes = _placed(row_partition_tensors, row_partition_types)
    wanted = _result(shape, [*sizes, *values.shape[1:]])
    output = np.empty(wanted, values.dtype)
    output[...] = default_value
    depth = len(sizes)
    inside = np.all(places < np.array(wanted[:depth]), 1)
    output[tuple(places[inside].T)] = values[inside]
    return output


def _rows(part: Any, kind: str) -> Any:
    """For each member the number of its row."""
    return np.repeat(np.arange(len(part) - 1), np.diff(part)) if kind == SPLITS else part.astype(np.int64)


def _placed(parts: Sequence[Any], types: Sequence[str]) -> tuple[Any, list[int]]:
    """Where each value stands in the dense array, and the sizes that all rows need."""
    first = [int(part) for part, kind in zip(parts, types, strict=True) if kind == FIRST]
    divided = [(part, kind) for part, kind in zip(parts, types, strict=True) if kind != FIRST]
    size = first[0] if first else len(divided[0][0]) - 1
    places, sizes = np.arange(size)[:, None], [size]
    for part, kind in divided:
        rows = _rows(part, kind)
        begins = np.searchsorted(rows, np.arange(len(places)))
        inside = np.arange(len(rows)) - begins[rows]
        places = np.concatenate([places[rows], inside[:, None]], 1)
        sizes.append(int(inside.max(initial=-1)) + 1)
    return places, sizes


def _result(shape: Any, found: Sequence[Any]) -> list[Any]:
    """The sizes that are asked for, and those that the rows and values need."""
    asked = shape.tolist() if shape.ndim else [-1] * len(found)
    return [need if size < 0 else size for size, need in zip(asked, found, strict=True)]


@ragged_tensor_to_tensor.shapes
def _(
    shape: Known, values: Known, default_value: Known, row_partition_tensors: list[Known], row_partition_types: Any
) -> Any:
    types = list(row_partition_types)
    right = len(types) == len(row_partition_tensors) and types[1 if types[:1] == [FIRST] else 0 :]
    if not right or any(kind not in (SPLITS, IDS) for kind in right) or (types[0] == IDS):
        hint = f"must name {SPLITS} or {IDS} for each division, and {FIRST} at first where {IDS} comes next"
        raise Fault("rule", "row_partition_types", (), types, hint=hint)
    _check_parts(values, row_partition_tensors, types)
    if values.shape == ():
        raise Fault("shape", "values", (), (), hint="has no rows")
    rank = None if values.shape is None else len(right) + len(values.shape)
    if shape.value is not None:
        _check_shape(shape.value, rank, len(right) + 1, values.shape)
    _check_default(default_value.shape, values.shape)
    if rank is None:
        return [None]
    known = all(part.value is not None for part in row_partition_tensors)
    sizes: list[Any] = [None] * (len(right) + 1)
    if known and values.shape is not None:
        sizes = list(_placed([part.value for part in row_partition_tensors], types)[1])
    elif right[0] == SPLITS and row_partition_tensors[0].shape:
        count = row_partition_tensors[0].shape[0]
        sizes[0] = None if count is None else count - 1
    assert values.shape is not None
    found: list[Any] = [*sizes, *values.shape[1:]]
    if shape.value is None:
        return [(None,) * rank if shape.shape != () else tuple(found)]
    return [possible("shape", _result(shape.value, found), values.dtype)]


def _check_shape(shape: Any, rank: int | None, depth: int, values: AnyShape) -> None:
    sizes = shape.reshape(-1).tolist()
    if shape.ndim > 1 or (shape.ndim == 0 and sizes[0] != -1) or (shape.ndim and rank not in (None, len(sizes))):
        raise Fault("rule", "shape", (), shape.tolist(), hint=f"must have {rank} sizes, or be -1")
    for place, size in enumerate(sizes):
        if size < -1:
            raise Fault("rule", "shape", (place,), size, hint="must be -1, or not negative")
        inner = None if values is None or place < depth else values[place - depth + 1]
        if inner is not None and size not in (-1, inner):
            raise Fault("rule", "shape", (place,), size, hint=f"must be {inner}, as values have it")


def _check_default(default: AnyShape, values: AnyShape) -> None:
    if default is None or values is None:
        return
    inner = values[1:]
    fits = len(default) <= len(inner) and all(
        None in (n, m) or n in (1, m) for n, m in zip(reversed(default), reversed(inner), strict=False)
    )
    if not fits:
        raise Fault("shape", "default_value", (), default, hint="cannot be stretched to the shape of a value")


def _check_parts(values: Known, parts: Sequence[Known], types: Sequence[str]) -> None:
    """Each division must be one of as many members as the next has rows, the last of the values."""
    rows: int | None = None
    for place, (part, kind) in enumerate(zip(parts, types, strict=True)):
        name = f"row_partition_tensors[{place}]"
        axes = 0 if kind == FIRST else 1
        if part.shape is not None and len(part.shape) != axes:
            raise Fault("shape", name, (), part.shape, hint=f"must have {axes} axes to be {kind}")
        if part.value is None:
            rows = None
            continue
        numbers = part.value.reshape(-1)
        if kind == FIRST:
            if numbers[0] < 0:
                raise Fault("negative", name, (), int(numbers[0]))
            rows = int(numbers[0])
            continue
        if kind == SPLITS and not len(numbers):
            raise Fault("shape", name, (), numbers.shape, hint="must hold at least one number")
        if kind == SPLITS and numbers[0]:
            raise Fault("rule", name, (0,), int(numbers[0]), hint="must be zero, where the first row begins")
        falls = np.flatnonzero(numbers[1:] < numbers[:-1])
        if len(falls):
            at = int(falls[0]) + 1
            raise Fault("order", name, (at,), int(numbers[at]), int(numbers[at - 1]))
        if kind == IDS and len(numbers) and not (numbers[0] >= 0 and (rows is None or numbers[-1] < rows)):
            at = 0 if numbers[0] < 0 else len(numbers) - 1
            raise Fault("range", name, (at,), int(numbers[at]), 0, rows or 0)
        if kind == SPLITS and rows is not None and len(numbers) - 1 != rows:
            raise Fault("shape", name, (), numbers.shape, hint=f"must be [{rows + 1}], for {rows} rows")
        rows = int(numbers[-1]) if kind == SPLITS else len(numbers)
    last = len(parts) - 1
    count = None if not values.shape else values.shape[0]
    if rows is not None and count is not None and rows != count:
        kept = parts[last].value
        at = len(kept) - 1
        name = f"row_partition_tensors[{last}]"
        if types[last] == SPLITS:
            raise Fault("rule", name, (at,), int(kept[at]), hint=f"must be {count}, as many values as there are")
        raise Fault("shape", name, (), kept.shape, hint=f"must be [{count}], as many values as there are")


@ragged_tensor_to_tensor.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    depth = 1 + sum(kind != FIRST for kind in x.row_partition_types)
    outer = ops.Slice(input=ops.Shape(input=y.result, out_type="int64"), begin=[0], size=[depth])
    count = ops.rows(x.values)
    numbers = ops.RaggedTensorToTensor(
        shape=outer,
        values=ops.Cast(x=ops.range(count), DstT="int64"),
        default_value=np.int64(-1),
        row_partition_tensors=x.row_partition_tensors,
        row_partition_types=x.row_partition_types,
    )
    flat = ops.Reshape(tensor=numbers, shape=[-1])
    inner = ops.Slice(input=ops.Shape(input=x.values, out_type="int64"), begin=[1], size=[-1])
    rows = ops.Reshape(tensor=g.result, shape=ops.ConcatV2(values=[np.array([-1]), inner], axis=0))
    some = ops.UnsortedSegmentSum(data=rows, segment_ids=flat, num_segments=count)
    # A place that no value has taken has the number -1, so one more than that is its segment.
    taken = ops.Minimum(x=ops.AddV2(x=flat, y=np.int64(1)), y=np.int64(1))
    left = ops.UnsortedSegmentSum(data=rows, segment_ids=taken, num_segments=np.int64(2))
    first = ops.GatherV2(params=left, indices=np.int64(0), axis=0)
    return {"values": some, "default_value": ops.sum_like(first, x.default_value)}
