"""A table in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from .. import dtypes, errors, memory
from ..optim import Optimizer
from . import safetensors, settings
from .base import Trained, check_size, compact
from .batches import Array, Block
from .beginnings import Init, check_init, fill_rows
from .rounding import Storage
from .states import Kept, kept_by

_KIND = "Table"


class Table(Trained):
    """Rows with what an optimizer keeps of them, in memory.

        >>> import numpy as np
        >>> import gradbag
        >>> table = gradbag.Table(1000, 2, gradbag.optim.SGD(0.5), init="zeros")
        >>> bags = gradbag.Bags.of([[7, 3], [], [7]])
        >>> table.step(bags, np.ones((3, 2), np.float32), combiner="sum")
        >>> table.lookup(bags, combiner="sum").tolist()
        [[-1.5, -1.5], [0.0, 0.0], [-1.0, -1.0]]
        >>> table
        Table(1000 rows of 2, float32, SGD, 1 step)

    Rows begin with normal numbers of the deviation 1 / sqrt(columns); `init` is another deviation, "normal" (1),
    "zeros", or a function of row numbers and columns that gives an array. The numbers depend on `seed`, row and column.

    With the dtype bfloat16 or float16, rows are kept in 16 bits and computed in float32, as is all that an optimizer
    keeps; `rounding="stochastic"` rounds up or down by chance, so that small steps are not lost: the chance depends on
    seed, step, row and column.
    """

    def __init__(
        self,
        rows: int,
        columns: int,
        optimizer: Optimizer | None = None,
        *,
        dtype: Any = "float32",
        init: Init = None,
        rounding: str = "nearest",
        seed: int = 0,
    ) -> None:
        check_size("Table", rows, columns)
        storage = Storage.checked("Table", dtype, rounding, seed)
        check_init("Table", init)
        memory.reserve("Table", [("values", (rows, columns), storage.dtype.itemsize)])
        values = memory.zeros_on_lines((rows, columns), storage.dtype)
        if init != "zeros":
            fill_rows("Table", init, seed, np.arange(rows), values)
        self._begin(values, optimizer, storage)

    @classmethod
    def of(cls, array: Any, optimizer: Optimizer | None = None, *, rounding: str = "nearest", seed: int = 0) -> Self:
        """A table of an array with two axes, which it keeps without a copy if it can be written to in place.

        >>> import numpy as np
        >>> import gradbag
        >>> rows = np.array([[1.0, 2.0], [3.0, 4.0]])
        >>> gradbag.Table.of(rows).lookup([[0, 1], [1]]).tolist()
        [[2.0, 3.0], [3.0, 4.0]]
        """
        values = np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED", "WRITEABLE"])
        if values.ndim != 2:
            raise errors.wrong_shape("Table.of", "array", "rows columns", "", values.shape)
        if dtypes.name_of(values.dtype) == "float64" and not hasattr(array, "dtype"):
            values = values.astype(np.float32)  # Python's numbers, as in a call of an op
        table = cls.__new__(cls)
        table._begin(values, optimizer, Storage.checked("Table.of", values.dtype, rounding, seed))
        return table

    def _begin(self, values: Array, optimizer: Optimizer | None, storage: Storage) -> None:
        settings.check_optimizer("Table", optimizer)
        self.values = values
        self.rows, self.columns = values.shape
        self._storage, self._optimizer = storage, optimizer
        self.state: dict[str, Any] = self._fresh_state()

    def _fresh_state(self) -> dict[str, Any]:
        if self._optimizer is None:
            return {"step": 0}
        like = np.broadcast_to(np.zeros((), self.computing), self.shape)  # only its shape and dtype are looked at
        return self._optimizer.init(like)

    # ------------------------------------------------------------------ what it is
    @property
    def step_count(self) -> int:
        """How many steps were made."""
        return int(self.state["step"])

    @property
    def nbytes(self) -> int:
        """The memory of the rows and of what the optimizer keeps."""
        return self.values.nbytes + sum(kept.nbytes for kept in self.state.values() if isinstance(kept, np.ndarray))

    def __repr__(self) -> str:
        return f"Table({described(self)})"

    # ------------------------------------------------------------------ blocks
    def _block(self, function: str, ids: Array, with_state: bool) -> Block:
        state = self.state if with_state else {}
        whole = Block(self.values, state, ids, None)
        if not self._storage.is_narrow:
            return whole
        block = compact(whole)
        return block._replace(values=block.values.astype(self.computing))

    def _keep(self, block: Block) -> None:
        if block.rows is None:
            return  # it was the table itself
        self.values[block.rows] = self._storage.narrowed(block.values, block.rows, block.state["step"])
        for name, kept in block.state.items():
            if isinstance(kept, np.ndarray):
                self.state[name][block.rows] = kept
        self.state["step"] = block.state["step"]

    # ------------------------------------------------------------------ states
    def state_dict(self) -> dict[str, Any]:
        """The rows, the number of steps and what the optimizer keeps: the arrays themselves, not copies."""
        return {"values": self.values, **self.state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` has told, as copies; on an error nothing has changed."""
        arrays = self._fitting("Table.load_state_dict", state)
        for name, own in self.state_dict().items():
            if name != "step":
                own[...] = arrays[name]
        self.state["step"] = _as_int(state["step"])

    def _fitting(self, function: str, state: Mapping[str, Any]) -> dict[str, Array]:
        """The arrays of a state, which must be those of this table."""
        values = Kept("values", self.dtype, False, 0)
        wanted = {kept.name: kept for kept in (values, *kept_by(self._optimizer, self.computing))}
        for name in {**wanted, "step": None, **state}:
            if name not in state or (name not in wanted and name != "step"):
                whole = ", ".join([*wanted, "step"])
                raise errors.unfit(function, "state", f"of {whole}", f"{'more' if name in state else 'no'} {name}")
        errors.check_natural(function, "step", _as_int(state["step"]))
        if _as_int(state["step"]) >= 1 << 63:
            raise errors.unfit(function, "step", "below 2**63", errors.shown(state["step"]))
        arrays = {name: np.asarray(state[name]) for name in wanted}
        for name, kept in wanted.items():
            given, shape = arrays[name], kept.shape(self.rows, self.columns)
            if given.dtype != kept.dtype:
                raise errors.wrong_type(function, name, [dtypes.name_of(kept.dtype)], dtypes.name_of(given.dtype))
            if given.shape != shape:
                raise errors.unfit(function, name, f"of shape {list(shape)}", f"{list(given.shape)}")
        return arrays

    # ------------------------------------------------------------------ files
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file; until it is whole, and on the disk, the old one stays in its place."""
        arrays = {name: kept for name, kept in self.state_dict().items() if isinstance(kept, np.ndarray)}
        safetensors.write(path, arrays, self._description(_KIND))

    def _description(self, kind: str) -> dict[str, Any]:
        return {
            "kind": kind,
            "version": 1,
            "step": self.step_count,
            "rounding": self._storage.rounding,
            "seed": self._storage.seed,
            "optimizer": settings.described(self._optimizer),
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str], optimizer: Optimizer | None = None, *, name: str = "values") -> Self:
        """The table of a file that `save` has written, or of the array `name` in any safetensors file.

        `optimizer` takes the place of the one that the file tells of; it must keep the same arrays. One whose learning
        rate is a function must be given again.
        """
        function = "Table.load"
        found = safetensors.read(function, path)
        return cls._of_contents(function, path, found, optimizer, name)

    @classmethod
    def _of_contents(cls, function: str, path: Any, found: safetensors.Contents, optimizer: Any, name: str) -> Self:
        arrays, about = found
        if name not in arrays:
            there = errors.shown(list(arrays))
            raise errors.unfit(function, "name", f"one of the arrays of {os.fspath(path)}, {there}", repr(name))
        values = arrays.pop(name)
        if about.get("kind") != _KIND:
            return cls.of(values, optimizer)
        check_version(function, path, about)
        optimizer = settings.restored(function, about.get("optimizer"), optimizer)
        table = cls.of(values, None, rounding=about.get("rounding", "nearest"), seed=about.get("seed", 0))
        table._optimizer = optimizer
        arrays = table._fitting(function, {"values": values, "step": about.get("step"), **arrays})
        table.state = {"step": about["step"], **{name: a for name, a in arrays.items() if name != "values"}}
        return table

    # ------------------------------------------------------------------ serving
    def quantized(self, kind: str = "uint8") -> Any:
        """The rows in 8 bits with a scale each, for look-ups alone: "uint8" or "float8_e4m3fn"."""
        from .quantized import QuantizedTable

        return QuantizedTable.of(self.values, kind)


def _as_int(step: Any) -> Any:
    """NumPy's whole numbers as Python's: a state may have been in a file."""
    return step.item() if isinstance(step, (np.integer, np.ndarray)) and step.ndim == 0 else step


def described(table: Any) -> str:
    name = "no optimizer" if table.optimizer is None else type(table.optimizer).__name__
    steps = f"{table.step_count} step" + "s" * (table.step_count != 1)
    return f"{table.rows} rows of {table.columns}, {dtypes.name_of(table.dtype)}, {name}, {steps}"


def check_version(function: str, path: Any, about: Mapping[str, Any]) -> None:
    if about.get("version") != 1:
        told = f"{function}: {os.fspath(path)} has version {errors.shown(about.get('version'))}, and only 1 can be read"
        raise errors.about("path", errors.InvalidArgumentError(told))
