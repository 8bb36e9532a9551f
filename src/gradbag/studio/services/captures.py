"""Records of `gradbag.capture`, as the page shows them."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

import numpy as np

from ... import errors
from ...capturing.files import parse
from ...capturing.seen import Seen, Table
from ...capturing.summary import largest_rows, never_touched, steps_of
from ..messages import Captured, CapturedRow, CapturedStep, CapturedTable

MOST_STEPS = 2_000
MOST_ROWS = 32
PARTS = 200


def captured(content: bytes, name: str, number: int | None) -> Captured:
    seen = parse(content, name)
    steps = {step.number: step for step in seen.steps}
    if number is not None and number not in steps:
        raise errors.InvalidArgumentError(f"{name} has no step {number}.")
    chosen = max(steps, default=0) if number is None else number
    rows = {
        table: cast("list[CapturedRow]", [asdict(row) for row in largest_rows(steps[chosen], table, MOST_ROWS)])
        for table in (seen.tables if steps else ())
    }
    return Captured(
        count=seen.count, step=chosen, tables=[_table(seen, one) for one in seen.tables.values()], rows=rows
    )


def _table(seen: Seen, table: Table) -> CapturedTable:
    steps = [asdict(one) for one in steps_of(seen, table.name)[-MOST_STEPS:]]
    for one in steps:
        del one["table"]
    return CapturedTable(
        name=table.name,
        rows=table.rows,
        columns=table.columns,
        dtype=table.dtype,
        touched=table.touched,
        strip=[float(part.mean()) for part in np.array_split(table.mask(), min(PARTS, table.rows)) if part.size]
        if table.rows
        else [],
        never=[list(run) for run in never_touched(seen, table.name)],
        steps=cast("list[CapturedStep]", steps),
    )
