"""What is measured: one tiny call of every op, and one call of a working size for every kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradbag import raw_ops
from gradbag.spec import Op, registry
from gradbag.testing import cases

Inputs = dict[str, Any]

TINY_ENTRIES = 10
TABLE_ROWS, COLUMNS, IDS, SEGMENTS = 100_000, 64, 400_000, 50_000
SPARSE_ENTRIES, SPARSE_SHAPE = 1_500_000, (1_000_000, 100)


def types_of(op: Op) -> dict[str, str]:
    """float32 values and int32 indices, where the op has a choice."""
    return {variable: "float32" if "float32" in names else names[0] for variable, names in op.types.items()}


def tiny(op: Op) -> Inputs:
    """The example or the sample of the op whose number of entries is nearest to ten."""
    return dict(min(cases(op, types_of(op)), key=lambda case: abs(entries(op, case.inputs) - TINY_ENTRIES)).inputs)


def entries(op: Op, inputs: Any) -> int:
    """How many entries a call has: the longest list of indices."""
    return max(len(inputs[a.name]) for a in op.inputs if inputs[a.name].dtype.kind == "i" and inputs[a.name].ndim)


def medium() -> Iterator[tuple[Op, Inputs]]:
    """One op for each kernel, with the inputs of the first family that has all of them."""
    families = [bags(), rows(), windows()]
    kernels = set()
    for op in registry:
        made = next((f for f in families if set(op.input_names) <= set(f)), None)
        if made is None or op.kernel is None or op.kernel.name in kernels:
            continue
        kernels.add(op.kernel.name)
        yield op, {name: made[name] for name in op.input_names}


def describe_medium() -> str:
    table = f"table {TABLE_ROWS} x {COLUMNS}, {IDS} ids, {SEGMENTS} segments"
    return f"float32; {table}; sparse matrix {SPARSE_SHAPE[0]} x {SPARSE_SHAPE[1]}, {SPARSE_ENTRIES} entries"


def bags() -> Inputs:
    """Ids drawn evenly, pooled in sorted segments; and the gradient of pooling them."""
    rng = np.random.default_rng(0)
    segment_ids = np.sort(rng.integers(0, SEGMENTS, IDS)).astype(np.int32)
    segment_ids[-1] = SEGMENTS - 1
    return {
        "data": rng.standard_normal((TABLE_ROWS, COLUMNS), np.float32),
        "grad": rng.standard_normal((SEGMENTS, COLUMNS), np.float32),
        "indices": rng.integers(0, TABLE_ROWS, IDS).astype(np.int32),
        "segment_ids": segment_ids,
        "num_segments": np.array(SEGMENTS, np.int32),
        "output_dim0": np.array(TABLE_ROWS, np.int32),
        "dense_output_dim0": np.array(TABLE_ROWS, np.int32),
    }


def rows() -> Inputs:
    """A sorted sparse matrix of which about a fifth of the rows are empty; and the gradient of filling them."""
    rng = np.random.default_rng(0)
    inputs = {
        "indices": _sorted_places(rng),
        "values": rng.standard_normal(SPARSE_ENTRIES, np.float32),
        "dense_shape": np.array(SPARSE_SHAPE),
        "nrows": np.array(SPARSE_SHAPE[0]),
        "default_value": np.array(1.0, np.float32),
    }
    inputs["value_rowids"] = np.ascontiguousarray(inputs["indices"][:, 0])
    filled = raw_ops.RaggedFillEmptyRows(**{k: inputs[k] for k in ("value_rowids", "values", "nrows", "default_value")})
    gradient = rng.standard_normal(len(filled.output_values), np.float32)
    return {**inputs, "reverse_index_map": filled.reverse_index_map, "grad_values": gradient}


def windows() -> Inputs:
    """The same matrix, of which a window of half its rows and three fifths of its columns is cut out."""
    rng = np.random.default_rng(0)
    indices = _sorted_places(rng)
    start, size = np.array([SPARSE_SHAPE[0] // 4, 10]), np.array([SPARSE_SHAPE[0] // 2, 60])
    kept = ((indices >= start) & (indices < start + size)).all(1)
    return {
        "indices": indices,
        "values": rng.standard_normal(SPARSE_ENTRIES, np.float32),
        "shape": np.array(SPARSE_SHAPE),
        "start": start,
        "size": size,
        "backprop_val_grad": rng.standard_normal(int(kept.sum()), np.float32),
        "input_indices": indices,
        "input_start": start,
        "output_indices": indices[kept] - start,
    }


def _sorted_places(rng: np.random.Generator) -> Any:
    places = np.sort(rng.integers(0, SPARSE_SHAPE[0] * SPARSE_SHAPE[1], SPARSE_ENTRIES))
    return np.stack(np.divmod(places, SPARSE_SHAPE[1]), 1)
