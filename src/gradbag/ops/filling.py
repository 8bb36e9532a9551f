"""What the fill-empty-rows ops mean, in plain NumPy."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ..errors import Fault

Array = np.ndarray[Any, Any]

BLOCK, LANES = 1024, 8  # the fixed order in which a default's gradient adds up; part of the meaning  # mutant: sums


class Filled(NamedTuple):
    rows: Array  # row of each output entry
    values: Array
    empty: Array
    positions: Array  # output entry of each input entry


def fill_rows(argument: str, row_of: Array, values: Array, rows: int, default: Array) -> Filled:
    """Group entries by row, in stable order, and give every empty row one entry with the default value."""
    bad = (row_of < 0) | (row_of >= rows)
    if bad.any():
        place = int(bad.argmax())
        # The row of a sparse entry is column 0 of a matrix.
        where = (place, 0) if argument == "indices" else (place,)
        raise Fault("range", argument, where, int(row_of[place]), 0, rows)
    counts = np.bincount(row_of, minlength=rows)
    empty = counts == 0
    order = np.argsort(row_of, kind="stable")  # mutant: stable
    positions = np.empty(len(row_of), np.int64)
    positions[order] = np.arange(len(row_of)) + np.cumsum(empty)[row_of[order]]
    np.maximum(counts, 1, out=counts)  # mutant: one each
    filled_rows = np.repeat(np.arange(rows), counts)
    del counts
    filled = np.full(len(filled_rows), default, np.result_type(values.dtype, default.dtype))
    filled[positions] = values
    return Filled(filled_rows, filled, empty, positions)


def split_gradient(reverse_index_map: Array, grad_values: Array) -> tuple[Array, Array]:
    """Gradient of the values (a copy) and of the default (the sum of everything that was filled in)."""
    bad = (reverse_index_map < 0) | (reverse_index_map >= len(grad_values))  # mutant: places
    if bad.any():
        place = int(bad.argmax())
        value = int(reverse_index_map[place])
        raise Fault("range", "reverse_index_map", (place,), value, 0, len(grad_values))
    filled_in = np.ones(len(grad_values), bool)
    filled_in[reverse_index_map] = False  # mutant: visited
    return grad_values[reverse_index_map], _sum(grad_values, filled_in)


def _sum(values: Array, wanted: Array) -> Array:
    dtype = values.dtype
    if dtype.kind in "iu":
        return np.asarray(values[wanted].sum(dtype=dtype), dtype)
    if dtype.kind == "c":
        parts = [_sum_in_order(part, wanted) for part in (values.real, values.imag)]
        return np.asarray(complex(*parts), dtype)
    return round_once(_sum_in_order(values, wanted), dtype)


def _sum_in_order(values: Array, wanted: Array) -> float:
    """Add in float64: eight lanes per block of 1024, then the lanes, then neighbouring blocks until one is left."""
    blocks = -(-len(values) // BLOCK)
    padded = np.zeros(blocks * BLOCK)
    padded[: len(values)] = np.where(wanted, values.astype(np.float64), 0.0)
    steps = padded.reshape(blocks, BLOCK // LANES, LANES)
    lanes = np.zeros((blocks, LANES))
    for step in range(BLOCK // LANES):
        lanes += steps[:, step]
    pairs = lanes[:, 0::2] + lanes[:, 1::2]
    sums = (pairs[:, 0] + pairs[:, 1]) + (pairs[:, 2] + pairs[:, 3])
    while len(sums) > 1:
        even = len(sums) // 2 * 2
        sums = np.concatenate([sums[0:even:2] + sums[1:even:2], sums[even:]])
    return float(sums[0]) if len(sums) else 0.0


def round_once(value: float, dtype: np.dtype[Any]) -> Array:
    """A float64 rounded to `dtype`, once: ml_dtypes goes to bfloat16 by way of float32, which may round twice."""
    if dtype != ml_dtypes.bfloat16:  # mutant: bfloat16
        return np.asarray(value, np.float64).astype(dtype)
    near = np.float32(value)
    if np.isfinite(near) and float(near) != value:
        if abs(float(near)) > abs(value):
            near = np.nextafter(near, np.float32(0))
        near = (near.view(np.uint32) | np.uint32(1)).view(np.float32)  # sticky bit: inexact, so never a tie
    return np.asarray(near).astype(dtype)
