"""Files of numbers that somebody brings: each array becomes a Const. Nothing in them is executed or unpickled."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from ... import errors
from ...page import data_files
from ...page.model import Page
from .carrying import MOST_ELEMENTS, inline

Array = np.ndarray[Any, Any]
MOST_MEMBERS = 64
APART = 170  # pixels between blocks


def data_page(data: bytes, name: str) -> Page | None:
    """A page of constants, one for each array of a file; None for a file that is of another kind."""
    path = PurePosixPath(name)
    read = READERS.get(path.suffix.lower())
    if read is None:
        return None
    page = Page()
    for called, array in read(data, name, path.stem).items():
        if array.size > MOST_ELEMENTS:
            raise errors.ResourceExhaustedError(
                f"{name}: {called} has {array.size} elements; a page takes up at most {MOST_ELEMENTS}"
            )
        literal = inline(array)
        dtype, value = literal.pop("dtype"), literal
        node = _free(page, called)
        page.nodes[node] = {
            "op": "Const",
            "attrs": {
                "dtype": dtype,
                "value": value["value"] if set(value) == {"value"} else {**value, "dtype": dtype},
            },
        }
    page.document["title"] = path.stem
    page.document["layout"] = {node: [0, APART * place] for place, node in enumerate(page.nodes)}
    return page


def _free(page: Page, called: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", called).strip("_")[:60] or "data"
    name, number = plain, 1
    while name in page.nodes:
        number += 1
        name = f"{plain}_{number}"
    return name


# ------------------------------------------------------------------ kinds of files
def _npy(data: bytes, name: str, stem: str) -> dict[str, Array]:
    return {stem: data_files.parse(data, name)}


def _npz(data: bytes, name: str, stem: str) -> dict[str, Array]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [one for one in archive.infolist() if one.filename.endswith(".npy")]
            if not members or len(members) > MOST_MEMBERS:
                raise errors.InvalidArgumentError(f"{name} holds {len(members)} arrays; 1 to {MOST_MEMBERS} are read")
            size = sum(one.file_size for one in members)  # said before anything is unpacked, and held to below
            if size > 16 * MOST_ELEMENTS:
                raise errors.ResourceExhaustedError(
                    f"{name} holds {errors.in_bytes(size)} of arrays, too many for a page"
                )
            found = {}
            for one in members:
                with archive.open(one) as file:
                    found[one.filename.removesuffix(".npy")] = data_files.parse(file.read(one.file_size + 1), name)
            return found
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as problem:
        raise errors.InvalidArgumentError(f"{name} is not an .npz file: {problem}") from None


def _csv(data: bytes, name: str, stem: str) -> dict[str, Array]:
    """Columns with names become one array each; a table of numbers alone becomes a matrix."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise errors.InvalidArgumentError(f"{name} is not text in UTF-8: {problem.reason}") from None
    first = text.split("\n", 1)[0]
    divider = max("\t;,", key=first.count)
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=divider) if any(cell.strip() for cell in row)]
    if not rows:
        raise errors.InvalidArgumentError(f"{name} holds no values")
    width = len(rows[0])
    for place, row in enumerate(rows, 1):
        if len(row) != width:
            raise errors.InvalidArgumentError(f"{name}: row {place} has {len(row)} cells, the first has {width}")
    named = any(_number(cell) is None for cell in rows[0]) and len(rows) > 1
    columns = list(zip(*rows[1 if named else 0 :], strict=True))
    arrays = [_column(column) for column in columns]
    if named:
        return {
            cell.strip() or f"{stem}_{place}": array
            for place, (cell, array) in enumerate(zip(rows[0], arrays, strict=True))
        }
    if all(array.dtype.kind in "if" for array in arrays):
        matrix = np.stack(arrays, axis=1)
        matrix = matrix.astype(np.float32) if matrix.dtype.kind == "f" else matrix
        return {stem: matrix[:, 0] if width == 1 else matrix}
    return {f"{stem}_{place}": array for place, array in enumerate(arrays)}


def _column(cells: Sequence[str]) -> Array:
    """Whole numbers, numbers, or words; an empty cell among numbers is nan."""
    numbers = [float("nan") if not cell.strip() else _number(cell) for cell in cells]
    if any(number is None for number in numbers):
        return np.array([cell.strip() for cell in cells], object)
    found = np.array(numbers, np.float64)
    if all(re.fullmatch(r"\s*[+-]?\d{1,18}\s*", cell) for cell in cells):
        whole = np.array([int(cell) for cell in cells], np.int64)
        small = np.abs(whole).max(initial=0) < 2**31
        return whole.astype(np.int32) if small else whole
    return found.astype(np.float32)


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _parquet(data: bytes, name: str, stem: str) -> dict[str, Array]:
    """A column of numbers or words is an array; one of lists gives ids and segment ids."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise errors.InvalidArgumentError(f"{name}: to read Parquet, install pyarrow") from None
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        rows, width = file.metadata.num_rows, file.metadata.num_columns
        if rows > MOST_ELEMENTS or width > MOST_MEMBERS:
            raise errors.ResourceExhaustedError(f"{name} has {rows} rows and {width} columns, too many for a page")
        table = file.read()
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise errors.InvalidArgumentError(f"{name} is not a Parquet file: {str(problem)[:200]}") from None
    found: dict[str, Array] = {}
    for column in table.column_names:
        array = table[column].combine_chunks()
        if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
            lengths = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
            found[column] = _plain(array.flatten(), name, column)
            found[f"{column}_segment_ids"] = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        else:
            found[column] = _plain(array, name, column)
    return found


def _plain(array: Any, name: str, column: str) -> Array:
    found = np.asarray(array.to_numpy(zero_copy_only=False))
    if found.dtype.kind == "O" and not all(isinstance(one, (str, bytes)) for one in found):
        raise errors.InvalidArgumentError(
            f"{name}: the column {column[:60]!r} of {array.type} cannot be shown as a tensor"
        )
    return found


READERS: dict[str, Callable[[bytes, str, str], dict[str, Array]]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
}
