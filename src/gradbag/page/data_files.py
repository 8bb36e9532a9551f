"""Data files of a page: `.npy` files inside its folder, read with our own eyes before NumPy sees them.

Nothing is ever unpickled. A file's header is checked against its length before memory is taken, and a path leads
nowhere but into the page's folder, links included.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import os
import re
import secrets
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from .. import dtypes, errors, memory

Array = np.ndarray[Any, Any]

MOST_BYTES = 1 << 30
_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 4096
_MOST_AXES = 32
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)  # devices, on Windows
_PLAIN = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|c8|c16|S[0-9]{1,6})")
# What a `.npy` header calls a dtype that NumPy itself does not have, with the name that says it.
_RAW = {"bfloat16": "<V2"}


def check_path(path: object, suffix: str = ".npy") -> str:
    """A relative path with forward slashes that cannot leave its folder, judged by its text alone."""
    if not isinstance(path, str) or not path or len(path.encode("utf-8", "replace")) > 1024:
        raise errors.InvalidArgumentError(f"{repr(path)[:60]} is no path of a file")
    parts = path.split("/")
    if "\\" in path or ":" in path or not path.isprintable() or parts[0].startswith("~"):
        raise errors.InvalidArgumentError(f"{path[:60]!r} is no path of a file: use names and / only")
    if any(part in ("", ".", "..") or _RESERVED.fullmatch(part) or part.endswith((" ", ".")) for part in parts):
        raise errors.InvalidArgumentError(f"{path[:60]!r} must be a plain path inside the page's folder")
    if not path.endswith(suffix):
        raise errors.InvalidArgumentError(f"{path[:60]!r}: the file must end in {suffix}")
    return path


def read_file(folder: Path, path: object, sha256: object = None) -> Array:
    """The array in a data file, if the file is the one that the page means."""
    return parse(file_content(folder, path, sha256), str(path))


def file_content(folder: Path, path: object, sha256: object = None) -> bytes:
    """The bytes of a data file."""
    name = check_path(path)
    if sha256 is not None and not (isinstance(sha256, str) and re.fullmatch("[0-9a-f]{64}", sha256)):
        raise errors.InvalidArgumentError(f"{name}: sha256 must be 64 hexadecimal digits")
    root = Path(os.path.realpath(folder))
    full = Path(os.path.realpath(root / name))
    if root not in full.parents:
        raise errors.InvalidArgumentError(f"{name}: the file lies outside the page's folder")
    content = read_bytes(full, name)
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise errors.InvalidArgumentError(f"{name}: the file has changed, its sha256 is not the page's")
    return content


def read_bytes(path: Path, name: str, most: int = MOST_BYTES) -> bytes:
    """A whole ordinary file that is not larger than `most`."""
    try:
        # Not blocking: a pipe in the place of a file would keep us waiting for ever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as problem:
        raise errors.InvalidArgumentError(f"{name}: {getattr(problem, 'strerror', None) or problem}") from None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if status.st_mode & 0o170000 != 0o100000:
            raise errors.InvalidArgumentError(f"{name} is no ordinary file")
        if status.st_size > most:
            raise errors.ResourceExhaustedError(
                f"{name} has {errors.in_bytes(status.st_size)}; at most {errors.in_bytes(most)} are read"
            )
        return file.read(most + 1)


def parse(content: bytes, name: str) -> Array:
    """The array of a `.npy` file, whose header is believed only as far as the bytes reach."""
    try:
        return _parse(content, name)
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, UnicodeDecodeError) as problem:
        if isinstance(problem, errors.Error):
            raise
        raise errors.InvalidArgumentError(f"{name} is no .npy file: {problem}") from None


def _parse(content: bytes, name: str) -> Array:
    if content[:6] != _MAGIC or content[6:8] not in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
        raise ValueError("it does not begin like one")
    width = 2 if content[6] == 1 else 4
    start = 8 + width
    length = int.from_bytes(content[8:start], "little")
    if length > _LONGEST_HEADER or start + length > len(content):
        raise ValueError(f"its header should have {length} bytes")
    header = ast.literal_eval(content[start : start + length].decode("latin1" if content[6] < 3 else "utf-8").strip())
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise ValueError("its header does not tell dtype, order and shape")
    shape, fortran = header["shape"], header["fortran_order"]
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape) or len(shape) > _MOST_AXES:
        raise ValueError(f"it tells the shape {errors.shown(shape)[:60]}")
    if type(fortran) is not bool:
        raise ValueError("its order is neither true nor false")
    dtype = _dtype(header["descr"])
    body = memoryview(content)[start + length :]
    # Sizes of zero must not hide the others: an empty array of 2**70 rows is no array.
    wanted = prod(shape) * dtype.itemsize
    if prod(max(n, 1) for n in shape) * max(dtype.itemsize, 1) > np.iinfo(np.int64).max:
        raise ValueError(f"no array has the shape {errors.shown(shape)[:60]}")
    if wanted != len(body):
        raise ValueError(f"its shape asks for {wanted} bytes, but {len(body)} follow")
    memory.reserve(name, [("the array", shape, dtype.itemsize)])
    array = np.frombuffer(body, dtype).reshape(shape, order="F" if fortran else "C")
    if dtype.kind == "b":
        return np.not_equal(array.view(np.uint8), 0)  # a byte may be neither 0 nor 1
    if dtype.kind == "S":
        words = np.empty(shape, object)
        words[...] = array
        return words
    return np.array(array, dtype.newbyteorder("="), order="C")


def _dtype(described: object) -> np.dtype[Any]:
    if described == _RAW["bfloat16"]:
        return dtypes.numpy_dtype("bfloat16")
    if not isinstance(described, str) or not _PLAIN.fullmatch(described):
        raise ValueError(f"arrays of {repr(described)[:60]} are not read, only of numbers and bytes")
    return np.dtype(described)


# ------------------------------------------------------------------ writing
def file_bytes(array: Array) -> bytes:
    """The `.npy` file of an array: little-endian, in C order, so that equal arrays are equal files."""
    name = dtypes.name_of(array.dtype)
    if name == "string":
        words = [w.encode() if isinstance(w, str) else bytes(w) for w in array.flat]
        if any(w.endswith(b"\0") for w in words):
            raise errors.InvalidArgumentError("a .npy file cannot hold strings that end with a zero byte")
        array = np.array(words, f"S{max([1, *map(len, words)])}").reshape(array.shape)
    elif name in dtypes.QUANTIZED:
        raise errors.UnsupportedTypeError(f"a page holds no large {name} arrays")
    described = _RAW.get(name) or array.dtype.newbyteorder("<").str
    header = repr({"descr": described, "fortran_order": False, "shape": array.shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    made = io.BytesIO()
    made.write(_MAGIC + b"\x01\x00" + len(header).to_bytes(2, "little") + header)
    made.write(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
    return made.getvalue()


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file by a new one, or leave the old one as it was."""
    folder = None
    if os.open in os.supports_dir_fd:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        write_whole_in(folder, path.name if folder is not None else str(path), content)
    finally:
        if folder is not None:
            os.close(folder)


def write_whole_in(folder: int | None, name: str, content: bytes) -> None:
    """The same in a folder that is open: nobody can put another one in its place meanwhile.

    The new name counts when it is on the disk, not before: a machine that loses its power has the old file or the new.
    """
    head, tail = os.path.split(name)
    temporary = os.path.join(head, f".{tail[:200]}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        with open(os.open(temporary, flags, 0o666, dir_fd=folder), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise
    if folder is not None:
        os.fsync(folder)
