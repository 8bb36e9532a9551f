"""A record on the terminal."""

from __future__ import annotations

from .. import errors
from ..terminal import Terminal
from .seen import Seen
from .summary import Row, largest_rows, never_touched, steps_of

MOST_ROWS = 8
MOST_STEPS = 12


def show(seen: Seen, number: int | None = None, terminal: Terminal | None = None) -> None:
    terminal = terminal or Terminal()
    kept = {step.number: step for step in seen.steps}
    if number is not None and number not in kept:
        known = f"{min(kept)} to {max(kept)}" if kept else "none"
        raise errors.unfit("Seen.report", "step", f"one that is kept: {known}", str(number))
    tables = []
    for table in seen.tables.values():
        touched = table.touched
        share = f"{touched / table.rows:.1%}" if table.rows else ""
        size = f"{table.rows} x {table.columns} {table.dtype}"
        tables.append((table.name, size, str(touched), str(table.rows - touched), share))
    terminal.heading(f"{seen.count} steps, {len(kept)} of them kept")
    terminal.table(("table", "size", "touched rows", "never touched", ""), tables, title="tables")
    if not kept:
        return
    chosen = kept[max(kept) if number is None else number]
    for name in seen.tables:
        steps = steps_of(seen, name)
        if not steps:
            continue
        cells = [
            (
                *map(str, (one.step, one.bags, one.empty, one.entries, one.unique, one.repeated)),
                f"{one.norm:.4g}",
                f"{one.median:.4g}",
                f"{one.largest:.4g}",
                " ".join(_bad(one.bad_bags, "bag") + _bad(one.bad_rows, "gradient row")),
            )
            for one in steps[-MOST_STEPS:]
        ]
        columns = ("step", "bags", "empty", "ids", "unique", "repeats", "norm", "median", "largest")
        terminal.table((*columns, "not finite"), cells, title=f"{name}, step by step")
        missed = ", ".join(_run(first, end) for first, end in never_touched(seen, name))
        terminal.text(f"never looked up in {name}: {missed or 'none'}")
        rows = [_row(row) for row in largest_rows(chosen, name, MOST_ROWS)]
        if rows:
            title = f"the largest gradients of {name} in step {chosen.number}"
            terminal.table(("row", "norm", "of the median", "times", "from the bags"), rows, title=title)


def _bad(count: int, what: str) -> list[str]:
    return [f"{count} {what}{'s' if count > 1 else ''}"] if count else []


def _run(first: int, end: int) -> str:
    return str(first) if end == first + 1 else f"{first} to {end - 1}"


def _row(row: Row) -> tuple[str, ...]:
    bags = [f"{bag.number}: {_ids(bag.ids)}" for bag in row.bags[:3]]
    more = [f"and {len(row.bags) - 3} more"] if len(row.bags) > 3 else []
    norm = "not finite" if row.norm is None else f"{row.norm:.4g}"
    share = "" if row.share is None else f"{row.share:.1f} times"
    return str(row.row), norm, share, str(row.times), "; ".join(bags + more)


def _ids(ids: list[int]) -> str:
    return " ".join(map(str, ids[:6])) + (" …" if len(ids) > 6 else "")
