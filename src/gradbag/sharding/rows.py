"""The rows of one shard, which know what numbers they have in the whole table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..optim import Optimizer
from ..table import FileTable, Table
from ..table.beginnings import Init, check_init, fill_rows
from ..table.rounding import Storage
from .plan import Array, ShardPlan

CHUNK = 1 << 22  # numbers of rows that are made at once


@dataclass(frozen=True)
class ShardStorage(Storage):
    """Storage whose chance depends on the numbers that rows have in the whole table."""

    plan: ShardPlan
    shard: int

    @classmethod
    def of(cls, storage: Storage, plan: ShardPlan, shard: int) -> ShardStorage:
        return cls(storage.name, storage.rounding, storage.seed, plan, shard)

    def narrowed(self, values: Array, rows: Array, step: int) -> Array:
        return super().narrowed(values, self.plan.ids(self.shard, rows), step)


def beginning(plan: ShardPlan, shard: int, init: Init, seed: int, dtype: Any) -> Any:
    """What `init` would give for rows of the whole table, as a function of the rows of a shard."""
    check_init("ShardPlan", init)

    def made(rows: Array, columns: int) -> Array:
        out = np.empty((len(rows), columns), dtype)
        size = max(1, CHUNK // max(columns, 1))
        for begin in range(0, len(rows), size):
            part = slice(begin, begin + size)
            fill_rows("ShardPlan", init, seed, plan.ids(shard, rows[part]), out[part])
        return out

    return made


def shard_table(
    plan: ShardPlan,
    shard: int,
    columns: int,
    optimizer: Optimizer | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    dtype: Any = "float32",
    init: Init = None,
    rounding: str = "nearest",
    seed: int = 0,
) -> Table | FileTable:
    """The table of a shard, in memory or in a file, whose rows begin and are rounded as those of one table would.

        >>> from gradbag.sharding import ShardPlan, shard_table
        >>> whole = shard_table(ShardPlan(9, 1), 0, 4)
        >>> bool((shard_table(ShardPlan(9, 2), 1, 4).values == whole.values[1::2]).all())
        True

    A file that is there is opened; its last checkpoint counts.
    """
    storage = Storage.checked("shard_table", dtype, rounding, seed)
    begin = beginning(plan, shard, init, seed, storage.dtype)
    settings: dict[str, Any] = {"dtype": dtype, "init": begin, "rounding": rounding, "seed": seed}
    table: Table | FileTable
    if path is None:
        table = Table(plan.size(shard), columns, optimizer, **settings)
    elif os.path.exists(path):
        table = FileTable.open(path, optimizer, init=begin)
    else:
        table = FileTable.create(path, plan.size(shard), columns, optimizer, **settings)
    table._storage = ShardStorage.of(storage, plan, shard)
    return table
