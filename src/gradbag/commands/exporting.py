"""`gradbag export`: a page as a Python script, as a GraphDef or as a drawing."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from .. import errors
from ..graph import page as pages
from ..graph import page_data
from ..graph.export_python import to_python
from ..graph.export_svg import to_svg
from .opening import existing


def add(commands: Any) -> None:
    command = commands.add_parser("export", help="write a page as a Python script, a GraphDef or a drawing")
    command.add_argument("file", metavar="PAGE", help="the page")
    command.add_argument("--to", required=True, choices=("python", "graphdef", "svg"), help="what to write")
    command.add_argument("--out", metavar="FILE", help="the file to write; without it, standard output")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    page = pages.load(existing(options.file))
    if options.to == "python":
        content = to_python(page).encode()
    elif options.to == "svg":
        content = to_svg(page).encode()
    else:
        content = _graphdef(page, text=bool(options.out) and options.out.endswith(".pbtxt"))
    if options.out:
        page_data.write_whole(Path(options.out), content)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
    return 0


def _graphdef(page: pages.Page, text: bool) -> bytes:
    try:
        from ..graph.graphdef import to_graphdef_bytes
    except ModuleNotFoundError as problem:
        raise errors.InvalidArgumentError("GraphDef files need `pip install gradbag[graphdef]`") from problem
    return to_graphdef_bytes(pages.to_graph(page), text=text)
