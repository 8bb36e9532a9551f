"""How often each number occurs, or the sum of the weights that come with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...dtypes import INDEX
from ...errors import Fault
from ...spec import Arg, Attr, Declined, Example, Reject, op
from ..samples import Inputs, Rng, values
from .precision import wider
from .sizes import held_sizes, possible
from .sparse_places import check_within
from .sparse_samples import places

TYPES = {"Tidx": INDEX, "T": ("int32", "int64", "float32", "float64")}
BINARY = Attr("binary_output", False, "Mark what occurs with a one, whatever the weights are.")
OUTPUT = Arg("output", "T", "*bins", "One number per bin, of each row if there are rows.")
SIZE = Arg("size", "Tidx", "", "How many bins there are; larger numbers are left out.")


def _dense(rng: Rng) -> Iterator[Inputs]:
    for number, shape in enumerate([(7,), (3, 4), (), (0,), (2, 0), (5,), (2, 3)]):
        weights = values(rng, *shape) if number % 3 != 2 else np.zeros(0)
        given = {"input": rng.integers(0, 6, shape), "size": np.array(5), "weights": weights}
        yield {**given, "binary_output": number >= 5}


def _sparse(rng: Rng) -> Iterator[Inputs]:
    for number, (shape, count) in enumerate([((4, 5), 8), ((9,), 4), ((2, 3), 0), ((4, 5), 8), ((3, 3), 5)]):
        given = {"indices": places(rng, shape, count), "values": rng.integers(0, 6, count), "dense_shape": shape}
        weights = values(rng, count) if number % 2 == 0 else np.zeros(0)
        yield {**given, "size": np.array(5), "weights": weights, "binary_output": number >= 4}


def counted(rows: Any, numbers: Any, weights: Any, shape: tuple[int, ...], binary: bool) -> Any:
    """Bins of each row; numbers beyond the last bin are left out."""
    size = shape[-1]
    inside = (numbers >= 0) & (numbers < size)
    flat = (rows * size + numbers)[inside].astype(np.int64)
    total = np.zeros(int(np.prod(shape)), wider(weights.dtype))
    if binary:
        total[flat] = 1
    else:
        np.add.at(total, flat, weights[inside] if weights.size else np.ones(len(flat), total.dtype))
    return total.astype(weights.dtype).reshape(shape)


def _sized(size: Any) -> int | None:
    count = None if size.value is None else int(size.value)
    if count is not None and count < 0:
        raise Fault("negative", "size", (), count)
    return count


def _check_weights(weights: Any, argument: str, shape: Any) -> None:
    if weights.shape is None or shape is None or None in (*weights.shape, *shape):
        return
    if weights.shape not in ((0,), tuple(shape)):
        raise Fault("shape", "weights", (), weights.shape, hint=f"must be that of {argument}, {list(shape)}, or [0]")


def _pulled(ops: Any, x: Any, cells: Any, kept: Any, g: Any) -> dict[str, Any]:
    """The cotangent of its bin for each weight; nothing for weights that are not there, or do not count."""
    if x.binary_output:
        return {"weights": ops.ZerosLike(x=x.weights)}
    flat = ops.Pad(input=ops.Reshape(tensor=g.output, shape=[-1]), paddings=[[1, 0]])
    places = ops.Reshape(
        tensor=ops.SelectV2(condition=kept, t=ops.AddV2(x=cells, y=np.int64(1)), e=np.int64(0)), shape=[-1]
    )
    every = ops.GatherV2(params=flat, indices=places, axis=0)
    count = ops.Reshape(tensor=ops.Size(input=x.weights, out_type="int64"), shape=[1])
    given = ops.Slice(input=every, begin=np.zeros(1, np.int64), size=count)
    return {"weights": ops.Reshape(tensor=given, shape=ops.Shape(input=x.weights))}


# ------------------------------------------------------------------ DenseBincount
@op(
    "DenseBincount",
    inputs=[
        Arg("input", "Tidx", "*numbers", "The numbers to count: a vector, or rows of them."),
        SIZE,
        Arg("weights", "T", "*weights", "A weight for each number; if empty, each counts one."),
    ],
    outputs=[OUTPUT],
    attrs=[BINARY],
    types=TYPES,
    example=Example({"input": [1, 1, 3, 9], "size": 4, "weights": [0.5, 2.0, 3.0, 4.0]}, {"output": [0, 2.5, 0, 3]}),
    samples=_dense,
    rejects=[
        Reject({"input": [1, -1, 3, 9]}, r"input\[1\] == -1 must not be negative"),
        Reject({"input": [[[1]]]}, r"input has shape \[1, 1, 1\], which must have at most two axes"),
        Reject({"weights": [0.5, 2.0]}, r"weights has shape \[2\], which must be that of input, \[4\], or \[0\]"),
        Reject({"size": -1}, r"size == -1 must not be negative"),
    ],
)
def dense_bincount(input: Any, size: Any, weights: Any, binary_output: bool) -> Any:
    """How often each number occurs, or the sum of its weights; of a matrix, in each row."""
    rows = np.repeat(np.arange(len(input)), input.shape[1]) if input.ndim == 2 else np.zeros(input.size, np.int64)
    shape = (len(input), int(size)) if input.ndim == 2 else (int(size),)
    return counted(rows, input.reshape(-1).astype(np.int64), weights.reshape(-1), shape, binary_output)


@dense_bincount.compiled
def _(calls: Any, input: Any, size: Any, weights: Any, binary_output: bool) -> Any:
    if binary_output or input.ndim != 1 or size.ndim or weights.shape not in ((0,), input.shape):
        raise Declined
    output = calls.empty((int(size),), "T", 8 * max(int(size), 0))
    calls.fill("count_numbers__{Tidx}_{T}", [input, weights, output])
    return output


@dense_bincount.shapes
def _(input: Any, size: Any, weights: Any, binary_output: bool) -> Any:
    count = _sized(size)
    if input.value is not None and (input.value < 0).any():
        place = tuple(np.argwhere(input.value < 0)[0].tolist())
        raise Fault("negative", "input", place, int(input.value[place]))
    if input.shape is None:
        return [None]
    if len(input.shape) > 2:
        raise Fault("shape", "input", (), input.shape, hint="must have at most two axes")
    _check_weights(weights, "input", input.shape)
    rows = input.shape[:1] if len(input.shape) == 2 else ()
    return [possible("size", (*rows, count), weights.dtype)]


@dense_bincount.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    numbers = ops.Reshape(tensor=ops.Cast(x=x.input, DstT="int64"), shape=[-1])
    size = ops.Cast(x=x.size, DstT="int64")
    kept = ops.Less(x=numbers, y=size)
    # How many rows there are the output tells, of however many axes it is: a vector is one row.
    count, cells = (ops.Size(input=v, out_type="int64") for v in (x.input, y.output))
    rows = ops.FloorDiv(x=cells, y=ops.Maximum(x=size, y=np.int64(1)))
    columns = ops.Maximum(x=ops.FloorDiv(x=count, y=ops.Maximum(x=rows, y=np.int64(1))), y=np.int64(1))
    row = ops.FloorDiv(x=ops.Range(start=np.int64(0), limit=count, delta=np.int64(1)), y=columns)
    return _pulled(ops, x, ops.AddV2(x=numbers, y=ops.Mul(x=row, y=size)), kept, g)


# ------------------------------------------------------------------ SparseBincount
@op(
    "SparseBincount",
    inputs=[
        Arg("indices", "int64", "nnz rank", "The places of the numbers."),
        Arg("values", "Tidx", "nnz", "The numbers to count."),
        Arg("dense_shape", "int64", "rank", "The shape: one axis, or rows."),
        SIZE,
        Arg("weights", "T", "*weights", "A weight for each number; if empty, each counts one."),
    ],
    outputs=[OUTPUT],
    attrs=[BINARY],
    types=TYPES,
    example=Example(
        {
            "indices": [[0, 0], [0, 2], [1, 1]],
            "values": [1, 1, 2],
            "dense_shape": [2, 3],
            "size": 3,
            "weights": [0.5, 2.0, 3.0],
        },
        {"output": [[0, 2.5, 0], [0, 0, 3]]},
    ),
    samples=_sparse,
    rejects=[
        Reject({"indices": [[0, 0], [2, 2], [1, 1]]}, r"indices\[1, 0\] == 2 out of range \[0, 2\)"),
        Reject({"weights": [0.5, 2.0]}, r"weights has shape \[2\], which must be that of values, \[3\], or \[0\]"),
        Reject({"size": -1}, r"size == -1 must not be negative"),
    ],
)
def sparse_bincount(indices: Any, values: Any, dense_shape: Any, size: Any, weights: Any, binary_output: bool) -> Any:
    """How often each number of a sparse array occurs, or the sum of its weights; of rows, in each of them.

    Negative numbers and those beyond the last bin are left out.
    """
    in_rows = len(dense_shape) == 2
    rows = indices[:, 0] if in_rows else np.zeros(len(indices), np.int64)
    shape = (int(dense_shape[0]), int(size)) if in_rows else (int(size),)
    return counted(rows, values.astype(np.int64), weights, shape, binary_output)


@sparse_bincount.shapes
def _(indices: Any, values: Any, dense_shape: Any, size: Any, weights: Any, binary_output: bool) -> Any:
    count = _sized(size)
    _check_weights(weights, "values", values.shape)
    if dense_shape.shape is None or dense_shape.shape[0] is None:
        return [None]
    if dense_shape.shape[0] not in (1, 2):
        raise Fault("shape", "dense_shape", (), dense_shape.shape, hint="must have one size or two")
    sizes = None if dense_shape.value is None else held_sizes("dense_shape", dense_shape.value)
    if sizes is not None and indices.value is not None:
        check_within("indices", indices.value, sizes)
    rows = [None if sizes is None else sizes[0]] if dense_shape.shape[0] == 2 else []
    return [possible("size", (*rows, count), weights.dtype)]


@sparse_bincount.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    numbers, size = (ops.Cast(x=v, DstT="int64") for v in (x.values, x.size))
    kept = ops.LogicalAnd(x=ops.Less(x=numbers, y=size), y=ops.GreaterEqual(x=numbers, y=np.int64(0)))
    in_rows = ops.Sub(
        x=ops.Size(input=x.dense_shape, out_type="int64"), y=np.int64(1)
    )  # one, or none where all are one
    rows = ops.Mul(x=ops.GatherV2(params=x.indices, indices=0, axis=1), y=in_rows)
    return _pulled(ops, x, ops.AddV2(x=numbers, y=ops.Mul(x=rows, y=size)), kept, g)
