"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

AnyPath = str | os.PathLike[str]


@contextmanager
def replacing(path: AnyPath) -> Iterator[IO[bytes]]:
    """A new file beside the old one, which stays in its place until the new one is whole and on the disk."""
    target = Path(path)
    handle, name = tempfile.mkstemp(prefix=target.name + ".", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_folder(target)


def sync_folder(path: AnyPath) -> None:
    """Let the name of a file survive a failure of the machine, too."""
    if os.name == "posix":
        folder = os.open(Path(path).parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
