"""A page in memory: the document as it was read, and the data files around it."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from .. import dtypes, errors
from . import data_files, literals
from .canonical import MOST_BYTES, read_text, write_text
from .literals import LiteralError
from .migrate import FORMAT, migrate

Array = np.ndarray[Any, Any]


class Page:
    """A document, kept as it is: what is wrong with it is for `check` to say, and what is unknown in it stays.

    `folder` is where its data files lie; `data` holds the arrays of those that are not written yet.
    """

    def __init__(self, document: dict[str, Any] | None = None, folder: Path | None = None) -> None:
        self.document: dict[str, Any] = {"format": FORMAT, "nodes": {}} if document is None else document
        self.folder = folder
        self.data: dict[str, Array] = {}
        self.read_files: dict[tuple[str, str], Array] = {}  # by path and digest

    def section(self, name: str) -> dict[str, Any]:
        """A part of the document, empty where it is missing or no object."""
        found = self.document.get(name)
        return found if isinstance(found, dict) else {}

    @property
    def title(self) -> str:
        found = self.document.get("title")
        return found if isinstance(found, str) else ""

    @property
    def nodes(self) -> dict[str, Any]:
        return self.section("nodes")

    # ------------------------------------------------------------------ literals
    def array(self, literal: Any, dtype: str | None) -> Array | None:
        """The array that a literal means; None for a bare one whose dtype nothing has said."""
        if not isinstance(literal, dict):
            return None if dtype is None else literals.to_array(literal, dtype)
        said = literal.get("dtype", dtype)
        if said is not None and (not isinstance(said, str) or said not in (*dtypes.ANY, *dtypes.QUANTIZED)):
            raise LiteralError(f"has the dtype {repr(said)[:40]}, which is not known")
        forms = [form for form in ("value", "base64", "file") if form in literal]
        if len(forms) != 1:
            raise LiteralError("must be a value, a link {from} or an object with one of value, base64 and file")
        if forms == ["file"]:
            array = self._file(literal["file"], literal.get("sha256"))
            found = dtypes.name_of(array.dtype)
            if said is not None and said != found:
                raise LiteralError(f"must be {said}; {literal['file']} holds {found}")
        elif forms == ["base64"]:
            if said not in (None, "string"):
                raise LiteralError(f"has base64, which is for strings, not for {said}")
            array = literals.from_base64(literal["base64"])
        elif said is None:
            return None
        else:
            array = literals.to_array(literal["value"], said)
        return _reshaped(array, literal["shape"]) if "shape" in literal else array

    def _file(self, path: Any, sha256: Any) -> Array:
        if isinstance(path, str) and path in self.data:
            return self.data[path]
        key = (str(path), str(sha256))
        if key not in self.read_files:
            if self.folder is None:
                raise LiteralError(f"names the file {str(path)[:60]!r}, but the page lies in no folder")
            try:
                self.read_files[key] = data_files.read_file(self.folder, path, sha256)
            except errors.Error as problem:
                raise LiteralError(str(problem)) from None
        return self.read_files[key]

    def literal(self, array: Array, name: str, typed: bool = True) -> Any:
        """An array as it stands in a page; a large one goes to a data file that is called by `name`.

        An untyped one leaves the dtype to what surrounds it.
        """
        array = np.asarray(array)
        dtype = dtypes.name_of(array.dtype)
        kind = {"dtype": dtype} if typed else {}
        if array.size > literals.MOST_INLINE:
            path = self._data_path(name, array)
            self.data[path] = array
            return {"file": path, "sha256": hashlib.sha256(data_files.file_bytes(array)).hexdigest()}
        if dtype == "string" and not literals.is_text(array):
            return {"base64": literals.to_base64(array), **_shape_of_nothing(array), **kind}
        value = literals.to_json(array)
        if typed or (array.size == 0 and array.ndim > 1):
            return {"value": value, **_shape_of_nothing(array), **kind}
        return value

    def _data_path(self, name: str, array: Array) -> str:
        slug = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:100].strip("_") or "array"
        path, number = f"data/{slug}.npy", 1
        while self._is_taken(path, array):
            number += 1
            path = f"data/{slug}_{number}.npy"
        return path

    def _is_taken(self, path: str, array: Array) -> bool:
        """Whether the name stands for something else: here, or in the folder, where other pages may read it."""
        if path in self.data:
            return not np.array_equal(self.data[path], array)
        if self.folder is None or not (self.folder / path).exists():
            return False
        try:
            return data_files.file_content(self.folder, path) != data_files.file_bytes(array)
        except errors.Error:
            return True

    def __repr__(self) -> str:
        return f"<page {self.title!r} of {len(self.nodes)} nodes>"


def _shape_of_nothing(array: Array) -> dict[str, Any]:
    """Nested lists tell every shape but that of an empty array."""
    return {"shape": list(array.shape)} if array.size == 0 and array.ndim > 1 else {}


def _reshaped(array: Array, shape: Any) -> Array:
    if not isinstance(shape, list) or not all(type(n) is int and 0 <= n < 2**40 for n in shape) or len(shape) > 32:
        raise LiteralError(f"has the shape {repr(shape)[:40]}, which is no list of sizes")
    try:
        return array.reshape(shape)
    except ValueError:
        raise LiteralError(f"has {array.size} elements, which do not fill the shape {shape}") from None


# ------------------------------------------------------------------ files
def parse(data: bytes, folder: Path | None = None, name: str = "the page") -> Page:
    """A page from its text."""
    return Page(migrate(read_text(data, name), name), folder)


def load(path: str | os.PathLike[str]) -> Page:
    """Open a page file. Nothing in it runs; what is wrong with it, beyond its text, `check` tells."""
    where = Path(path)
    return parse(data_files.read_bytes(where, str(where), MOST_BYTES), where.parent, str(where))


def text(page: Page) -> str:
    """The canonical text of a page."""
    return write_text(page.document)
