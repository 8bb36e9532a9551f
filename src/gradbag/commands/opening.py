"""What is named on the command line: pages, GraphDefs, saved models and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import errors
from .. import page as pages
from ..graph.graph import Graph
from ..graph.graphdef import load_graphdef
from ..graph.saved_model.loading import FILE
from ..page import data_files, literals
from ..page.canonical import MOST_BYTES, read_text
from . import UsageError


def existing(path: str) -> Path:
    where = Path(path)
    if not where.is_file():
        raise UsageError(f"{path}: there is no such file")
    return where


def is_graph(path: Path) -> bool:
    """Whether a file is a GraphDef: by the end of its name, else by how it begins."""
    if path.suffix in (".pb", ".pbtxt"):
        return True
    if path.suffix == ".json":
        return False
    with path.open("rb") as file:
        return not file.read(64).lstrip().startswith(b"{")


def model_folder(path: str) -> Path | None:
    """The folder of a saved model, if that is what was named: the folder itself, or the file in it."""
    where = Path(path)
    if where.name == FILE and where.is_file():
        return where.parent
    if not where.is_dir():
        return None
    if not (where / FILE).is_file():
        raise UsageError(f"{path}: the folder has no {FILE}, so it is no saved model")
    return where


def open_graph(path: Path, fetch: Sequence[str] = ()) -> Graph:
    """The graph in a GraphDef; only what some nodes need, if these are named."""
    return load_graphdef(path, outputs=fetch or None)


def open_page(path: str) -> pages.Page:
    """A page file, or the page of a GraphDef."""
    where = existing(path)
    return pages.from_graph(open_graph(where), where.stem) if is_graph(where) else pages.load(where)


def typed_value(text: str) -> Any:
    """What stands behind `x=`: the array of a .npy file, or a literal as it stands in a page."""
    if text.endswith(".npy"):
        return data_files.parse(data_files.read_bytes(existing(text), text), text)
    words = ("nan", "inf", "-inf")
    quoted = f'"{text}"' if text in words else text
    if len(quoted.encode()) > MOST_BYTES:
        raise UsageError("a literal of that size belongs in a .npy file")
    try:
        return read_text(f'{{"value": {quoted}\n}}'.encode(), "the literal")["value"]
    except errors.Error as problem:
        raise UsageError(f"{text[:60]!r} is neither a .npy file nor a literal: {problem}") from None


def fed(name: str, value: Any, dtype: str) -> Any:
    """The array of what was typed behind a name."""
    if isinstance(value, np.ndarray):
        return value
    try:
        return literals.to_array(value, dtype)
    except literals.LiteralError as problem:
        raise errors.InvalidArgumentError(f"--feed {name} {problem}") from None
