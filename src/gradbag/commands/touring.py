"""`gradbag tour`."""

from __future__ import annotations

import argparse


def run(options: argparse.Namespace) -> int:
    from .. import tour

    tour.main()
    return 0
