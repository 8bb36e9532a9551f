"""`gradbag check`: everything that is wrong with pages, without running them."""

from __future__ import annotations

import argparse
import json

from .. import errors
from .. import page as pages
from ..terminal import Terminal
from .opening import existing, is_graph, open_graph

MOST_SHOWN = 50


def run(options: argparse.Namespace) -> int:
    found = {file: problems(file) for file in options.files}
    if options.json:
        listed = [
            {"page": file, "node": p.node, "port": p.port, "text": p.text} for file, ps in found.items() for p in ps
        ]
        print(json.dumps({"problems": listed}, indent=2, ensure_ascii=False))
    else:
        _show(found, Terminal())
    return 1 if any(found.values()) else 0


def problems(file: str) -> list[pages.Problem]:
    """Those of one file; a file that cannot be opened is one problem."""
    where = existing(file)
    try:
        if is_graph(where):
            open_graph(where)
            return []
        return pages.check(pages.load(where))
    except errors.Error as problem:
        return [pages.Problem(problem.node, problem.argument, str(problem))]


def _show(found: dict[str, list[pages.Problem]], terminal: Terminal) -> None:
    for file, listed in found.items():
        if not listed:
            terminal.line(f"{file}: no problems", style="green")
            continue
        rows = [(p.node, p.port, p.text) for p in listed[:MOST_SHOWN]]
        count = f"{len(listed)} problem{'s' if len(listed) > 1 else ''}"
        terminal.line(f"{file}: {count}", style="bold")
        terminal.table(("node", "port", "problem"), rows)
        if len(listed) > MOST_SHOWN:
            terminal.text(f"... and {len(listed) - MOST_SHOWN} more; --json lists them all")
