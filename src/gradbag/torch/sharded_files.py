"""Checkpoints of a table that is spread over ranks: written by some number of ranks, read by another."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .. import errors
from ..adapters.torch.bags import to_array, to_tensor
from ..sharding import Part, checkpoint
from ..whole_files import AnyPath
from .wire import GroupWire


def tell(wire: GroupWire, message: Any) -> list[Any]:
    """What every rank has to say, on every rank."""
    words = np.frombuffer(json.dumps(message).encode(), np.uint8)
    ones, sizes = np.ones(wire.size, np.int64), np.full(wire.size, len(words), np.int64)
    (theirs,) = wire.swap([Part(sizes, ones, ones)])
    (heard,) = wire.swap([Part(np.tile(words, wire.size), sizes, theirs)])
    ends = np.cumsum(theirs)
    return [json.loads(bytes(heard[end - size : end])) for end, size in zip(ends, theirs, strict=True)]


def together(wire: GroupWire, function: str, work: Any) -> list[Any]:
    """What the work gives on every rank; if it fails on one, all of them raise, and none goes on without the others."""
    problem = ""
    answer = None
    try:
        answer = work()
    except (errors.Error, OSError) as found:
        problem = str(found)
    said = tell(wire, {"answer": answer, "problem": problem})
    for rank, each in enumerate(said):
        if each["problem"]:
            raise errors.Error(f"{function}: rank {rank}: {each['problem']}")
    return [each["answer"] for each in said]


# ------------------------------------------------------------------ rows of a layer
def _kept(layer: Any, optimizer: Any) -> dict[str, Any]:
    """The tensors that belong to the rows of a layer without a table, by name."""
    state = {} if optimizer is None else optimizer.state.get(layer.weight, {})
    rows = len(layer.weight)
    whole = {name: value for name, value in state.items() if getattr(value, "ndim", 0) and len(value) == rows}
    return {"values": layer.weight.detach(), **whole}


def _source(layer: Any, optimizer: Any) -> checkpoint.Source:
    if layer.table is not None:
        return checkpoint.source_of(layer.table)
    kept = {name: to_array("save", name, value) for name, value in _kept(layer, optimizer).items()}
    return lambda rows: {name: array[rows] for name, array in kept.items()}


def _described(layer: Any, optimizer: Any) -> dict[str, Any]:
    moves = {"moves": layer.moves.count}
    if layer.table is not None:
        return {**checkpoint.described(layer.table), **moves}
    state = {} if optimizer is None else optimizer.state.get(layer.weight, {})
    return {"step": int(state.get("step", 0)), "optimizer": None, **moves}


# ------------------------------------------------------------------ save and load
def save(layer: Any, folder: AnyPath, step: int, since: int | None, optimizer: Any) -> None:
    wire, plan = layer.wire, layer.plan

    def write() -> Any:
        rows = None
        if since is not None:
            moves = checkpoint.read_manifest(folder, since).description["moves"]
            rows = layer.rows_since(moves, own=True)
        return checkpoint.write_shard(folder, step, plan, wire.rank, _source(layer, optimizer), rows)

    files = [file for each in together(wire, "save", write) for file in each]

    def commit() -> None:
        if wire.rank == 0:
            checkpoint.commit(folder, step, plan, files, _described(layer, optimizer), since)

    together(wire, "save", commit)


def load(layer: Any, folder: AnyPath, step: int | None, optimizer: Any) -> int:
    wire, plan = layer.wire, layer.plan

    def newest() -> Any:
        return checkpoint.read_manifest(folder, step).step

    chosen = int(min(together(wire, "load", newest)))  # one that is whole for every rank

    def read() -> Any:
        if layer.table is not None:
            return checkpoint.restore(folder, layer.table, plan, wire.rank, chosen).description["moves"]
        arrays = checkpoint.read_arrays(folder, plan, wire.rank, chosen)
        about = checkpoint.read_manifest(folder, chosen).description
        if len(arrays.get("values", ())):
            _take(layer, optimizer, arrays, about["step"])
        return about["moves"]

    layer.moves = layer.moves.again(int(together(wire, "load", read)[0]))
    return chosen


def _take(layer: Any, optimizer: Any, arrays: dict[str, Any], step: int) -> None:
    if arrays["values"].shape != tuple(layer.weight.shape):
        wanted = f"of shape {list(layer.weight.shape)}"
        raise errors.unfit("load", "values", wanted, f"{list(arrays['values'].shape)}")
    layer.weight.data.copy_(to_tensor(arrays.pop("values")))
    if optimizer is not None and arrays:
        state = {name: to_tensor(array) for name, array in arrays.items()}
        optimizer.state[layer.weight] = {"step": step, **state}
