"""Named arrays in a file of the safetensors format: the length of a header, the header in JSON, and plain bytes.

https://github.com/huggingface/safetensors#format

Other libraries read such a file. What is ours stands in its metadata: a description of the table, and checksums, which
the format itself does not have. A file of others has neither, and is read as well.
"""

from __future__ import annotations

import json
import math
import os
import sys
import zlib
from collections.abc import Mapping
from typing import IO, Any, NamedTuple

import ml_dtypes
import numpy as np

from .. import errors, memory
from ..whole_files import AnyPath, replacing

Array = np.ndarray[Any, Any]
Arrays = Mapping[str, Array]

LONGEST_HEADER = 100_000_000  # bytes, as in the library of the format's authors
CHUNK = 1 << 30  # bytes that are read at once: systems refuse more than two of these
_CODES = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "U64": np.dtype("<u8"),
    "U8": np.dtype("u1"),
}
_NAMES = {dtype: code for code, dtype in _CODES.items()}
_DESCRIPTION, _CHECKSUMS = "gradbag", "gradbag.crc32"


class Contents(NamedTuple):
    """What a file has: arrays, and what we have written about them; empty in a file of others."""

    arrays: dict[str, Array]
    description: dict[str, Any]


# ------------------------------------------------------------------ writing
def write(path: AnyPath, arrays: Arrays, description: Mapping[str, Any]) -> None:
    """Until the new file is whole, and on the disk, the old one stays in its place."""
    if sys.byteorder != "little":
        raise errors.Error("safetensors: the format is little-endian, and this machine is not")
    # The largest items first: all are aligned then, whatever their shapes.
    ordered = dict(sorted(arrays.items(), key=lambda pair: (-pair[1].itemsize, pair[0])))
    sums = {name: zlib.crc32(_bytes(array)) for name, array in ordered.items()}
    header: dict[str, Any] = {
        "__metadata__": {_DESCRIPTION: json.dumps(description), _CHECKSUMS: json.dumps(sums), "format": "np"}
    }
    end = 0
    for name, array in ordered.items():
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in ordered.values():
            file.write(_bytes(array))


def _bytes(array: Array) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


# ------------------------------------------------------------------ reading
def read(function: str, path: AnyPath) -> Contents:
    """All arrays of a file, whose header and checksums are right."""
    try:
        with open(path, "rb", buffering=0) as file:
            return _read(function, file)
    except (FileNotFoundError, errors.Error):
        raise
    except (ValueError, OSError, RecursionError) as problem:
        told = f"{function}: {os.fspath(path)} is no safetensors file, or damaged: {problem}"
        raise errors.about("path", errors.InvalidArgumentError(told)) from None
    except MemoryError:
        raise errors.ResourceExhaustedError(f"{function}: no memory for the contents of {os.fspath(path)}") from None


def _read(function: str, file: IO[bytes]) -> Contents:
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    if size < 8:
        raise ValueError(f"it has {size} bytes, and 8 tell the length of its header")
    if length > min(LONGEST_HEADER, size - 8):
        limit = (
            f"its {size - 8} bytes" if size - 8 < LONGEST_HEADER else f"{LONGEST_HEADER} bytes, the most there may be"
        )
        raise ValueError(f"its header of {errors.shown(length)} bytes is longer than {limit}")
    header = _header(file.read(length))
    metadata = _metadata(header.pop("__metadata__", {}))
    entries = {name: _entry(name, entry) for name, entry in header.items()}
    _check_places(entries, size - 8 - length)
    memory.reserve(function, [(name, shape, dtype.itemsize) for name, (dtype, shape, _) in entries.items()])
    sums = json.loads(metadata.get(_CHECKSUMS, "{}"))
    arrays = {}
    for name, (dtype, shape, begin) in entries.items():
        array = memory.zeros_on_lines((math.prod(shape),), dtype)
        _fill(file, 8 + length + begin, _bytes(array))
        if sums and zlib.crc32(_bytes(array)) != sums.get(name):
            raise ValueError(f"the checksum of {name} is not right")
        arrays[name] = array.reshape(shape)
    description = json.loads(metadata.get(_DESCRIPTION, "{}"))
    if not isinstance(description, dict) or not isinstance(sums, dict):
        raise ValueError("its metadata are not what we write")
    return Contents(arrays, description)


def _header(text: bytes) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("its header has a name twice")
        return found

    header = json.loads(text, object_pairs_hook=unique)
    if not isinstance(header, dict):
        raise ValueError(f"its header is no object, but a {type(header).__name__}")
    return header


def _metadata(given: Any) -> dict[str, str]:
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise ValueError("its metadata are not texts by name")
    return given


def _entry(name: str, entry: Any) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"{errors.shown(name)} must have dtype, shape and data_offsets, and nothing else")
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    dtype = _CODES.get(code) if isinstance(code, str) else None
    if dtype is None:
        raise ValueError(f"{name} has the dtype {str(code)[:40]!r}; known are {', '.join(_CODES)}")
    if not _are_naturals(shape) or len(shape) > 32:
        raise ValueError(f"{name} has the shape {str(shape)[:80]}")
    if not _are_naturals(offsets) or len(offsets) != 2:
        raise ValueError(f"{name} has the data_offsets {str(offsets)[:80]}")
    if offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{name} of shape {errors.shown(shape)} and {code} has {offsets[1] - offsets[0]} bytes")
    return dtype, tuple(shape), offsets[0]


def _are_naturals(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and 0 <= item < 1 << 63 for item in value)


def _check_places(entries: Mapping[str, tuple[np.dtype[Any], tuple[int, ...], int]], size: int) -> None:
    """The arrays must fill the rest of the file: none shares a byte, and no byte is nobody's."""
    end = 0
    for name, (dtype, shape, begin) in sorted(entries.items(), key=lambda pair: (pair[1][2], math.prod(pair[1][1]))):
        if begin != end:
            raise ValueError(f"{name} begins at {begin}, and what comes before it ends at {end}")
        end += math.prod(shape) * dtype.itemsize
    if end != size:
        raise ValueError(f"its arrays end at {end}, and the file has {size} bytes for them")


def _fill(file: IO[bytes], place: int, data: memoryview) -> None:
    file.seek(place)
    while len(data):
        count = file.readinto(data[:CHUNK])  # type: ignore[attr-defined]  # it has no buffer
        if not count:
            raise ValueError("it became shorter while it was read")
        data = data[count:]
