"""Steps on arrays of NumPy, in place. The adapters of frameworks have modules with the same functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import memory, raw_ops

if TYPE_CHECKING:
    from .entries import Entries
    from .optimizer import Optimizer


def counter() -> int:
    return 0


def full(table: Any, per_row: bool, value: float, dtype: str | None = None) -> Any:
    shape = np.shape(table)
    state = memory.zeros_on_lines(shape[:1] if per_row else shape, np.dtype(dtype or np.asarray(table).dtype))
    if value:
        state[...] = value
    return state


def run(optimizer: Optimizer, table: Any, state: dict[str, Any], entries: Entries) -> None:
    kept = optimizer.kept(state)
    step = state["step"] + 1
    if optimizer.is_lazy:
        # Should the step be refused below, then these rows have decayed already, and `last` says so.
        catch_up(optimizer, table, state, entries.rows, step)
        del kept["last"]
    dtype = getattr(table, "dtype", None)
    numbers = {name: np.asarray(value, dtype) for name, value in optimizer.inputs(step).items()}
    inputs = {name: None if value is None else np.asarray(value) for name, value in entries.inputs.items()}
    getattr(raw_ops, entries.op)(table=table, **kept, **inputs, **numbers, **entries.attrs)
    state["step"] = step


def run_many(optimizer: Optimizer, tables: Any, states: Any, entries: Entries) -> None:
    """One step on many tables, each with its state."""
    step = states[0]["step"] + 1
    kept = [optimizer.kept(state) for state in states]
    lists = {name: [some[name] for some in kept] for name in kept[0]}
    numbers = {name: np.asarray(value, tables[0].dtype) for name, value in optimizer.inputs(step).items()}
    inputs = {name: None if value is None else np.asarray(value) for name, value in entries.inputs.items()}
    getattr(raw_ops, entries.op)(tables=list(tables), **lists, **inputs, **numbers, **entries.attrs)
    for state in states:
        state["step"] = step


def catch_up(optimizer: Optimizer, table: Any, state: dict[str, Any], rows: Any, step: int) -> None:
    rate = np.asarray(optimizer.decay_rate(step), table.dtype)
    raw_ops.RowDecay(table=table, last=state["last"], indices=np.asarray(rows), step=step, rate=rate)
