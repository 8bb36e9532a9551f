"""Arrays backwards, and matrices in part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...dtypes import ANY, INDEX
from ...errors import Fault
from ...spec import REQUIRED, Arg, Attr, Example, Known, Reject, op
from .array_samples import Rng
from .reductions import axes_of


# ------------------------------------------------------------------ ReverseV2
def _reversals(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape, axis in [((3, 4), [1]), ((2, 1, 3), [0, -1]), ((5,), [0]), ((), []), ((0, 2), [1])]:
        yield {"tensor": rng.uniform(0.5, 9.0, shape), "axis": np.array(axis, int)}


@op(
    "ReverseV2",
    inputs=[
        Arg("tensor", "T", "*shape", "The array."),
        Arg("axis", "Tidx", "_", "The axes to turn around; a negative one counts from the end."),
    ],
    outputs=[Arg("output", "T", "*shape", "The array, backwards along these axes.")],
    types={"T": ANY, "Tidx": INDEX},
    linear=["tensor"],
    example=Example({"tensor": [[1.0, 2.0], [3.0, 4.0]], "axis": [1]}, {"output": [[2.0, 1.0], [4.0, 3.0]]}),
    samples=_reversals,
    rejects=[
        Reject({"axis": [2]}, r"axis\[0\] == 2 out of range \[-2, 2\)"),
        Reject({"axis": [0, -2]}, r"axis\[1\] == -2 names an axis that is named before"),
    ],
)
def reverse_v2(tensor: Any, axis: Any) -> Any:
    """An array backwards along some of its axes."""
    axes = axes_of(axis, tensor.ndim)
    ways = [slice(None, None, -1 if place in axes else 1) for place in range(tensor.ndim)]
    return tensor[(*ways, ...)].copy()


@reverse_v2.shapes
def _(tensor: Known, axis: Known) -> Any:
    if tensor.shape is not None and axis.value is not None:
        axes_of(axis.value, len(tensor.shape))
    return [tensor.shape]


@reverse_v2.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"tensor": ops.ReverseV2(tensor=g.output, axis=x.axis)}


# ------------------------------------------------------------------ ReverseSequence
def _sequences(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape, seq, batch in [((3, 4), 1, 0), ((2, 3, 4), 2, 0), ((4, 2), 0, 1), ((0, 3), 1, 0)]:
        lengths = rng.integers(0, shape[seq] + 1, shape[batch])
        yield {"input": rng.uniform(0.5, 9.0, shape), "seq_lengths": lengths, "seq_dim": seq, "batch_dim": batch}


@op(
    "ReverseSequence",
    inputs=[
        Arg("input", "T", "*shape", "The sequences."),
        Arg("seq_lengths", "Tlen", "_", "How much of each sequence to turn around."),
    ],
    outputs=[Arg("output", "T", "*shape", "The sequences, their beginnings backwards.")],
    attrs=[
        Attr("seq_dim", REQUIRED, "The axis along which a sequence goes.", "int"),
        Attr("batch_dim", 0, "The axis along which the sequences stand.", "int"),
    ],
    types={"T": ANY, "Tlen": INDEX},
    linear=["input"],
    example=Example(
        {"input": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "seq_lengths": [2, 3], "seq_dim": 1},
        {"output": [[2.0, 1.0, 3.0], [6.0, 5.0, 4.0]]},
    ),
    samples=_sequences,
    rejects=[
        Reject({"seq_lengths": [2, 4]}, r"seq_lengths\[1\] == 4 out of range \[0, 4\)"),
        Reject({"seq_lengths": [2]}, r"seq_lengths has shape \[1\], which must be \[2\]"),
        Reject({"seq_dim": 2}, r"seq_dim == 2 out of range \[0, 2\)"),
        Reject({"seq_dim": 0}, r"seq_dim == 0 must not be batch_dim"),
    ],
)
def reverse_sequence(input: Any, seq_lengths: Any, seq_dim: int, batch_dim: int) -> Any:
    """Sequences of which each is turned around up to a length of its own."""
    moved = np.moveaxis(input, (batch_dim, seq_dim), (0, 1))
    steps = np.arange(moved.shape[1])[None, :]
    lengths = seq_lengths.astype(np.int64)[:, None]
    source = np.where(steps < lengths, lengths - 1 - steps, steps)
    found = moved[np.arange(len(moved))[:, None], source]
    return np.ascontiguousarray(np.moveaxis(found, (0, 1), (batch_dim, seq_dim)))


@reverse_sequence.shapes
def _(input: Known, seq_lengths: Known, seq_dim: int, batch_dim: int) -> Any:
    shape = input.shape
    if shape is None:
        return [None]
    for name, axis in (("seq_dim", seq_dim), ("batch_dim", batch_dim)):
        if not 0 <= axis < len(shape):
            raise Fault("range", name, (), axis, 0, len(shape))
    if seq_dim == batch_dim:
        raise Fault("rule", "seq_dim", (), seq_dim, hint="must not be batch_dim")
    batch, length = shape[batch_dim], shape[seq_dim]
    if seq_lengths.shape is not None and None not in (batch, seq_lengths.shape[0]) and seq_lengths.shape[0] != batch:
        raise Fault("shape", "seq_lengths", (), seq_lengths.shape, hint=f"must be [{batch}], one for each sequence")
    if seq_lengths.value is not None and length is not None:
        outside = np.flatnonzero((seq_lengths.value < 0) | (seq_lengths.value > length))
        if len(outside):
            at = int(outside[0])
            raise Fault("range", "seq_lengths", (at,), int(seq_lengths.value[at]), 0, length + 1)
    return [shape]


@reverse_sequence.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    again = {"seq_lengths": x.seq_lengths, "seq_dim": x.seq_dim, "batch_dim": x.batch_dim}
    return {"input": ops.ReverseSequence(input=g.output, **again)}


# ------------------------------------------------------------------ MatrixBandPart
def _bands(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape, lower, upper in [((3, 4), 0, -1), ((2, 3, 3), 1, 0), ((4, 2), -1, 1), ((0, 2), 0, 0)]:
        yield {"input": rng.uniform(0.5, 9.0, shape), "num_lower": np.array(lower), "num_upper": np.array(upper)}


@op(
    "MatrixBandPart",
    inputs=[
        Arg("input", "T", "*batch rows columns", "Matrices."),
        Arg("num_lower", "Tindex", "", "How many diagonals below the main one stay; a negative number for all."),
        Arg("num_upper", "Tindex", "", "How many above it."),
    ],
    outputs=[Arg("band", "T", "*batch rows columns", "The matrices, zero outside of the band.")],
    types={"T": tuple(name for name in ANY if name != "string"), "Tindex": INDEX},
    linear=["input"],
    example=Example(
        {"input": [[1.0, 2.0], [3.0, 4.0]], "num_lower": 0, "num_upper": -1}, {"band": [[1.0, 2.0], [0.0, 4.0]]}
    ),
    samples=_bands,
)
def matrix_band_part(input: Any, num_lower: Any, num_upper: Any) -> Any:
    """The diagonals of matrices that are near the main one."""
    rows, columns = np.indices(input.shape[-2:])
    lower, upper = int(num_lower), int(num_upper)
    inside = ((lower < 0) | (rows - columns <= lower)) & ((upper < 0) | (columns - rows <= upper))
    return np.where(inside, input, np.zeros((), input.dtype))


@matrix_band_part.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"input": ops.MatrixBandPart(input=g.band, num_lower=x.num_lower, num_upper=x.num_upper)}
