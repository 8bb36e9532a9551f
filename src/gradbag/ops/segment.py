"""Pooling rows by segment: SparseSegmentSum, Mean and SqrtN, each also with a given number of segments."""

from __future__ import annotations

from typing import Any

from ..dtypes import INDEX
from ..spec import Arg, Attr, Example, Kernel, Op, Reject, op, titled
from .combiners import COMBINERS, Combiner
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

INPUTS = {
    "data": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]],
    "indices": [0, 2, 3, 1],
    "segment_ids": [0, 0, 0, 2],
}
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


def _declaration(combiner: Combiner, more_rows: int) -> dict[str, Any]:
    rows = [[13 / combiner.of_three, 16 / combiner.of_three], [0.0, 0.0], [3.0, 4.0], *[[0.0, 0.0]] * more_rows]
    more = {"num_segments": len(rows)} if more_rows else {}
    return {
        "attrs": [SPARSE_GRADIENT],
        "outputs": [OUTPUT],
        "kernel": Kernel(
            "segment_reduce", passes=("data", "indices", "segment_ids"), fixed=(combiner.name,), takes_over=True
        ),
        "linear": ["data"],
        "example": Example({**INPUTS, **more}, {"output": rows}),
    }


def _pool_gradient(combiner: Combiner, pooling: Op) -> None:
    @pooling.gradient
    def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
        entries = {"grad": g.output, "indices": x.indices, "segment_ids": x.segment_ids}
        gradient = getattr(ops, f"SparseSegment{combiner.title}Grad{'V2' if x.sparse_gradient else ''}")
        if x.sparse_gradient:
            return {"data": ops.row_grad(gradient(**entries, dense_output_dim0=ops.rows(x.data)), x.data)}
        return {"data": gradient(**entries, output_dim0=ops.rows(x.data))}


def _pool(combiner: Combiner) -> None:
    name = f"SparseSegment{combiner.title}"
    doc = (
        combiner.pools.format(rows="the rows of a table that share a segment id")
        + f"\n\noutput[s] = sum of data[indices[i]]{combiner.formula} over the entries i with segment_ids[i] == s"
    )
    types = {"T": combiner.types, "Tidx": INDEX, "Tsegmentids": INDEX}

    @op(
        name,
        inputs=[DATA, INDICES, SEGMENT_IDS],
        types=types,
        samples=pooled_bags,
        rejects=REJECTS,
        **_declaration(combiner, 0),
    )
    @titled(name, doc)
    def pooling(data: Any, indices: Any, segment_ids: Any, *, sparse_gradient: bool = False) -> Any:
        return pool(data, indices, segment_ids, segments_from_last(indices, segment_ids), combiner)

    @pooling.sizes
    def _(data: Any, indices: Any, segment_ids: Any) -> Any:
        return {"segments": segments_from_last(indices, segment_ids)}

    counted = f"{name}WithNumSegments"

    @op(
        counted,
        inputs=[DATA, INDICES, COUNTED_SEGMENT_IDS, NUM_SEGMENTS],
        types={**types, "Tnumsegments": INDEX},
        samples=counted_bags,
        rejects=COUNTED_REJECTS,
        **_declaration(combiner, 1),
    )
    @titled(counted, f"{doc}, for s < num_segments")
    def counted_pooling(
        data: Any, indices: Any, segment_ids: Any, num_segments: Any, *, sparse_gradient: bool = False
    ) -> Any:
        return pool(data, indices, segment_ids, int(num_segments), combiner)

    _pool_gradient(combiner, pooling)
    _pool_gradient(combiner, counted_pooling)


for _combiner in COMBINERS.values():
    _pool(_combiner)
