"""`gradbag import`: a GraphDef becomes a page."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ..graph import page as pages
from .opening import UsageError, existing, open_graph


def add(commands: Any) -> None:
    command = commands.add_parser("import", help="make a page of a TensorFlow GraphDef")
    command.add_argument("file", metavar="GRAPH", help="a GraphDef: .pb, or .pbtxt in text form")
    command.add_argument("--out", metavar="PAGE", help="the page file to write; without it, the page is printed")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    where = existing(options.file)
    page = pages.from_graph(open_graph(where), where.stem)
    if options.out:
        pages.save(page, options.out)
    elif page.data:
        names = ", ".join(list(page.data)[:3])
        raise UsageError(f"the page needs data files ({names}); say where it goes: --out NAME.page.json")
    else:
        sys.stdout.write(pages.text(page))
    return 0
