"""Random calls for any op of the registry, good ones and spoilt ones.

A maker draws the integers of a family of ops, and the shapes of its values; it serves every op whose inputs
it knows. An op that no maker knows is called with the samples of its declaration.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from gradbag import dtypes
from gradbag.spec import Arg, Op
from gradbag.testing.cases import cast, type_choices

from .both import Array, Call
from .differences import dtype_that_tensorflow_lacks

Rng = np.random.Generator
Drawn = dict[str, Any]  # integers, and for values a shape: a tuple
EXTREMES = (2**31, 2**32 + 1, 2**62, 2**63 - 1, -(2**31), -(2**62), -(2**63))
WORDS = ("", "a", "row", "größer", "日本語", "x" * 60, "nul\0inside")


def good_calls(op: Op, rng: Rng) -> Iterator[Call]:
    """Endless: every combination of dtypes in turn; one call in eight is a sample of the declaration."""
    makers = [make for make in (bags, rows, windows) if set(op.input_names) <= set(make(rng, op))]
    samples = [op.example.inputs, *op.samples(rng)]
    types = [t for t in type_choices(op) if not dtype_that_tensorflow_lacks(_call(op, samples[0], t, rng))]
    while True:
        for chosen in types:
            if makers and rng.random() < 7 / 8:
                yield _call(op, makers[0](rng, op), chosen, rng)
            else:
                yield _call(op, samples[rng.integers(len(samples))], chosen, rng)


def _call(op: Op, drawn: Drawn, types: dict[str, str], rng: Rng) -> Call:
    inputs = {}
    for arg in op.inputs:
        given, name = drawn[arg.name], types.get(arg.dtype, arg.dtype)
        moved = op.kernel is not None and op.kernel.copies == arg.dtype
        inputs[arg.name] = values(rng, given, name, moved=moved) if isinstance(given, tuple) else cast(given, name)
    return Call(op, inputs, {attr.name: bool(rng.integers(2)) for attr in op.attrs})


# ------------------------------------------------------------------ makers
def bags(rng: Rng, op: Op) -> Drawn:
    """Entries in segments, sorted for pooling, in any order for a gradient."""
    segments, table = int(rng.integers(0, 40)), int(rng.integers(0, 40))
    lengths = rng.choice([0, 1, 2, 3, 5, 8, 9, 10, 17], segments) if table else np.zeros(segments, int)
    if segments and table and rng.random() < 0.2:
        lengths[rng.integers(segments)] = rng.integers(100, 170)
    segment_ids = np.repeat(np.arange(segments), lengths)[:300]
    inner = tuple(rng.integers(0, (70, 7, 4)[axes - 1], axes)) if (axes := int(rng.integers(4))) else ()
    if "grad" in op.input_names and rng.random() < 0.5:
        segment_ids = rng.permutation(segment_ids)
    few = rng.integers(1, table + 1) if table else 0  # many entries pick the same row
    sorted_bags = {"data": (table, *inner), "num_segments": segments + rng.integers(0, 3)}
    gradients = {"grad": (segments + rng.integers(0, 3), *inner), "output_dim0": table, "dense_output_dim0": table}
    return {
        **sorted_bags,
        **gradients,
        "indices": rng.integers(0, max(few, 1), len(segment_ids)),
        "segment_ids": segment_ids,
    }


def rows(rng: Rng, op: Op) -> Drawn:
    """Entries in rows, some rows empty; and the gradient of filling them."""
    count, nnz, rank = int(rng.integers(0, 60)), int(rng.integers(0, 300)), int(rng.integers(1, 5))
    row_of = rng.integers(0, max(count, 1), nnz if count else 0)
    if rng.random() < 0.2:
        row_of = np.concatenate([row_of, rng.permutation(count)])  # no row is empty
    if rng.random() < 0.5:
        row_of.sort()
    columns = rng.integers(-3, 80, (len(row_of), rank - 1))  # not looked at, so anything goes
    filled = int(rng.integers(0, 300))
    named = rng.integers(0, max(filled, 1), rng.integers(0, 300) if filled else 0)
    return {
        "indices": np.concatenate([row_of[:, None], columns], 1),
        "value_rowids": row_of,
        "values": (len(row_of),),
        "dense_shape": np.array([count, *rng.integers(0, 80, rank - 1)]),
        "nrows": count,
        "default_value": (),
        "reverse_index_map": named if rng.random() < 0.5 else np.unique(named),
        "grad_values": (filled,),
    }


def windows(rng: Rng, op: Op) -> Drawn:
    """A window of a sparse tensor, some entries outside its shape; and the gradient of cutting it out."""
    rank, nnz = int(rng.integers(0, 5)), int(rng.integers(0, 300))
    shape = rng.integers(0, 12, rank)
    indices = rng.integers(0, np.maximum(shape, 1), (nnz, rank))
    start, size = rng.integers(-3, shape + 2, rank), rng.integers(0, shape + 5, rank)
    for array in (shape, indices, start, size):
        if array.size and rng.random() < 0.1:
            extreme = EXTREMES[rng.integers(len(EXTREMES))] + int(rng.integers(-2, 3))
            positive = array is shape or array is size
            array.flat[rng.integers(array.size)] = np.clip(extreme, 0 if positive else -(2**63), 2**63 - 1)
    if nnz and rank and rng.random() < 0.3:
        indices[rng.integers(nnz)] += rng.choice([-20, 20])
    window = [range(f, f + n) for f, n in zip(start.tolist(), size.tolist(), strict=True)]
    kept = [all(p in w for p, w in zip(place, window, strict=True)) for place in indices.tolist()]
    return {
        "indices": indices,
        "values": (nnz,),
        "shape": shape,
        "start": start,
        "size": size,
        "backprop_val_grad": (sum(kept),),
        "input_indices": indices,
        "input_start": start,
        "output_indices": indices[np.array(kept, bool)] - start,
    }


# ------------------------------------------------------------------ values
def values(rng: Rng, shape: tuple[int, ...], name: str, *, moved: bool) -> Array:
    """Numbers of every size, NaN, infinities and signed zeros; any bit pattern where values are only moved.

    Where TensorFlow computes in float32 or float64, it flushes subnormal numbers to zero and gradbag does not:
    there, the numbers keep away from them.
    """
    dtype = dtypes.numpy_dtype(name)
    if name == "string":
        return rng.choice(np.array(WORDS, object), shape)
    if name in dtypes.COMPLEX:
        part = str(dtype.type(0).real.dtype)
        return np.stack([values(rng, shape, part, moved=moved) for _ in range(2)], -1).view(dtype)[..., 0]
    if name == "bool":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    if name not in dtypes.FLOAT or (moved and rng.random() < 0.3):
        return np.frombuffer(rng.bytes(int(np.prod(shape, dtype=int)) * dtype.itemsize), dtype).reshape(shape)
    numbers = np.asarray(rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 6)).astype(dtype)
    if rng.random() < 0.4:
        chosen = rng.random(shape) < 0.1
        numbers[chosen] = rng.choice(_special(name), int(chosen.sum()))
    return numbers


@functools.cache
def _special(name: str) -> Array:
    limits = ml_dtypes.finfo(dtypes.numpy_dtype(name))
    small = limits.smallest_subnormal if name == "float16" else limits.tiny * limits.dtype.type(2.0**60)
    numbers = [np.nan, np.inf, -np.inf, 0.0, -0.0, limits.max, -limits.max, small, -small]
    return np.array(numbers).astype(limits.dtype)


# ------------------------------------------------------------------ spoiling
def spoilt(call: Call, rng: Rng) -> Call:
    """The call with one argument changed, so that it is probably refused."""
    while True:
        arg = call.op.inputs[rng.integers(len(call.op.inputs))]
        spoil = SPOILERS[rng.integers(len(SPOILERS))]
        array = spoil(call, arg, call.inputs[arg.name].copy(), rng)
        if array is not None:
            return replace(call, inputs={**call.inputs, arg.name: array})


def _out_of_range(call: Call, arg: Arg, array: Array, rng: Rng) -> Array | None:
    if _holds_values(call, arg) or arg.holds or not array.size:
        return None
    limits = np.iinfo(array.dtype)
    beyond = min(int(array.max()) + int(rng.integers(1, 20)), limits.max)
    array.flat[rng.integers(array.size)] = rng.choice([-1, -7, beyond, limits.min, limits.max])
    return array


def _negative_size(call: Call, arg: Arg, array: Array, rng: Rng) -> Array | None:
    if not arg.holds or not array.size:
        return None
    array.flat[rng.integers(array.size)] = rng.choice([-1, -7, np.iinfo(array.dtype).min])
    return array


def _no_size(call: Call, arg: Arg, array: Array, rng: Rng) -> Array | None:
    if not arg.holds or not array.size:
        return None
    array.flat[rng.integers(array.size)] = 0
    return array


def _shuffled(call: Call, arg: Arg, array: Array, rng: Rng) -> Array | None:
    return rng.permutation(array) if array.ndim else None


def _other_length(call: Call, arg: Arg, array: Array, rng: Rng) -> Array | None:
    if not array.ndim:
        return None
    axis = int(rng.integers(array.ndim))
    shorter = array.take(range(array.shape[axis] - 1), axis) if array.shape[axis] else None
    longer = np.concatenate([array, array], axis)
    return longer if shorter is None or rng.random() < 0.5 else shorter


def _other_rank(call: Call, arg: Arg, array: Array, rng: Rng) -> Array | None:
    if array.ndim and array.size and rng.random() < 0.5:
        return np.asarray(array[0], array.dtype)
    return array[None] if rng.random() < 0.5 else array[..., None]


def _other_dtype(call: Call, arg: Arg, array: Array, rng: Rng) -> Array | None:
    name = str(rng.choice([*dtypes.ANY, *dtypes.QUANTIZED]))
    if _holds_values(call, arg) or name in (*dtypes.QUANTIZED, "string"):
        return values(rng, array.shape, name, moved=False)
    with np.errstate(all="ignore"):  # an index may be too large for a small float
        return array.astype(dtypes.numpy_dtype(name))


def _holds_values(call: Call, arg: Arg) -> bool:
    return arg.name in call.op.differentiable


SPOILERS = (_out_of_range, _negative_size, _no_size, _shuffled, _other_length, _other_rank, _other_dtype)
