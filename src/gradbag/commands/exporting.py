"""`gradbag export`: a page as a Python script, as a GraphDef, as a drawing or as a web page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .. import page as pages
from ..graph.graphdef import to_graphdef_bytes
from ..page import data_files
from ..page.export_python import to_python
from ..page.export_svg import to_svg
from . import UsageError
from .opening import existing


def run(options: argparse.Namespace) -> int:
    page = pages.load(existing(options.file))
    if options.to == "python":
        content = to_python(page).encode()
    elif options.to == "svg":
        content = to_svg(page).encode()
    elif options.to == "html":
        content = _web_page(page)
    else:
        content = to_graphdef_bytes(pages.to_graph(page), text=bool(options.out) and options.out.endswith(".pbtxt"))
    if options.out:
        data_files.write_whole(Path(options.out), content)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
    return 0


def _web_page(page: pages.Page) -> bytes:
    try:
        from ..studio.web_page import web_page
    except ModuleNotFoundError as problem:
        if problem.name != "msgspec":
            raise
        raise UsageError("the studio, whose page it is, is not installed: pip install 'gradbag[studio]'") from None
    return web_page(page)
