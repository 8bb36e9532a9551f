"""TensorFlow's checkpoints: an index of names, a sorted table of blocks, and files with the bytes of the tensors."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ... import dtypes, errors
from ..graphdef.files import parsed
from ..graphdef.tensors import Budget, read_shape, read_type

Array = np.ndarray[Any, Any]
_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
INDEX_LIMIT = 1 << 28


class Bundle:
    """The tensors of a checkpoint by name; each is read when somebody asks for it."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        self.index = prefix.with_name(prefix.name + ".index")
        size = self.index.stat().st_size
        if size > INDEX_LIMIT:
            raise errors.ResourceExhaustedError(f"{self.index} is larger than {errors.in_bytes(INDEX_LIMIT)}")
        entries = dict(_table(self.index.read_bytes(), str(self.index)))
        header = parsed("BundleHeaderProto", entries.pop(b"", b""), self.index)
        self.shards = max(header.num_shards, 1)
        if header.endianness:
            raise errors.InvalidArgumentError(f"{self.index} has numbers in the byte order of another machine")
        self.entries = {_name(key): value for key, value in entries.items()}

    def read(self, name: str, budget: Budget) -> Array:
        if name not in self.entries:
            raise errors.InvalidArgumentError(f"{self.index} has no tensor {errors.shown(name)!r}")
        entry = parsed("BundleEntryProto", self.entries[name], self.index)
        if entry.slices:
            raise errors.InvalidArgumentError(
                f"{self.index}: {errors.shown(name)!r} is kept in parts, which gradbag cannot read"
            )
        sizes, dtype = read_shape(entry.shape), read_type(entry.dtype)
        if sizes is None or None in sizes:
            raise errors.InvalidArgumentError(f"{self.index}: {errors.shown(name)!r} has no definite shape")
        shape = [n or 0 for n in sizes]
        count = prod(shape)
        budget.take(entry.size)
        shard = self.prefix.with_name(f"{self.prefix.name}.data-{entry.shard_id:05d}-of-{self.shards:05d}")
        with shard.open("rb") as file:
            file.seek(entry.offset)
            data = file.read(entry.size)
        if len(data) != entry.size or entry.size < 0:
            raise errors.InvalidArgumentError(f"{shard} ends before {errors.shown(name)!r} does")
        if dtype == "string":
            return _strings(data, count, str(shard)).reshape(shape)
        kind = dtypes.numpy_dtype(dtype)
        if len(data) != count * kind.itemsize:
            raise errors.InvalidArgumentError(
                f"{shard}: {errors.shown(name)!r} has {len(data)} bytes, not those of {shape}"
            )
        return np.frombuffer(data, kind).reshape(shape).copy()


def _name(key: bytes) -> str:
    return key.decode("utf-8", "replace")


# ------------------------------------------------------------------ the table
def _table(data: bytes, where: str) -> Iterator[tuple[bytes, bytes]]:
    """All keys and values of a sorted table."""
    if len(data) < _FOOTER or int.from_bytes(data[-8:], "little") != _MAGIC:
        raise errors.InvalidArgumentError(f"{where} is no index of a checkpoint")
    at = len(data) - _FOOTER
    _, _, at = _handle(data, at, where)  # of what describes the table, which holds nothing here
    offset, size, _ = _handle(data, at, where)
    for _, handle in _block(data, offset, size, where):
        begin, length, _ = _handle(handle, 0, where)
        yield from _block(data, begin, length, where)


def _handle(data: bytes, at: int, where: str) -> tuple[int, int, int]:
    offset, at = _varint(data, at, where)
    size, at = _varint(data, at, where)
    return offset, size, at


def _block(data: bytes, offset: int, size: int, where: str) -> Iterator[tuple[bytes, bytes]]:
    if offset + size + 5 > len(data) or size < 4:
        raise errors.InvalidArgumentError(f"{where} is damaged: a block lies outside of it")
    if data[offset + size]:
        raise errors.InvalidArgumentError(f"{where} is compressed, which gradbag cannot read")
    block = data[offset : offset + size]
    end = size - 4 - 4 * int.from_bytes(block[-4:], "little")
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at, where)
        own, at = _varint(block, at, where)
        length, at = _varint(block, at, where)
        if at + own + length > end or shared > len(key):
            raise errors.InvalidArgumentError(f"{where} is damaged: an entry goes beyond its block")
        key = key[:shared] + block[at : at + own]
        yield key, block[at + own : at + own + length]
        at += own + length


def _varint(data: bytes, at: int, where: str) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise errors.InvalidArgumentError(f"{where} is damaged: a number does not end")


def _strings(data: bytes, count: int, where: str) -> Array:
    """The lengths first, a check sum, then all the bytes."""
    if count > len(data):
        raise errors.InvalidArgumentError(f"{where} is damaged: it has fewer strings than it says")
    at, lengths = 0, []
    for _ in range(count):
        length, at = _varint(data, at, where)
        lengths.append(length)
    at += 4
    found = np.empty(count, object)
    for place, length in enumerate(lengths):
        if at + length > len(data):
            raise errors.InvalidArgumentError(f"{where} is damaged: a string goes beyond its end")
        raw = data[at : at + length]
        try:
            found[place] = raw.decode()
        except UnicodeDecodeError:
            found[place] = raw
        at += length
    return found
