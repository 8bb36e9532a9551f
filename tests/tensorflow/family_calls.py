"""Random calls of the ops around look-ups: sizes, dtypes, empties, repeated ids; each op has a function that draws.

Integers are drawn as they are; a tuple is the shape of values, which are drawn for the dtype of the call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gradbag import attributes
from gradbag.spec import Op
from gradbag.testing.cases import case_of, cast

from .both import Array, Call
from .calls import SPOILERS, Rng, _negative_size, _no_size, _other_dtype, _out_of_range, values

Drawn = dict[str, Any]
ONLY_INTEGERS = (_out_of_range, _negative_size, _no_size)
WORDS = ("", "a", "b", "row", "größer", "日本語", "x" * 60)


def drawn_call(op: Op, types: dict[str, str], rng: Rng) -> Call:
    """A call that may well be answered: of one in eight, a sample of the declaration."""
    if rng.random() < 1 / 8:
        samples = [op.example.inputs, *op.samples(rng)]
        case = case_of(op, types, samples[rng.integers(len(samples))], "")
        return Call(op, dict(case.inputs), dict(case.attrs))
    drawn = DRAW[op.name](rng)
    inputs = {a.name: _made(drawn[a.name], types.get(a.dtype, a.dtype), rng) for a in op.inputs}
    attrs = {a.name: drawn[a.name] for a in op.attrs if a.name in drawn}
    attrs |= {name: types[name] for name in types if name in op.attr_defaults}
    return Call(op, inputs, attributes.normal(op, attrs))


def _made(given: Any, name: str, rng: Rng) -> Any:
    if isinstance(given, list):
        return [_made(each, name, rng) for each in given]
    if not isinstance(given, tuple):
        return cast(given, name)
    made = values(rng, given, name, moved=False)
    with np.errstate(invalid="ignore"):  # infinities have no remainder
        return np.round(made % 7) if name.startswith("float") and rng.random() < 0.2 else made  # some are equal


def spoilt(call: Call, rng: Rng) -> Call:
    """The call with one array changed, so that it is probably refused."""
    while True:
        arg = call.op.inputs[rng.integers(len(call.op.inputs))]
        spoil, given = SPOILERS[rng.integers(len(SPOILERS))], call.inputs[arg.name]
        if isinstance(given, list):
            if not given or spoil is _other_dtype:  # a list of mixed dtypes is no tensor in TensorFlow's Python
                continue
            place = int(rng.integers(len(given)))
            array = _changed(spoil, call, arg, given[place], rng)
            changed: Any = [array if k == place else g for k, g in enumerate(given)]
        else:
            changed = array = _changed(spoil, call, arg, given, rng)
        if array is not None:
            return replace(call, inputs={**call.inputs, arg.name: changed})


def _changed(spoil: Any, call: Call, arg: Any, array: Array, rng: Rng) -> Array | None:
    numbers = array.dtype.kind in "iu"
    if (spoil in ONLY_INTEGERS and not numbers) or (spoil is _other_dtype and array.dtype.kind in "Ob"):
        return None
    made: Array | None = spoil(call, arg, array.copy(), rng)
    return made


# ------------------------------------------------------------------ parts
def _size(rng: Rng, most: int = 7) -> int:
    return int(rng.integers(0, most)) if rng.random() < 0.9 else int(rng.integers(20, 70))


def _shape(rng: Rng, least: int = 0, most: int = 3) -> tuple[int, ...]:
    return tuple(int(n) for n in rng.integers(0, 6, rng.integers(least, most + 1)))


def _places(rng: Rng, shape: Any, *, count: int | None = None, repeats: bool = False) -> Array:
    """Places of a sparse array in order, now and then each only once."""
    cells = int(np.prod(shape))
    count = int(rng.integers(0, cells + 1)) if count is None else count
    flat = rng.integers(0, cells, count) if repeats and cells else rng.permutation(cells)[:count]
    flat = np.sort(flat)
    return np.stack(np.unravel_index(flat, shape), 1) if cells else np.zeros((0, len(shape)), np.int64)


def _sparse(rng: Rng, shape: Any, names: str, *, repeats: bool = False, shuffled: bool = False) -> Drawn:
    indices = _places(rng, shape, repeats=repeats)
    if shuffled and rng.random() < 0.5:
        indices = rng.permutation(indices)
    i, v, s = names.split()
    return {i: indices, v: (len(indices),), s: np.array(shape, np.int64)}


def _segments(rng: Rng) -> Drawn:
    rows = int(rng.choice([0, 1, 2, 3, 5, 8, 9, 10, 11, 17, 40, 130]))
    ids = np.sort(rng.integers(0, max(1, int(rng.integers(1, rows + 3))), rows))
    return {"data": (rows, *_shape(rng, 0, 2)), "segment_ids": ids}


def _unsorted_segments(rng: Rng) -> Drawn:
    shape = _shape(rng, 0, 2) if rng.random() < 0.5 else (_size(rng, 30),)
    count = _size(rng, 12)
    ids = rng.integers(-1 if rng.random() < 0.3 else 0, count, shape) if count else np.full(shape, -1)
    return {"data": (*shape, *_shape(rng, 0, 2)), "segment_ids": ids, "num_segments": count}


def _gather(rng: Rng) -> Drawn:
    shape = _shape(rng, 1)
    batch = int(rng.integers(0, len(shape)))
    axis = int(rng.integers(batch, len(shape)))
    places = (*shape[:batch], *_shape(rng, 0, 2))
    indices = rng.integers(0, max(shape[axis], 1), places if shape[axis] else (*shape[:batch], 0))
    signed = axis - len(shape) if rng.random() < 0.3 else axis
    return {"params": shape, "indices": indices, "axis": signed, "batch_dims": batch}


def _gather_nd(rng: Rng) -> Drawn:
    """No axis is empty: TensorFlow refuses to look for something where there is nothing, even if it is nothing."""
    shape = tuple(int(n) for n in rng.integers(1, 6, rng.integers(1, 4)))
    depth = int(rng.integers(1, len(shape) + 1))
    return {"params": shape, "indices": rng.integers(0, shape[:depth], (*_shape(rng, 1, 2), depth))}


def _scatter_nd(rng: Rng) -> Drawn:
    drawn = _gather_nd(rng)
    shape, indices = drawn["params"], drawn["indices"]
    updates = (*indices.shape[:-1], *shape[indices.shape[-1] :])
    return {"indices": indices, "updates": updates, "shape": np.array(shape)}


def _partition(rng: Rng) -> Drawn:
    count, shape = int(rng.integers(1, 5)), _shape(rng, 0, 2)
    return {
        "data": (*shape, *_shape(rng, 0, 2)),
        "partitions": rng.integers(0, count, shape),
        "num_partitions": count,
    }


def _stitch(rng: Rng) -> Drawn:
    inner, places = _shape(rng, 0, 2), [_shape(rng, 0, 2) for _ in range(rng.integers(1, 4))]
    total = sum(int(np.prod(p)) for p in places)
    order = rng.permutation(total) if rng.random() < 0.6 else rng.integers(0, total + 2, total)
    starts = np.cumsum([0, *(int(np.prod(p)) for p in places)])
    indices = [order[starts[k] : starts[k + 1]].reshape(p) for k, p in enumerate(places)]
    return {"indices": indices, "data": [(*p, *inner) for p in places]}


def _distinct_stitch(rng: Rng) -> Drawn:
    """Which of two values stays is left to threads there."""
    while True:
        drawn = _stitch(rng)
        every = np.concatenate([i.reshape(-1) for i in drawn["indices"]])
        if len(np.unique(every)) == len(every) == (every.max() + 1 if len(every) else 0):
            return drawn


def _splits(rng: Rng, rows: int) -> Array:
    return np.concatenate([[0], np.cumsum(rng.integers(0, 4, rows))])


def _nested(rng: Rng) -> tuple[list[Array], tuple[int, ...]]:
    found = [_splits(rng, int(rng.integers(0, 5)))]
    while rng.random() < 0.4:
        found.append(_splits(rng, int(found[-1][-1])))
    return found, (int(found[-1][-1]), *_shape(rng, 0, 1))


def _ragged(rng: Rng) -> Drawn:
    splits, shape = _nested(rng)
    return {"rt_nested_splits": splits, "rt_dense_values": shape}


def _ragged_gather(rng: Rng) -> Drawn:
    splits, shape = _nested(rng)
    rows = len(splits[0]) - 1
    indices = rng.integers(0, max(rows, 1), _shape(rng, 1, 2) if rows else (0,))
    return {
        "params_nested_splits": splits,
        "params_dense_values": shape,
        "indices": indices,
        "OUTPUT_RAGGED_RANK": indices.ndim + len(splits) - 1,
    }


def _ragged_range(rng: Rng) -> Drawn:
    n = _size(rng)
    drawn = {name: rng.integers(-9, 9, n if rng.random() < 0.6 else ()) for name in ("starts", "limits")}
    deltas = rng.choice([-3, -2, -1, 1, 2, 5], n if rng.random() < 0.6 else ())
    return {**drawn, "deltas": deltas}


def _ragged_dense(rng: Rng) -> Drawn:
    splits, shape = _nested(rng)
    wanted = rng.choice([-1, -1, 0, 2, 5], len(splits) + 1)
    dense = np.concatenate([wanted, shape[1:]]) if rng.random() < 0.8 else np.array(-1)
    kinds, parts = ["ROW_SPLITS"] * len(splits), list(splits)
    if rng.random() < 0.4:
        first = splits[0]
        kinds = ["FIRST_DIM_SIZE", *["VALUE_ROWIDS"] * len(splits)]
        parts = [np.array(len(first) - 1), *(np.repeat(np.arange(len(s) - 1), np.diff(s)) for s in splits)]
    return {
        "shape": dense,
        "values": shape,
        "default_value": () if rng.random() < 0.7 else shape[1:],
        "row_partition_tensors": parts,
        "row_partition_types": kinds,
    }


def _bincount(rng: Rng) -> Drawn:
    size, shape = _size(rng, 9), _shape(rng, 1, 2)
    return {
        "input": rng.integers(0, size + 2, shape),
        "size": size,
        "weights": shape if rng.random() < 0.7 else (0,),
        "binary_output": bool(rng.random() < 0.2),
    }


def _sparse_bincount(rng: Rng) -> Drawn:
    shape, size = _shape(rng, 1, 2), _size(rng, 9)
    drawn = _sparse(rng, shape, "indices given dense_shape")
    count = drawn.pop("given")
    weights = count if rng.random() < 0.7 else (0,)
    drawn |= {"values": rng.integers(0, size + 2, count), "size": size, "weights": weights}
    return {**drawn, "binary_output": bool(rng.random() < 0.2)}


def _texts(name: str) -> Callable[[Rng], Drawn]:
    def draw(rng: Rng) -> Drawn:
        text = np.array([_word(rng) for _ in range(_size(rng, 12))], object)
        return {name: text, "num_buckets": int(rng.choice([1, 2, 10, 1000, 2**62])), "key": _key(rng)}

    return draw


def _word(rng: Rng) -> str:
    return (
        str(rng.choice(WORDS)) if rng.random() < 0.3 else "".join(map(chr, rng.integers(32, 400, rng.integers(0, 150))))
    )


def _key(rng: Rng) -> list[int]:
    return [int(k) for k in rng.integers(0, 2**62, 2)]


def _to_dense(rng: Rng) -> Drawn:
    shape = _shape(rng, 1)
    drawn = _sparse(rng, shape, "sparse_indices sparse_values output_shape", repeats=rng.random() < 0.2, shuffled=True)
    return {**drawn, "default_value": (), "validate_indices": bool(rng.integers(2))}


def _matmul(rng: Rng) -> Drawn:
    rows, columns, inner = (_size(rng) for _ in range(3))
    flips = {name: bool(rng.integers(2)) for name in ("adjoint_a", "adjoint_b")}
    b = (rows if flips["adjoint_a"] else columns, inner)
    drawn = _sparse(rng, (rows, columns), "a_indices a_values a_shape", repeats=bool(rng.integers(2)), shuffled=True)
    return {**drawn, "b": b[::-1] if flips["adjoint_b"] else b, **flips}


def _pair(rng: Rng) -> Drawn:
    shape = _shape(rng, 1)
    return _sparse(rng, shape, "a_indices a_values a_shape") | _sparse(rng, shape, "b_indices b_values b_shape")


def _sum(rng: Rng) -> Drawn:
    return {**_pair(rng), "thresh": float(rng.choice([0, 0, 1, 3]))}


def _sum_gradient(rng: Rng) -> Drawn:
    drawn = _pair(rng)
    union = np.unique(np.concatenate([drawn["a_indices"], drawn["b_indices"]]), axis=0)
    if rng.random() < 0.3:
        union = union[rng.random(len(union)) < 0.7]
    kept = {name: drawn[name] for name in ("a_indices", "b_indices")}
    return {**kept, "sum_indices": union, "backprop_val_grad": (len(union),)}


def _concat(rng: Rng) -> Drawn:
    shape = list(_shape(rng, 1))
    dim, parts = int(rng.integers(len(shape))), []
    for _ in range(rng.integers(2, 5)):
        shape[dim] = int(rng.integers(0, 5))
        parts.append(_sparse(rng, tuple(shape), "indices values shapes"))
    drawn: Drawn = {name: [part[name] for part in parts] for name in ("indices", "values", "shapes")}
    return {**drawn, "concat_dim": dim - len(shape) if rng.random() < 0.3 else dim}


def _split(rng: Rng) -> Drawn:
    shape = list(_shape(rng, 1))
    dim = int(rng.integers(len(shape)))
    shape[dim] = int(rng.integers(1, 8))
    parts = int(rng.integers(1, shape[dim] + 1))
    return {**_sparse(rng, tuple(shape), "indices values shape"), "split_dim": dim, "num_split": parts}


def _dense_operand(rng: Rng) -> Drawn:
    shape = _shape(rng, 1)
    cut = shape[int(rng.integers(0, len(shape))) :] if rng.random() < 0.5 else shape
    dense = tuple(1 if rng.random() < 0.2 else n for n in cut)
    return {**_sparse(rng, shape, "sp_indices sp_values sp_shape"), "dense": dense}


def _dense_sum(rng: Rng) -> Drawn:
    shape = _shape(rng, 1)
    return {**_sparse(rng, shape, "a_indices a_values a_shape", repeats=rng.random() < 0.3, shuffled=True), "b": shape}


def _entries(rng: Rng) -> Drawn:
    return _sparse(rng, _shape(rng, 1), "input_indices input_values input_shape", shuffled=True)


def _reshape(rng: Rng) -> Drawn:
    drawn = _entries(rng)
    drawn.pop("input_values")
    shape = drawn["input_shape"]
    new = [int(n) for n in rng.permutation(shape)]
    if rng.random() < 0.5 and len(new) > 1:
        new = [new[0] * new[1], *new[2:]]
    if rng.random() < 0.5 and all(new):
        new[int(rng.integers(len(new)))] = -1
    return {**drawn, "new_shape": np.array(new, np.int64)}


def _reduce(rng: Rng) -> Drawn:
    shape = _shape(rng, 1)
    drawn = _sparse(rng, shape, "input_indices input_values input_shape")
    axes = rng.permutation(len(shape))[: rng.integers(0, len(shape) + 1)]
    axes = np.where(rng.random(len(axes)) < 0.3, axes - len(shape), axes)
    return {**drawn, "reduction_axes": axes, "keep_dims": bool(rng.integers(2))}


def _softmax(rng: Rng) -> Drawn:
    return _sparse(rng, _shape(rng, 2), "sp_indices sp_values sp_shape")


def _unique(rng: Rng) -> Drawn:
    return {"x": (_size(rng, 20),)}


def _unique_along(rng: Rng) -> Drawn:
    shape = _shape(rng, 1)
    axis = [int(rng.integers(-len(shape), len(shape)))] if len(shape) > 1 or rng.random() < 0.5 else []
    return {"x": shape, "axis": np.array(axis, int)}


def _cross(rng: Rng) -> Drawn:
    batch = int(rng.integers(1, 5))
    sparse = [
        _sparse(rng, (batch, int(rng.integers(0, 4))), "indices values shapes") for _ in range(rng.integers(0, 3))
    ]
    dense = [(batch, int(rng.integers(1, 3))) for _ in range(rng.integers(0 if sparse else 1, 3))]
    return {
        **{name: [part[name] for part in sparse] for name in ("indices", "values", "shapes")},
        "dense_inputs": dense,
        "sep": str(rng.choice(["_X_", "", ","])),
        "num_buckets": int(rng.choice([0, 1, 10, 1000])),
        "strong_hash": bool(rng.integers(2)),
        "salt": np.array(_key(rng)),
        "hash_key": int(rng.integers(0, 2**62)),
    }


SEGMENTS = ("Sum", "Mean", "Prod", "Max", "Min")
DRAW: dict[str, Callable[[Rng], Drawn]] = {
    **{f"Segment{name}": _segments for name in SEGMENTS},
    **{f"UnsortedSegment{name}": _unsorted_segments for name in SEGMENTS if name != "Mean"},
    **dict.fromkeys(["Unique", "UniqueWithCounts"], _unique),
    **dict.fromkeys(["UniqueV2", "UniqueWithCountsV2"], _unique_along),
    "Gather": lambda rng: {"params": (4, *_shape(rng, 0, 2)), "indices": rng.integers(0, 4, _shape(rng, 0, 2))},
    "GatherV2": _gather,
    "GatherNd": _gather_nd,
    "ScatterNd": _scatter_nd,
    "DynamicPartition": _partition,
    "DynamicStitch": _stitch,
    "ParallelDynamicStitch": _distinct_stitch,
    "RaggedTensorToSparse": _ragged,
    "RaggedTensorToTensor": _ragged_dense,
    "RaggedRange": _ragged_range,
    "RaggedGather": _ragged_gather,
    "DenseBincount": _bincount,
    "SparseBincount": _sparse_bincount,
    "StringToHashBucketFast": _texts("input"),
    "StringToHashBucketStrong": _texts("input"),
    "StringToHashBucket": _texts("string_tensor"),
    "SparseToDense": _to_dense,
    "SparseTensorDenseMatMul": _matmul,
    "SparseAdd": _sum,
    "SparseAddGrad": _sum_gradient,
    **dict.fromkeys(["SparseSparseMaximum", "SparseSparseMinimum"], _pair),
    "SparseConcat": _concat,
    "SparseSplit": _split,
    **{f"SparseDenseCwise{name}": _dense_operand for name in ("Add", "Mul", "Div")},
    "SparseTensorDenseAdd": _dense_sum,
    "SparseReorder": _entries,
    "SparseReshape": _reshape,
    **{f"SparseReduce{name}": _reduce for name in ("Sum", "SumSparse", "Max", "MaxSparse")},
    "SparseSoftmax": _softmax,
    **dict.fromkeys(["SparseCrossV2", "SparseCrossHashed"], _cross),
}
