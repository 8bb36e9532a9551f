"""Columns of lists by Arrow's C data interface, in which any library hands over its memory without another's help.

https://arrow.apache.org/docs/format/CDataInterface.html
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import errors
from .arrays import Array, check_splits, splits_of

_LARGEST = 1 << 48  # entries; no address space has more
_NUMBERS = {
    "c": "int8",
    "C": "uint8",
    "s": "int16",
    "S": "uint16",
    "i": "int32",
    "I": "uint32",
    "l": "int64",
    "L": "uint64",
    "e": "float16",
    "f": "float32",
    "g": "float64",
}
_LISTS: dict[str, np.dtype[Any]] = {"+l": np.dtype(np.int32), "+L": np.dtype(np.int64)}
_OTHERS = {
    **dict.fromkeys(("u", "U", "vu"), "strings; encode them as numbers first"),
    **dict.fromkeys(("z", "Z", "vz"), "bytes; encode them as numbers first"),
    **dict.fromkeys(("+l", "+L", "+vl", "+vL"), "lists; there may be one list in a row, not lists of lists"),
    "b": "bool",
    "n": "null",
    "+s": "structs; choose one column",
}


# ------------------------------------------------------------------ the structs of the interface
class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


def _method(result: Any, *arguments: Any) -> Any:
    return ctypes.CFUNCTYPE(result, *arguments)


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", _method(None, ctypes.POINTER(_Schema))),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", _method(None, ctypes.POINTER(_Array))),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", _method(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("get_next", _method(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("get_last_error", _method(ctypes.c_char_p, ctypes.POINTER(_Stream))),
    ("release", _method(None, ctypes.POINTER(_Stream))),
    ("private_data", ctypes.c_void_p),
]
# A prototype of our own: others may have told ctypes something else about the shared one.
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class _Owned:
    """A struct that was given to us, and is released when nothing refers to its memory any more."""

    def __init__(self, kind: type[ctypes.Structure]) -> None:
        self.struct: Any = kind()
        self.pointer = ctypes.pointer(self.struct)

    def __del__(self) -> None:
        release = self.struct.release
        if release:
            release(self.pointer)


class _Memory:
    """So many bytes from an address on, as NumPy asks for them; whoever owns them lives as long."""

    def __init__(self, address: int, size: int, owner: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (size,), "data": (address, True)}


# ------------------------------------------------------------------ a column
@dataclass
class _Reader:
    """Reads the pieces of one column; `function` and `name` are for messages."""

    function: str
    name: str

    def refuse(self, what: str) -> errors.Error:
        return errors.about(self.name, errors.InvalidArgumentError(f"{self.function}: {self.name}{what}"))

    def read(self, column: Any) -> tuple[Array, Array]:
        """All numbers, and where each list begins, with the end of the last."""
        try:
            pieces = self.of_array(column) if hasattr(column, "__arrow_c_array__") else self.of_stream(column)
        except (AttributeError, TypeError, ValueError, OverflowError) as problem:
            if isinstance(problem, errors.Error):
                raise
            wanted = ["a column of lists, by Arrow's C data interface"]
            raise errors.wrong_type(self.function, self.name, wanted, f"{type(column).__name__}: {problem}") from None
        if len(pieces) == 1:
            return pieces[0]
        lengths = [np.diff(splits) for _, splits in pieces]
        numbers = [values for values, _ in pieces]
        return np.concatenate(numbers), splits_of(np.concatenate(lengths))

    def of_array(self, column: Any) -> list[tuple[Array, Array]]:
        described, given = column.__arrow_c_array__()
        schema = _Schema.from_address(_pointer(described, b"arrow_schema"))
        return [self.piece(schema, _Array.from_address(_pointer(given, b"arrow_array")), given)]

    def of_stream(self, column: Any) -> list[tuple[Array, Array]]:
        capsule = column.__arrow_c_stream__()
        stream = _Stream.from_address(_pointer(capsule, b"arrow_array_stream"))
        schema = _Owned(_Schema)
        self.ask(stream, "get_schema", schema)
        pieces = []
        while True:
            piece = _Owned(_Array)
            self.ask(stream, "get_next", piece)
            if not piece.struct.release:
                break
            pieces.append(self.piece(schema.struct, piece.struct, piece))
        return pieces or [self.nothing(schema.struct)]

    def ask(self, stream: Any, method: str, answer: _Owned) -> None:
        if not stream.release:
            raise self.refuse(" is a stream that was read before")
        if getattr(stream, method)(ctypes.byref(stream), answer.pointer):
            told = stream.get_last_error(ctypes.byref(stream)) or b"no reason given"
            raise self.refuse(f" cannot be read: {told.decode(errors='replace')}")

    # ------------------------------------------------------------------ a piece of it
    def kinds(self, schema: Any) -> tuple[str, np.dtype[Any]]:
        """What the lists are, and the dtype of their numbers."""
        if not schema.release:
            raise self.refuse(" was handed over before")
        kind = schema.format.decode()
        if kind not in _LISTS and not kind.startswith("+w:"):
            got = _OTHERS.get(kind) or _NUMBERS.get(kind) or f"the format {kind!r}"
            raise errors.wrong_type(self.function, self.name, ["a column of lists"], f"one of {got}")
        if schema.n_children != 1:
            raise self.refuse(f" is not what its schema says: {schema.n_children} children")
        item = schema.children[0].contents
        code = item.format.decode()
        wanted = [name for name in _NUMBERS.values() if name.startswith("float") == (self.name == "weights")]
        if item.dictionary:
            raise errors.wrong_type(self.function, self.name, wanted, "lists of codes of a dictionary")
        if code == "n":  # lists of which none has an item
            return kind, np.dtype(wanted[-1])
        if _NUMBERS.get(code) not in wanted:
            got = _NUMBERS.get(code) or _OTHERS.get(code) or f"the format {code!r}"
            raise errors.wrong_type(self.function, self.name, wanted, f"lists of {got}")
        return kind, np.dtype(_NUMBERS[code])

    def nothing(self, schema: Any) -> tuple[Array, Array]:
        kind, dtype = self.kinds(schema)
        return np.empty(0, dtype), np.zeros(1, _LISTS.get(kind, np.int64))

    def piece(self, schema: Any, array: Any, owner: Any) -> tuple[Array, Array]:
        kind, dtype = self.kinds(schema)
        if not array.release:
            raise self.refuse(" was handed over before")
        self.check_sizes(array, children=1, buffers=2 if kind in _LISTS else 1)
        item = array.children[0].contents
        has_numbers = schema.children[0].contents.format != b"n"
        self.check_sizes(item, children=0, buffers=2 if has_numbers else 0)
        if kind not in _LISTS:
            splits = (array.offset + np.arange(array.length + 1)) * int(kind[3:])
        elif array.length or array.buffers[1]:
            splits = self.numbers(array.buffers[1], array.offset, array.length + 1, _LISTS[kind], owner)
        else:  # there need not be offsets where there are no lists
            splits = np.zeros(1, _LISTS[kind])
        check_splits(self.function, f"{self.name}.offsets", splits, item.length)
        begin, count = int(splits[0]), int(splits[-1] - splits[0])
        values = np.empty(0, dtype)
        if has_numbers:
            values = self.numbers(item.buffers[1], item.offset + begin, count, dtype, owner)
        elif count:
            values = np.empty(count, dtype)
        known = self.valid(item, begin, count, owner) if has_numbers else np.zeros(count, bool)
        splits = splits - begin if begin else splits
        present = self.valid(array, 0, array.length, owner)
        if present is not None and not present.all():
            lengths = np.diff(splits)
            if lengths[~present].any():  # a null list may have items all the same
                kept = np.repeat(present, lengths)
                values, known = values[kept], None if known is None else known[kept]
                splits = splits_of(np.where(present, lengths, 0))
        if known is not None and not known.all():
            place = int(known.argmin())
            bag = int(np.searchsorted(splits, place, "right")) - 1
            raise self.refuse(f"[{bag}][{place - int(splits[bag])}] is null; fill or drop it")
        return values, splits

    def check_sizes(self, array: Any, children: int, buffers: int) -> None:
        sizes = (array.length, array.offset)
        if min(sizes) < 0 or max(sizes) > _LARGEST or array.n_children != children or array.n_buffers < buffers:
            told = f"length {sizes[0]}, offset {sizes[1]}, {array.n_buffers} buffers, {array.n_children} children"
            raise self.refuse(f" is not what its schema says: {told}")

    # ------------------------------------------------------------------ memory
    def numbers(self, address: int | None, first: int, count: int, dtype: np.dtype[Any], owner: Any) -> Array:
        if not count:
            return np.empty(0, dtype)
        if not address:
            raise self.refuse(" is not what its schema says: a buffer is missing")
        memory = _Memory(address + first * dtype.itemsize, count * dtype.itemsize, owner)
        return np.asarray(memory).view(dtype)

    def valid(self, array: Any, first: int, count: int, owner: Any) -> Any:
        """Which elements are not null; None if all are there."""
        if not array.null_count or not array.buffers[0] or not count:
            return None
        byte, bit = divmod(array.offset + first, 8)
        packed = self.numbers(array.buffers[0], byte, -(-(bit + count) // 8), np.dtype(np.uint8), owner)
        return np.unpackbits(packed, bitorder="little")[bit : bit + count].astype(bool)


def read(function: str, name: str, column: Any) -> tuple[Array, Array]:
    return _Reader(function, name).read(column)
