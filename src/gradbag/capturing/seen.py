"""The record of a training: which rows were looked up, in which bags, and what gradients they got."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from .. import errors
from .lookups import Gradient, Lookup, gradient, lookup, without
from .watching import watching_of

Array = np.ndarray[Any, Any]


@dataclass
class Table:
    name: str
    rows: int
    columns: int
    dtype: str
    bits: Array  # one for each row: whether it was ever looked up

    def touch(self, ids: Array) -> None:
        inside = np.unique(ids[(ids >= 0) & (ids < self.rows)])
        np.bitwise_or.at(self.bits, inside >> 3, (1 << (inside & 7)).astype(np.uint8))

    @property
    def touched(self) -> int:
        return int(np.bitwise_count(self.bits).sum()) if hasattr(np, "bitwise_count") else int(self.mask().sum())

    def mask(self) -> Array:
        return np.unpackbits(self.bits, count=self.rows, bitorder="little").astype(bool)


@dataclass
class Step:
    number: int
    lookups: dict[str, list[Lookup]] = field(default_factory=dict)
    gradients: dict[str, list[Gradient]] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return sum(
            one.nbytes for kept in (self.lookups, self.gradients) for several in kept.values() for one in several
        )


class Seen:
    """What `capture` has seen. Its latest steps are kept, as many as `most_bytes` holds; of rows only whether they were
    looked up, one bit each, in all steps."""

    def __init__(self, most_bytes: int = 64 << 20, most_entries: int = 1 << 16, most_rows: int = 256) -> None:
        for name, value in (("most_bytes", most_bytes), ("most_entries", most_entries), ("most_rows", most_rows)):
            errors.check_natural("capture", name, value)
        self.most_bytes, self.most_entries, self.most_rows = most_bytes, most_entries, most_rows
        self.tables: dict[str, Table] = {}
        self.steps: deque[Step] = deque()
        self.count = 0  # steps in all
        self._bytes = 0
        self._ended = True  # whether the next look-up begins a step
        self._lock = RLock()  # gradients come from another thread
        self._watching: Any = None

    # ------------------------------------------------------------------ recording
    def add_table(self, name: str, rows: int, columns: int, dtype: str) -> None:
        self.tables[name] = Table(name, rows, columns, dtype, np.zeros(-(-rows // 8), np.uint8))

    def looked_up(self, table: str, ids: Array, offsets: Array, result: Array | None, padding: int | None) -> None:
        """One call: ids one after the other, where bags begin, and what came out, a row for each bag."""
        ids, offsets = np.asarray(ids).reshape(-1), np.asarray(offsets)
        if padding is not None:
            ids, offsets = without(ids, offsets, padding)
        bad = 0
        if result is not None and len(offsets):
            bad = int((~np.isfinite(np.asarray(result).reshape(len(offsets), -1)).all(1)).sum())
        made = lookup(ids, offsets, bad, self.most_entries)
        with self._lock:
            self.tables[table].touch(ids.astype(np.int64))
            self._keep(made, self._step().lookups.setdefault(table, []))

    def graded(self, table: str, indices: Array | None, rows: Array) -> None:
        """The gradient of one backward pass, dense, or rows with their numbers. The step is over."""
        made = gradient(indices, np.asarray(rows), self.most_rows, columns=64)
        with self._lock:
            if not self.steps:
                self._step()
            self._keep(made, self.steps[-1].gradients.setdefault(table, []))
            self._ended = True

    def step(self) -> None:
        """Say that a step is over, where no gradient says so: the next look-up begins another."""
        with self._lock:
            self._ended = True

    def _step(self) -> Step:
        if self._ended:
            self.count += 1
            self.steps.append(Step(self.count))
            self._ended = False
        return self.steps[-1]

    def _keep(self, made: Lookup | Gradient, beside: list[Any]) -> None:
        beside.append(made)
        self._bytes += made.nbytes
        while self._bytes > self.most_bytes and len(self.steps) > 1:
            self._bytes -= self.steps.popleft().nbytes
        if self._bytes > self.most_bytes:  # a step that is larger than all that may be kept
            beside.pop()
            self._bytes -= made.nbytes

    # ------------------------------------------------------------------ while a model runs
    def __enter__(self) -> Seen:
        if self._watching is not None:
            self._watching.begin(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._watching is not None:
            self._watching.end()
            self._watching = None

    # ------------------------------------------------------------------ afterwards
    def report(self, step: int | None = None) -> None:
        """Show tables, steps, and the largest gradients of a step (the last) with their bags, on the terminal."""
        from .report import show

        show(self, step)

    def save(self, path: str | Path) -> None:
        """Write a file for `gradbag studio`, say seen.gbcap; `gradbag.capturing.files.load` reads it, too."""
        from .files import save

        save(self, Path(path))


def capture(model: Any, *, most_bytes: int = 64 << 20, most_entries: int = 1 << 16, most_rows: int = 256) -> Seen:
    """Record what a model does with its tables, and change nothing about it.

        with gradbag.capture(model) as seen:
            train(model)
        seen.report()
        seen.save("seen.gbcap")  # gradbag studio seen.gbcap

    `model` is a module of PyTorch, a model or layer of Keras, or a tree of JAX's arrays that `gradbag.jax` looks up in.
    A step is what was looked up until a gradient came, or until `seen.step()`. The latest steps are kept, as many as
    `most_bytes` holds; of a look-up at most `most_entries` ids, of a gradient the `most_rows` largest rows.
    """
    watching = watching_of(model)
    if watching is None:
        wanted = "a module of PyTorch, a model or layer of Keras, or a tree of arrays of JAX"
        raise errors.wrong_type("capture", "model", [wanted], type(model).__name__)
    seen = Seen(most_bytes, most_entries, most_rows)
    seen._watching = watching
    return seen
