"""Inputs beside an op's example: empty, gaps, duplicates, one row, many columns.

Values are float64 and indices int64; a test casts them to the dtypes it is about. Values are never zero, so that a
gradient that forgets a term cannot hide.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

Rng = np.random.Generator
Inputs = dict[str, Any]


class Bags(NamedTuple):
    rows: int
    inner: tuple[int, ...]
    indices: Any
    segment_ids: Any
    segments: int


def bags(rng: Rng) -> Iterator[Bags]:
    """Entries in sorted segments."""

    def make(rows: int, inner: tuple[int, ...], lengths: list[int]) -> Bags:
        segment_ids = np.repeat(np.arange(len(lengths)), lengths)
        return Bags(rows, inner, rng.integers(0, max(rows, 1), len(segment_ids)), segment_ids, len(lengths))

    yield make(5, (3,), [1, 2, 3])
    yield make(4, (2,), [0, 3, 0, 0, 1])  # gaps, first row empty
    yield make(1, (1,), [1])
    yield make(1, (4,), [9, 10, 2])  # one row again and again, both sides of the reciprocal
    yield make(30, (2, 3), [7, 8, 9, 16, 17, 25])  # every head of the blocked sum, two inner axes
    yield make(6, (), [2, 1])  # no inner axis
    yield make(6, (3,), 9 * [1])  # bags of one
    yield make(5, (2,), [*(5 * [1]), 0, *(4 * [1]), 3, 1, 1, 2, *(6 * [1]), 2])  # bags of one beside others
    yield make(3, (67,), [2, 5])  # columns beyond a multiple of eight
    yield make(4, (0,), [1, 2])  # no columns
    yield make(4, (3,), [])  # no entries
    yield make(0, (3,), [])  # no rows
    yield make(40, (2,), [130, 1, 64])  # long runs
    yield make(2, (1030,), [2, 11])  # more columns than a kernel sums at once
    far = np.array([1, 4000, 4000, 4500])
    yield Bags(3, (1,), np.array([0, 2, 1, 1]), far, 5000)  # few entries, segments with large numbers


def values(rng: Rng, *shape: int) -> Any:
    return np.sign(rng.standard_normal(shape)) * rng.uniform(0.5, 4.0, shape)


def pooled_bags(rng: Rng) -> Iterator[Inputs]:
    for b in bags(rng):
        yield {"data": values(rng, b.rows, *b.inner), "indices": b.indices, "segment_ids": b.segment_ids}


def counted_bags(rng: Rng) -> Iterator[Inputs]:
    for b in bags(rng):
        data = values(rng, b.rows, *b.inner)
        for extra in (0, 3):
            entries = {"indices": b.indices, "segment_ids": b.segment_ids}
            yield {"data": data, **entries, "num_segments": np.array(b.segments + extra)}


def _gradients(rng: Rng) -> Iterator[tuple[Inputs, int]]:
    for b in bags(rng):
        grad = values(rng, b.segments + 1, *b.inner)
        shuffled = rng.permutation(b.segment_ids)
        for segment_ids in (b.segment_ids, shuffled):
            yield {"grad": grad, "indices": b.indices, "segment_ids": segment_ids}, b.rows
    few = {"indices": rng.integers(0, 1000, 100), "segment_ids": np.repeat(np.arange(4), 25)}
    yield {"grad": values(rng, 4, 2), **few}, 1000  # few of many rows, in no order
    late = np.append(np.repeat(np.arange(3), 400), 0)  # in order for long, and then not
    yield {"grad": values(rng, 4, 2), "indices": rng.integers(0, 5, len(late)), "segment_ids": late}, 5


def bag_gradients(rng: Rng) -> Iterator[Inputs]:
    for entries, rows in _gradients(rng):
        yield {**entries, "output_dim0": np.array(rows)}


def compact_bag_gradients(rng: Rng) -> Iterator[Inputs]:
    for entries, rows in _gradients(rng):
        yield {**entries, "dense_output_dim0": np.array(rows)}


def _row_lists(rng: Rng) -> Iterator[tuple[Any, int]]:
    """The row of each entry, and the number of rows."""
    yield np.array([0, 2, 2]), 4
    yield np.array([0, 0, 1, 2]), 3  # none empty, in order
    yield np.array([2, 0, 1]), 3  # none empty, out of order
    yield np.array([3, 1, 3, 0, 1]), 5  # out of order with gaps
    yield np.array([], np.int64), 3  # all empty
    yield np.array([], np.int64), 0
    yield np.array([900, 3, 900, 3, 512, 900]), 1000  # few, far apart and out of order
    yield rng.integers(0, 50, 80), 60
    yield np.array([0, 50, 50, 99]), 120  # in order and far apart
    yield np.sort(rng.integers(0, 3000, 1500)), 3000
    yield rng.integers(0, 7000, 1500), 7000  # out of order, and more than a kernel takes at once
    yield np.append(np.arange(4096), np.arange(9)), 4100  # in order as far as a thread sees, which takes 4096


def sparse_rows(rng: Rng) -> Iterator[Inputs]:
    for rows_of, rows in _row_lists(rng):
        for rank in (1, 2, 3, 5):
            indices = np.stack([rows_of, *rng.integers(0, 7, (rank - 1, len(rows_of)))], 1)
            shape = np.array([rows, 7, 7, 7, 7][:rank])
            default = values(rng).reshape(())
            yield {
                "indices": indices,
                "values": values(rng, len(rows_of)),
                "dense_shape": shape,
                "default_value": default,
            }


def ragged_rows(rng: Rng) -> Iterator[Inputs]:
    for rows_of, rows in _row_lists(rng):
        sizes = {"nrows": np.array(rows), "default_value": values(rng).reshape(())}
        yield {"value_rowids": rows_of, "values": values(rng, len(rows_of)), **sizes}


def fill_gradients(rng: Rng) -> Iterator[Inputs]:
    # In float16 and in bfloat16, sums that rounding to float32 first gets wrong.
    for twice in ([1.0, 2.0**-11, 2.0**-24], [1.0, 2.0**-8, 2.0**-40]):
        yield {"reverse_index_map": np.array([], np.int64), "grad_values": np.array(twice)}
    for count in (0, 1, 5, 1023, 2500, 5000):
        grad = values(rng, count)
        yield {"reverse_index_map": np.sort(rng.permutation(count)[: count // 2]), "grad_values": grad}
        yield {
            "reverse_index_map": np.array([], np.int64),
            "grad_values": grad,
        }  # the default gets everything
        yield {"reverse_index_map": rng.permutation(count), "grad_values": grad}  # and here nothing
        yield {"reverse_index_map": rng.permutation(count)[count // 9 :], "grad_values": grad}  # a little of it
        if count:
            yield {"reverse_index_map": rng.integers(0, count, count + 3), "grad_values": grad}  # named twice


def windows(rng: Rng) -> Iterator[Inputs]:
    def make(shape: list[int], count: int, start: list[int], size: list[int]) -> Inputs:
        indices = (
            np.stack([rng.integers(0, max(n, 1), count) for n in shape], 1) if shape else np.zeros((count, 0), int)
        )
        places = {"indices": indices, "values": values(rng, count)}
        return {
            **places,
            "shape": np.array(shape, int),
            "start": np.array(start, int),
            "size": np.array(size, int),
        }

    yield make([4, 5], 8, [1, 2], [3, 9])
    yield make([4, 5], 8, [0, 0], [4, 5])  # everything
    yield make([4, 5], 8, [4, 0], [1, 5])  # beyond the end
    yield make([4, 5], 8, [-2, 1], [4, 2])  # a start before the first row
    yield make([4, 5], 0, [0, 0], [2, 2])  # no entries
    yield make([4, 5], 8, [1, 1], [0, 3])  # an empty window
    yield make([9], 20, [2], [2**63 - 1])  # to the end, whatever that is
    yield {**make([9], 2, [2], [2**63 - 1]), "indices": np.array([[-(2**63)], [4]])}  # far before the start
    yield make([3, 4, 5], 40, [1, 0, 2], [2, 3, 2])
    yield make([], 3, [], [])  # no dimensions: everything is kept
    many = make([100, 100], 2000, [10, 20], [50, 60])
    yield many
    yield {**many, "indices": np.array(sorted(many["indices"].tolist()))}  # in order: threads know where they stand


def slice_gradients(rng: Rng) -> Iterator[Inputs]:
    for window in windows(rng):
        indices, start = window["indices"], window["start"]
        ends = [int(a) + int(b) for a, b in zip(start, window["size"], strict=True)]
        inside = [all(s <= p < e for p, s, e in zip(row, start, ends, strict=True)) for row in indices.tolist()]
        kept = np.flatnonzero(np.array(inside, bool))
        places = {"input_indices": indices, "input_start": start, "output_indices": indices[kept] - start}
        yield {"backprop_val_grad": values(rng, len(kept)), **places}


# ------------------------------------------------------------------ bags that begin at offsets
def offset_bags(rng: Rng) -> Iterator[tuple[int, tuple[int, ...], Any, Any]]:
    """Rows of the table, their further axes, ids and offsets."""
    for rows, inner, lengths in [
        (5, (3,), [1, 2, 3]),
        (4, (2,), [0, 3, 0, 0, 1, 0]),  # empty bags first, last and between
        (1, (4,), [9, 10, 2]),  # one row again and again, both sides of the reciprocal
        (30, (2, 3), [7, 8, 9, 16, 17, 25]),  # every head of the blocked sum, two inner axes
        (6, (), [2, 1]),
        (6, (3,), [*(9 * [1]), 0, 2]),  # bags of one beside others
        (3, (67,), [2, 5]),
        (4, (0,), [1, 2]),
        (4, (3,), []),
        (4, (3,), [0, 0]),
        (40, (2,), [130, 1, 300]),  # more rows than a batch
    ]:
        offsets = np.cumsum([0, *lengths])[:-1] if lengths else np.zeros(0, np.int64)
        yield rows, inner, rng.integers(0, max(rows, 1), sum(lengths)), offsets


def _weights(rng: Rng, count: int, number: int) -> Any:
    """Of every second sample none; such as do not cancel, for there the derivative jumps."""
    return None if number % 2 else rng.uniform(0.5, 2.0, count)


def bag_lookups(rng: Rng) -> Iterator[Inputs]:
    for number, (rows, inner, ids, offsets) in enumerate(offset_bags(rng)):
        weights = _weights(rng, len(ids), number)
        for combiner in ("sum", "mean", "sqrtn"):
            table = values(rng, rows, *inner)
            yield {"table": table, "ids": ids, "offsets": offsets, "weights": weights, "combiner": combiner}


def bag_scatters(rng: Rng) -> Iterator[Inputs]:
    for number, (rows, inner, ids, offsets) in enumerate(offset_bags(rng)):
        weights = _weights(rng, len(ids), number)
        for combiner in ("sum", "mean", "sqrtn"):
            grad = values(rng, len(offsets), *inner)
            entries = {"grad": grad, "ids": ids, "offsets": offsets, "weights": weights}
            yield {**entries, "num_rows": rows, "combiner": combiner}


def weight_gradients(rng: Rng) -> Iterator[Inputs]:
    for rows, inner, ids, offsets in offset_bags(rng):
        entries = {"ids": ids, "offsets": offsets}
        yield {"grad": values(rng, len(offsets), *inner), "table": values(rng, rows, *inner), **entries}


def weighted_bags(rng: Rng) -> Iterator[Inputs]:
    for _, _, ids, offsets in offset_bags(rng):
        for combiner in ("sum", "mean", "sqrtn"):
            yield {"weights": rng.uniform(0.5, 2.0, len(ids)), "offsets": offsets, "combiner": combiner}
