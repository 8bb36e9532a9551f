"""Reductions of sparse arrays along axes; what has no entry is not looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dtypes import NUMBER, REAL
from ...errors import Fault
from ...spec import Arg, Attr, Declined, Example, Reject, op, titled
from .segments import add_anywhere, chosen, marked, picked, summed_anywhere
from .sizes import held_sizes, possible
from .sparse_groups import kept_axes
from .sparse_places import check_within, flat_places, numbered, rank_of
from .sparse_samples import reductions

INPUTS = [
    Arg("input_indices", "int64", "nnz rank", "The places of the entries, in any order."),
    Arg("input_values", "T", "nnz", "Their values."),
    Arg("input_shape", "int64", "rank", "The shape of the sparse array."),
    Arg(
        "reduction_axes", "int32", "*axes", "The axes to reduce, from the end if negative; if there are none, no axis."
    ),
]
KEEP_DIMS = Attr("keep_dims", False, "Keep reduced axes, with the length 1.")
GIVEN = {"input_indices": [[0, 1], [2, 0], [2, 2]], "input_values": [1.0, -2.0, -3.0], "input_shape": [3, 3]}
REJECTS = [
    Reject({"reduction_axes": [2]}, r"reduction_axes\[0\] == 2 out of range \[-2, 2\)"),
    Reject({"reduction_axes": [[0]]}, r"reduction_axes has shape \[1, 1\], which must have at most one axis"),
    Reject({"input_indices": [[0, 1], [3, 0], [2, 2]]}, r"input_indices\[1, 0\] == 3 out of range \[0, 3\)"),
    Reject({"input_shape": [3, -3]}, r"input_shape\[1\] == -3 must not be negative"),
]


def added(ordered: Any, groups: Any, count: int) -> Any:
    return summed_anywhere(ordered, groups, count)


def largest(ordered: Any, groups: Any, count: int) -> Any:
    return picked(ordered, chosen(np.maximum, ordered, groups, count), 0)


def reduced_shape(shape: Any, kept: list[int], keep_dims: bool) -> list[int]:
    if keep_dims:
        return [int(size) if axis in kept else 1 for axis, size in enumerate(shape)]
    return [int(shape[axis]) for axis in kept]


def _checked(indices: Any, shape: Any, axes: Any) -> tuple[int | None, list[int] | None, list[int] | None]:
    """Rank, sizes and the axes that stay, as far as they are known; what cannot be right is refused."""
    if axes.shape is not None and len(axes.shape) > 1:
        raise Fault("shape", "reduction_axes", (), axes.shape, hint="must have at most one axis")
    rank = rank_of(indices.shape, shape.shape)
    kept = None if axes.value is None or rank is None else kept_axes(axes.value, rank)
    sizes = None if shape.value is None else held_sizes("input_shape", shape.value)
    if sizes is not None and indices.value is not None:
        check_within("input_indices", indices.value, sizes)
    return rank, sizes, kept


def _rank(rank: int | None, kept: list[int] | None, keep_dims: bool) -> int | None:
    return rank if keep_dims else None if kept is None else len(kept)


def _dense(name: str, combined: Callable[..., Any], types: tuple[str, ...], example: list[float], doc: str) -> Any:
    @op(
        name,
        inputs=INPUTS,
        outputs=[Arg("output", "T", "*result", "The dense result; zero where a group has no entries.")],
        attrs=[KEEP_DIMS],
        types={"T": types},
        linear=["input_values"] if combined is added else [],
        example=Example({**GIVEN, "reduction_axes": [1]}, {"output": example}),
        samples=reductions,
        rejects=[*REJECTS, Reject({"input_shape": [2**62, 3]}, r"input_shape == .* asks for more than any memory")],
    )
    @titled(name, doc)
    def reduce(input_indices: Any, input_values: Any, input_shape: Any, reduction_axes: Any, keep_dims: bool) -> Any:
        kept = kept_axes(reduction_axes, len(input_shape))
        sizes = input_shape[kept].tolist()
        groups = flat_places(input_indices[:, kept], sizes)
        order = np.argsort(groups, kind="stable")
        total = combined(input_values[order], groups[order], int(np.prod(sizes)))
        return total.reshape(reduced_shape(input_shape, kept, keep_dims))

    @reduce.shapes
    def _(input_indices: Any, input_values: Any, input_shape: Any, reduction_axes: Any, keep_dims: bool) -> Any:
        rank, sizes, kept = _checked(input_indices, input_shape, reduction_axes)
        if sizes is not None and kept is not None:
            return [possible("input_shape", reduced_shape(sizes, kept, keep_dims), input_values.dtype)]
        found = _rank(rank, kept, keep_dims)
        return [None if found is None else (None,) * found]

    @reduce.compiled
    def _(
        calls: Any, input_indices: Any, input_values: Any, input_shape: Any, reduction_axes: Any, keep_dims: bool
    ) -> Any:
        if input_values.ndim != 1 or input_shape.ndim != 1 or reduction_axes.ndim > 1:
            raise Declined
        if input_indices.shape != (len(input_values), len(input_shape)):
            raise Declined
        kept = kept_axes(reduction_axes, len(input_shape))
        check_within("input_indices", input_indices, held_sizes("input_shape", input_shape))
        sizes = input_shape[kept].tolist()
        output = calls.empty(reduced_shape(input_shape, kept, keep_dims), "T")
        cells = output.reshape(-1)
        groups = flat_places(input_indices[:, kept], sizes)
        if combined is added:
            add_anywhere(calls, input_values, groups, cells)
        else:
            order = None if not (groups[1:] < groups[:-1]).any() else np.argsort(groups, kind="stable")
            entries = [input_values, groups] if order is None else [input_values[order], groups[order]]
            calls.fill("segment_fold__{T}_int64", [*entries, cells], ("max", True))
        return output

    return reduce


def _sparse(name: str, combined: Callable[..., Any], types: tuple[str, ...], example: list[float], doc: str) -> Any:
    @op(
        name,
        inputs=INPUTS,
        outputs=[
            Arg("output_indices", "int64", "*places", "The places of the groups that have entries, in order."),
            Arg("output_values", "T", "*values", "A value for each."),
            Arg("output_shape", "int64", "*rank", "The shape of the result."),
        ],
        attrs=[KEEP_DIMS],
        types={"T": types},
        linear=["input_values"] if combined is added else [],
        example=Example(
            {**GIVEN, "reduction_axes": [1]},
            {"output_indices": [[0], [2]], "output_values": example, "output_shape": [3]},
        ),
        samples=reductions,
        rejects=REJECTS,
    )
    @titled(name, doc)
    def reduce(input_indices: Any, input_values: Any, input_shape: Any, reduction_axes: Any, keep_dims: bool) -> Any:
        kept = kept_axes(reduction_axes, len(input_shape))
        groups, found = numbered(input_indices[:, kept])
        order = np.argsort(groups, kind="stable")
        total = combined(input_values[order], groups[order], len(found))
        if keep_dims:
            wide = np.zeros((len(found), len(input_shape)), np.int64)
            wide[:, kept] = found
            found = wide
        return found, total, np.array(reduced_shape(input_shape, kept, keep_dims), np.int64)

    @reduce.shapes
    def _(input_indices: Any, input_values: Any, input_shape: Any, reduction_axes: Any, keep_dims: bool) -> Any:
        rank, _, kept = _checked(input_indices, input_shape, reduction_axes)
        found, count = _rank(rank, kept, keep_dims), None
        if kept is not None and input_indices.value is not None:
            count = len(numbered(input_indices.value[:, kept])[1])
        return [(count, found), (count,), (found,)]

    return reduce


def _spread(ops: Any, x: Any, reduced: Any, dense: bool) -> tuple[Any, Any]:
    """The value of its group for each entry, and the groups."""
    groups = ops.SparseGroups(
        input_indices=x.input_indices, input_shape=x.input_shape, reduction_axes=x.reduction_axes, dense=dense
    )
    flat = ops.Reshape(tensor=reduced, shape=[-1]) if dense else reduced
    return ops.GatherV2(params=flat, indices=groups, axis=0), groups


def _share(ops: Any, x: Any, largest: Any, g: Any, dense: bool) -> dict[str, Any]:
    """The largest of a group get its cotangent, in equal shares if there are several."""
    top, groups = _spread(ops, x, largest, dense)
    pulled, _ = _spread(ops, x, g, dense)
    marks = marked(ops, ops.Equal(x=x.input_values, y=top), pulled)
    count = ops.UnsortedSegmentSum(data=marks, segment_ids=groups, num_segments=ops.Size(input=largest))
    return {
        "input_values": ops.DivNoNan(x=ops.Mul(x=pulled, y=marks), y=ops.GatherV2(params=count, indices=groups, axis=0))
    }


def _add_rules(reduce: Any, port: str, dense: bool) -> None:
    if reduce.linear:
        reduce.gradient(lambda ops, x, y, g: {"input_values": _spread(ops, x, getattr(g, port), dense)[0]})
    else:
        reduce.gradient(lambda ops, x, y, g: _share(ops, x, getattr(y, port), getattr(g, port), dense))


# ------------------------------------------------------------------ SparseReduceSum, SparseReduceSumSparse
_add_rules(
    _dense("SparseReduceSum", added, NUMBER, [1.0, 0.0, -5.0], "The sum of the entries along axes, as a dense array."),
    "output",
    True,
)
_add_rules(
    _sparse("SparseReduceSumSparse", added, NUMBER, [1.0, -5.0], "The sum of the entries along axes, again sparse."),
    "output_values",
    False,
)
# ------------------------------------------------------------------ SparseReduceMax, SparseReduceMaxSparse
_add_rules(
    _dense("SparseReduceMax", largest, REAL, [1.0, 0.0, -2.0], "The largest entry along axes, as a dense array."),
    "output",
    True,
)
_add_rules(
    _sparse("SparseReduceMaxSparse", largest, REAL, [1.0, -2.0], "The largest entry along axes, again sparse."),
    "output_values",
    False,
)
