"""Lists of a vocabulary in a file: NumPy's .npz, which is there whole or not at all."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import errors, memory
from .whole_files import AnyPath, replacing

Lists = Mapping[str, np.ndarray[Any, Any]]

# What the reader of zip files raises about one that is damaged, beside the usual.
_UNREADABLE = (zipfile.BadZipFile, EOFError, KeyError, NotImplementedError, RuntimeError, zlib.error)


def write(path: AnyPath, lists: Lists) -> None:
    """Until the new file is whole, and on the disk, the old one stays in its place."""
    with replacing(path) as file:
        np.savez(file, **lists)  # type: ignore[arg-type]  # its stub knows of `allow_pickle` alone


def read(function: str, path: AnyPath) -> Lists:
    """All lists of a file whose checksums are right."""
    try:
        with zipfile.ZipFile(path) as file:
            memory.reserve(function, [(entry.filename, [entry.file_size], 1) for entry in file.infolist()])
            if damaged := file.testzip():
                raise ValueError(f"{damaged} is damaged")
        with np.load(path, allow_pickle=False) as lists:
            return {name: lists[name] for name in lists.files}
    except (FileNotFoundError, errors.Error):
        raise
    except (*_UNREADABLE, ValueError, OSError) as problem:
        told = f"{function}: {os.fspath(path)} is no vocabulary, or damaged: {problem}"
        raise errors.about("path", errors.InvalidArgumentError(told)) from None
    except MemoryError:
        raise errors.ResourceExhaustedError(f"{function}: no memory for the contents of {os.fspath(path)}") from None
