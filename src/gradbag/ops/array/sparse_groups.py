"""Which entries of a sparse array meet where some of its axes are reduced: gradbag's own, for gradients."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from ...errors import Fault
from ...spec import Arg, Attr, Example, Reject, op
from .sparse_places import check_within, flat_places, numbered
from .sparse_samples import reductions


def kept_axes(axes: Any, rank: int) -> list[int]:
    """The axes that stay when some are reduced; negative ones count from the end."""
    for place, axis in enumerate(axes.reshape(-1).tolist()):
        if not -rank <= axis < rank:
            raise Fault("range", "reduction_axes", (place,)[: axes.ndim], axis, -rank, rank)
    reduced = {axis % rank for axis in axes.reshape(-1).tolist()}
    return [axis for axis in range(rank) if axis not in reduced]


def _samples(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    for sample in reductions(rng):
        given = {name: sample[name] for name in ("input_indices", "input_shape", "reduction_axes")}
        yield {**given, "dense": sample["keep_dims"]}


# ------------------------------------------------------------------ SparseGroups
@op(
    "SparseGroups",
    inputs=[
        Arg("input_indices", "int64", "nnz rank", "The places of the entries, in any order."),
        Arg("input_shape", "int64", "rank", "The shape of the sparse array."),
        Arg("reduction_axes", "int32", "*axes", "The axes that are reduced."),
    ],
    outputs=[Arg("groups", "int64", "nnz", "For each entry the number of its group.")],
    attrs=[Attr("dense", False, "Count the groups without entries, too: a group is then a cell of the dense result.")],
    types={},
    example=Example(
        {"input_indices": [[0, 1], [2, 0], [2, 2]], "input_shape": [3, 3], "reduction_axes": [1]}, {"groups": [0, 1, 1]}
    ),
    samples=_samples,
    rejects=[
        Reject({"reduction_axes": [2]}, r"reduction_axes\[0\] == 2 out of range \[-2, 2\)"),
        Reject({"input_indices": [[0, 1], [3, 0], [2, 2]]}, r"input_indices\[1, 0\] == 3 out of range \[0, 3\)"),
    ],
)
def sparse_groups(input_indices: Any, input_shape: Any, reduction_axes: Any, dense: bool) -> Any:
    """The entries of a sparse array that a reduction puts together, by numbers in row-major order."""
    kept = kept_axes(reduction_axes, len(input_shape))
    if dense:
        return flat_places(input_indices[:, kept], input_shape[kept].tolist())
    return numbered(input_indices[:, kept])[0]


@sparse_groups.check
def _(input_indices: Any, input_shape: Any, reduction_axes: Any, dense: bool) -> None:
    kept = kept_axes(reduction_axes, len(input_shape))
    check_within("input_indices", input_indices, input_shape.tolist())
    if dense and len(input_indices) and prod(input_shape[kept].tolist()) >= 2**63:
        raise Fault("rule", "input_shape", (), input_shape.tolist(), hint="has more cells than can be numbered")


# ------------------------------------------------------------------ SparseRows
@op(
    "SparseRows",
    inputs=[Arg("indices", "int64", "nnz rank", "The places of the entries, in any order.")],
    outputs=[Arg("rows", "int64", "nnz", "For each entry the number of its row among those that have entries.")],
    types={},
    example=Example({"indices": [[0, 1], [4, 0], [4, 2]]}, {"rows": [0, 1, 1]}),
    samples=lambda rng: [{"indices": sample["input_indices"]} for sample in reductions(rng)],
    rejects=[Reject({"indices": np.zeros((2, 0), np.int64)}, r"indices has shape \[2, 0\], which has no axis")],
)
def sparse_rows(indices: Any) -> Any:
    """The entries of a sparse array that differ in the last axis alone, by the number of their row."""
    return numbered(indices[:, :-1])[0]


@sparse_rows.check
def _(indices: Any) -> None:
    if indices.shape[1] == 0:
        raise Fault("shape", "indices", (), indices.shape, hint="has no axis that a row could be along")
