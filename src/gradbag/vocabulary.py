"""Rows for ids: a table that is kept between batches, from any int64 or string to rows 0, 1, 2, ..."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeVar

import numpy as np

from . import errors, memory, string_columns
from .eager.program import native

__all__ = ["Vocabulary"]

Rows = np.ndarray[Any, np.dtype[np.int64]]
Lists = dict[str, np.ndarray[Any, Any]]
Answer = TypeVar("Answer")
_VERSION = 1


class Vocabulary:
    """A kept table from ids to rows.

    The first id gets row 0, the next new one row 1, and so on, in the order in which they come, whatever the number of
    threads. `kind` is "int64" or "string"; strings are Arrow columns (read in place), NumPy arrays of bytes, str or
    objects, or lists. A null has no row.

    At most `capacity` rows are given out. An id gets its row when it is seen for the `admit_after`-th time; what was
    seen before is counted in eight bytes an id. With `track=True` the step and the number of uses of every row are
    kept, for `rows_since`, `least_recent`, `least_frequent` and `uses`.

    Calls of several threads take turns. A call that fails has changed nothing.

    >>> import gradbag
    >>> words = gradbag.Vocabulary("string")
    >>> words.add(["cat", "dog", "cat", "bird"])
    array([0, 1, 0, 2])
    >>> words.lookup(["bird", "fish"])
    array([ 2, -1])
    >>> words.evict(ids=["dog"])
    array([1])
    >>> words.add(["fish"]), list(words)
    (array([1]), ['cat', 'fish', 'bird'])
    """

    def __init__(
        self,
        kind: Literal["int64", "string"] = "int64",
        capacity: int | None = None,
        admit_after: int = 1,
        *,
        track: bool = False,
    ) -> None:
        if native is None:
            raise errors.Error("Vocabulary: needs the compiled kernels, which this installation does not have")
        if kind not in ("int64", "string"):
            raise errors.unfit("Vocabulary", "kind", "'int64' or 'string'", repr(kind))
        if capacity is not None:
            errors.check_natural("Vocabulary", "capacity", capacity, "an int or None")
            if capacity > native.most_rows:
                raise errors.unfit("Vocabulary", "capacity", f"at most {native.most_rows}", errors.shown(capacity))
        errors.check_natural("Vocabulary", "admit_after", admit_after, least=1)
        if admit_after > native.most_sightings:
            wanted = f"at most {native.most_sightings}"
            raise errors.unfit("Vocabulary", "admit_after", wanted, errors.shown(admit_after))
        self._kind: Literal["int64", "string"] = kind
        self._capacity, self._admit_after, self._track = capacity, admit_after, bool(track)
        self._step = 0
        self._seeds = (int.from_bytes(os.urandom(8)), int.from_bytes(os.urandom(8)))
        self._table = self._empty_table()

    # ------------------------------------------------------------------ what it is
    @property
    def kind(self) -> Literal["int64", "string"]:
        """What ids are: "int64" or "string"."""
        return self._kind

    @property
    def capacity(self) -> int | None:
        """How many rows there may be, or None."""
        return self._capacity

    @property
    def admit_after(self) -> int:
        """How often an id must be seen to get a row."""
        return self._admit_after

    @property
    def track(self) -> bool:
        """Whether the uses of rows are kept."""
        return self._track

    @property
    def step(self) -> int:
        """The step of the last `add`; 0 before the first."""
        return self._step

    @property
    def num_rows(self) -> int:
        """How many rows a table of rows needs: one more than the largest row that was ever given out."""
        return int(self._locked("num_rows", self._table.rows))

    @property
    def pending(self) -> int:
        """How many ids were seen, but not often enough."""
        return int(self._locked("pending", self._table.sighted))

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return int(self._locked("nbytes", self._table.bytes))

    def __len__(self) -> int:
        return int(self._locked("len", self._table.size))

    def __contains__(self, item: object) -> bool:
        return bool(self._find("in", [item])[0] >= 0)

    def __iter__(self) -> Iterator[Any]:
        """The ids, in the order of their rows."""
        return iter(self.ids().tolist())

    def __repr__(self) -> str:
        bound = "" if self._capacity is None else f" of at most {self._capacity}"
        return f"Vocabulary({self._kind!r}, {len(self)}{bound} ids)"

    # ------------------------------------------------------------------ ids to rows
    def add(self, ids: Any, *, default: int = -1, step: int | None = None) -> Rows:
        """The row of each id, in the shape of `ids`; new ids get rows.

        Ids that get none (not seen often enough, no room, null) have the row `default`. The rows are used in step
        `step`, by default one after the last.
        """
        if step is None:
            step = self._step + 1
        errors.check_natural("Vocabulary.add", "step", step)
        if step >= 1 << 63:
            raise errors.unfit("Vocabulary.add", "step", "below 2**63", errors.shown(step))
        given, shape = self._given("add", ids)
        rows = string_columns.results("Vocabulary.add", "rows", shape)
        self._growing("add", lambda limit: self._table.add(given, rows, step, limit))
        self._step = max(self._step, step)
        return _shaped("add", rows, shape, default)

    def lookup(self, ids: Any, *, default: int = -1) -> Rows:
        """The row of each id, in the shape of `ids`; `default` for those that have none. Nothing is changed."""
        return self._find("lookup", ids, default)

    def _find(self, function: str, ids: Any, default: int = -1) -> Rows:
        given, shape = self._given(function, ids)
        rows = string_columns.results(f"Vocabulary.{function}", "rows", shape)
        self._locked(function, lambda: self._table.find(given, rows), "ids")
        return _shaped(function, rows, shape, default)

    # ------------------------------------------------------------------ rows to ids
    def ids(self, rows: Any = None) -> np.ndarray[Any, Any]:
        """The ids of rows, or of all rows in order: int64, or an array of str.

        Bytes that are not UTF-8 become lone surrogates, as in Python's file names (`surrogateescape`), and back.
        """
        found, shape = self._read("ids", rows, with_ids=True)
        if self._kind == "int64":
            return found["ids"].reshape(shape)
        text, ends = found["text"].tobytes(), found["ids"].tolist()
        answer = np.empty(len(ends), object)
        answer[:] = [text[a:b].decode("utf-8", "surrogateescape") for a, b in zip([0, *ends], ends, strict=False)]
        return answer.reshape(shape)

    def rows(self) -> Rows:
        """The rows that are in use, in order."""
        return self._read("rows", None)[0]["rows"]

    # ------------------------------------------------------------------ eviction
    def evict(self, rows: Any = None, *, ids: Any = None) -> Rows:
        """Free rows, given as rows or by their ids, and tell which, so that a table can clear them.

        New ids get free rows first: those of the last call before older ones, and in the order of the call.
        """
        if (rows is None) == (ids is None):
            raise errors.InvalidArgumentError("Vocabulary.evict: give either rows or ids")
        if rows is not None:
            wanted = string_columns.integers("Vocabulary.evict", "rows", rows).reshape(-1)
            freed = self._locked("evict", lambda: self._table.evict(wanted), "rows")
            if isinstance(freed, int):
                raise self._unused("evict", freed, wanted)
            return _plain(freed)
        given, _ = self._given("evict", ids)
        freed = self._locked("evict", lambda: self._table.evict_ids(given), "ids")
        if isinstance(freed, int):
            problem = errors.InvalidArgumentError(f"Vocabulary.evict: ids[{freed}] is not in the vocabulary")
            raise errors.about("ids", problem)
        return _plain(freed)

    def freed(self) -> Rows:
        """The rows that are free now: given out once, and not again since they were evicted."""
        return self._read("freed", None)[0]["freed"][::-1].copy()

    def forget_pending(self) -> None:
        """Forget what was seen too seldom to get a row; a long stream should do so from time to time."""
        self._locked("forget_pending", self._table.forget_sightings)

    # ------------------------------------------------------------------ uses
    def uses(self, rows: Any = None) -> tuple[Rows, Rows]:
        """The last step and the number of uses of rows, or of all rows in order: for a criterion of your own."""
        found, shape = self._tracked("uses", rows)
        return found["steps"].reshape(shape), found["counts"].reshape(shape)

    def rows_since(self, step: int) -> Rows:
        """The rows that were used after step `step`: what has changed since a checkpoint of that step.

        >>> import gradbag
        >>> users = gradbag.Vocabulary(track=True)
        >>> users.add([10, 20, 30]), users.add([20, 40])
        (array([0, 1, 2]), array([1, 3]))
        >>> users.rows_since(1)
        array([1, 3])
        """
        errors.check_natural("Vocabulary.rows_since", "step", step)
        found, _ = self._tracked("rows_since", None)
        return found["rows"][found["steps"] > step]

    def least_recent(self, k: int) -> Rows:
        """The `k` rows whose last use is longest ago, the oldest first; of equals the smaller row."""
        return self._least("least_recent", k, ["steps"])

    def least_frequent(self, k: int) -> Rows:
        """The `k` rows that were used least often, the rarest first; of equals the one whose last use is longer ago."""
        return self._least("least_frequent", k, ["counts", "steps"])

    def _least(self, function: str, k: int, by: list[str]) -> Rows:
        errors.check_natural(f"Vocabulary.{function}", "k", k)
        found, _ = self._tracked(function, None)
        rows, keys = found["rows"], [found[name] for name in by]
        if 0 < k < rows.size:  # no need to sort what cannot be among them
            near = keys[0] <= np.partition(keys[0], k - 1)[k - 1]
            rows, keys = rows[near], [key[near] for key in keys]
        return rows[np.lexsort([rows, *reversed(keys)])[:k]]

    def _tracked(self, function: str, rows: Any) -> tuple[Lists, tuple[int, ...]]:
        if not self._track:
            raise errors.Error(f"Vocabulary.{function}: uses are not kept; make the vocabulary with track=True")
        return self._read(function, rows)

    # ------------------------------------------------------------------ files
    def state_dict(self) -> Lists:
        """All of it as plain arrays, for `load_state_dict` or a file of your own."""
        found, _ = self._read("state_dict", None, with_ids=True)
        capacity = -1 if self._capacity is None else self._capacity
        state = {
            "version": np.array(_VERSION, np.int64),
            "kind": np.array(self._kind.encode()),
            "settings": np.array([capacity, self._admit_after, self._track, self._step], np.int64),
            "seeds": np.array(self._seeds, np.uint64),
        }
        return state | found

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Become what `state_dict` has told; on an error nothing has changed."""
        self._become("Vocabulary.load_state_dict", "state", state)

    def __getstate__(self) -> Lists:
        """For copies, and for processes that are handed one."""
        return self.state_dict()

    def __setstate__(self, state: Lists) -> None:
        self._become("Vocabulary", "state", state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file in NumPy's .npz format. Until it is whole, and on the disk, the old one stays in its place."""
        from . import vocabulary_files

        vocabulary_files.write(path, self.state_dict())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """The vocabulary of a file that `save` has written."""
        from . import vocabulary_files

        vocabulary = cls()
        vocabulary._become("Vocabulary.load", os.fspath(path), vocabulary_files.read("Vocabulary.load", path))
        return vocabulary

    def _become(self, function: str, source: str, state: Mapping[str, Any]) -> None:
        try:
            lists = {name: _checked(state, name) for name in ["version", "kind", "settings", "seeds", *_LISTS]}
            if lists["version"] != _VERSION:
                raise ValueError(f"has version {lists['version']}, and only {_VERSION} can be read")
            kind = lists["kind"].item().decode("ascii", "replace")
            capacity, admit_after, track, step = (int(number) for number in lists["settings"])
            if step < 0 or track not in (0, 1) or capacity < -1:
                raise ValueError(f"has settings {errors.shown([capacity, admit_after, track, step])}")
            seeds = lists["seeds"].tolist()
            fresh = Vocabulary(kind, None if capacity < 0 else capacity, admit_after, track=bool(track))
            fresh._step, fresh._seeds = step, (seeds[0], seeds[1])
            ids = lists["ids"] if kind == "int64" else native.Strings.of_ends(lists["ids"], lists["text"])
            rest = [lists[name] for name in ("rows", "freed", "steps", "counts", "sightings")]

            def restore(limit: int) -> None:
                fresh._table = fresh._empty_table()
                fresh._table.restore(ids, *rest, limit)

            _within_memory(function, restore)
        except (ValueError, TypeError) as problem:
            told = f"{function}: {source} is no vocabulary, or damaged: it {problem}"
            raise errors.InvalidArgumentError(told) from None
        self.__dict__.update(fresh.__dict__)

    # ------------------------------------------------------------------ the table
    def _empty_table(self) -> Any:
        kind = native.IntegerVocabulary if self._kind == "int64" else native.StringVocabulary
        capacity = native.most_rows if self._capacity is None else self._capacity
        return kind(*self._seeds, capacity, self._admit_after, self._track)

    def _given(self, function: str, ids: Any) -> tuple[Any, tuple[int, ...]]:
        """Ids as the table takes them, and their shape."""
        if self._kind == "string":
            return string_columns.read(f"Vocabulary.{function}", "ids", ids)
        array = string_columns.integers(f"Vocabulary.{function}", "ids", ids)
        return array.reshape(-1), array.shape

    def _read(self, function: str, rows: Any, with_ids: bool = False) -> tuple[Lists, tuple[int, ...]]:
        wanted, shape = None, (-1,)
        if rows is not None:
            array = string_columns.integers(f"Vocabulary.{function}", "rows", rows)
            wanted, shape = array.reshape(-1), array.shape
        found = self._locked(function, lambda: self._table.read(wanted, with_ids))
        if isinstance(found, int):
            raise self._unused(function, found, wanted)
        return {name: _plain(found[name]) for name in _LISTS}, shape

    def _unused(self, function: str, place: int, rows: Any) -> errors.Error:
        hint = f"is not in use; {self!r} has given out {self.num_rows} rows"
        fault = errors.Fault("rule", "rows", [place], int(rows[place]), hint=hint)
        return errors.invalid(f"Vocabulary.{function}", fault)

    def _growing(self, function: str, work: Callable[[int], None]) -> None:
        self._locked(function, lambda: _within_memory(f"Vocabulary.{function}", work), "ids")

    def _locked(self, function: str, work: Callable[[], Answer], argument: str = "") -> Answer:
        """What the table answers; its refusals in full sentences."""
        try:
            return work()
        except errors.Error:
            raise
        except ValueError as problem:
            told = errors.InvalidArgumentError(f"Vocabulary.{function}: {argument} {problem}")
            raise errors.about(argument, told) from None
        except RuntimeError as problem:
            raise errors.Error(f"Vocabulary.{function}: the vocabulary {problem}") from None
        except MemoryError:
            raise errors.ResourceExhaustedError(f"Vocabulary.{function}: the system has no more memory") from None


# The lists of a state, and what they hold; of strings, `ids` says where in `text` each ends.
_LISTS = {
    "rows": np.int64,
    "ids": np.int64,
    "text": np.uint8,
    "steps": np.int64,
    "counts": np.int64,
    "freed": np.int64,
    "sightings": np.uint64,
}
_SHAPES = {"version": (), "kind": (), "settings": (4,), "seeds": (2,)}


def _checked(state: Mapping[str, Any], name: str) -> np.ndarray[Any, Any]:
    """A list of a state, in the form in which it is read."""
    if name not in state:
        raise ValueError(f"has no {name}")
    array = np.asarray(state[name])
    wanted = _LISTS.get(name, np.uint64 if name == "seeds" else np.int64)
    if array.dtype.kind != "S" if name == "kind" else array.dtype != wanted:
        raise ValueError(f"has {name} of {array.dtype}")
    if array.ndim != 1 if name in _LISTS else array.shape != _SHAPES[name]:
        raise ValueError(f"has {name} of shape {errors.shown(array.shape)}")
    return np.ascontiguousarray(array).reshape(array.shape)


def _within_memory(function: str, work: Callable[[int], None]) -> None:
    """Work that may ask for so many bytes; how many there are is found out only for work that asks for many."""
    limit = memory.unchecked()
    while True:
        try:
            return work(limit)
        except MemoryError as problem:
            needed = problem.args[0] if problem.args else None
            if not isinstance(needed, int):
                raise
        memory.reserve(function, [("a larger table of ids", [needed], 1)])
        limit = max(memory.get_memory_limit(), needed)


def _plain(array: Any) -> np.ndarray[Any, Any]:
    """NumPy has two types for 64 bits on many machines, and compiled code gives the one that shows."""
    return np.asarray(array).view(np.dtype(array.dtype.name))


def _shaped(function: str, rows: Rows, shape: tuple[int, ...], default: int) -> Rows:
    if default != -1:
        if isinstance(default, bool) or not isinstance(default, int):
            raise errors.wrong_type(f"Vocabulary.{function}", "default", ["an int"], type(default).__name__)
        if not -(1 << 63) <= default < 1 << 63:
            raise errors.unfit(f"Vocabulary.{function}", "default", "an int64", errors.shown(default))
        rows[rows < 0] = default
    return rows.reshape(shape)
