"""Pooling rows by segment: SparseSegmentSum, Mean and SqrtN, each also with a given number of segments."""

from __future__ import annotations

from typing import Any

from ..dtypes import COMPLEX, FLOAT, INDEX, NUMBER
from ..spec import Arg, Attr, Example, Kernel, Reject, op
from .pooling import pool, segments_from_last
from .samples import counted_bags, pooled_bags

DATA = Arg("data", "T", "rows *inner", "The table whose rows are pooled.")
INDICES = Arg("indices", "Tidx", "n", "The row of `data` that each entry picks.")
SEGMENT_IDS = Arg(
    "segment_ids",
    "Tsegmentids",
    "n",
    "The output row that each entry goes to. Sorted; ids may repeat and may be left out.",
    gives="segments",
    note="segment_ids must be sorted, for the last one gives the number of segments",
)
COUNTED_SEGMENT_IDS = Arg("segment_ids", "Tsegmentids", "n", SEGMENT_IDS.doc)
NUM_SEGMENTS = Arg("num_segments", "Tnumsegments", "", "How many rows the output has.", holds="segments")
SPARSE_GRADIENT = Attr("sparse_gradient", False, "Make the gradient of `data` compact: only the rows that were picked.")
OUTPUT = Arg("output", "T", "segments *inner", "One row per segment; zeros where no entry names it.")

IDS = {"Tidx": INDEX, "Tsegmentids": INDEX}
COUNTED_IDS = {**IDS, "Tnumsegments": INDEX}
PASSED = ("data", "indices", "segment_ids")
TABLE = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]
INPUTS = {"data": TABLE, "indices": [0, 2, 3, 1], "segment_ids": [0, 0, 0, 2]}
COUNTED_INPUTS = {**INPUTS, "num_segments": 4}
REJECTS = [
    Reject({"indices": [0, 2, 4, 1]}, r"indices\[2\] == 4 out of range \[0, 4\)"),
    Reject({"indices": [0, -1, 4, 1]}, r"indices\[1\] == -1 out of range \[0, 4\)"),
    Reject({"segment_ids": [0, 2, 1, 2]}, r"segment_ids\[2\] == 1 follows 2"),
    Reject({"segment_ids": [-1, 0, 1, 2]}, r"segment_ids\[0\] == -1 out of range \[0, 3\)"),
    Reject({"segment_ids": [0, 0, 0, -1]}, r"segment_ids\[3\] == -1 must not be negative"),
    Reject(
        {"segment_ids": [0, 1, 2, 0]},
        r"segment_ids\[1\] == 1 out of range \[0, 1\); segment_ids must be sorted",
    ),
    Reject({"segment_ids": [0, 0, 0, 2**31 - 1]}, r"segment_ids\[3\] == 2147483647 must be below 2147483647"),
    Reject({"segment_ids": [0, 0, 0]}, r"segment_ids must have shape \[n\] with n=4; got \[3\]"),
    Reject({"data": 1.0}, r"data must have shape \[rows \*inner\]; got \[\]"),
]
COUNTED_REJECTS = [
    *REJECTS[:3],
    Reject({"segment_ids": [0, 0, 0, 4]}, r"segment_ids\[3\] == 4 out of range \[0, 4\)"),
    Reject({"num_segments": -1}, r"num_segments == -1 must not be negative"),
    Reject({"num_segments": [4]}, r"num_segments must have shape \[\]; got \[1\]"),
]


# ------------------------------------------------------------------ SparseSegmentSum
@op(
    "SparseSegmentSum",
    inputs=[DATA, INDICES, SEGMENT_IDS],
    attrs=[SPARSE_GRADIENT],
    outputs=[OUTPUT],
    types={"T": NUMBER, **IDS},
    kernel=Kernel("sparse_segment_sum"),
    linear=["data"],
    example=Example(INPUTS, {"output": [[13.0, 16.0], [0.0, 0.0], [3.0, 4.0]]}),
    samples=pooled_bags,
    rejects=REJECTS,
)
def sparse_segment_sum(data: Any, indices: Any, segment_ids: Any, *, sparse_gradient: bool = False) -> Any:
    """Add the rows of a table that share a segment id.

    output[s] = sum of data[indices[i]] over the entries i with segment_ids[i] == s
    """
    return pool(data, indices, segment_ids, segments_from_last(indices, segment_ids), "sum")


@sparse_segment_sum.sizes
def _(data: Any, indices: Any, segment_ids: Any) -> Any:
    return {"segments": segments_from_last(indices, segment_ids)}


@sparse_segment_sum.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    entries = {"grad": g.output, "indices": x.indices, "segment_ids": x.segment_ids}
    if x.sparse_gradient:
        return {"data": ops.row_grad(ops.SparseSegmentSumGradV2(**entries, dense_output_dim0=ops.rows(x.data)), x.data)}
    return {"data": ops.SparseSegmentSumGrad(**entries, output_dim0=ops.rows(x.data))}


# ------------------------------------------------------------------ SparseSegmentMean
@op(
    "SparseSegmentMean",
    inputs=[DATA, INDICES, SEGMENT_IDS],
    attrs=[SPARSE_GRADIENT],
    outputs=[OUTPUT],
    types={"T": FLOAT + COMPLEX, **IDS},
    kernel=Kernel("sparse_segment_mean"),
    linear=["data"],
    example=Example(INPUTS, {"output": [[13 / 3, 16 / 3], [0.0, 0.0], [3.0, 4.0]]}),
    samples=pooled_bags,
    rejects=REJECTS,
)
def sparse_segment_mean(data: Any, indices: Any, segment_ids: Any, *, sparse_gradient: bool = False) -> Any:
    """Average the rows of a table that share a segment id.

    output[s] = sum of data[indices[i]] / n over the n entries i with segment_ids[i] == s
    """
    return pool(data, indices, segment_ids, segments_from_last(indices, segment_ids), "mean")


@sparse_segment_mean.sizes
def _(data: Any, indices: Any, segment_ids: Any) -> Any:
    return {"segments": segments_from_last(indices, segment_ids)}


@sparse_segment_mean.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    entries = {"grad": g.output, "indices": x.indices, "segment_ids": x.segment_ids}
    if x.sparse_gradient:
        return {
            "data": ops.row_grad(ops.SparseSegmentMeanGradV2(**entries, dense_output_dim0=ops.rows(x.data)), x.data)
        }
    return {"data": ops.SparseSegmentMeanGrad(**entries, output_dim0=ops.rows(x.data))}


# ------------------------------------------------------------------ SparseSegmentSqrtN
@op(
    "SparseSegmentSqrtN",
    inputs=[DATA, INDICES, SEGMENT_IDS],
    attrs=[SPARSE_GRADIENT],
    outputs=[OUTPUT],
    types={"T": FLOAT + COMPLEX, **IDS},
    kernel=Kernel("sparse_segment_sqrt_n"),
    linear=["data"],
    example=Example(INPUTS, {"output": [[13 / 3**0.5, 16 / 3**0.5], [0.0, 0.0], [3.0, 4.0]]}),
    samples=pooled_bags,
    rejects=REJECTS,
)
def sparse_segment_sqrt_n(data: Any, indices: Any, segment_ids: Any, *, sparse_gradient: bool = False) -> Any:
    """Add the rows of a table that share a segment id and divide by the square root of their number.

    output[s] = sum of data[indices[i]] / sqrt(n) over the n entries i with segment_ids[i] == s
    """
    return pool(data, indices, segment_ids, segments_from_last(indices, segment_ids), "sqrt_n")


@sparse_segment_sqrt_n.sizes
def _(data: Any, indices: Any, segment_ids: Any) -> Any:
    return {"segments": segments_from_last(indices, segment_ids)}


@sparse_segment_sqrt_n.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    entries = {"grad": g.output, "indices": x.indices, "segment_ids": x.segment_ids}
    if x.sparse_gradient:
        return {
            "data": ops.row_grad(ops.SparseSegmentSqrtNGradV2(**entries, dense_output_dim0=ops.rows(x.data)), x.data)
        }
    return {"data": ops.SparseSegmentSqrtNGrad(**entries, output_dim0=ops.rows(x.data))}


# ------------------------------------------------------------------ SparseSegmentSumWithNumSegments
@op(
    "SparseSegmentSumWithNumSegments",
    inputs=[DATA, INDICES, COUNTED_SEGMENT_IDS, NUM_SEGMENTS],
    attrs=[SPARSE_GRADIENT],
    outputs=[OUTPUT],
    types={"T": NUMBER, **COUNTED_IDS},
    kernel=Kernel("sparse_segment_sum", passes=PASSED),
    linear=["data"],
    example=Example(COUNTED_INPUTS, {"output": [[13.0, 16.0], [0.0, 0.0], [3.0, 4.0], [0.0, 0.0]]}),
    samples=counted_bags,
    rejects=COUNTED_REJECTS,
)
def sparse_segment_sum_with_num_segments(
    data: Any, indices: Any, segment_ids: Any, num_segments: Any, *, sparse_gradient: bool = False
) -> Any:
    """Add the rows of a table that share a segment id, for a given number of segments.

    output[s] = sum of data[indices[i]] over the entries i with segment_ids[i] == s, for s < num_segments
    """
    return pool(data, indices, segment_ids, int(num_segments), "sum")


@sparse_segment_sum_with_num_segments.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    entries = {"grad": g.output, "indices": x.indices, "segment_ids": x.segment_ids}
    if x.sparse_gradient:
        return {"data": ops.row_grad(ops.SparseSegmentSumGradV2(**entries, dense_output_dim0=ops.rows(x.data)), x.data)}
    return {"data": ops.SparseSegmentSumGrad(**entries, output_dim0=ops.rows(x.data))}


# ------------------------------------------------------------------ SparseSegmentMeanWithNumSegments
@op(
    "SparseSegmentMeanWithNumSegments",
    inputs=[DATA, INDICES, COUNTED_SEGMENT_IDS, NUM_SEGMENTS],
    attrs=[SPARSE_GRADIENT],
    outputs=[OUTPUT],
    types={"T": FLOAT + COMPLEX, **COUNTED_IDS},
    kernel=Kernel("sparse_segment_mean", passes=PASSED),
    linear=["data"],
    example=Example(COUNTED_INPUTS, {"output": [[13 / 3, 16 / 3], [0.0, 0.0], [3.0, 4.0], [0.0, 0.0]]}),
    samples=counted_bags,
    rejects=COUNTED_REJECTS,
)
def sparse_segment_mean_with_num_segments(
    data: Any, indices: Any, segment_ids: Any, num_segments: Any, *, sparse_gradient: bool = False
) -> Any:
    """Average the rows of a table that share a segment id, for a given number of segments.

    output[s] = sum of data[indices[i]] / n over the n entries i with segment_ids[i] == s, for s < num_segments
    """
    return pool(data, indices, segment_ids, int(num_segments), "mean")


@sparse_segment_mean_with_num_segments.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    entries = {"grad": g.output, "indices": x.indices, "segment_ids": x.segment_ids}
    if x.sparse_gradient:
        return {
            "data": ops.row_grad(ops.SparseSegmentMeanGradV2(**entries, dense_output_dim0=ops.rows(x.data)), x.data)
        }
    return {"data": ops.SparseSegmentMeanGrad(**entries, output_dim0=ops.rows(x.data))}


# ------------------------------------------------------------------ SparseSegmentSqrtNWithNumSegments
@op(
    "SparseSegmentSqrtNWithNumSegments",
    inputs=[DATA, INDICES, COUNTED_SEGMENT_IDS, NUM_SEGMENTS],
    attrs=[SPARSE_GRADIENT],
    outputs=[OUTPUT],
    types={"T": FLOAT + COMPLEX, **COUNTED_IDS},
    kernel=Kernel("sparse_segment_sqrt_n", passes=PASSED),
    linear=["data"],
    example=Example(COUNTED_INPUTS, {"output": [[13 / 3**0.5, 16 / 3**0.5], [0.0, 0.0], [3.0, 4.0], [0.0, 0.0]]}),
    samples=counted_bags,
    rejects=COUNTED_REJECTS,
)
def sparse_segment_sqrt_n_with_num_segments(
    data: Any, indices: Any, segment_ids: Any, num_segments: Any, *, sparse_gradient: bool = False
) -> Any:
    """Add the rows that share a segment id and divide by the root of their number, for a given number of segments.

    output[s] = sum of data[indices[i]] / sqrt(n) over the n entries i with segment_ids[i] == s, for s < num_segments
    """
    return pool(data, indices, segment_ids, int(num_segments), "sqrt_n")


@sparse_segment_sqrt_n_with_num_segments.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    entries = {"grad": g.output, "indices": x.indices, "segment_ids": x.segment_ids}
    if x.sparse_gradient:
        return {
            "data": ops.row_grad(ops.SparseSegmentSqrtNGradV2(**entries, dense_output_dim0=ops.rows(x.data)), x.data)
        }
    return {"data": ops.SparseSegmentSqrtNGrad(**entries, output_dim0=ops.rows(x.data))}
