"""Gradients of pooling: dense (SparseSegment*Grad) and compact (SparseSegment*GradV2)."""

from __future__ import annotations

from typing import Any

from ..dtypes import COMPLEX, FLOAT, INDEX, NUMBER
from ..spec import Arg, Example, Kernel, Reject, op
from .pooling import scatter, scatter_compact
from .samples import bag_gradients, compact_bag_gradients

GRAD = Arg("grad", "T", "segments *inner", "The gradient of the pooled rows.")
INDICES = Arg("indices", "Tidx", "n", "The row of the table that each entry picked.")
SEGMENT_IDS = Arg("segment_ids", "Tsegmentids", "n", "The pooled row that each entry went to. Need not be sorted.")
OUTPUT_DIM0 = Arg("output_dim0", "int32", "", "How many rows the table has.", holds="rows")
DENSE_OUTPUT_DIM0 = Arg("dense_output_dim0", "int32", "", "How many rows the table has.", holds="rows")
OUTPUT = Arg("output", "T", "rows *inner", "The gradient of the table; zeros in rows that no entry picked.")
COMPACT_OUTPUT = Arg("output", "T", "unique *inner", "The gradient of the picked rows.")
UNIQUE = Arg("sorted_unique_indices", "Tidx", "unique", "Which rows those are, ascending, each once.")

IDS = {"Tidx": INDEX, "Tsegmentids": INDEX}
PASSED = ("grad", "indices", "segment_ids")
ENTRIES = {"grad": [[6.0, 3.0], [2.0, 4.0]], "indices": [0, 3, 0, 1], "segment_ids": [0, 0, 0, 1]}
INPUTS = {**ENTRIES, "output_dim0": 4}
COMPACT_INPUTS = {**ENTRIES, "dense_output_dim0": 4}
VALUE_REJECTS = [
    Reject({"indices": [0, 3, 4, 1]}, r"indices\[2\] == 4 out of range \[0, 4\)"),
    Reject({"indices": [-1, 3, 4, 1]}, r"indices\[0\] == -1 out of range \[0, 4\)"),
    Reject({"segment_ids": [0, 0, 2, 1]}, r"segment_ids\[2\] == 2 out of range \[0, 2\)"),
    Reject({"segment_ids": [0, -7, 0, 1]}, r"segment_ids\[1\] == -7 out of range \[0, 2\)"),
    Reject({"segment_ids": [0, 0]}, r"segment_ids must have shape \[n\] with n=4; got \[2\]"),
    Reject({"grad": 1.0}, r"grad must have shape \[segments \*inner\]; got \[\]"),
]
REJECTS = [
    *VALUE_REJECTS,
    Reject({"output_dim0": -1}, r"output_dim0 == -1 must not be negative"),
    Reject({"output_dim0": 0}, r"indices\[0\] == 0 out of range \[0, 0\)"),
    Reject({"output_dim0": [4]}, r"output_dim0 must have shape \[\]; got \[1\]"),
]
COMPACT_REJECTS = [
    *VALUE_REJECTS,
    Reject({"dense_output_dim0": -1}, r"dense_output_dim0 == -1 must not be negative"),
    Reject({"dense_output_dim0": 0}, r"indices\[0\] == 0 out of range \[0, 0\)"),
]
ROOT = 3**0.5


# ------------------------------------------------------------------ SparseSegmentSumGrad
@op(
    "SparseSegmentSumGrad",
    inputs=[GRAD, INDICES, SEGMENT_IDS, OUTPUT_DIM0],
    outputs=[OUTPUT],
    types={"T": NUMBER, **IDS},
    kernel=Kernel("sparse_segment_sum_grad", passes=PASSED, scratch=("n",)),
    linear=["grad"],
    example=Example(INPUTS, {"output": [[12.0, 6.0], [2.0, 4.0], [0.0, 0.0], [6.0, 3.0]]}),
    samples=bag_gradients,
    rejects=REJECTS,
)
def sparse_segment_sum_grad(grad: Any, indices: Any, segment_ids: Any, output_dim0: Any) -> Any:
    """The gradient of SparseSegmentSum: give every entry's row the gradient of its segment.

    output[indices[i]] += grad[segment_ids[i]]
    """
    return scatter(grad, indices, segment_ids, int(output_dim0), "sum")


@sparse_segment_sum_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    segment_ids, indices = ops.sorted_by(x.segment_ids, x.indices)
    entries = {"data": g.output, "indices": indices, "segment_ids": segment_ids}
    return {"grad": ops.SparseSegmentSumWithNumSegments(**entries, num_segments=ops.rows(x.grad))}


# ------------------------------------------------------------------ SparseSegmentMeanGrad
@op(
    "SparseSegmentMeanGrad",
    inputs=[GRAD, INDICES, SEGMENT_IDS, OUTPUT_DIM0],
    outputs=[OUTPUT],
    types={"T": FLOAT + COMPLEX, **IDS},
    kernel=Kernel("sparse_segment_mean_grad", passes=PASSED, scratch=("n",)),
    linear=["grad"],
    example=Example(INPUTS, {"output": [[4.0, 2.0], [2.0, 4.0], [0.0, 0.0], [2.0, 1.0]]}),
    samples=bag_gradients,
    rejects=REJECTS,
)
def sparse_segment_mean_grad(grad: Any, indices: Any, segment_ids: Any, output_dim0: Any) -> Any:
    """The gradient of SparseSegmentMean: share each segment's gradient equally among its entries' rows.

    output[indices[i]] += grad[segment_ids[i]] / n, with n the number of entries of that segment
    """
    return scatter(grad, indices, segment_ids, int(output_dim0), "mean")


@sparse_segment_mean_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    segment_ids, indices = ops.sorted_by(x.segment_ids, x.indices)
    entries = {"data": g.output, "indices": indices, "segment_ids": segment_ids}
    return {"grad": ops.SparseSegmentMeanWithNumSegments(**entries, num_segments=ops.rows(x.grad))}


# ------------------------------------------------------------------ SparseSegmentSqrtNGrad
@op(
    "SparseSegmentSqrtNGrad",
    inputs=[GRAD, INDICES, SEGMENT_IDS, OUTPUT_DIM0],
    outputs=[OUTPUT],
    types={"T": FLOAT + COMPLEX, **IDS},
    kernel=Kernel("sparse_segment_sqrt_n_grad", passes=PASSED, scratch=("n",)),
    linear=["grad"],
    example=Example(INPUTS, {"output": [[12 / ROOT, 6 / ROOT], [2.0, 4.0], [0.0, 0.0], [6 / ROOT, 3 / ROOT]]}),
    samples=bag_gradients,
    rejects=REJECTS,
)
def sparse_segment_sqrt_n_grad(grad: Any, indices: Any, segment_ids: Any, output_dim0: Any) -> Any:
    """The gradient of SparseSegmentSqrtN: each entry's row gets its segment's gradient over the root of its size.

    output[indices[i]] += grad[segment_ids[i]] / sqrt(n), with n the number of entries of that segment
    """
    return scatter(grad, indices, segment_ids, int(output_dim0), "sqrt_n")


@sparse_segment_sqrt_n_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    segment_ids, indices = ops.sorted_by(x.segment_ids, x.indices)
    entries = {"data": g.output, "indices": indices, "segment_ids": segment_ids}
    return {"grad": ops.SparseSegmentSqrtNWithNumSegments(**entries, num_segments=ops.rows(x.grad))}


# ------------------------------------------------------------------ SparseSegmentSumGradV2
@op(
    "SparseSegmentSumGradV2",
    inputs=[GRAD, INDICES, SEGMENT_IDS, DENSE_OUTPUT_DIM0],
    outputs=[COMPACT_OUTPUT, UNIQUE],
    types={"T": NUMBER, **IDS},
    kernel=Kernel("sparse_segment_sum_grad_v2", scratch=("n", "n", "n", "n")),
    linear=["grad"],
    example=Example(
        COMPACT_INPUTS, {"output": [[12.0, 6.0], [2.0, 4.0], [6.0, 3.0]], "sorted_unique_indices": [0, 1, 3]}
    ),
    samples=compact_bag_gradients,
    rejects=COMPACT_REJECTS,
)
def sparse_segment_sum_grad_v2(grad: Any, indices: Any, segment_ids: Any, dense_output_dim0: Any) -> Any:
    """The compact gradient of SparseSegmentSum: only the rows that some entry picked, and which rows those are.

    output[k] = sum of grad[segment_ids[i]] over the entries i with indices[i] == sorted_unique_indices[k]
    """
    return scatter_compact(grad, indices, segment_ids, int(dense_output_dim0), "sum")


@sparse_segment_sum_grad_v2.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    segment_ids, rows = ops.sorted_by(x.segment_ids, ops.positions(x.indices, y.sorted_unique_indices))
    entries = {"data": g.output, "indices": rows, "segment_ids": segment_ids}
    return {"grad": ops.SparseSegmentSumWithNumSegments(**entries, num_segments=ops.rows(x.grad))}


# ------------------------------------------------------------------ SparseSegmentMeanGradV2
@op(
    "SparseSegmentMeanGradV2",
    inputs=[GRAD, INDICES, SEGMENT_IDS, DENSE_OUTPUT_DIM0],
    outputs=[COMPACT_OUTPUT, UNIQUE],
    types={"T": FLOAT + COMPLEX, **IDS},
    kernel=Kernel("sparse_segment_mean_grad_v2", scratch=("n", "n", "n", "n")),
    linear=["grad"],
    example=Example(
        COMPACT_INPUTS, {"output": [[4.0, 2.0], [2.0, 4.0], [2.0, 1.0]], "sorted_unique_indices": [0, 1, 3]}
    ),
    samples=compact_bag_gradients,
    rejects=COMPACT_REJECTS,
)
def sparse_segment_mean_grad_v2(grad: Any, indices: Any, segment_ids: Any, dense_output_dim0: Any) -> Any:
    """The compact gradient of SparseSegmentMean: only the rows that some entry picked, and which rows those are.

    output[k] = sum of grad[segment_ids[i]] / n over the entries i with indices[i] == sorted_unique_indices[k]
    """
    return scatter_compact(grad, indices, segment_ids, int(dense_output_dim0), "mean")


@sparse_segment_mean_grad_v2.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    segment_ids, rows = ops.sorted_by(x.segment_ids, ops.positions(x.indices, y.sorted_unique_indices))
    entries = {"data": g.output, "indices": rows, "segment_ids": segment_ids}
    return {"grad": ops.SparseSegmentMeanWithNumSegments(**entries, num_segments=ops.rows(x.grad))}


# ------------------------------------------------------------------ SparseSegmentSqrtNGradV2
@op(
    "SparseSegmentSqrtNGradV2",
    inputs=[GRAD, INDICES, SEGMENT_IDS, DENSE_OUTPUT_DIM0],
    outputs=[COMPACT_OUTPUT, UNIQUE],
    types={"T": FLOAT + COMPLEX, **IDS},
    kernel=Kernel("sparse_segment_sqrt_n_grad_v2", scratch=("n", "n", "n", "n")),
    linear=["grad"],
    example=Example(
        COMPACT_INPUTS,
        {
            "output": [[12 / ROOT, 6 / ROOT], [2.0, 4.0], [6 / ROOT, 3 / ROOT]],
            "sorted_unique_indices": [0, 1, 3],
        },
    ),
    samples=compact_bag_gradients,
    rejects=COMPACT_REJECTS,
)
def sparse_segment_sqrt_n_grad_v2(grad: Any, indices: Any, segment_ids: Any, dense_output_dim0: Any) -> Any:
    """The compact gradient of SparseSegmentSqrtN: only the rows that some entry picked, and which rows those are.

    output[k] = sum of grad[segment_ids[i]] / sqrt(n) over the entries i with indices[i] == sorted_unique_indices[k]
    """
    return scatter_compact(grad, indices, segment_ids, int(dense_output_dim0), "sqrt_n")


@sparse_segment_sqrt_n_grad_v2.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    segment_ids, rows = ops.sorted_by(x.segment_ids, ops.positions(x.indices, y.sorted_unique_indices))
    entries = {"data": g.output, "indices": rows, "segment_ids": segment_ids}
    return {"grad": ops.SparseSegmentSqrtNWithNumSegments(**entries, num_segments=ops.rows(x.grad))}
