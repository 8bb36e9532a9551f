"""Records of one size in a file: what a row is, with all that is kept of it."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import errors
from ..eager.program import native
from .batches import Array
from .states import Kept

Record = np.dtype[Any]
CHUNK = 1 << 25  # bytes of records that are in memory at once where all of a file is gone through


def record_of(dtype: np.dtype[Any], columns: int, states: list[Kept]) -> Record:
    """A row, its states side by side, and whether it was ever written: what was not is zeros in a new file."""
    numbers = [dtype, *[kept.dtype for kept in states if not kept.per_row]]
    if columns * sum(number.itemsize for number in numbers) >= 1 << 30:
        raise errors.unfit("FileTable", "columns", "few enough for records below 2**30 bytes", str(columns))
    fields: list[Any] = [("values", dtype, (columns,))]
    fields += [(kept.name, kept.dtype, () if kept.per_row else (columns,)) for kept in states]
    return np.dtype([*fields, ("written", np.int64)], align=True)


class RecordFile:
    """Reads and writes records by their numbers, which ascend.

    The system is told of all records that are wanted before the first is read: the disk has them all to choose from.
    """

    def __init__(self, path: Any, handle: int, start: int, record: Record) -> None:
        self.path, self.handle, self.start, self.record = path, handle, start, record
        if hasattr(os, "posix_fadvise"):  # what lies beside a row is no better guess than any other
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_RANDOM)

    def runs(self, numbers: Array) -> Iterator[tuple[int, int, int]]:
        """Records that lie side by side: the place in `numbers` where they begin and end, and that in the file."""
        if len(numbers):
            ends = np.append(np.flatnonzero(np.diff(numbers) != 1) + 1, len(numbers))
            begins = np.append(0, ends[:-1])
            places = self.start + numbers[begins] * self.record.itemsize
            yield from zip(begins.tolist(), ends.tolist(), places.tolist(), strict=True)

    def ask_for(self, numbers: Array) -> None:
        """Let the system fetch records that will be read soon."""
        native.ask_for_records(self.handle, numbers, self.start, self.record.itemsize)

    def read(self, numbers: Array) -> Array:
        records = np.empty(len(numbers), self.record)
        wanted = np.asarray(_bytes(records))
        problem = native.read_records(self.handle, numbers, self.start, self.record.itemsize, wanted)
        if problem > 0:
            raise OSError(problem, os.strerror(problem), self.path)
        if problem:
            raise errors.InvalidArgumentError(f"FileTable: {self.path} has become shorter")
        return records

    def write(self, numbers: Array, records: Array) -> None:
        data, size = _bytes(records), self.record.itemsize
        for begin, end, place in self.runs(numbers):
            left = data[begin * size : end * size]
            while len(left):
                count = os.pwrite(self.handle, left, place)
                left, place = left[count:], place + count

    def parts(self, count: int) -> Iterator[Array]:
        """The first so many records, part after part."""
        size = max(1, CHUNK // self.record.itemsize)
        for begin in range(0, count, size):
            yield self.read(np.arange(begin, min(count, begin + size)))

    def checksum(self, count: int) -> int:
        total = 0
        for part in self.parts(count):
            total = zlib.crc32(_bytes(part), total)
        return total


def _bytes(records: Array) -> memoryview:
    return np.ascontiguousarray(records).view(np.uint8).reshape(-1).data
