"""Values for people: a small table, a summary, a picture in few numbers, and parts of what is too large to show."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ... import dtypes, errors
from ...graph.cache import array_digest
from ...page import literals
from ..messages import Described, Heat, Histogram, Summary, ValueRows

Array = np.ndarray[Any, Any]

MOST_SHOWN = 64  # elements that travel with the result of a node
MOST_ANSWERED = 10_000
MOST_HEATED = 64  # rows, and columns, of a heat map
BINS = 20
MOST_COUNTED = 1 << 20  # elements that a summary looks at at once; of larger arrays a histogram takes a part
_PART = re.compile(r"(-?[0-9]{1,18})|(-?[0-9]{0,18}):(-?[0-9]{0,18})")


def digest(array: Array) -> str:
    """A name for a value: equal for equal dtype, shape and content."""
    return array_digest(array).hex()


def described(name: str, array: Array) -> Described:
    """A value as a block shows it; numbers are written as page files write them."""
    dtype = dtypes.name_of(array.dtype)
    return Described(
        name=name,
        dtype=dtype,
        shape=list(array.shape),
        bytes=int(array.nbytes),
        table=table(array) if array.size <= MOST_SHOWN else None,
        summary=summary(array) if dtype in dtypes.NUMBER or dtype == "bool" else None,
    )


def table(array: Array) -> Any:
    """Nested lists of an array's elements, as in page files; strings that are no text as base64."""
    if dtypes.name_of(array.dtype) == "string" and not literals.is_text(array):
        return literals.to_base64(array)
    return literals.to_json(array)


# ------------------------------------------------------------------ summaries
def summary(array: Array) -> Summary:
    """Extremes, mean and counts of special numbers, of complex ones by their absolute values; infinities are extremes.

    The histogram has the finite numbers, of a very large array some of them.
    """
    flat = array.reshape(-1)
    low, high, total, finite = np.inf, -np.inf, 0.0, 0
    zeros = nans = infs = 0
    for start in range(0, flat.size, MOST_COUNTED):
        numbers = _real(flat[start : start + MOST_COUNTED])
        usual = numbers[np.isfinite(numbers)]
        special = numbers[np.isinf(numbers)]
        both = [part for part in (usual, special) if part.size]
        low = min([low, *(float(part.min()) for part in both)])
        high = max([high, *(float(part.max()) for part in both)])
        zeros += int((usual == 0).sum())
        nans += numbers.size - usual.size - special.size
        infs += special.size
        if usual.size:
            total += (_mean(usual) - total) * (usual.size / (finite + usual.size))
            finite += usual.size
    there = low <= high
    made = Summary(
        min=_number(low) if there else None,
        max=_number(high) if there else None,
        mean=_number(total) if finite else None,
        zeros=zeros,
        nans=nans,
        infs=infs,
        histogram=_histogram(_real(_sampled(flat))),
        heat=_heat(array),
    )
    if dtypes.name_of(array.dtype) in dtypes.INTEGER and flat.size:  # exact, also beyond 2**53
        made["min"], made["max"] = literals.to_json(flat.min()), literals.to_json(flat.max())
    return made


def _sampled(flat: Array) -> Array:
    return flat if flat.size <= MOST_COUNTED else flat[:: -(-flat.size // MOST_COUNTED)]


def _real(array: Array) -> Array:
    """Doubles to compute with."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.abs(array).astype(np.float64) if array.dtype.kind == "c" else array.astype(np.float64)


def _mean(numbers: Array) -> float:
    with np.errstate(over="ignore"):
        mean = numbers.mean()
    return float(mean if np.isfinite(mean) else (numbers / numbers.size).sum())  # the sum was too large for a double


def _number(value: Any) -> float | str:
    made: float | str = literals.plain(np.asarray(value, np.float64))
    return made


def _histogram(numbers: Array) -> Histogram | None:
    finite = numbers[np.isfinite(numbers)]
    if finite.size < 2:
        return None
    low, high = float(finite.min()), float(finite.max())
    if not np.isfinite(high - low):
        return None
    if low == high or (high - low) / BINS <= np.spacing(max(abs(low), abs(high))):  # too narrow for bins
        return Histogram(edges=[low, high], counts=[int(finite.size)])
    counts, edges = np.histogram(finite, BINS, (low, high))
    return Histogram(edges=edges.tolist(), counts=counts.tolist())


def _heat(array: Array) -> Heat | None:
    """Means over blocks of a matrix; null where a block has no finite number."""
    if array.ndim < 2 or not array.size:
        return None
    matrix = array.reshape(-1, array.shape[-1])
    high, wide = (min(n, MOST_HEATED) for n in matrix.shape)
    # Of a very large one, some rows and columns stand for their block.
    step = max(1, matrix.size // MOST_COUNTED)
    down = min(step, max(1, matrix.shape[0] // high))
    across = min(-(-step // down), max(1, matrix.shape[1] // wide))
    numbers = _real(matrix[::down, ::across])
    rows = np.linspace(0, numbers.shape[0], high + 1).astype(int)[:-1]
    columns = np.linspace(0, numbers.shape[1], wide + 1).astype(int)[:-1]
    finite = np.isfinite(numbers)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        total = np.add.reduceat(np.add.reduceat(np.where(finite, numbers, 0), rows, 0), columns, 1)
        count = np.add.reduceat(np.add.reduceat(finite.astype(np.int64), rows, 0), columns, 1)
        means = (total / count).reshape(-1)
    return Heat(rows=high, columns=wide, values=[float(m) if np.isfinite(m) else None for m in means])


# ------------------------------------------------------------------ parts
def cut(
    array: Array, start: int, count: int, columns: tuple[int, int] | None = None, slice_text: str = ""
) -> ValueRows:
    """Some rows of a value, and of these some columns: (first, how many).

    `slice_text` picks from each axis first, "1,:,0:5" for example; what remains is seen as a matrix whose rows are
    all axes but the last. The answer has its shape before it was seen so, and the rows from `start` on.
    """
    part = sliced(array, slice_text)
    matrix = part.reshape(-1, 1) if part.ndim < 2 else part.reshape(-1, part.shape[-1])
    first, wide = (0, matrix.shape[1]) if columns is None else columns
    for name, value in (("start", start), ("count", count), ("columns", first), ("columns", wide)):
        if not 0 <= value < 2**53:
            raise errors.InvalidArgumentError(f"{name} must be a whole number that is not negative")
    wide = min(wide, max(matrix.shape[1] - first, 0), MOST_ANSWERED)
    high = min(count, MOST_ANSWERED // max(wide, 1))
    rows = matrix[start : start + high, first : first + wide]
    return ValueRows(shape=list(part.shape), start=start, table=table(np.ascontiguousarray(rows)))


def sliced(array: Array, text: str) -> Array:
    """The part that "1,:,0:5" names; fewer parts than axes leave the last ones whole."""
    picks: list[int | slice] = []
    for axis, word in enumerate(text.replace(" ", "").split(",") if text.strip() else []):
        found = _PART.fullmatch(word)
        if found is None or axis >= array.ndim:
            raise errors.InvalidArgumentError(
                f"{text[:60]!r} is no slice of shape {list(array.shape)}: write one number or range a:b for each axis"
            )
        if found[1] is None:
            picks.append(slice(*(int(bound) if bound else None for bound in (found[2], found[3]))))
            continue
        place, size = int(found[1]), array.shape[axis]
        if not -size <= place < size:
            raise errors.InvalidArgumentError(f"{text[:60]!r}: axis {axis} has {size} entries, there is no {place}")
        picks.append(place)
    return np.asarray(array[tuple(picks)])
