"""Giving every row at least one entry: SparseFillEmptyRows, RaggedFillEmptyRows and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import ANY, NUMBER
from ..spec import Arg, AtLeast, Example, Kernel, Reject, op, titled
from .filling import fill_rows, split_gradient
from .samples import fill_gradients, ragged_rows, sparse_rows

EMPTY = Arg("empty_row_indicator", "bool", "rows", "True for the rows that had no entry.")
REVERSE = Arg("reverse_index_map", "int64", "nnz", "The output entry that each input entry became.")
MAP = Arg("reverse_index_map", "int64", "nnz", "The output entry that each input entry became.")
GRAD_VALUES = Arg("grad_values", "T", "filled", "The gradient of the filled values.")
D_VALUES = Arg("d_values", "T", "nnz", "The gradient of the original values.")
D_DEFAULT = Arg("d_default_value", "T", "", "The gradient of the default value: everything that was filled in.")
GRAD_INPUTS = {"reverse_index_map": [0, 2, 3], "grad_values": [1.0, 10.0, 2.0, 3.0, 20.0]}
GRAD_OUTPUTS = {"d_values": [1.0, 2.0, 3.0], "d_default_value": 30.0}
GRAD_REJECTS = [
    Reject({"reverse_index_map": [0, 5, 3]}, r"reverse_index_map\[1\] == 5 out of range \[0, 5\)"),
    Reject({"reverse_index_map": [-1, 2, 3]}, r"reverse_index_map\[0\] == -1 out of range \[0, 5\)"),
    Reject({"reverse_index_map": [[0, 2]]}, r"reverse_index_map must have shape \[nnz\]; got \[1, 2\]"),
    Reject({"grad_values": [[1.0]]}, r"grad_values must have shape \[filled\]; got \[1, 1\]"),
]


# ------------------------------------------------------------------ SparseFillEmptyRows
@op(
    "SparseFillEmptyRows",
    inputs=[
        Arg(
            "indices",
            "int64",
            "nnz rank",
            "The place of each entry; its row is column 0, the rest is not looked at.",
        ),
        Arg("values", "T", "nnz", "The value of each entry."),
        Arg("dense_shape", "int64", "rank", "The shape of the sparse tensor.", holds="rows *_", gives="filled"),
        Arg("default_value", "T", "", "The value that empty rows get, in their first column."),
    ],
    outputs=[
        Arg("output_indices", "int64", "filled rank", "The entries, grouped by row, none of which is empty."),
        Arg("output_values", "T", "filled", "Their values."),
        EMPTY,
        REVERSE,
    ],
    types={"T": ANY},
    kernel=Kernel("sparse_fill_empty_rows", copies="T", scratch=("nnz", "nnz", "nnz"), takes_over=True),
    linear=["values", "default_value"],
    example=Example(
        {
            "indices": [[0, 1], [2, 0], [2, 3]],
            "values": [1.0, 2.0, 3.0],
            "dense_shape": [4, 5],
            "default_value": -1.0,
        },
        {
            "output_indices": [[0, 1], [1, 0], [2, 0], [2, 3], [3, 0]],
            "output_values": [1.0, -1.0, 2.0, 3.0, -1.0],
            "empty_row_indicator": [False, True, False, True],
            "reverse_index_map": [0, 2, 3],
        },
    ),
    samples=sparse_rows,
    rejects=[
        Reject({"indices": [[0, 1], [4, 0], [2, 3]]}, r"indices\[1, 0\] == 4 out of range \[0, 4\)"),
        Reject({"indices": [[0, 1], [-1, 0], [2, 3]]}, r"indices\[1, 0\] == -1 out of range \[0, 4\)"),
        Reject({"dense_shape": [-1, 5]}, r"dense_shape\[0\] == -1 must not be negative"),
        Reject({"dense_shape": [4, 5, 6]}, r"dense_shape must have shape \[rank\] with rank=2; got \[3\]"),
        Reject({"values": [1.0, 2.0]}, r"values must have shape \[nnz\] with nnz=3; got \[2\]"),
        Reject({"default_value": [0.0]}, r"default_value must have shape \[\]; got \[1\]"),
    ],
)
def sparse_fill_empty_rows(indices: Any, values: Any, dense_shape: Any, default_value: Any) -> Any:
    """Give every empty row of a sparse tensor one entry with the default value.

    Entries come out grouped by row; inside a row they keep their order, also where columns are not sorted.
    """
    filled = fill_rows("indices", indices[:, 0], values, int(dense_shape[0]), default_value)
    output_indices = np.zeros((len(filled.rows), indices.shape[1]), np.int64)
    output_indices[:, 0] = filled.rows
    output_indices[filled.positions] = indices
    return output_indices, filled.values, filled.empty, filled.positions


@sparse_fill_empty_rows.sizes
def _(indices: Any, values: Any, dense_shape: Any, default_value: Any) -> Any:
    return {"filled": AtLeast(max(int(dense_shape[0]), len(values)))}


@sparse_fill_empty_rows.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    split = ops.SparseFillEmptyRowsGrad(reverse_index_map=y.reverse_index_map, grad_values=g.output_values)
    return {"values": split.d_values, "default_value": split.d_default_value}


# ------------------------------------------------------------------ RaggedFillEmptyRows
@op(
    "RaggedFillEmptyRows",
    inputs=[
        Arg("value_rowids", "int64", "nnz", "The row of each entry."),
        Arg("values", "T", "nnz", "The value of each entry."),
        Arg("nrows", "int64", "", "How many rows there are.", holds="rows", gives="filled"),
        Arg("default_value", "T", "", "The value that empty rows get."),
    ],
    outputs=[
        Arg("output_value_rowids", "int64", "filled", "The row of each entry, ascending, none left out."),
        Arg("output_values", "T", "filled", "Their values."),
        EMPTY,
        REVERSE,
    ],
    types={"T": ANY},
    kernel=Kernel("ragged_fill_empty_rows", copies="T", scratch=("nnz", "nnz", "nnz"), takes_over=True),
    linear=["values", "default_value"],
    example=Example(
        {"value_rowids": [0, 2, 2], "values": [1.0, 2.0, 3.0], "nrows": 4, "default_value": -1.0},
        {
            "output_value_rowids": [0, 1, 2, 2, 3],
            "output_values": [1.0, -1.0, 2.0, 3.0, -1.0],
            "empty_row_indicator": [False, True, False, True],
            "reverse_index_map": [0, 2, 3],
        },
    ),
    samples=ragged_rows,
    rejects=[
        Reject({"value_rowids": [0, 4, 2]}, r"value_rowids\[1\] == 4 out of range \[0, 4\)"),
        Reject({"value_rowids": [0, 2, -1]}, r"value_rowids\[2\] == -1 out of range \[0, 4\)"),
        Reject({"nrows": -1}, r"nrows == -1 must not be negative"),
        Reject({"nrows": [4]}, r"nrows must have shape \[\]; got \[1\]"),
        Reject({"values": [1.0]}, r"values must have shape \[nnz\] with nnz=3; got \[1\]"),
    ],
)
def ragged_fill_empty_rows(value_rowids: Any, values: Any, nrows: Any, default_value: Any) -> Any:
    """Give every empty row of a ragged tensor one entry with the default value.

    Entries come out grouped by row; inside a row they keep their order.
    """
    return tuple(fill_rows("value_rowids", value_rowids, values, int(nrows), default_value))


@ragged_fill_empty_rows.sizes
def _(value_rowids: Any, values: Any, nrows: Any, default_value: Any) -> Any:
    return {"filled": AtLeast(max(int(nrows), len(values)))}


@ragged_fill_empty_rows.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    split = ops.RaggedFillEmptyRowsGrad(reverse_index_map=y.reverse_index_map, grad_values=g.output_values)
    return {"values": split.d_values, "default_value": split.d_default_value}


# ------------------------------------------------------------------ SparseFillEmptyRowsGrad, RaggedFillEmptyRowsGrad
def _gradient_of(filling: str) -> None:
    @op(
        f"{filling}Grad",
        inputs=[MAP, GRAD_VALUES],
        outputs=[D_VALUES, D_DEFAULT],
        types={"T": NUMBER},
        kernel=Kernel("fill_empty_rows_grad", takes_over=True),
        linear=["grad_values"],
        example=Example(GRAD_INPUTS, GRAD_OUTPUTS),
        samples=fill_gradients,
        rejects=GRAD_REJECTS,
    )
    @titled(
        f"{filling}Grad",
        f"The gradient of {filling}: entries get theirs back, the default gets the sum of the rest.\n\n"
        "d_values[i] = grad_values[reverse_index_map[i]]\n"
        "d_default_value = sum of grad_values at the places that reverse_index_map does not name",
    )
    def gradient(reverse_index_map: Any, grad_values: Any) -> Any:
        return split_gradient(reverse_index_map, grad_values)

    @gradient.gradient
    def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
        # Places that the map does not name get the default's gradient: the ragged op fills exactly those. A place
        # that it names twice gets both, so the filled entries are added up by place.
        filled = ops.RaggedFillEmptyRows(
            value_rowids=x.reverse_index_map,
            values=g.d_values,
            nrows=ops.rows(x.grad_values),
            default_value=g.d_default_value,
        )
        entries = {"indices": ops.range(ops.rows(filled.output_values)), "segment_ids": filled.output_value_rowids}
        count = ops.rows(x.grad_values)
        added = ops.SparseSegmentSumWithNumSegments(data=filled.output_values, **entries, num_segments=count)
        return {"grad_values": added}


for _filling in ("SparseFillEmptyRows", "RaggedFillEmptyRows"):
    _gradient_of(_filling)
