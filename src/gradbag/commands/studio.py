"""`gradbag studio`: pages in the browser."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from . import UsageError

NEEDED = ("starlette", "uvicorn", "websockets", "msgspec")


def run(options: argparse.Namespace) -> int:
    folder, record = Path(options.folder), ""
    if folder.suffix == ".gbcap" and folder.is_file():  # made by gradbag.capture
        folder, record = folder.parent, folder.name
    if not folder.is_dir():
        raise UsageError(f"{options.folder}: there is no such folder")
    if options.port is not None and not 0 <= options.port <= 65535:
        raise UsageError(f"--port {options.port}: a port is a number up to 65535")
    if os.open not in os.supports_dir_fd:
        raise UsageError("the studio needs Linux or macOS")
    try:
        from ..studio import launch
    except ModuleNotFoundError as problem:
        if problem.name is None or problem.name.partition(".")[0] not in NEEDED:
            raise
        raise UsageError("the studio is not installed: pip install 'gradbag[studio]'") from None
    launch.serve(folder.resolve(), options.port, browser=not options.no_browser, record=record)
    return 0
