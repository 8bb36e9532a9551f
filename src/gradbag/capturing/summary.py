"""What people ask of a record, worked out from it: once for the terminal and for the studio."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .seen import Seen, Step

MOST_BAGS = 8  # that are named beside a row
MOST_RUNS = 12  # of rows that were never looked up


@dataclass
class TableStep:
    """One table in one step."""

    step: int
    table: str
    entries: int
    bags: int
    empty: int
    repeated: int
    unique: int
    bad_bags: int
    gradient_rows: int
    norm: float
    median: float
    largest: float
    bad_rows: int


@dataclass
class Bag:
    call: int  # which look-up of the step
    number: int
    ids: list[int]


@dataclass
class Row:
    """A row with a large gradient, and the bags that it came from."""

    row: int
    norm: float | None  # None: not finite
    share: float | None  # of the median of all rows' norms
    values: list[float | None]
    times: int  # in kept bags
    bags: list[Bag]


def steps_of(seen: Seen, table: str) -> list[TableStep]:
    return [_in_step(step, table) for step in seen.steps if table in step.lookups or table in step.gradients]


def _in_step(step: Step, table: str) -> TableStep:
    lookups, gradients = step.lookups.get(table, []), step.gradients.get(table, [])
    finite = [float(n) for one in gradients for n in one.norms if np.isfinite(n)]
    return TableStep(
        step=step.number,
        table=table,
        entries=sum(one.entries for one in lookups),
        bags=sum(one.bags for one in lookups),
        empty=sum(one.empty for one in lookups),
        repeated=sum(one.repeated for one in lookups),
        unique=max((one.unique for one in lookups), default=0),
        bad_bags=sum(one.bad for one in lookups),
        gradient_rows=max((one.rows for one in gradients), default=0),
        norm=float(np.sqrt(sum(one.norm**2 for one in gradients))),
        median=max((one.median for one in gradients), default=0.0),
        largest=max(finite, default=0.0),
        bad_rows=sum(one.bad for one in gradients),
    )


def largest_rows(step: Step, table: str, most: int) -> list[Row]:
    """The rows with the largest gradients; those that are not finite come first."""
    made = []
    for one in step.gradients.get(table, []):
        for row, norm, values in zip(one.indices.tolist(), one.norms.tolist(), one.values.tolist(), strict=True):
            bags = list(_bags_of(step, table, row))
            finite = bool(np.isfinite(norm))
            made.append(
                Row(
                    row=row,
                    norm=norm if finite else None,
                    share=norm / one.median if finite and one.median else None,
                    values=[value if np.isfinite(value) else None for value in values],
                    times=sum(bag.ids.count(row) for bag in bags),
                    bags=bags[:MOST_BAGS],
                )
            )
            if len(made) == most:
                break
    made.sort(key=lambda row: (row.norm is not None, -(row.norm or 0.0)))
    return made[:most]


def _bags_of(step: Step, table: str, row: int) -> Iterator[Bag]:
    for call, lookup in enumerate(step.lookups.get(table, [])):
        places = np.flatnonzero(lookup.ids == row)
        for bag in np.unique(np.searchsorted(lookup.offsets, places, side="right") - 1).tolist():
            end = lookup.offsets[bag + 1] if bag + 1 < len(lookup.offsets) else len(lookup.ids)
            yield Bag(call, bag, lookup.ids[lookup.offsets[bag] : end].tolist())


def never_touched(seen: Seen, table: str) -> list[tuple[int, int]]:
    """The longest runs of rows that no step has looked up: first row and row behind the last, in order."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], ~seen.tables[table].mask(), [False]]).astype(np.int8)))
    runs = edges.reshape(-1, 2)
    longest = np.argsort(runs[:, 0] - runs[:, 1], kind="stable")[:MOST_RUNS]
    return [(int(first), int(end)) for first, end in runs[np.sort(longest)]]
