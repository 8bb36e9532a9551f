"""`gradbag import`: a GraphDef becomes a page."""

from __future__ import annotations

import argparse
import sys

from .. import page as pages
from . import UsageError
from .opening import existing, open_graph


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
