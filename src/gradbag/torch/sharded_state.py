"""The rows of a rank as `torch.distributed.checkpoint` takes them: saved by N ranks, and loaded by M."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..adapters.torch.bags import to_array, to_tensor
from ..adapters.torch.compat import parts_of_tensors
from ..table import Table
from .sharded_files import _described, _kept


class DistributedState:
    """What `torch.distributed.checkpoint` saves and loads of a layer: see `ShardedEmbeddingBag.distributed`."""

    def __init__(self, layer: Any, optimizer: Any) -> None:
        function = "ShardedEmbeddingBag.distributed"
        if layer.plan.strategy != "div":
            # A part of a tensor is consecutive rows.
            raise errors.unfit(function, "partition", "'div'; save and load take any", repr(layer.plan.strategy))
        if layer.table is not None and not isinstance(layer.table, Table):
            raise errors.unfit(function, "path", "None; save and load take tables in files", "one")
        self.layer, self.optimizer = layer, optimizer

    def state_dict(self) -> dict[str, Any]:
        layer = self.layer
        if layer.table is None:
            kept = {name: value.detach() for name, value in _kept(layer, self.optimizer).items()}
        else:
            state = {name: value for name, value in layer.table.state.items() if isinstance(value, np.ndarray)}
            kept = {name: to_tensor(array) for name, array in {"values": layer.table.values, **state}.items()}
        rows = {name: self._part(value) for name, value in kept.items()}
        return {"rows": rows, "about": _described(layer, self.optimizer)}

    def _part(self, tensor: Any) -> Any:
        parts, plan, wire = parts_of_tensors(), self.layer.plan, self.layer.wire
        place = [int(plan.starts[wire.rank]), *[0] * (tensor.ndim - 1)]
        shards = [parts.Shard.from_tensor_and_offsets(tensor, place, wire.rank)] if len(tensor) else []
        return parts.init_from_local_shards(shards, plan.num_rows, *tensor.shape[1:], process_group=wire.group)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        layer, about = self.layer, state["about"]
        arrays = {
            name: to_array("load", name, part.local_shards()[0].tensor)
            for name, part in state["rows"].items()
            if part.local_shards()
        }
        layer.moves = layer.moves.again(int(about["moves"]))
        if layer.table is not None:
            layer.table.load_state_dict({"step": about["step"], **arrays})
        elif self.optimizer is not None and layer.weight in self.optimizer.state:
            self.optimizer.state[layer.weight]["step"] = about["step"]  # rows and states were filled where they are
