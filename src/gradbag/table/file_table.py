"""A table in a file, which may be larger than memory."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from threading import RLock
from types import TracebackType
from typing import Any, Self

import numpy as np

from .. import errors, memory
from ..bags import Bags
from ..optim import Optimizer
from . import journal, settings
from .base import Trained, check_size
from .batches import Array, Block, check_rows
from .beginnings import Init, check_init, fill_rows
from .journal import Journal
from .records import record_of
from .rounding import Storage
from .states import Kept, kept_by
from .table import check_version, described


class FileTable(Trained):
    """Rows in a file, each with what an optimizer keeps of it beside it.

        >>> import tempfile, numpy as np, gradbag
        >>> folder = tempfile.TemporaryDirectory()
        >>> table = gradbag.FileTable.create(folder.name + "/rows", 10**9, 16, gradbag.optim.RowAdagrad(0.1))
        >>> bags = gradbag.Bags.of([[7, 999_999_999], [7]])
        >>> table.lookup(bags).shape
        (2, 16)
        >>> table.step(bags, np.ones((2, 16), np.float32))
        >>> table.checkpoint()
        >>> table
        FileTable(1000000000 rows of 16, float32, RowAdagrad, 1 step, 0 rows changed since the checkpoint)
        >>> table.close(); folder.cleanup()

    It is made at once, however large: a row takes room when it moves. Look-ups and steps read the distinct rows of a
    batch, all asked for at once, and have in memory what belongs to them alone. `prefetch` has the system fetch the
    rows of the batch to come.

    Steps count from `checkpoint` on: a process that is killed at any time, or a machine that fails, leaves the last
    checkpoint, to which `open` returns. Between checkpoints, 24 to 29 bytes of memory are used for each changed row.

    Threads take turns; one process at a time may use it.
    """

    def __init__(self) -> None:
        raise errors.Error("FileTable: use FileTable.create or FileTable.open")

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        rows: int,
        columns: int,
        optimizer: Optimizer | None = None,
        *,
        dtype: Any = "float32",
        init: Init = None,
        rounding: str = "nearest",
        seed: int = 0,
    ) -> Self:
        """A new file, which must not be there yet; the settings are those of `Table`."""
        function = "FileTable.create"
        check_size(function, rows, columns)
        storage = Storage.checked(function, dtype, rounding, seed)
        check_init(function, init)
        settings.check_optimizer(function, optimizer)
        header = {
            "epoch": 0,
            "version": 1,
            "rows": rows,
            "columns": columns,
            "dtype": storage.name,
            "init": settings.FUNCTION if callable(init) else init,
            "rounding": rounding,
            "seed": seed,
            "optimizer": settings.described(optimizer),
            "step": 0,
            "journal": 0,
            "checksum": 0,
        }
        record = record_of(storage.dtype, columns, kept_by(optimizer, storage.computing))
        if rows * record.itemsize >= 1 << 62:
            raise errors.unfit(function, "rows, columns", "below 2**62 bytes", errors.shown([rows, columns]))
        handle = journal.create(path, header, rows * record.itemsize)
        return cls._of(path, handle, header, storage, optimizer, init)

    @classmethod
    def open(cls, path: str | os.PathLike[str], optimizer: Optimizer | None = None, *, init: Init = None) -> Self:
        """The table of a file, as its last checkpoint left it.

        `optimizer` takes the place of the one that the file tells of, and must keep the same of each row. A learning
        rate or an `init` that is a function must be given again.
        """
        function = "FileTable.open"
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            journal.lock(function, path, handle)
            header = journal.read_header(path, handle)
            check_version(function, path, header)
            check_size(function, header["rows"], header["columns"])
            storage = Storage.checked(function, header["dtype"], header["rounding"], header["seed"])
            chosen = settings.restored(function, header["optimizer"], optimizer)
            if header["init"] == settings.FUNCTION and not callable(init):
                raise errors.unfit(function, "init", "given again, as it is a function", repr(init))
            init = init if callable(init) else header["init"]
            check_init(function, init)
            own = settings.restored(function, _with_rate(header["optimizer"]), None)
            if kept_by(own, storage.computing) != kept_by(chosen, storage.computing):
                wanted = f"one that keeps what {type(own).__name__} keeps"
                raise errors.unfit(function, "optimizer", wanted, type(chosen).__name__)
            return cls._of(path, handle, header, storage, chosen, init)
        except BaseException:
            os.close(handle)
            raise

    @classmethod
    def _of(
        cls, path: Any, handle: int, header: dict[str, Any], storage: Storage, optimizer: Optimizer | None, init: Init
    ) -> Self:
        table = cls.__new__(cls)
        table.path = os.fspath(path)
        table.rows, table.columns = header["rows"], header["columns"]
        table._storage, table._optimizer, table._init = storage, optimizer, init
        table._states = kept_by(optimizer, storage.computing)
        record = record_of(storage.dtype, table.columns, table._states)
        size = os.fstat(handle).st_size
        if size != journal.START + table.rows * record.itemsize:
            told = f"has {size} bytes in place of {journal.START + table.rows * record.itemsize}"
            raise errors.about("path", errors.InvalidArgumentError(f"FileTable.open: {table.path} {told}"))
        table._journal = Journal(path, handle, header, record)
        table._step = table._journal.header["step"]
        table._last = None
        table._fetching = None
        table._is_open = True
        table._lock = RLock()
        return table

    path: str
    _init: Init
    _states: list[Kept]
    _journal: Journal
    _step: int
    _last: tuple[Array, Array] | None  # the rows of the last batch and their records: a step follows a look-up
    _fetching: ThreadPoolExecutor | None
    _is_open: bool
    _lock: AbstractContextManager[Any]

    # ------------------------------------------------------------------ what it is
    @property
    def step_count(self) -> int:
        """How many steps were made."""
        return self._step

    @property
    def changed(self) -> int:
        """How many rows have changed since the last checkpoint."""
        return self._journal.count

    @property
    def record_bytes(self) -> int:
        """What a row and all that is kept of it take in the file."""
        return int(self._journal.main.record.itemsize)

    def __repr__(self) -> str:
        if not self._is_open:
            return f"FileTable({self.path!r}, closed)"
        return f"FileTable({described(self)}, {self.changed} rows changed since the checkpoint)"

    def __reduce__(self) -> Any:
        raise TypeError("FileTable: it cannot be copied; open the file where it is needed")

    # ------------------------------------------------------------------ blocks
    def _turn(self) -> AbstractContextManager[Any]:
        return self._lock

    def _block(self, function: str, ids: Array, with_state: bool) -> Block:
        self._check_open(function)
        rows, places = np.unique(ids, return_inverse=True)
        rows = rows.astype(np.int64, copy=False)
        memory.reserve(function, [("the records of the batch", (len(rows), self.record_bytes), 3)])
        records = self._records(function, rows)
        values = records["values"].astype(self.computing)
        state = {kept.name: records[kept.name].copy() for kept in self._states} if with_state else {}
        return Block(values, {"step": self._step, **state}, places, rows)

    def _records(self, function: str, rows: Array) -> Array:
        if self._last is not None and np.array_equal(self._last[0], rows):
            return self._last[1]
        self._journal.check_usable(function.partition(".")[2])
        records = self._journal.read(rows)
        fresh = np.flatnonzero(records["written"] == 0)
        if len(fresh):
            values = np.empty((len(fresh), self.columns), self.dtype)
            fill_rows(function, self._init, self._storage.seed, rows[fresh], values)
            records["values"][fresh] = values
            for kept in self._states:
                records[kept.name][fresh] = kept.initial
        self._last = rows, records
        return records

    def _keep(self, block: Block) -> None:
        assert block.rows is not None
        records = np.zeros(len(block.rows), self._journal.main.record)
        records["values"] = self._storage.narrowed(block.values, block.rows, block.state["step"])
        records["written"] = 1
        for kept in self._states:
            records[kept.name] = block.state[kept.name]
        self._last = None
        self._journal.write(block.rows, records)
        self._last = block.rows, records
        self._step = block.state["step"]

    # ------------------------------------------------------------------ the next batch
    def prefetch(self, bags: Any) -> None:
        """Have the system fetch the rows of bags that will be looked up next, while this program does other things."""
        ids = Bags.of(bags).ids
        check_rows("FileTable.prefetch", "ids", ids, self.rows, below=None)
        rows = np.unique(ids[ids >= 0]).astype(np.int64, copy=False)
        with self._lock:
            self._check_open("FileTable.prefetch")
            if self._fetching is None:
                self._fetching = ThreadPoolExecutor(1, "gradbag-prefetch")
            self._fetching.submit(self._journal.ask_for, rows)

    # ------------------------------------------------------------------ checkpoints
    def checkpoint(self) -> None:
        """Make what there is now the state to which `open` returns; it is on the disk when this comes back.

        If it fails, as on a full disk, then the last checkpoint stays, or this one counts and is finished by
        `rollback` or `open`.
        """
        with self._lock:
            self._check_open("FileTable.checkpoint")
            about = {**self._journal.header, "step": self._step, "optimizer": settings.described(self._optimizer)}
            self._journal.checkpoint(about)

    def rollback(self) -> None:
        """Return to the last checkpoint: forget the steps since."""
        with self._lock:
            self._check_open("FileTable.rollback")
            self._last = None
            self._journal.recover()
            self._step = self._journal.header["step"]

    def close(self) -> None:
        """Give the file back. What has changed since the last checkpoint is gone."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                self._last = None
                if self._fetching is not None:
                    self._fetching.shutdown()
                self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_is_open", False):
            self.close()

    def _check_open(self, function: str) -> None:
        if not self._is_open:
            raise errors.Error(f"{function}: {self.path} is closed")


def _with_rate(description: Any) -> Any:
    """A description whose learning rate is a number: to know what an optimizer keeps, any will do."""
    if not isinstance(description, dict) or not isinstance(description.get("settings"), dict):
        return description
    rate = {name: 0.0 if value == settings.FUNCTION else value for name, value in description["settings"].items()}
    return {**description, "settings": rate}
