"""What a run has reached, in a file that is always whole."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from .data import Array


def save(path: Path, arrays: dict[str, Array]) -> None:
    """The file is written beside the old one and takes its place at once: who is killed in between has the old one."""
    beside = path.with_suffix(".partial")
    with beside.open("wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def load(path: Path) -> dict[str, Array]:
    with np.load(path) as file:
        return dict(file)
