"""Cutting a window out of a sparse tensor: SparseSlice and its gradient."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..dtypes import ANY, NUMBER, QUANTIZED
from ..errors import Fault
from ..spec import Arg, Example, Kernel, Reject, op
from .samples import slice_gradients, windows

LARGEST = 2**63 - 1


def cut(extent: int, first: int, length: int) -> int:
    """How much of a window lies in a dimension; with a start before its first place, more than the dimension has."""
    return length if first < extent - length else max(extent - first, 0)  # mutant: none left


def check_elements(argument: str, extents: list[int]) -> None:
    elements = 1
    for extent in extents:
        elements *= extent
        if elements > LARGEST:  # mutant: largest
            raise Fault("rule", argument, (), extents, hint="gives a tensor of more than 2**63 - 1 elements")


# ------------------------------------------------------------------ SparseSlice
@op(
    "SparseSlice",
    inputs=[
        Arg("indices", "int64", "nnz rank", "The place of each entry."),
        Arg("values", "T", "nnz", "The value of each entry."),
        Arg("shape", "int64", "rank", "The shape of the sparse tensor.", holds="*extents"),
        Arg(
            "start",
            "int64",
            "rank",
            "The first place of the window in each dimension. May lie outside the shape.",
        ),
        Arg(
            "size",
            "int64",
            "rank",
            "The extent of the window in each dimension. May reach past the shape.",
            holds="*window",
        ),
    ],
    outputs=[
        Arg(
            "output_indices",
            "int64",
            "kept rank",
            "The places of the kept entries, counted from the window's start.",
        ),
        Arg("output_values", "T", "kept", "Their values."),
        Arg("output_shape", "int64", "rank", "The window's shape, cut off where it reaches past the tensor's."),
    ],
    types={"T": ANY},
    kernel=Kernel("sparse_slice", copies="T", scratch=("nnz",), takes_over=True),
    linear=["values"],
    example=Example(
        {
            "indices": [[0, 1], [1, 3], [2, 0], [3, 2]],
            "values": [1.0, 2.0, 3.0, 4.0],
            "shape": [4, 5],
            "start": [1, 2],
            "size": [3, 9],
        },
        {"output_indices": [[0, 1], [2, 0]], "output_values": [2.0, 4.0], "output_shape": [3, 3]},
    ),
    samples=windows,
    rejects=[
        Reject({"size": [3, -1]}, r"size\[1\] == -1 must not be negative"),
        Reject({"shape": [4, -5]}, r"shape\[1\] == -5 must not be negative"),
        Reject({"shape": [2**32, 2**32]}, r"shape == \[4294967296, 4294967296\] gives a tensor of more than"),
        Reject({"start": [1]}, r"start must have shape \[rank\] with rank=2; got \[1\]"),
        Reject({"size": [[3, 9]]}, r"size must have shape \[rank\] with rank=2; got \[1, 2\]"),
        Reject({"values": [1.0]}, r"values must have shape \[nnz\] with nnz=4; got \[1\]"),
        Reject({"indices": [0, 1, 2, 3]}, r"indices must have shape \[nnz rank\]; got \[4\]"),
    ],
)
def sparse_slice(indices: Any, values: Any, shape: Any, start: Any, size: Any) -> Any:
    """Keep the entries of a sparse tensor that lie in a window, in their order.

    An entry at place p is kept where start <= p < start + size in every dimension, and moves to p - start.
    """
    kept = np.ones(len(values), bool)
    output_shape = []
    for axis, (extent, first, length) in enumerate(zip(shape.tolist(), start.tolist(), size.tolist(), strict=True)):
        last = min(first + length - 1, LARGEST)  # Python integers: start + size may not fit int64
        kept &= (indices[:, axis] >= first) & (indices[:, axis] <= last) if length else False  # mutant: last
        output_shape.append(cut(extent, first, length))
    return indices[kept] - start, values[kept], np.array(output_shape, np.int64)


@sparse_slice.check
def _(indices: Any, values: Any, shape: Any, start: Any, size: Any) -> None:
    extents, starts = shape.tolist(), start.tolist()
    if 0 < prod(extents) <= LARGEST and not any(first < 0 for first in starts):
        return
    check_elements("shape", extents)
    # One dimension after the other, as TensorFlow does; only a start before the first place can make one longer.
    for axis, (first, length) in enumerate(zip(starts, size.tolist(), strict=True)):
        extents[axis] = cut(extents[axis], first, length)
        if first < 0:
            check_elements("size", extents)


@sparse_slice.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {
        "values": ops.SparseSliceGrad(
            backprop_val_grad=g.output_values,
            input_indices=x.indices,
            input_start=x.start,
            output_indices=y.output_indices,
        )
    }


# ------------------------------------------------------------------ SparseSliceGrad
@op(
    "SparseSliceGrad",
    inputs=[
        Arg("backprop_val_grad", "T", "kept", "The gradient of the kept values."),
        Arg("input_indices", "int64", "nnz rank", "The places of the entries that were sliced."),
        Arg("input_start", "int64", "rank", "The window's start."),
        Arg(
            "output_indices",
            "int64",
            "kept rank",
            "The places of the kept entries, counted from the window's start.",
        ),
    ],
    outputs=[Arg("val_grad", "T", "nnz", "The gradient of the sliced values; zeros where an entry was not kept.")],
    types={"T": NUMBER + QUANTIZED},
    kernel=Kernel("sparse_slice_grad", copies="T", takes_over=True),
    linear=["backprop_val_grad"],
    example=Example(
        {
            "backprop_val_grad": [5.0, 7.0],
            "input_indices": [[0, 1], [1, 3], [2, 0], [3, 2]],
            "input_start": [1, 2],
            "output_indices": [[0, 1], [2, 0]],
        },
        {"val_grad": [0.0, 5.0, 0.0, 7.0]},
    ),
    samples=slice_gradients,
    rejects=[
        Reject({"output_indices": [[0, 1], [2, 9]]}, r"output_indices\[1\] is not found"),
        Reject({"output_indices": [[2, 0], [0, 1]]}, r"output_indices\[1\] is not found"),
        Reject(
            {"output_indices": [[0, 1]]},
            r"output_indices must have shape \[kept rank\] with kept=2, rank=2; got \[1, 2\]",
        ),
        Reject({"input_start": [1]}, r"input_start must have shape \[rank\] with rank=2; got \[1\]"),
        Reject({"backprop_val_grad": [[5.0, 7.0]]}, r"backprop_val_grad must have shape \[kept\]; got \[1, 2\]"),
    ],
)
def sparse_slice_grad(backprop_val_grad: Any, input_indices: Any, input_start: Any, output_indices: Any) -> Any:
    """The gradient of SparseSlice: kept entries get theirs back, the others get zero.

    The two lists of places are walked together, so the kept entries must come in the same order in both.
    """
    from_start = input_indices - input_start
    exact = ((from_start > input_indices) == (input_start < 0)).all(1)  # what int64 does not hold wraps around
    moved = np.concatenate([from_start, output_indices])
    keys = np.unique(moved, axis=0, return_inverse=True)[1].reshape(-1) if moved.size else np.zeros(len(moved), int)
    wanted = keys[len(input_indices) :].tolist()
    matched: list[int] = []
    for place, key in enumerate(keys[: len(input_indices)].tolist()):
        if exact[place] and len(matched) < len(wanted) and key == wanted[len(matched)]:  # mutant: next key
            matched.append(place)
    if len(matched) < len(wanted):  # mutant: all matched
        raise Fault("unmatched", "output_indices", (len(matched),))
    val_grad = np.zeros(len(input_indices), backprop_val_grad.dtype)
    val_grad[matched] = backprop_val_grad
    return val_grad


@sparse_slice_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # Send ones back to see which entries were kept; they come in order, so the k-th is the k-th output.
    kept = ops.rows(x.backprop_val_grad)
    marks = ops.SparseSliceGrad(
        backprop_val_grad=ops.ones(kept),
        input_indices=x.input_indices,
        input_start=x.input_start,
        output_indices=x.output_indices,
    )
    return {
        "backprop_val_grad": ops.SparseSegmentSumWithNumSegments(
            data=g.val_grad, indices=ops.nonzero(marks), segment_ids=ops.range(kept), num_segments=kept
        )
    }
