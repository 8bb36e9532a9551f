"""A table that has a row for each id that it has met."""

from __future__ import annotations

import os
from typing import Any, Literal, Self

import numpy as np

from .. import dtypes, errors, memory
from ..ops.combiners import combiner_named
from ..optim import Optimizer
from ..vocabulary import Rows, Vocabulary
from . import safetensors, settings
from .base import check_size
from .batches import Array, check_norm
from .beginnings import Init, check_init, fill_rows
from .named_bags import NamedBags, keys_of, named_bags, strings_at
from .rounding import Storage
from .states import Kept, kept_by
from .table import Table, check_version

_KIND = "GrowingTable"
_PREFIX = "vocabulary."
_FEWEST = 64  # rows for which there is room at first


class GrowingTable:
    """Rows for any int64 or string, with what an optimizer keeps of them.

        >>> import numpy as np
        >>> import gradbag
        >>> table = gradbag.GrowingTable(2, gradbag.optim.SGD(0.5), kind="string", init="zeros")
        >>> bags = [["cat", "dog"], ["dog"]]
        >>> table.step(bags, np.ones((2, 2), np.float32), combiner="sum")
        >>> table.lookup([["cat"], ["dog"], ["yak"]]).tolist()
        [[-0.5, -0.5], [-1.0, -1.0], [0.0, 0.0]]
        >>> table
        GrowingTable(2 string ids, rows of 2, float32, SGD, 1 step)

    A step gives ids their rows, when it meets them for the `admit_after`-th time; a look-up changes nothing. An id that
    has no row is looked up as what its row would begin with, which depends on `seed` and the id; with `unknown="skip"`
    it is left out, as if it were not in its bag. At most `capacity` ids have rows.

    Bags are what `Bags.of` takes, or lists or an Arrow column of lists of strings; with `offsets`, ids are flat.
    """

    def __init__(
        self,
        columns: int,
        optimizer: Optimizer | None = None,
        *,
        kind: Literal["int64", "string"] = "int64",
        admit_after: int = 1,
        capacity: int | None = None,
        unknown: Literal["initial", "skip"] = "initial",
        dtype: Any = "float32",
        init: Init = None,
        rounding: str = "nearest",
        seed: int = 0,
    ) -> None:
        check_size(_KIND, 0, columns)
        storage = Storage.checked(_KIND, dtype, rounding, seed)
        check_init(_KIND, init)
        settings.check_optimizer(_KIND, optimizer)
        if unknown not in ("initial", "skip"):
            raise errors.unfit(_KIND, "unknown", "'initial' or 'skip'", repr(unknown))
        self._vocabulary = Vocabulary(kind, capacity, admit_after, track=True)
        self._init, self._unknown, self._seed = init, unknown, seed
        self._table = Table.of(np.zeros((0, columns), storage.dtype), optimizer, rounding=rounding, seed=seed)

    # ------------------------------------------------------------------ what it is
    @property
    def columns(self) -> int:
        return self._table.columns

    @property
    def optimizer(self) -> Optimizer | None:
        """How rows move; None in a table that is only looked up."""
        return self._table.optimizer

    @property
    def dtype(self) -> np.dtype[Any]:
        """In which rows are kept; bfloat16 and float16 are computed in float32."""
        return self._table.dtype

    @property
    def step_count(self) -> int:
        """How many steps were made."""
        return self._table.step_count

    @property
    def vocabulary(self) -> Vocabulary:
        """Which ids have rows, and when they were used: to look at, and to choose what to evict."""
        return self._vocabulary

    @property
    def nbytes(self) -> int:
        """The memory of rows, states and ids."""
        return self._table.nbytes + self._vocabulary.nbytes

    def __len__(self) -> int:
        return len(self._vocabulary)

    def __contains__(self, item: object) -> bool:
        return item in self._vocabulary

    def __repr__(self) -> str:
        name = "no optimizer" if self.optimizer is None else type(self.optimizer).__name__
        steps = f"{self.step_count} step" + "s" * (self.step_count != 1)
        kind, dtype = self._vocabulary.kind, dtypes.name_of(self.dtype)
        return f"GrowingTable({len(self)} {kind} ids, rows of {self.columns}, {dtype}, {name}, {steps})"

    # ------------------------------------------------------------------ look-ups and steps
    def lookup(
        self,
        bags: Any,
        combiner: str = "mean",
        *,
        offsets: Any = None,
        weights: Any = None,
        max_norm: float | None = None,
    ) -> Array:
        """The combined rows of each bag, in a new array; nothing is changed."""
        given = named_bags("GrowingTable.lookup", self._vocabulary.kind, bags, offsets, weights)
        return self._looked_up(given, combiner, max_norm)

    def _looked_up(self, given: NamedBags, combiner: str, max_norm: float | None) -> Array:
        rows = self._vocabulary.lookup(given.ids).reshape(-1)
        places = self._unknown_places(given, rows)
        if not len(places):
            return self._table.lookup(given.over(rows), combiner, max_norm=max_norm)
        known, positions = np.unique(rows[rows >= 0], return_inverse=True)
        keys, others = np.unique(keys_of(self._vocabulary.kind, given.ids, places), return_inverse=True)
        values = np.empty((len(known) + len(keys), self.columns), self.dtype)
        values[: len(known)] = self._table.values[known]
        self._fill(keys, values[len(known) :])
        own = np.full(given.size, -1)
        own[rows >= 0] = positions
        own[places] = len(known) + others
        return Table.of(values).lookup(given.over(own), combiner, max_norm=max_norm)

    def read(self, ids: Any) -> Array:
        """A copy of the row of each id; of one that has none, what it would begin with, or zeros if it is skipped."""
        given = named_bags("GrowingTable.read", self._vocabulary.kind, ids, np.arange(len(ids)), None)
        return self._looked_up(given, "sum", None)

    def step(
        self,
        bags: Any,
        grad: Any,
        combiner: str = "mean",
        *,
        offsets: Any = None,
        weights: Any = None,
        max_norm: float | None = None,
    ) -> None:
        """Move the rows of ids, given the gradient of what `lookup` has made of them; new ids get rows first."""
        function = "GrowingTable.step"
        self._table._moving(function)
        given = named_bags(function, self._vocabulary.kind, bags, offsets, weights)
        combiner = combiner_named(function, combiner).name
        check_norm(function, max_norm)
        grad, wanted = np.asarray(grad), (len(given.offsets), self.columns)
        if grad.dtype != self._table.computing:
            raise errors.wrong_type(function, "grad", [str(self._table.computing)], dtypes.name_of(grad.dtype))
        if grad.shape != wanted:
            raise errors.wrong_shape(function, "grad", "bags columns", f"{list(wanted)}", grad.shape)
        rows = self._admitted(function, given)
        places = self._unknown_places(given, rows)
        if not len(places):
            self._table.step(given.over(rows), grad, combiner, max_norm=max_norm)
            return
        # They count in a mean, so they move a row that nobody looks up, the last there is room for.
        spare = self._vocabulary.num_rows
        self._make_room(function, spare + 1)
        rows[places] = spare
        self._begin(np.array([spare]), np.zeros(1, np.int64))
        self._table.step(given.over(rows), grad, combiner, max_norm=max_norm)

    def _unknown_places(self, given: NamedBags, rows: Array) -> Array:
        """Where ids stand that have no row, but a value; a null has none."""
        if self._unknown == "skip":
            return np.empty(0, np.int64)
        places = np.flatnonzero(rows < 0)
        if self._vocabulary.kind == "int64" or not len(places):
            return places
        return places[[isinstance(item, (str, bytes)) for item in strings_at(given.ids, places)]]

    # ------------------------------------------------------------------ rows that come and go
    def _admitted(self, function: str, given: NamedBags) -> Rows:
        """The row of each id, after new ones got theirs."""
        before = self._vocabulary.lookup(given.ids).reshape(-1)
        rows = self._vocabulary.add(given.ids, step=self.step_count + 1).reshape(-1)
        fresh = np.flatnonzero((before < 0) & (rows >= 0))
        self._make_room(function, self._vocabulary.num_rows)
        if len(fresh):
            distinct, first = np.unique(rows[fresh], return_index=True)
            self._begin(distinct, keys_of(self._vocabulary.kind, given.ids, fresh[first]))
        return rows

    def _begin(self, rows: Array, keys: Array) -> None:
        values = np.empty((len(rows), self.columns), self.dtype)
        self._fill(keys, values)
        self._table.values[rows] = values
        for kept in kept_by(self.optimizer, self._table.computing):
            self._table.state[kept.name][rows] = self.step_count if kept.name == "last" else kept.initial

    def _fill(self, keys: Array, out: Array) -> None:
        fill_rows(_KIND, self._init, self._seed, keys, out)

    def _make_room(self, function: str, count: int) -> None:
        """Twice as many rows as there were, where they do not suffice."""
        table = self._table
        if count <= table.rows:
            return
        rows = max(count, 2 * table.rows, _FEWEST)
        arrays = [Kept("a larger table", self.dtype, False, 0), *kept_by(self.optimizer, table.computing)]
        memory.reserve(function, [(a.name, a.shape(rows, self.columns), a.dtype.itemsize) for a in arrays])
        values = memory.zeros_on_lines((rows, self.columns), self.dtype)
        values[: table.rows] = table.values
        larger = Table.of(values, self.optimizer, rounding=table._storage.rounding, seed=self._seed)
        for name, kept in table.state.items():
            if isinstance(kept, np.ndarray):
                larger.state[name][: table.rows] = kept
            else:
                larger.state[name] = kept
        self._table = larger

    def evict(self, ids: Any) -> None:
        """Take the rows away from ids, all of which must have one; new ids get them. `vocabulary` helps to choose.

        >>> import gradbag
        >>> table = gradbag.GrowingTable(2)
        >>> table.put([10, 20, 30], [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
        >>> table.evict(table.vocabulary.ids(table.vocabulary.least_recent(2)))
        >>> list(table.vocabulary)
        [30]
        """
        self._vocabulary.evict(ids=ids)

    def rows_since(self, step: int) -> tuple[Array, Array]:
        """The ids that steps after `step` have used, and a copy of their rows: what another table needs by `put`."""
        rows = self._vocabulary.rows_since(step)
        return self._vocabulary.ids(rows), self._table.values[rows]

    def put(self, ids: Any, values: Any) -> None:
        """Give ids these rows, however often they were seen; what an optimizer keeps of new ones begins anew."""
        function = "GrowingTable.put"
        rows = np.asarray(values, self.dtype)
        given = named_bags(function, self._vocabulary.kind, ids, np.arange(len(ids)), None)
        if rows.shape != (given.size, self.columns):
            wanted = f"{[given.size, self.columns]}"
            raise errors.wrong_shape(function, "values", "ids columns", wanted, rows.shape)
        for _ in range(self._vocabulary.admit_after):
            places = self._admitted(function, given)
            if (places >= 0).all():
                break
        else:
            problem = f"ids[{int((places < 0).argmax())}] gets no row: it is null, or capacity is reached"
            raise errors.about("ids", errors.InvalidArgumentError(f"{function}: {problem}"))
        self._table.values[places] = rows

    # ------------------------------------------------------------------ files
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write rows, states and ids into a safetensors file; until it is whole, the old one stays in its place."""
        count = self._vocabulary.num_rows
        arrays = {name: a[:count] for name, a in self._table.state_dict().items() if isinstance(a, np.ndarray)}
        state = self._vocabulary.state_dict()
        kind = state.pop("kind").item().decode()
        arrays |= {_PREFIX + name: array for name, array in state.items()}
        about = {
            **self._table._description(_KIND),
            "ids": kind,
            "unknown": self._unknown,
            "init": settings.FUNCTION if callable(self._init) else self._init,
        }
        safetensors.write(path, arrays, about)

    @classmethod
    def load(cls, path: str | os.PathLike[str], optimizer: Optimizer | None = None, *, init: Init = None) -> Self:
        """The table of a file that `save` has written; what is a function, `lr` or `init`, must be given again."""
        function = "GrowingTable.load"
        arrays, about = safetensors.read(function, path)
        if about.get("kind") != _KIND or "values" not in arrays or arrays["values"].ndim != 2:
            raise errors.unfit(function, "path", "a file of a growing table", os.fspath(path))
        check_version(function, path, about)
        if about.get("init") == settings.FUNCTION and not callable(init):
            raise errors.unfit(function, "init", "given again, as it is a function", repr(init))
        known = {name.removeprefix(_PREFIX): a for name, a in arrays.items() if name.startswith(_PREFIX)}
        rest = {name: a for name, a in arrays.items() if not name.startswith(_PREFIX)}
        table = cls(
            arrays["values"].shape[1],
            kind=about.get("ids"),  # type: ignore[arg-type]  # it is checked
            unknown=about.get("unknown"),  # type: ignore[arg-type]
            dtype=arrays["values"].dtype,
            init=init if callable(init) else about.get("init"),
            rounding=about.get("rounding"),  # type: ignore[arg-type]
            seed=about.get("seed"),  # type: ignore[arg-type]
        )
        table._vocabulary.load_state_dict({**known, "kind": np.array(str(about.get("ids")).encode())})
        contents = safetensors.Contents(rest, {**about, "kind": "Table"})
        table._table = Table._of_contents(function, path, contents, optimizer, "values")
        if table._table.rows < table._vocabulary.num_rows:
            raise errors.unfit(function, "path", "a file with a row for each id", os.fspath(path))
        return table
