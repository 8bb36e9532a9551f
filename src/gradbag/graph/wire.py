"""tf.train.Example as it is written: a map from names to lists of texts, of floats or of whole numbers.

Read without TensorFlow and without protobuf, for all that is wanted is one list after the other.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
KINDS = {1: "string", 2: "float32", 3: "int64"}  # the fields of Feature


class Broken(ValueError):
    """What was read is no Example."""


def example(text: bytes) -> dict[bytes, tuple[str, Array]]:
    """The features by name: what they are of, and their values; of one that is there twice the last counts."""
    found: dict[bytes, tuple[str, Array]] = {}
    for number, features in _fields(text):
        if number == 1:
            for field, entry in _fields(_bytes(features)):
                if field == 1:
                    name, value = _entry(_bytes(entry))
                    if value is not None:
                        found[name] = value
    return found


def _entry(text: bytes) -> tuple[bytes, tuple[str, Array] | None]:
    name, value = b"", None
    for number, content in _fields(text):
        if number == 1:
            name = _bytes(content)
        elif number == 2:
            value = _feature(_bytes(content))
    return name, value


def _feature(text: bytes) -> tuple[str, Array] | None:
    found = None
    for number, content in _fields(text):
        if number in KINDS:
            found = KINDS[number], _READ[number](_bytes(content))
    return found


def _texts(text: bytes) -> Array:
    texts = [_bytes(content) for number, content in _fields(text) if number == 1]
    found = np.empty(len(texts), object)
    found[:] = texts
    return found


def _floats(text: bytes) -> Array:
    parts = [content for number, content in _fields(text) if number == 1]
    if any(len(_bytes(part)) % 4 for part in parts):
        raise Broken("a list of floats ends within one")
    return np.frombuffer(b"".join(map(_bytes, parts)), "<f4").astype(np.float32)


def _numbers(text: bytes) -> Array:
    found: list[int] = []
    for number, content in _fields(text):
        if number == 1 and isinstance(content, bytes):
            place = 0
            while place < len(content):
                value, place = _varint(content, place)
                found.append(value)
        elif number == 1 and isinstance(content, int):
            found.append(content)
    return np.array(found, np.uint64).astype(np.int64)


_READ = {1: _texts, 2: _floats, 3: _numbers}


def _bytes(content: bytes | int) -> bytes:
    if isinstance(content, int):
        raise Broken("a number stands where a message should")
    return content


def _fields(text: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The fields of a message: their numbers, and bytes or a number."""
    place = 0
    while place < len(text):
        key, place = _varint(text, place)
        kind = key & 7
        if kind == 0:
            content: bytes | int
            content, place = _varint(text, place)
        elif kind in (1, 2, 5):
            size = {1: 8, 5: 4}.get(kind, 0)
            if kind == 2:
                size, place = _varint(text, place)
            if size > len(text) - place:
                raise Broken("it ends too early")
            content, place = text[place : place + size], place + size
        else:
            raise Broken(f"a field of the kind {kind}")
        yield key >> 3, content


def _varint(text: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(text):
            raise Broken("it ends too early")
        byte = text[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, place
    raise Broken("a number of more than ten bytes")


def written(features: dict[str, Any]) -> bytes:
    """An Example of these features: lists or arrays of texts, of floats or of whole numbers."""
    entries = b""
    for name, value in features.items():
        array = np.asarray(value)
        if array.dtype.kind in "SUO":
            content = b"".join(_part(1, t.encode() if isinstance(t, str) else bytes(t)) for t in array.flat)
            kind = 1
        elif array.dtype.kind == "f":
            content, kind = _part(1, array.astype("<f4").tobytes()), 2
        else:
            content, kind = _part(1, b"".join(_number(int(n) % (1 << 64)) for n in array.flat)), 3
        entries += _part(1, _part(1, name.encode()) + _part(2, _part(kind, content)))
    return _part(1, entries)


def _part(number: int, content: bytes) -> bytes:
    return _number(number << 3 | 2) + _number(len(content)) + content


def _number(value: int) -> bytes:
    found = b""
    while value > 0x7F:
        found += struct.pack("B", value & 0x7F | 0x80)
        value >>= 7
    return found + struct.pack("B", value)
