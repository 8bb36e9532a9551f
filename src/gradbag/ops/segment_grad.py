"""Gradients of pooling: dense (SparseSegment*Grad) and compact (SparseSegment*GradV2)."""

from __future__ import annotations

from typing import Any

from ..dtypes import INDEX
from ..spec import Arg, Example, Kernel, Reject, op, titled
from .combiners import COMBINERS, Combiner
from .pooling import scatter, scatter_compact
from .samples import bag_gradients, compact_bag_gradients

GRAD = Arg("grad", "T", "segments *inner", "The gradient of the pooled rows.")
INDICES = Arg("indices", "Tidx", "n", "The row of the table that each entry picked.")
SEGMENT_IDS = Arg("segment_ids", "Tsegmentids", "n", "The pooled row that each entry went to. Need not be sorted.")
OUTPUT = Arg("output", "T", "rows *inner", "The gradient of the table; zeros in rows that no entry picked.")
COMPACT_OUTPUT = Arg("output", "T", "unique *inner", "The gradient of the picked rows.")
UNIQUE = Arg("sorted_unique_indices", "Tidx", "unique", "Which rows those are, ascending, each once.")
ENTRIES = {"grad": [[6.0, 3.0], [2.0, 4.0]], "indices": [0, 3, 0, 1], "segment_ids": [0, 0, 0, 1]}
REJECTS = [
    Reject({"indices": [0, 3, 4, 1]}, r"indices\[2\] == 4 out of range \[0, 4\)"),
    Reject({"indices": [-1, 3, 4, 1]}, r"indices\[0\] == -1 out of range \[0, 4\)"),
    Reject({"segment_ids": [0, 0, 2, 1]}, r"segment_ids\[2\] == 2 out of range \[0, 2\)"),
    Reject({"segment_ids": [0, -7, 0, 1]}, r"segment_ids\[1\] == -7 out of range \[0, 2\)"),
    Reject({"segment_ids": [0, 0]}, r"segment_ids must have shape \[n\] with n=4; got \[2\]"),
    Reject({"grad": 1.0}, r"grad must have shape \[segments \*inner\]; got \[\]"),
]


def _declaration(combiner: Combiner, rows_name: str) -> dict[str, Any]:
    rows = Arg(rows_name, "int32", "", "How many rows the table has.", holds="rows")
    return {
        "inputs": [GRAD, INDICES, SEGMENT_IDS, rows],
        "types": {"T": combiner.types, "Tidx": INDEX, "Tsegmentids": INDEX},
        "linear": ["grad"],
        "rejects": [
            *REJECTS,
            Reject({rows_name: -1}, rf"{rows_name} == -1 must not be negative"),
            Reject({rows_name: 0}, r"indices\[0\] == 0 out of range \[0, 0\)"),
            Reject({rows_name: [4]}, rf"{rows_name} must have shape \[\]; got \[1\]"),
        ],
    }


def _dense(combiner: Combiner) -> None:
    name = f"SparseSegment{combiner.title}Grad"
    top, last = [12 / combiner.of_three, 6 / combiner.of_three], [6 / combiner.of_three, 3 / combiner.of_three]

    @op(
        name,
        outputs=[OUTPUT],
        kernel=Kernel(
            "segment_grad",
            passes=("grad", "indices", "segment_ids"),
            scratch=("n",),
            fixed=(combiner.name,),
            takes_over=True,
        ),
        example=Example({**ENTRIES, "output_dim0": 4}, {"output": [top, [2.0, 4.0], [0.0, 0.0], last]}),
        samples=bag_gradients,
        **_declaration(combiner, "output_dim0"),
    )
    @titled(
        name,
        f"The gradient of SparseSegment{combiner.title}: {combiner.shares}.\n\n"
        f"output[indices[i]] += grad[segment_ids[i]]{combiner.formula}"
        + (", with n the number of entries of that segment" if combiner.power else ""),
    )
    def gradient(grad: Any, indices: Any, segment_ids: Any, output_dim0: Any) -> Any:
        return scatter(grad, indices, segment_ids, int(output_dim0), combiner)

    @gradient.gradient
    def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
        return {"grad": _pooled_back(ops, combiner, x, g, x.indices)}


def _compact(combiner: Combiner) -> None:
    name = f"SparseSegment{combiner.title}GradV2"
    top, last = [12 / combiner.of_three, 6 / combiner.of_three], [6 / combiner.of_three, 3 / combiner.of_three]

    @op(
        name,
        outputs=[COMPACT_OUTPUT, UNIQUE],
        kernel=Kernel("segment_grad_compact", scratch=("n", "n", "n", "n"), fixed=(combiner.name,), takes_over=True),
        example=Example(
            {**ENTRIES, "dense_output_dim0": 4},
            {"output": [top, [2.0, 4.0], last], "sorted_unique_indices": [0, 1, 3]},
        ),
        samples=compact_bag_gradients,
        **_declaration(combiner, "dense_output_dim0"),
    )
    @titled(
        name,
        f"The compact gradient of SparseSegment{combiner.title}: only the rows that some entry picked, and which rows "
        f"those are.\n\noutput[k] = sum of grad[segment_ids[i]]{combiner.formula} over the entries i with "
        "indices[i] == sorted_unique_indices[k]",
    )
    def gradient(grad: Any, indices: Any, segment_ids: Any, dense_output_dim0: Any) -> Any:
        return scatter_compact(grad, indices, segment_ids, int(dense_output_dim0), combiner)

    @gradient.gradient
    def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
        return {"grad": _pooled_back(ops, combiner, x, g, ops.positions(x.indices, y.sorted_unique_indices))}


def _pooled_back(ops: Any, combiner: Combiner, x: Any, g: Any, indices: Any) -> Any:
    """The gradient of a gradient is the pooling itself, of the cotangent's rows."""
    segment_ids, indices = ops.sorted_by(x.segment_ids, indices)
    pooling = getattr(ops, f"SparseSegment{combiner.title}WithNumSegments")
    return pooling(data=g.output, indices=indices, segment_ids=segment_ids, num_segments=ops.rows(x.grad))


for _declare in (_dense, _compact):
    for _combiner in COMBINERS.values():
        _declare(_combiner)
