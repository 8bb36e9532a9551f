"""`gradbag export`: a page as a Python script, as a GraphDef or as a drawing."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .. import page as pages
from ..graph.graphdef import to_graphdef_bytes
from ..page import data_files
from ..page.export_python import to_python
from ..page.export_svg import to_svg
from .opening import existing


def run(options: argparse.Namespace) -> int:
    page = pages.load(existing(options.file))
    if options.to == "python":
        content = to_python(page).encode()
    elif options.to == "svg":
        content = to_svg(page).encode()
    else:
        content = to_graphdef_bytes(pages.to_graph(page), text=bool(options.out) and options.out.endswith(".pbtxt"))
    if options.out:
        data_files.write_whole(Path(options.out), content)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
    return 0
