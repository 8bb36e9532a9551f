"""`gradbag tour`."""

from __future__ import annotations

import argparse
from typing import Any


def add(commands: Any) -> None:
    tour = commands.add_parser("tour", help="see what the library does, in two minutes")
    tour.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from .. import tour

    tour.main()
    return 0
