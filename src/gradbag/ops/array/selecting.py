"""Values and places that the data itself decides."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import INDEX, NUMBER, REAL
from ...errors import Fault
from ...spec import Arg, Attr, Declined, Example, Kernel, Reject, op
from .array_samples import bounds, marks, orderings, repeated


def comparable(array: Any) -> Any:
    """NumPy sorts its own floats only; a wider one keeps the order."""
    return array.astype(np.float32) if dtypes.name_of(array.dtype) == "bfloat16" else array


# ------------------------------------------------------------------ Unique
@op(
    "Unique",
    inputs=[Arg("x", "T", "count", "Values, some of them more than once.")],
    outputs=[
        Arg("y", "T", "distinct", "Each value once, in the order in which they come first."),
        Arg("idx", "out_idx", "count", "For each place of x, where its value stands in y."),
    ],
    attrs=[Attr("out_idx", "int32", "The dtype of idx.", "type")],
    types={"T": (*REAL, "bool", "string"), "out_idx": INDEX},
    behind=Kernel("unique", takes_over=True),
    no_grad=["x"],
    example=Example({"x": [7, 3, 7, 5, 3]}, {"y": [7, 3, 5], "idx": [0, 1, 0, 2, 1]}),
    samples=repeated,
    rejects=[Reject({"x": [[1, 2]]}, r"x must have shape \[count\]; got \[1, 2\]")],
)
def unique(x: Any, out_idx: str) -> Any:
    """The values that occur, each once; NaN is never equal to another."""
    _, first, places = np.unique(comparable(x), return_index=True, return_inverse=True, equal_nan=False)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), dtypes.numpy_dtype(out_idx))
    rank[order] = np.arange(len(order))
    return x[first[order]], rank[places.reshape(-1)]


@unique.compiled
def _(calls: Any, x: Any, out_idx: str) -> Any:
    return numbered_by_first(calls, x)


def numbered_by_first(calls: Any, x: Any) -> tuple[Any, Any]:
    """Distinct numbers in the order in which they come first, and the place of each entry there, by a kernel."""
    if x.ndim != 1:
        raise Declined
    plan = calls.count("unique_plan__{T}_{out_idx}", [x])
    y, idx = calls.empty(plan.sizes, "T"), calls.empty(x.shape, "out_idx")
    calls.fill("unique__{T}_{out_idx}", [x, y, idx], (), plan)
    return y, idx


@unique.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}


# ------------------------------------------------------------------ Where
@op(
    "Where",
    inputs=[Arg("condition", "T", "*shape", "Numbers or truth values.")],
    outputs=[Arg("index", "int64", "found rank", "A row of coordinates per element that is not zero, in order.")],
    types={"T": tuple(name for name in (*NUMBER, "bool") if name != "float16")},  # TensorFlow lacks this one
    no_grad=["condition"],
    example=Example({"condition": [[True, False], [False, True]]}, {"index": [[0, 0], [1, 1]]}),
    samples=marks,
    rejects=[Reject({"condition": True}, r"condition has shape \[\], which has no axis to count along")],
)
def where(condition: Any) -> Any:
    """Where an array is not zero."""
    return np.argwhere(condition).astype(np.int64, copy=False)


@where.shapes
def _(condition: Any) -> Any:
    if condition.shape == ():
        raise Fault("shape", "condition", (), (), hint="has no axis to count along")
    count = None if condition.value is None else int(np.count_nonzero(condition.value))
    return [(count, None if condition.shape is None else len(condition.shape))]


@where.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}


# ------------------------------------------------------------------ TopKV2
@op(
    "TopKV2",
    inputs=[
        Arg("input", "T", "*outer count", "Rows of values."),
        Arg("k", "Tk", "", "How many of each row."),
    ],
    outputs=[
        Arg("values", "T", "*outer k", "The largest values of each row, the largest first."),
        Arg("indices", "index_type", "*outer k", "Where they stand; of equal values, the first comes first."),
    ],
    attrs=[
        Attr("sorted", True, "Without effect: the values are always in order."),
        Attr("index_type", "int32", "The dtype of the indices.", "type"),
    ],
    types={"T": REAL, "Tk": ("int16", *INDEX), "index_type": ("int16", *INDEX)},
    example=Example({"input": [[1.0, 4.0, 2.0, 3.0]], "k": 3}, {"values": [[4.0, 3.0, 2.0]], "indices": [[1, 3, 2]]}),
    samples=orderings,
    rejects=[
        Reject({"k": 5}, r"k == 5 out of range \[0, 5\)"),
        Reject({"k": -1}, r"k == -1 out of range \[0, 5\)"),
        Reject({"input": 1.0}, r"input must have shape \[\*outer count\]; got \[\]"),
    ],
)
def top_kv2(input: Any, k: Any, sorted: bool, index_type: str) -> Any:
    """The largest values of each row, and where they stand."""
    # Sorted backwards from the end, so that of equal values the first comes first.
    order = input.shape[-1] - 1 - np.argsort(comparable(input)[..., ::-1], -1, kind="stable")[..., ::-1]
    chosen = order[..., : int(k)]
    return np.take_along_axis(input, chosen, -1), chosen.astype(dtypes.numpy_dtype(index_type))


@top_kv2.shapes
def _(input: Any, k: Any, sorted: bool, index_type: str) -> Any:
    wanted = None if k.value is None else int(k.value)
    length = input.shape[-1] if input.shape else None
    if wanted is not None and (wanted < 0 or (length is not None and wanted > length)):
        raise Fault("range", "k", (), wanted, 0, (length or 0) + 1)
    if length is not None and length > np.iinfo(index_type).max:
        raise Fault("shape", "input", (), input.shape, hint=f"has longer rows than {index_type} can number")
    return [None if input.shape is None else (*input.shape[:-1], wanted)] * 2


@top_kv2.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # Every value goes back to its place, counted through all rows.
    sizes = ops.Shape(input=x.input, out_type="int64")
    length = ops.StridedSlice(input=sizes, begin=[-1], end=[0], strides=[1], shrink_axis_mask=1)
    outer = ops.StridedSlice(input=sizes, begin=[0], end=[-1], strides=[1], begin_mask=1)
    rows = ops.Prod(input=outer, axis=0)
    starts = ops.Mul(x=ops.Range(start=0, limit=rows, delta=1), y=length)
    per_row = ops.Reshape(tensor=starts, shape=ops.ConcatV2(values=[outer, [1]], axis=0))
    places = ops.AddV2(x=ops.Cast(x=y.indices, DstT="int64"), y=per_row)
    count = ops.Size(input=x.input, out_type="int64")
    added = ops.UnsortedSegmentSum(data=g.values, segment_ids=places, num_segments=count)
    return {"input": ops.Reshape(tensor=added, shape=sizes)}


# ------------------------------------------------------------------ LowerBound
@op(
    "LowerBound",
    inputs=[
        Arg("sorted_inputs", "T", "rows length", "Rows in ascending order."),
        Arg("values", "T", "rows count", "Values to find a place for in the row of the same number."),
    ],
    outputs=[Arg("output", "out_type", "rows count", "The first place whose value is not smaller.")],
    attrs=[Attr("out_type", "int32", "The dtype of the output.", "type")],
    types={"T": REAL, "out_type": INDEX},
    no_grad=["sorted_inputs", "values"],
    example=Example({"sorted_inputs": [[1.0, 3.0, 3.0, 7.0]], "values": [[3.0, 8.0, 0.0]]}, {"output": [[1, 4, 0]]}),
    samples=bounds,
    rejects=[Reject({"values": [[3.0], [8.0]]}, r"values must have shape \[rows count\] with rows=1; got \[2, 1\]")],
)
def lower_bound(sorted_inputs: Any, values: Any, out_type: str) -> Any:
    """Where values would stand in sorted rows, before equal ones."""
    output = np.empty(values.shape, dtypes.numpy_dtype(out_type))
    for row, (inputs, wanted) in enumerate(zip(comparable(sorted_inputs), comparable(values), strict=True)):
        output[row] = np.searchsorted(inputs, wanted)
    return output


@lower_bound.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}
