"""What the segment ops mean, in plain NumPy: the order of every addition is TensorFlow's, so the bits are too."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import Fault
from .combiners import Combiner

Array = np.ndarray[Any, Any]

HEAD = 8  # TensorFlow adds rows in blocks of eight, after a head of two to nine
_LARGEST = {np.dtype(t): int(np.iinfo(t).max) for t in (np.int32, np.int64)}
_ANY_INDEX = _LARGEST[np.dtype(np.int32)]
DIVIDES_FROM = 10  # below this many rows it multiplies by the rounded reciprocal, from here on it divides


def pool(data: Array, indices: Array, segment_ids: Array, segments: int, combiner: Combiner) -> Array:
    """Combine the rows of `data` that share a segment id."""
    check_entries(indices, data.shape[0], segment_ids, segments, ordered=True)
    rows, real = _as_real_rows(data)
    out = np.zeros((segments, rows.shape[1]), rows.dtype)
    starts = np.flatnonzero(np.diff(segment_ids, prepend=segment_ids[:1] - 1)) if len(segment_ids) else segment_ids
    counts = np.diff(starts, append=len(segment_ids))
    single = counts == 1
    out[segment_ids[starts[single]]] = rows[indices[starts[single]]]  # a copy: no scaling, no addition
    starts, counts = starts[~single], counts[~single]
    out[segment_ids[starts]] = _pool_runs(rows, indices, starts, counts, combiner).astype(rows.dtype)
    return out.view(real).reshape(segments, *data.shape[1:])


def _pool_runs(rows: Array, indices: Array, starts: Array, counts: Array, combiner: Combiner) -> Array:
    """Combine runs of at least two entries; one row of the accumulator's type per run."""
    wide = accumulator(rows.dtype)

    def row(entries: Array) -> Array:
        return rows[indices[entries]].astype(wide)

    head = np.where(counts % HEAD == 0, HEAD, np.where(counts % HEAD == 1, HEAD + 1, counts % HEAD))  # mutant: head
    total = row(starts)
    for step in range(1, HEAD + 1):
        longer = head > step
        total[longer] += row(starts[longer] + step)
    if combiner.power:
        few = counts < DIVIDES_FROM  # mutant: reciprocal
        total[few] *= (wide.type(1) / combiner.divisor(counts[few]).astype(wide))[:, None]
    blocks = (counts - head) // HEAD
    run = np.repeat(np.arange(len(counts)), blocks)
    number = np.arange(len(run)) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    first = starts[run] + head[run] + HEAD * number
    block = row(first)
    for step in range(1, HEAD):
        block += row(first + step)
    np.add.at(total, run, block)  # one after the other, in order
    if combiner.power:
        total[~few] /= combiner.divisor(counts[~few]).astype(wide)[:, None]
    return total


def scatter(grad: Array, indices: Array, segment_ids: Array, rows: int, combiner: Combiner) -> Array:
    """Add each entry's share of its segment's gradient to its row: the transpose of `pool`."""
    check_entries(indices, rows, segment_ids, grad.shape[0], ordered=False)
    segments, real = _as_real_rows(grad)
    wide = accumulator(segments.dtype)
    shares = segments[segment_ids].astype(wide)
    if combiner.power:
        _, inverse, counts = np.unique(segment_ids, return_inverse=True, return_counts=True)
        shares *= (1.0 / combiner.divisor(counts)).astype(wide)[inverse][:, None]  # mutant: double
    out = np.zeros((rows, segments.shape[1]), wide)
    np.add.at(out, indices, shares)
    return out.astype(segments.dtype).view(real).reshape(rows, *grad.shape[1:])


def scatter_compact(
    grad: Array, indices: Array, segment_ids: Array, rows: int, combiner: Combiner
) -> tuple[Array, Array]:
    """The rows of `scatter` that some entry names, and which rows those are."""
    check_entries(indices, rows, segment_ids, grad.shape[0], ordered=False)
    touched, positions = np.unique(indices, return_inverse=True)
    return scatter(grad, positions, segment_ids, len(touched), combiner), touched


def segments_from_last(indices: Array, segment_ids: Array) -> int:
    """The number of segments when nobody says it: the last id, not the largest, decides."""
    if not len(segment_ids):
        return 0
    last = int(segment_ids.item(-1))
    if 0 <= last < _ANY_INDEX:
        return last + 1
    place = (len(segment_ids) - 1,)
    if last < 0:
        raise Fault("negative", "segment_ids", place, last)
    limit = min(_LARGEST[indices.dtype], _LARGEST[segment_ids.dtype])
    if last >= limit:  # mutant: limit
        raise Fault("rule", "segment_ids", place, last, hint=f"must be below {limit}, the largest index")
    return last + 1


def check_entries(indices: Array, rows: int, segment_ids: Array, segments: int, *, ordered: bool) -> None:
    """Raise the fault of the first bad entry; at one entry, the index is looked at before the segment id."""
    bad_index = (indices < 0) | (indices >= rows)  # mutant: rows
    bad_segment = (segment_ids < 0) | (segment_ids >= segments)  # mutant: segments
    bad_order = np.zeros_like(bad_index)
    if ordered:
        bad_order[1:] = segment_ids[1:] < segment_ids[:-1]  # mutant: ids
    bad = bad_index | bad_segment | bad_order
    if not bad.any():
        return
    place = int(bad.argmax())
    if bad_index[place]:  # mutant: first fault
        raise Fault("range", "indices", (place,), int(indices[place]), 0, rows)
    if bad_segment[place]:
        raise Fault("range", "segment_ids", (place,), int(segment_ids[place]), 0, segments)
    raise Fault("order", "segment_ids", (place,), int(segment_ids[place]), int(segment_ids[place - 1]))


def check_indices(argument: str, indices: Any, limit: int) -> None:
    """Every index below the limit, and none negative: the first that is not is named."""
    wrong = (indices < 0) | (indices >= limit)
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        raise Fault("range", argument, place, indices[place].item(), 0, limit)


def accumulator(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Sixteen-bit floats add up in float32 and are rounded once; everything else adds up in itself."""
    return np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind not in "iu" else dtype  # mutant: wide


def _as_real_rows(array: Array) -> tuple[Array, np.dtype[Any]]:
    """A matrix of reals: complex numbers count as two columns, so scaling never mixes their parts."""
    columns = int(np.prod(array.shape[1:], dtype=np.int64))
    rows = array.reshape(array.shape[0], columns)
    if array.dtype.kind == "c":
        rows = np.ascontiguousarray(rows).view(array.real.dtype)
    return rows, array.dtype
