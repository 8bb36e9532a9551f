"""What is kept of one look-up, and of one gradient of a table: few numbers about all of it, and a part as it was."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass
class Kept:
    @property
    def nbytes(self) -> int:
        """In memory; the objects themselves count, too, or a million small steps would be nothing."""
        return 1024 + sum(int(getattr(self, one.name).nbytes) for one in fields(self) if one.type == "Array")


@dataclass
class Lookup(Kept):
    """One call. Of many entries only the first are kept, in whole bags; the counts are those of all."""

    ids: Array
    offsets: Array  # where the kept bags begin
    entries: int
    bags: int
    empty: int  # bags without an entry
    repeated: int  # entries whose id stands in their bag already
    unique: int
    bad: int  # bags whose result is not finite


@dataclass
class Gradient(Kept):
    """Of one backward pass. Of many rows those with the largest norms are kept; what is not finite is the largest."""

    indices: Array
    norms: Array
    values: Array  # the first columns of these rows
    rows: int  # that are not zero
    norm: float  # of the whole gradient
    median: float  # of the norms of its rows
    bad: int  # rows with something that is not finite


def lookup(ids: Array, offsets: Array, bad: int, most: int) -> Lookup:
    ids, offsets = ids.astype(np.int64), offsets.astype(np.int64)
    ends = np.append(offsets[1:], len(ids))
    bags = np.repeat(np.arange(len(offsets)), ends - offsets)
    order = np.lexsort((ids[: len(bags)], bags))
    same = (np.diff(ids[order]) == 0) & (np.diff(bags[order]) == 0)
    kept = int(np.searchsorted(ends, most, side="right"))
    return Lookup(
        ids=ids[: ends[kept - 1] if kept else 0].copy(),
        offsets=offsets[:kept].copy(),
        entries=len(ids),
        bags=len(offsets),
        empty=int((ends == offsets).sum()),
        repeated=int(same.sum()),
        unique=len(np.unique(ids)),
        bad=bad,
    )


def without(ids: Array, offsets: Array, padding: int) -> tuple[Array, Array]:
    """Bags without the id that only fills them up."""
    kept = ids != padding
    return ids[kept], np.concatenate([[0], np.cumsum(kept)])[offsets]


def gradient(indices: Array | None, rows: Array, most: int, columns: int) -> Gradient:
    """Of a dense gradient, or of rows with their numbers, each once."""
    rows = rows.reshape(len(rows), -1)
    touched = np.flatnonzero(rows.any(1))  # NaN is something
    rows = rows[touched]
    indices = touched if indices is None else indices[touched]
    with np.errstate(all="ignore"):
        norms = np.sqrt(np.square(rows, dtype=np.float64).sum(1))
    finite = np.isfinite(norms)
    order = np.argsort(np.where(finite, -norms, -np.inf), kind="stable")[:most]
    return Gradient(
        indices=indices[order].astype(np.int64),
        norms=norms[order],
        values=rows[order, :columns].astype(np.float32),
        rows=len(rows),
        norm=float(np.sqrt(np.square(norms[finite]).sum())),
        median=float(np.median(norms[finite])) if finite.any() else 0.0,
        bad=int((~finite).sum()),
    )
