"""Softmax along the last axis of a sparse array."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import Fault
from ...spec import Arg, Example, Reject, op
from .precision import wider
from .sizes import held_sizes
from .sparse_places import numbered
from .sparse_samples import rows_of_entries


# ------------------------------------------------------------------ SparseSoftmax
@op(
    "SparseSoftmax",
    inputs=[
        Arg("sp_indices", "int64", "nnz rank", "The places of the entries."),
        Arg("sp_values", "T", "nnz", "Their values."),
        Arg("sp_shape", "int64", "rank", "The shape, of at least two axes."),
    ],
    outputs=[Arg("output", "T", "nnz", "For each entry its share of its row.")],
    types={"T": ("float16", "float32", "float64")},
    example=Example(
        {"sp_indices": [[0, 0], [0, 2], [1, 1]], "sp_values": [1.0, 1.0, 5.0], "sp_shape": [2, 3]},
        {"output": [0.5, 0.5, 1.0]},
    ),
    samples=rows_of_entries,
    rejects=[
        Reject(
            {"sp_indices": [[0], [1], [2]], "sp_shape": [3]}, r"sp_shape has shape \[1\], which must have at least two"
        ),
        Reject({"sp_shape": [2, -1]}, r"sp_shape\[1\] == -1 must not be negative"),
    ],
)
def sparse_softmax(sp_indices: Any, sp_values: Any, sp_shape: Any) -> Any:
    """The exponentials of the entries, divided by their sum along the last axis; what has no entry is not counted."""
    rows, found = numbered(sp_indices[:, :-1])
    wide = sp_values.astype(wider(sp_values.dtype))
    largest = np.full(len(found), -np.inf, wide.dtype)
    np.maximum.at(largest, rows, wide)
    powers = np.exp(wide - largest[rows])
    total = np.zeros(len(found), wide.dtype)
    np.add.at(total, rows, powers)
    return (powers / total[rows]).astype(sp_values.dtype)


@sparse_softmax.shapes
def _(sp_indices: Any, sp_values: Any, sp_shape: Any) -> Any:
    rank = sp_shape.shape[0] if sp_shape.shape is not None else None
    if rank is not None and rank < 2:
        raise Fault("shape", "sp_shape", (), sp_shape.shape, hint="must have at least two sizes")
    if sp_shape.value is not None:
        held_sizes("sp_shape", sp_shape.value)
    return [(None,) if sp_values.shape is None else sp_values.shape]


@sparse_softmax.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # Entries outside of the shape are in rows of their own here, so the rows are told by the places alone.
    rows = ops.SparseRows(indices=x.sp_indices)
    count = ops.Size(input=x.sp_values, out_type="int64")
    weighted = ops.UnsortedSegmentSum(data=ops.Mul(x=g.output, y=y.output), segment_ids=rows, num_segments=count)
    return {
        "sp_values": ops.Mul(x=y.output, y=ops.Sub(x=g.output, y=ops.GatherV2(params=weighted, indices=rows, axis=0)))
    }
