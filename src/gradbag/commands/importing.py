"""`gradbag import`: a GraphDef or a saved model becomes a page."""

from __future__ import annotations

import argparse
import sys

from .. import page as pages
from ..graph.saved_model import load_saved_model
from ..page.import_saved_model import from_saved_model
from . import UsageError
from .opening import existing, model_folder, open_graph


def run(options: argparse.Namespace) -> int:
    folder = model_folder(options.file)
    if folder is not None:
        model = load_saved_model(folder, [options.signature] if options.signature else None)
        page = from_saved_model(model, folder.resolve().name)
    elif options.signature:
        raise UsageError("--signature is for the folder of a saved model")
    else:
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
