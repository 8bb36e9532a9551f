"""`gradbag diff`: what differs between two pages in meaning."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from ..page.diff import diff
from ..terminal import Terminal
from .opening import open_page

LONGEST = 60


def run(options: argparse.Namespace) -> int:
    found = diff(open_page(options.one), open_page(options.other))
    if options.json:
        print(json.dumps({"differences": [asdict(d) for d in found]}, indent=2, ensure_ascii=False))
    elif found:
        rows = [(d.change, d.place, _short(d.before), _short(d.after)) for d in found]
        Terminal().table(("change", "where", "before", "after"), rows)
    else:
        Terminal().text("no differences", style="green")
    return 1 if found else 0


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
