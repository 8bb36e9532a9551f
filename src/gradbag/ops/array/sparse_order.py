"""Sparse arrays in another order or in another shape."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from ...dtypes import ANY
from ...errors import Fault
from ...spec import Arg, Declined, Example, Reject, op
from .sizes import held_sizes
from .sparse_concat import in_row_major_order, put_back
from .sparse_places import flat_places, row_major
from .sparse_samples import places, sparse_values


# ------------------------------------------------------------------ SparseReorder
@op(
    "SparseReorder",
    inputs=[
        Arg("input_indices", "int64", "nnz rank", "The places of the entries, in any order."),
        Arg("input_values", "T", "nnz", "Their values."),
        Arg("input_shape", "int64", "rank", "The shape, which does not matter."),
    ],
    outputs=[
        Arg("output_indices", "int64", "nnz rank", "The places in row-major order."),
        Arg("output_values", "T", "nnz", "Their values."),
    ],
    types={"T": ANY},
    linear=["input_values"],
    example=Example(
        {"input_indices": [[1, 0], [0, 2]], "input_values": [1.0, 2.0], "input_shape": [2, 3]},
        {"output_indices": [[0, 2], [1, 0]], "output_values": [2.0, 1.0]},
    ),
    samples=sparse_values,
    rejects=[Reject({"input_values": [1.0]}, r"input_values must have shape \[nnz\] with nnz=2; got \[1\]")],
)
def sparse_reorder(input_indices: Any, input_values: Any, input_shape: Any) -> Any:
    """The entries of a sparse array in row-major order; those at one place keep theirs."""
    order = row_major(input_indices)
    return input_indices[order], input_values[order]


@sparse_reorder.compiled
def _(calls: Any, input_indices: Any, input_values: Any, input_shape: Any) -> Any:
    if input_indices.shape != (*input_values.shape, *input_shape.shape):
        raise Declined
    return in_row_major_order(calls, input_indices, input_values)


@sparse_reorder.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    numbers = ops.Range(start=np.int64(0), limit=ops.Size(input=x.input_values, out_type="int64"), delta=np.int64(1))
    came = ops.SparseReorder(input_indices=x.input_indices, input_values=numbers, input_shape=x.input_shape)
    return {"input_values": put_back(ops, g.output_values, came.output_values, x.input_values)}


# ------------------------------------------------------------------ SparseReshape
def _reshapes(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    for shape, count, new in [
        ((4, 6), 8, [3, 8]),
        ((4, 6), 8, [-1, 2, 3]),
        ((12,), 3, [4, -1]),
        ((2, 3, 2), 5, [12]),
        ((4, 6), 0, [24]),
        ((0, 3), 0, [-1, 3]),
        ((1,), 1, []),
    ]:
        sizes = {"input_shape": np.array(shape), "new_shape": np.array(new, np.int64)}
        yield {"input_indices": places(rng, shape, count), **sizes}


@op(
    "SparseReshape",
    inputs=[
        Arg("input_indices", "int64", "nnz rank", "The places of the entries."),
        Arg("input_shape", "int64", "rank", "The shape."),
        Arg("new_shape", "int64", "new", "The shape wanted; one size may be -1, and follows from the others."),
    ],
    outputs=[
        Arg("output_indices", "int64", "nnz new", "The places in the new shape."),
        Arg("output_shape", "int64", "new", "The new shape."),
    ],
    types={},
    example=Example(
        {"input_indices": [[0, 1], [1, 2]], "input_shape": [2, 3], "new_shape": [3, -1]},
        {"output_indices": [[0, 1], [2, 1]], "output_shape": [3, 2]},
    ),
    samples=_reshapes,
    rejects=[
        Reject({"new_shape": [4, -1]}, r"new_shape == \[4, -1\] does not divide the 6 cells of input_shape"),
        Reject({"new_shape": [4, 2]}, r"new_shape == \[4, 2\] has 8 cells, but input_shape has 6"),
        Reject({"new_shape": [-1, -1]}, r"new_shape == \[-1, -1\] has more than one size that shall follow"),
        Reject({"new_shape": [-2, 3]}, r"new_shape\[0\] == -2 must not be negative"),
        Reject({"input_shape": [-2, 3]}, r"input_shape\[0\] == -2 must not be negative"),
    ],
)
def sparse_reshape(input_indices: Any, input_shape: Any, new_shape: Any) -> Any:
    """The places of the entries of a sparse array where its cells, row by row, fill another shape."""
    shape = reshaped(input_shape, new_shape)
    flat = flat_places(input_indices, input_shape.tolist())
    columns = []
    for size in shape[:0:-1]:
        columns.append(flat % size if size else flat)
        flat = flat // size if size else flat
    columns.append(flat)
    found = np.stack(columns[::-1], 1) if shape else np.zeros((len(flat), 0), np.int64)
    return found, np.array(shape, np.int64)


def reshaped(input_shape: Any, new_shape: Any) -> list[int]:
    """The new shape with the size that follows; refused where the cells do not fit."""
    cells, wanted = prod(held_sizes("input_shape", input_shape)), new_shape.tolist()
    if cells >= 2**63:
        raise Fault("rule", "input_shape", (), input_shape.tolist(), hint="has more cells than can be numbered")
    for place, size in enumerate(wanted):
        if size < -1:
            raise Fault("negative", "new_shape", (place,), size)
    if wanted.count(-1) > 1:
        raise Fault("rule", "new_shape", (), wanted, hint="has more than one size that shall follow from the others")
    known = prod(size for size in wanted if size != -1)
    if -1 in wanted:
        if not known or cells % known:
            hint = f"does not divide the {cells} cells of input_shape"
            raise Fault("rule", "new_shape", (), wanted, hint=hint)
        return [cells // known if size == -1 else size for size in wanted]
    if known != cells:
        raise Fault("rule", "new_shape", (), wanted, hint=f"has {known} cells, but input_shape has {cells}")
    return list(wanted)


@sparse_reshape.check
def _(input_indices: Any, input_shape: Any, new_shape: Any) -> None:
    reshaped(input_shape, new_shape)
