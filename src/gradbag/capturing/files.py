"""A record in a file: a zip of .npy files, and of one text that says what they are. Nothing in it is ever unpickled."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from .. import errors
from ..page import data_files
from .lookups import Gradient, Lookup
from .seen import Seen, Step, Table

FORMAT = "gradbag-capture/1"
SUFFIX = ".gbcap"
MOST_BYTES = 1 << 30
MOST_MEMBERS = 1 << 20


def save(seen: Seen, path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        count = 0

        def kept(one: Any) -> dict[str, Any]:
            nonlocal count
            told = {}
            for field in fields(one):
                value = getattr(one, field.name)
                if isinstance(value, np.ndarray):
                    archive.writestr(zipfile.ZipInfo(f"{count}.npy"), data_files.file_bytes(value))
                    value, count = count, count + 1
                elif isinstance(value, float) and not isfinite(value):
                    value = str(value)
                told[field.name] = value
            return told

        told = {
            "format": FORMAT,
            "count": seen.count,
            "tables": [kept(table) for table in seen.tables.values()],
            "steps": [
                {
                    "number": step.number,
                    "lookups": {name: [kept(one) for one in some] for name, some in step.lookups.items()},
                    "gradients": {name: [kept(one) for one in some] for name, some in step.gradients.items()},
                }
                for step in seen.steps
            ],
        }
        archive.writestr(zipfile.ZipInfo("capture.json"), json.dumps(told, indent=1))
    data_files.write_whole(path, made.getvalue())


def load(path: str | Path) -> Seen:
    """The record in a file."""
    where = Path(path)
    return parse(data_files.read_bytes(where, where.name, MOST_BYTES), where.name)


def parse(content: bytes, name: str) -> Seen:
    """The record in the bytes of a file, of which nothing is believed."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _Reading(archive, name).seen()
    except errors.Error:
        raise
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, OSError, RuntimeError) as problem:
        detail = str(problem)[:200] or type(problem).__name__
        raise errors.InvalidArgumentError(f"{name} is no record of gradbag.capture: {detail}") from None


class _Reading:
    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive, self._name = archive, name
        members = archive.infolist()
        size = sum(one.file_size for one in members)
        if size > MOST_BYTES or len(members) > MOST_MEMBERS:
            raise errors.ResourceExhaustedError(
                f"{name} holds {errors.in_bytes(size)} in {len(members)} parts; "
                f"at most {errors.in_bytes(MOST_BYTES)} are read"
            )
        self._sizes = {one.filename: one.file_size for one in members}

    def _bytes(self, name: str) -> bytes:
        with self._archive.open(name) as file:
            return file.read(self._sizes[name] + 1)

    def seen(self) -> Seen:
        told = json.loads(self._bytes("capture.json"))
        if told["format"] != FORMAT:
            raise ValueError(f"its format is {str(told['format'])[:60]!r}, not {FORMAT!r}")
        made = Seen()
        made.count = _natural(told["count"])
        for table in [self._read(Table, one) for one in told["tables"]]:
            if table.bits.dtype != np.uint8 or table.bits.shape != (-(-table.rows // 8),):
                raise ValueError(f"the table {table.name[:60]!r} has not one bit for each row")
            made.tables[table.name] = table
        for one in told["steps"]:
            step = Step(_natural(one["number"]))
            step.lookups = self._several(made, Lookup, one["lookups"])
            step.gradients = self._several(made, Gradient, one["gradients"])
            made.steps.append(step)
        return made

    def _several(self, made: Seen, kind: type, told: dict[str, list[Any]]) -> dict[str, list[Any]]:
        unknown = [name for name in told if name not in made.tables]
        if unknown:
            raise ValueError(f"it has no table {unknown[0][:60]!r}")
        return {name: [self._read(kind, one) for one in some] for name, some in told.items()}

    def _read(self, kind: type, told: dict[str, Any]) -> Any:
        given: dict[str, Any] = {}
        for field in fields(kind):
            value = told[field.name]
            if field.type == "Array":
                value = data_files.parse(self._bytes(f"{_natural(value)}.npy"), self._name)
            else:
                value = _READERS[str(field.type)](value)
            given[field.name] = value
        made = kind(**given)
        if isinstance(made, Lookup):
            _check_bags(made)
        if isinstance(made, Gradient):
            _check_rows(made)
        return made


def _check_bags(lookup: Lookup) -> None:
    bounds = np.append(lookup.offsets, len(lookup.ids))
    plain = lookup.ids.dtype == lookup.offsets.dtype == np.int64 and lookup.ids.ndim == lookup.offsets.ndim == 1
    if not plain or (len(lookup.offsets) and (bounds[0] or (np.diff(bounds) < 0).any())):
        raise ValueError("the offsets of bags do not ascend from 0 to the number of ids")


def _check_rows(gradient: Gradient) -> None:
    parts = (gradient.indices, gradient.norms, gradient.values)
    if [(part.dtype, part.ndim) for part in parts] != [(np.int64, 1), (np.float64, 1), (np.float32, 2)]:
        raise ValueError("the rows of a gradient are no numbers, norms and values")
    if len({len(part) for part in parts}) > 1:
        raise ValueError("the rows of a gradient have not one norm each")


def _natural(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise ValueError(f"{str(value)[:60]!r} is no count")
    return value


_READERS: dict[str, Callable[[Any], Any]] = {"int": _natural, "float": float, "str": str}
