"""Which shard has a row, and as which of its own."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import errors, raw_ops
from ..ops.sharding import STRATEGIES, unshuffled

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ShardPlan:
    """A table of `num_rows` that is cut into pieces, of which each of `num_shards` has some that follow each other.

        >>> from gradbag.sharding import ShardPlan
        >>> plan = ShardPlan(10, 3)
        >>> [plan.ids(shard).tolist() for shard in range(3)]
        [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]
        >>> plan.keys([0, 1, 4, 9]).tolist()  # places among the rows of all shards, one after another
        [0, 4, 5, 3]

    "mod" takes rows in turns and "div" consecutive ones, as TensorFlow's partition strategies; "hash" shuffles them
    first. There are as many pieces as shards if nobody says otherwise. With the same number of pieces, the keys of rows
    are the same for every number of shards.
    """

    num_rows: int
    num_shards: int
    strategy: str = "mod"
    pieces: int = 0

    def __post_init__(self) -> None:
        for name in ("num_rows", "num_shards", "pieces"):
            errors.check_natural("ShardPlan", name, getattr(self, name))
        if not 1 <= self.num_shards < 1 << 16:
            raise errors.unfit("ShardPlan", "num_shards", "in [1, 65536)", errors.shown(self.num_shards))
        if self.num_rows >= 1 << 48:
            raise errors.unfit("ShardPlan", "num_rows", "below 2**48", errors.shown(self.num_rows))
        if self.strategy not in STRATEGIES:
            allowed = "one of " + ", ".join(map(repr, STRATEGIES))
            raise errors.unfit("ShardPlan", "strategy", allowed, repr(self.strategy))
        if not self.pieces:
            object.__setattr__(self, "pieces", self.num_shards)
        if self.pieces < self.num_shards:
            wanted = f"at least num_shards, {self.num_shards}"
            raise errors.unfit("ShardPlan", "pieces", wanted, errors.shown(self.pieces))

    # ------------------------------------------------------------------ keys
    def piece_start(self, piece: Any) -> Any:
        """The first key of a piece, or of each of several; that of the piece after the last is the number of rows."""
        small, larger = divmod(self.num_rows, self.pieces)
        return piece * small + np.minimum(piece, larger)

    def piece_of(self, keys: Array) -> Array:
        """The piece that each key is in."""
        small, larger = divmod(self.num_rows, self.pieces)
        split = larger * (small + 1)
        return np.where(keys < split, keys // (small + 1), larger + (keys - split) // max(small, 1))

    def pieces_of(self, shard: int) -> range:
        """The pieces that a shard has."""
        return range(self.pieces * shard // self.num_shards, self.pieces * (shard + 1) // self.num_shards)

    @cached_property
    def starts(self) -> Array:
        """The first key of each shard, and at last the number of rows."""
        shards = np.arange(self.num_shards + 1, dtype=np.int64)
        starts: Array = self.piece_start(self.pieces * shards // self.num_shards)
        return starts

    def size(self, shard: int) -> int:
        """How many rows a shard has."""
        return int(self.starts[shard + 1] - self.starts[shard])

    def keys(self, ids: Any) -> Array:
        """Where rows stand when those of all shards follow each other."""
        keys: Array = raw_ops.ShardKeys(
            ids=np.asarray(ids), num_rows=self.num_rows, num_pieces=self.pieces, strategy=self.strategy
        )
        return keys

    def ids_of(self, places: Any) -> Array:
        """The rows that have these keys."""
        keys: Array = np.asarray(places, np.int64)
        if self.strategy == "div":
            return keys
        if self.strategy == "hash":
            return unshuffled(keys, self.num_rows)
        piece = self.piece_of(keys)
        ids: Array = (keys - self.piece_start(piece)) * self.pieces + piece
        return ids

    def ids(self, shard: int, rows: Any = None) -> Array:
        """The rows of the table that these rows of a shard are, or all that it has."""
        rows = np.arange(self.size(shard)) if rows is None else np.asarray(rows, np.int64)
        return self.ids_of(self.starts[shard] + rows)

    # ------------------------------------------------------------------ as plain values
    def described(self) -> dict[str, Any]:
        """The plan in words of JSON: `ShardPlan(**plan.described())` is it again."""
        return asdict(self)

    @property
    def row_dtype(self) -> np.dtype[Any]:
        """In which numbers of rows travel."""
        return np.dtype(np.int32 if int(np.diff(self.starts).max()) < 1 << 31 else np.int64)
