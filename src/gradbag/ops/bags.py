"""What pooling by offsets means, in plain NumPy.

A bag is a run of entries, and offsets tell where each begins; the last ends with the entries. Where there are no
weights (their array is empty) the sums are those of the segment ops. Weighted ones are made entry by entry, from zero
on; every product, sum and quotient is rounded to the accumulator's type, and the result once to its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import Fault
from .combiners import Combiner
from .pooling import Array, accumulator, pool, scatter, scatter_compact

DOT_LANES = 16  # lane k adds the products of columns k, k + 16, ...; then the upper half is added to the lower


def pool_bags(table: Array, ids: Array, offsets: Array, weights: Array | None, combiner: Combiner) -> Array:
    """Combine the rows of `table` that the ids of each bag name; an empty bag gives zeros."""
    check_bags(ids, table.shape[0], offsets)
    bags = bags_of_entries(offsets, len(ids))
    if weights is None or not len(weights):
        return pool(table, ids, bags, len(offsets), combiner)
    wide = accumulator(table.dtype)
    total = np.zeros((len(offsets), *table.shape[1:]), wide)
    np.add.at(total, bags, table[ids].astype(wide) * _beside(weights.astype(wide), table))  # in order
    if combiner.power:
        divisors = _divisors(weights, bags, len(offsets), combiner)
        total /= _beside(divisors, table)
        total[divisors == 0] = 0
    return total.astype(table.dtype)


def scatter_bags(
    grad: Array, ids: Array, offsets: Array, weights: Array | None, rows: int, combiner: Combiner
) -> Array:
    """Add each entry's share of its bag's gradient to the row of its id: the transpose of `pool_bags`."""
    check_bags(ids, rows, offsets)
    bags = bags_of_entries(offsets, len(ids))
    if weights is None or not len(weights):
        return scatter(grad, ids, bags, rows, combiner)
    total = np.zeros((rows, *grad.shape[1:]), accumulator(grad.dtype))
    shares = _shares(weights, bags, len(offsets), combiner)
    np.add.at(total, ids, grad[bags].astype(total.dtype) * _beside(shares, grad))
    return total.astype(grad.dtype)


def scatter_bags_compact(
    grad: Array, ids: Array, offsets: Array, weights: Array | None, rows: int, combiner: Combiner
) -> tuple[Array, Array]:
    """The rows of `scatter_bags` that some id names, and which rows those are."""
    check_bags(ids, rows, offsets)
    if weights is None or not len(weights):
        return scatter_compact(grad, ids, bags_of_entries(offsets, len(ids)), rows, combiner)
    touched, positions = np.unique(ids, return_inverse=True)
    return scatter_bags(grad, positions, offsets, weights, len(touched), combiner), touched


def dot_bags(grad: Array, table: Array, ids: Array, offsets: Array) -> Array:
    """The inner product of each entry's row with the gradient of its bag: what its weight gets."""
    check_bags(ids, table.shape[0], offsets)
    columns = int(np.prod(table.shape[1:], dtype=np.int64))
    bags = bags_of_entries(offsets, len(ids))
    return dot_rows(grad.reshape(len(grad), columns)[bags], table.reshape(len(table), columns)[ids])


def dot_rows(left: Array, right: Array) -> Array:
    """The inner product of each pair of rows, added up in lanes."""
    wide, columns = accumulator(left.dtype), left.shape[1]
    products = np.zeros((len(left), -(-columns // DOT_LANES) * DOT_LANES), wide)
    products[:, :columns] = left
    products[:, :columns] *= right.astype(wide)
    lanes = np.zeros((len(left), DOT_LANES), wide)
    for first in range(0, columns, DOT_LANES):
        lanes += products[:, first : first + DOT_LANES]
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    return lanes[:, 0].astype(left.dtype)


def normalize_bags(weights: Array, offsets: Array, combiner: Combiner) -> Array:
    """Divide weights by the sum of their bag's, or the root of the sum of squares; zeros where that is zero."""
    check_offsets(offsets, len(weights), "weights")
    return _shares(weights, bags_of_entries(offsets, len(weights)), len(offsets), combiner).astype(weights.dtype)


def bags_of_entries(offsets: Array, entries: int) -> Array:
    """The bag of each entry, for offsets that were checked."""
    return np.repeat(np.arange(len(offsets)), np.diff(offsets, append=entries))


def check_bags(ids: Array, rows: int, offsets: Array) -> None:
    """Raise the fault of the first bad offset, or else of the first bad id."""
    check_offsets(offsets, len(ids), "ids")
    bad = (ids < 0) | (ids >= rows)
    if bad.any():
        place = int(bad.argmax())
        raise Fault("range", "ids", (place,), int(ids[place]), 0, rows)


def check_offsets(offsets: Array, entries: int, argument: str) -> None:
    """Raise the fault of the first bad offset; where there is no bag, of the argument that has entries nevertheless."""
    if not len(offsets):
        if entries:
            raise Fault("homeless", argument, (0,))
        return
    bounds = np.full(len(offsets), entries + 1)
    bounds[0] = 1  # the first bag begins with the first entry
    bad_range = (offsets < 0) | (offsets >= bounds)
    bad_order = np.zeros_like(bad_range)
    bad_order[1:] = offsets[1:] < offsets[:-1]
    bad = bad_range | bad_order
    if not bad.any():
        return
    place = int(bad.argmax())
    if bad_range[place]:
        raise Fault("range", "offsets", (place,), int(offsets[place]), 0, int(bounds[place]))
    raise Fault("order", "offsets", (place,), int(offsets[place]), int(offsets[place - 1]))


def _divisors(weights: Array, bags: Array, count: int, combiner: Combiner) -> Array:
    wide = weights.astype(accumulator(weights.dtype))
    if not combiner.power:
        return np.ones(count, wide.dtype)
    totals = np.zeros(count, wide.dtype)
    np.add.at(totals, bags, combiner.weighed(wide))
    return combiner.rooted(totals)


def _shares(weights: Array, bags: Array, count: int, combiner: Combiner) -> Array:
    divisors = _divisors(weights, bags, count, combiner)[bags]
    shares = weights.astype(divisors.dtype) / divisors
    shares[divisors == 0] = 0
    return shares


def _beside(numbers: Array, rows: Array) -> Any:
    """A number for each row, as a factor of its columns."""
    return numbers.reshape(-1, *[1] * (rows.ndim - 1))
