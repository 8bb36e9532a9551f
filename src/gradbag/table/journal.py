"""How a table in a file survives a crash.

The file begins with two headers, of which the one with the larger epoch counts: a header is written in the place of the
older one, so that the other is whole whatever happens. Then come the records of all rows. **Nothing but a checkpoint
writes to them.** A step writes changed records into a second file, the journal, where every changed row has one slot.

A checkpoint

1. brings the journal to the disk, and takes its checksum;
2. writes a header that says so: from here on the new state counts;
3. copies the journal into the records, and brings them to the disk;
4. writes a header without a journal.

Whoever opens the file after a crash finds a header of 4, and throws the journal away, or one of 2, and does 3 and 4
again, which may be done any number of times.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from typing import Any

import numpy as np

from .. import errors
from ..vocabulary import Vocabulary
from ..whole_files import sync_folder
from .batches import Array, check_rows
from .records import Record, RecordFile

MAGIC = b"gradbag table\n\0\0"
HEADER = 4096  # bytes of each: what disks write at once
START = 2 * HEADER
_FIXED = len(MAGIC) + 8  # magic, length and checksum
_NUMBERS = ("epoch", "version", "rows", "columns", "seed", "step", "journal", "checksum")
_OTHERS = {"dtype", "init", "rounding", "optimizer"}

try:
    import fcntl
except ModuleNotFoundError:  # Windows has none
    fcntl = None  # type: ignore[assignment]


# ------------------------------------------------------------------ headers
def write_header(handle: int, header: dict[str, Any]) -> None:
    text = json.dumps(header).encode()
    if len(text) > HEADER - _FIXED:
        raise errors.Error(f"FileTable: the settings take {len(text)} bytes, and {HEADER - _FIXED} is the most")
    whole = MAGIC + len(text).to_bytes(4, "little") + zlib.crc32(text).to_bytes(4, "little") + text
    if os.pwrite(handle, whole.ljust(HEADER, b"\0"), header["epoch"] % 2 * HEADER) != HEADER:
        raise OSError(errno.ENOSPC, "a header was not written whole")
    os.fsync(handle)


def read_header(path: Any, handle: int) -> dict[str, Any]:
    """The header that counts."""
    found = [header for number in (0, 1) if (header := _header(os.pread(handle, HEADER, number * HEADER)))]
    if not found:
        told = f"FileTable.open: {os.fspath(path)} is no table of gradbag, or damaged: neither header can be read"
        raise errors.about("path", errors.InvalidArgumentError(told))
    return max(found, key=lambda header: int(header["epoch"]))


def _header(data: bytes) -> dict[str, Any] | None:
    length = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 4], "little")
    text = data[_FIXED : _FIXED + length]
    checksum = int.from_bytes(data[len(MAGIC) + 4 : _FIXED], "little")
    if not data.startswith(MAGIC) or len(text) != length or zlib.crc32(text) != checksum:
        return None
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        return None
    fits = isinstance(header, dict) and all(_is_number(header.get(name)) for name in _NUMBERS)
    return header if fits and header.keys() >= _OTHERS else None


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


# ------------------------------------------------------------------ records
class Journal:
    """The records of a table and those that have changed since its last checkpoint."""

    def __init__(self, path: Any, handle: int, header: dict[str, Any], record: Record) -> None:
        self.path, self.header = os.fspath(path), header
        self.main = RecordFile(path, handle, START, record)
        self.failed = ""  # what went wrong, if what is in memory and what is in the files may differ
        beside = self.path + ".journal"
        self._handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        slot = np.dtype([("row", np.int64), ("record", record)], align=True)
        self._changed = RecordFile(beside, self._handle, 0, slot)
        try:
            sync_folder(beside)  # a checkpoint may need it after the machine has failed
            self.recover()
        except BaseException:
            os.close(self._handle)
            raise

    # ------------------------------------------------------------------ reading and writing
    @property
    def count(self) -> int:
        """How many rows have changed since the last checkpoint."""
        return len(self._slots)

    def ask_for(self, rows: Array) -> None:
        self.main.ask_for(rows)

    def read(self, rows: Array) -> Array:
        """The records of rows, which ascend."""
        slots = self._slots.lookup(rows) if self.count else np.full(len(rows), -1)
        is_new = slots >= 0
        if not is_new.any():
            return self.main.read(rows)
        records = np.empty(len(rows), self.main.record)
        records[~is_new] = self.main.read(rows[~is_new])
        order = np.argsort(slots[is_new])
        records[np.flatnonzero(is_new)[order]] = self._changed.read(slots[is_new][order])["record"]
        return records

    def write(self, rows: Array, records: Array) -> None:
        self.check_usable("step")
        self.failed = "a step was not written whole"
        slots = self._slots.add(rows)
        order = np.argsort(slots)
        changed = np.zeros(len(rows), self._changed.record)
        changed["row"], changed["record"] = rows[order], records[order]
        self._changed.write(slots[order], changed)
        self.failed = ""

    # ------------------------------------------------------------------ checkpoints
    def checkpoint(self, about: dict[str, Any]) -> None:
        """Make what there is now, beside what is told of it, the state to which `recover` returns."""
        self.check_usable("checkpoint")
        checksum = self._changed.checksum(self.count)
        os.fsync(self._handle)
        self.failed = "a checkpoint was not finished"
        self._commit({**about, "journal": self.count, "checksum": checksum})
        self._copy(self.count)
        self.failed = ""

    def recover(self) -> None:
        """Return to the last checkpoint."""
        self.header = read_header(self.path, self.main.handle)
        count = self.header["journal"]
        if count:
            self._check_journal(count)
        self._slots = Vocabulary()
        self._copy(count)
        self.failed = ""

    def _copy(self, count: int) -> None:
        if count:
            for part in self._changed.parts(count):
                ascending = part[np.argsort(part["row"])]
                check_rows("FileTable.open", "journal", ascending["row"], self.header["rows"])
                self.main.write(ascending["row"], ascending["record"])
            os.fsync(self.main.handle)
            self._commit({**self.header, "journal": 0, "checksum": 0})
        os.ftruncate(self._handle, 0)
        self._slots = Vocabulary()

    def _commit(self, header: dict[str, Any]) -> None:
        header = {**header, "epoch": self.header["epoch"] + 1}
        write_header(self.main.handle, header)
        self.header = header

    def _check_journal(self, count: int) -> None:
        size = os.fstat(self._handle).st_size
        if size < count * self._changed.record.itemsize or self._changed.checksum(count) != self.header["checksum"]:
            told = f"FileTable.open: {self.path}.journal is not the one that the last checkpoint of {self.path} needs"
            raise errors.about("path", errors.InvalidArgumentError(told))

    def check_usable(self, method: str) -> None:
        if self.failed:
            told = f"FileTable.{method}: {self.failed}; rollback() returns to the last checkpoint"
            raise errors.Error(told)

    def close(self) -> None:
        """Give the files back; what has changed since the last checkpoint is gone."""
        os.close(self._handle)
        os.close(self.main.handle)


def lock(function: str, path: Any, handle: int) -> None:
    """One at a time: two would overwrite each other's rows."""
    if fcntl is None:
        raise errors.Error(f"{function}: tables in files need a POSIX system")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise errors.Error(f"{function}: {os.fspath(path)} is open already, here or in another process") from None


def create(path: Any, header: dict[str, Any], size: int) -> int:
    """A new file with so many bytes of records, none of which takes room on the disk before it is written."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        lock("FileTable.create", path, handle)
        os.ftruncate(handle, START + size)
        write_header(handle, header)
        sync_folder(path)
    except BaseException:
        os.close(handle)
        os.unlink(path)
        raise
    return handle
