"""A table whose rows are spread over the ranks of a process group."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from .. import dtypes, errors
from ..adapters.torch.bags import to_array, to_tensor
from ..bags import Bags
from ..ops.combiners import combiner_named
from ..optim import Optimizer
from ..sharding import Feature, Prepared, ShardPlan, shard_table
from ..sharding.moves import Moves
from ..sharding.rows import beginning
from ..table.beginnings import Init
from ..whole_files import AnyPath
from . import sharded_files
from .entries import entries_of
from .sharded_state import DistributedState
from .sharded_steps import NAME, Call, LookUp
from .wire import GroupWire

TREE_PIECES = 16  # of a table whose bags are added up by a tree: as many ranks may share it
WIDE_BYTES = 128  # of a row


class Ready:
    """A batch that was prepared: `bag(ready)` looks it up."""

    def __init__(self, prepared: Prepared, weights: list[Any]) -> None:
        self.prepared, self.weights = prepared, weights


class ShardedEmbeddingBag(nn.Module):  # type: ignore[misc]
    """`gradbag.torch.EmbeddingBag` for a table that no rank has whole: each holds its share of the rows.

    Every rank makes it with the same arguments, in a process group ("gloo"), and calls it with its own batch. Values,
    gradients and steps have the bits that one process would compute for the batches of all ranks, one after another,
    on any number of ranks. With `exact=False` bags are added up where their rows are if that moves fewer bytes; the
    bits are then still the same for all numbers of ranks, though not those of one process. `exchange` asks for one way
    ("rows", "partial"), or for "hybrid", in which ids that a batch has often travel as rows.

    The gradient of the rows is the sum over all ranks, not the mean. It is sparse, in `weight.grad` of each rank's own
    rows; with an `optimizer` of `gradbag.optim`, backward makes the step instead, and `table` has rows and states: in
    memory, or in the file `path`, which may differ from rank to rank. Keep the layer out of DistributedDataParallel.

    `init` is what `gradbag.Table` takes: a function of row numbers and columns, a deviation, "normal" or "zeros". It is
    asked for this rank's rows by their numbers in the whole table, so that any number of ranks begins with the same.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        combiner: str = "mean",
        *,
        exact: bool = True,
        optimizer: Optimizer | None = None,
        partition: str = "mod",
        exchange: str = "auto",
        pieces: int = 0,
        init: Init = None,
        seed: int = 0,
        dtype: Any = torch.float32,
        rounding: str = "nearest",
        path: str | os.PathLike[str] | None = None,
        process_group: Any = None,
    ) -> None:
        super().__init__()
        self.wire = GroupWire(process_group)
        self.combiner, self.exact, self.optimizer = combiner_named(NAME, combiner).name, exact, optimizer
        if exchange not in ("auto", "rows", "partial", "hybrid"):
            raise errors.unfit(NAME, "exchange", "'auto', 'rows', 'partial' or 'hybrid'", repr(exchange))
        self.exchange = "exact" if exact else exchange
        if not exact and not pieces:
            pieces = max(TREE_PIECES, self.wire.size)
        self.plan = ShardPlan(num_embeddings, self.wire.size, partition, pieces)
        self.embedding_dim = embedding_dim
        self._kept = dtypes.numpy_dtype(str(dtype).removeprefix("torch."))
        self.table = None
        if optimizer is not None:
            self.table = shard_table(
                self.plan,
                self.wire.rank,
                embedding_dim,
                optimizer,
                path=path,
                dtype=self._kept,
                init=init,
                rounding=rounding,
                seed=seed,
            )
            self.register_buffer("anchor", to_tensor(np.zeros(0, self.table.computing)), persistent=False)
        else:
            begin = beginning(self.plan, self.wire.rank, init, seed, self._kept)
            rows = begin(np.arange(self.plan.size(self.wire.rank)), embedding_dim)
            self.weight = nn.Parameter(to_tensor(rows))
        # Beside rows that are wide enough and in memory anyway, a number for each is little.
        wide = path is None and embedding_dim * self._kept.itemsize >= WIDE_BYTES
        self.moves = Moves(size=self.plan.size(self.wire.rank) if wide else 0)

    # ------------------------------------------------------------------ look-ups
    def feature(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> tuple[Any, Any]:
        """What a batch asks for, or the error that it is; and its weights as a tensor, or None."""
        try:
            ids, starts, weights = entries_of(self._like(), input, offsets, per_sample_weights, False)
            plain = None if weights is None else to_array(NAME, "per_sample_weights", weights.detach())
            bags = Bags(to_array(NAME, "input", ids), to_array(NAME, "offsets", starts), plain)
        except errors.Error as problem:
            return problem, None
        way = self.exchange
        if weights is not None and weights.requires_grad and way in ("auto", "partial", "hybrid"):
            way = "rows"  # their gradient needs the rows, and the bits are the same
        computing = None if self.table is None else self.table.computing
        return Feature(self.plan, bags, self.combiner, self.embedding_dim, self._kept, way, computing), weights

    def prepare(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Ready:
        """Tell the other ranks what a batch asks of them, which depends on no row: it may be done batches ahead."""
        feature, weights = self.feature(input, offsets, per_sample_weights)
        return Ready(Prepared(self.wire, [feature], self.training and torch.is_grad_enabled()), [weights])

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """The combined rows of this rank's bags: ids and where bags begin, as EmbeddingBag takes them, or a `Ready`."""
        ready = input if isinstance(input, Ready) else self.prepare(input, offsets, per_sample_weights)
        return look_up_all(self.wire, [self], ready)[0]

    def _rows(self) -> Any:
        """What stands for the rows on the tape."""
        return self.weight if self.table is None else self.anchor.requires_grad_()

    def _like(self) -> Any:
        return self.weight if self.table is None else self.anchor

    # ------------------------------------------------------------------ the whole
    def gather(self) -> torch.Tensor:
        """The whole table, on every rank."""
        rows = to_array(NAME, "weight", self.weight.detach()) if self.table is None else self._stored()
        own = self.plan.ids(self.wire.rank)
        return to_tensor(self.wire.everywhere(rows, own, self.plan.num_rows))

    def _stored(self) -> Any:
        assert self.table is not None
        return self.table.read(np.arange(self.table.rows)).astype(self._kept, copy=False)

    def rows_since(self, moves: int, own: bool = False) -> Any:
        """The rows of this rank that have had a gradient after so many, by their numbers in the whole table.

        With `own` by their numbers on this rank.
        """
        rows = self.moves.since(moves)
        return rows if own else self.plan.ids(self.wire.rank, rows)

    # ------------------------------------------------------------------ checkpoints
    def save(self, folder: AnyPath, step: int, *, since: int | None = None, optimizer: Any = None) -> None:
        """Write a checkpoint into a folder that all ranks see; it is there when all have come back, or not at all.

        With `since`, the step of a checkpoint that is there, only rows that have had a gradient after it are written,
        and both are needed from then on. An `optimizer` of `gradbag.torch.optim` has its states saved beside the rows.
        """
        sharded_files.save(self, folder, step, since, optimizer)

    def load(self, folder: AnyPath, step: int | None = None, *, optimizer: Any = None) -> int:
        """Return to a checkpoint, or to the newest, of whatever number of ranks; gives its step."""
        return sharded_files.load(self, folder, step, optimizer)

    def distributed(self, optimizer: Any = None) -> Any:
        """The rows for `torch.distributed.checkpoint`, which may save them on one number of ranks and load on another.

        `dcp.save({"bag": bag.distributed()}, checkpoint_id=folder)`, and `dcp.load` likewise; all ranks call it. Parts
        of tensors are consecutive rows, so it needs `partition="div"`. Before states of an `optimizer` of
        `gradbag.torch.optim` can be loaded, it must have them, by a step.
        """
        return DistributedState(self, optimizer)

    def extra_repr(self) -> str:
        plan, rank = self.plan, self.wire.rank
        own = f"rank {rank} of {plan.num_shards} has {plan.size(rank)} rows"
        fused = "" if self.optimizer is None else f", optimizer={self.optimizer}"
        return (
            f"{plan.num_rows}, {self.embedding_dim}, {self.combiner!r}, "
            f"partition={plan.strategy!r}, exact={self.exact}{fused}; {own}"
        )


class ShardedEmbeddingBags(nn.Module):  # type: ignore[misc]
    """Several features, of one table each or of shared ones, in one exchange.

    `bags` are the layers of the features by name; a batch has for each a tuple as the layer takes it. The answer has
    the combined rows by the same names.
    """

    def __init__(self, bags: Mapping[str, ShardedEmbeddingBag]) -> None:
        super().__init__()
        self.bags = nn.ModuleDict(bags)
        self.wire = next(iter(bags.values())).wire

    def prepare(self, batch: Mapping[str, Any]) -> Ready:
        """Tell the other ranks what all features ask of them."""
        for name in {**self.bags, **batch}:
            if name not in batch or name not in self.bags:
                whole = ", ".join(self.bags)
                raise errors.unfit("ShardedEmbeddingBags", "batch", f"of {whole}", f"one with other names: {name}")
        asked = [self.bags[name].feature(*_as_tuple(batch[name])) for name in self.bags]
        training = self.training and torch.is_grad_enabled()
        return Ready(Prepared(self.wire, [each for each, _ in asked], training), [weights for _, weights in asked])

    def forward(self, batch: Mapping[str, Any] | Ready) -> dict[str, Any]:
        """The combined rows of each feature."""
        ready = batch if isinstance(batch, Ready) else self.prepare(batch)
        return dict(zip(self.bags, look_up_all(self.wire, list(self.bags.values()), ready), strict=True))


def look_up_all(wire: GroupWire, layers: list[Any], ready: Ready) -> Any:
    call = Call(wire, ready.prepared, layers)
    tables = [layer._rows() if ready.prepared.training else layer._rows().detach() for layer in layers]
    return LookUp.apply(call, *tables, *ready.weights)


def _as_tuple(batch: Any) -> tuple[Any, ...]:
    return batch if isinstance(batch, tuple) else (batch,)
