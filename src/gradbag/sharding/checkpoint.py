"""Checkpoints of tables in pieces: files of blocks of rows for each shard, and a manifest that is written last.

Rows stand under their keys in the plan that wrote them, and any other plan can read them: with more shards or fewer,
or a single process. A checkpoint is there when its manifest is. One that has a base holds only the rows that have
changed since, and is read on top of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import errors, memory
from ..optim import Optimizer
from ..table import FileTable, Table, safetensors, settings
from ..table.batches import Block
from ..whole_files import AnyPath, replacing, sync_folder
from .plan import Array, ShardPlan

BLOCK_BYTES = 64 << 20
_MANIFEST = "manifest.json"
_FORMAT = 1
Arrays = dict[str, Array]
Source = Callable[[Array], Arrays]  # rows of a shard to what is kept of them


class Manifest(NamedTuple):
    """What a checkpoint says about itself."""

    step: int
    plan: ShardPlan
    files: list[dict[str, Any]]
    base: int | None
    description: dict[str, Any]


# ------------------------------------------------------------------ writing
def write_shard(
    folder: AnyPath, step: int, plan: ShardPlan, shard: int, source: Source, rows: Array | None = None
) -> list[dict[str, Any]]:
    """Write the rows of a shard, or only some of them, and give what the manifest says about their files."""
    home = _home(folder, step)
    if (home / _MANIFEST).exists():
        told = f"save: {home} is a checkpoint already, and none is written over"
        raise errors.about("step", errors.InvalidArgumentError(told))
    home.mkdir(parents=True, exist_ok=True)
    sync_folder(home)
    files = []
    count = plan.size(shard) if rows is None else len(rows)
    width = max(1, sum(array.nbytes for array in source(np.zeros(min(count, 1), np.int64)).values()))
    length = max(1, BLOCK_BYTES // width)
    for number, begin in enumerate(range(0, count, length)):
        end = min(begin + length, count)
        part = np.arange(begin, end) if rows is None else rows[begin:end]
        name = f"shard-{shard:05d}-of-{plan.num_shards:05d}-{number:05d}.safetensors"
        block = source(part) if rows is None else {**source(part), "rows": np.asarray(part, np.int64)}
        safetensors.write(home / name, block, {"kind": "shard", "shard": shard, "first": begin})
        files.append({"file": name, "shard": shard, "first": begin, "count": end - begin})
    return files


def commit(
    folder: AnyPath,
    step: int,
    plan: ShardPlan,
    files: list[dict[str, Any]],
    description: Mapping[str, Any],
    base: int | None = None,
) -> None:
    """Make the checkpoint exist, after the files of all shards are on the disk."""
    told = {
        "format": _FORMAT,
        "step": step,
        "plan": plan.described(),
        "base": base,
        "description": dict(description),
        "files": files,
    }
    with replacing(_home(folder, step) / _MANIFEST) as file:
        file.write(json.dumps(told).encode())


def _home(folder: AnyPath, step: int) -> Path:
    return Path(folder) / f"step-{step:012d}"


# ------------------------------------------------------------------ reading
def steps_of(folder: AnyPath) -> list[int]:
    """The steps of all checkpoints that are whole, ascending."""
    found = (place.parent.name.removeprefix("step-") for place in Path(folder).glob(f"step-*/{_MANIFEST}"))
    return sorted(int(step) for step in found if step.isdigit())


def newest(folder: AnyPath) -> int | None:
    """The step of the last checkpoint that is whole; None where there is none."""
    return max(steps_of(folder), default=None)


def read_manifest(folder: AnyPath, step: int | None = None) -> Manifest:
    function = "read_manifest"
    chosen = newest(folder) if step is None else step
    if chosen is None:
        raise FileNotFoundError(f"{function}: there is no checkpoint in {os.fspath(folder)}")
    path = _home(folder, chosen) / _MANIFEST
    try:
        told = json.loads(path.read_bytes())
        if told["format"] != _FORMAT:
            raise ValueError(f"it has format {errors.shown(told['format'])}, and only {_FORMAT} can be read")
        plan = ShardPlan(**told["plan"])
        return Manifest(told["step"], plan, list(told["files"]), told["base"], dict(told["description"]))
    except (ValueError, KeyError, TypeError) as problem:
        text = f"{function}: {path} is no manifest, or damaged: {problem}"
        raise errors.about("folder", errors.InvalidArgumentError(text)) from None


def _blocks(folder: AnyPath, manifest: Manifest, wanted: Callable[[Array], Array]) -> Iterator[tuple[Array, Arrays]]:
    """The ids of the rows of each file that somebody wants, and what is kept of them; what is newer comes later."""
    if manifest.base is not None:
        yield from _blocks(folder, read_manifest(folder, manifest.base), wanted)
    for told in manifest.files:
        start = manifest.plan.starts[told["shard"]]
        path = _home(folder, manifest.step) / told["file"]
        if manifest.base is None:
            ids = manifest.plan.ids_of(start + np.arange(told["first"], told["first"] + told["count"]))
            if not wanted(ids).any():
                continue
        arrays = safetensors.read("read_shard", path).arrays
        if (rows := arrays.pop("rows", None)) is not None:
            ids = manifest.plan.ids_of(start + rows)
        yield ids, arrays


def read_shard(
    folder: AnyPath, plan: ShardPlan, shard: int, keep: Callable[[Array, Arrays], None], step: int | None = None
) -> Manifest:
    """Hand the rows of a shard to `keep(rows, arrays)`, block by block, from a checkpoint of whatever plan."""
    manifest = read_manifest(folder, step)
    if manifest.plan.num_rows != plan.num_rows:
        raise errors.unfit("read_shard", "num_rows", f"{manifest.plan.num_rows}, as saved", f"{plan.num_rows}")
    begin, end = plan.starts[shard], plan.starts[shard + 1]

    def wanted(ids: Array) -> Array:
        keys = plan.keys(ids)
        inside: Array = (keys >= begin) & (keys < end)
        return inside

    for ids, arrays in _blocks(folder, manifest, wanted):
        mine = wanted(ids)
        if mine.any():
            keep(plan.keys(ids[mine]) - begin, {name: array[mine] for name, array in arrays.items()})
    return manifest


def read_arrays(folder: AnyPath, plan: ShardPlan | None = None, shard: int = 0, step: int | None = None) -> Arrays:
    """The arrays of a shard, or of the whole table if there is no plan: `values` and what an optimizer keeps."""
    if plan is None:
        plan = ShardPlan(read_manifest(folder, step).plan.num_rows, 1, "div")
    whole: Arrays = {}
    count = plan.size(shard)

    def keep(rows: Array, arrays: Arrays) -> None:
        for name, array in arrays.items():
            if name not in whole:
                memory.reserve("read_arrays", [(name, (count, *array.shape[1:]), array.itemsize)])
                whole[name] = np.zeros((count, *array.shape[1:]), array.dtype)
            whole[name][rows] = array

    read_shard(folder, plan, shard, keep, step)
    return whole


def read_table(folder: AnyPath, optimizer: Optimizer | None = None, step: int | None = None) -> Table:
    """The whole table of a checkpoint in one process, with the optimizer that it tells of or the one given."""
    manifest = read_manifest(folder, step)
    about = manifest.description
    arrays = read_arrays(folder, step=manifest.step)
    chosen = settings.restored("read_table", about.get("optimizer"), optimizer)
    values = arrays["values"]
    table = Table.of(values, chosen, rounding=about.get("rounding", "nearest"), seed=about.get("seed", 0))
    table.load_state_dict({"step": about["step"], **arrays})
    return table


# ------------------------------------------------------------------ tables of shards
def source_of(table: Table | FileTable) -> Source:
    """What is kept of the rows of a table, wherever they lie."""

    def read(rows: Array) -> Arrays:
        block = table._block("save", rows, True)
        state = {name: kept for name, kept in block.state.items() if isinstance(kept, np.ndarray)}
        arrays = {"values": block.values.astype(table.dtype, copy=False), **state}
        return {name: array[block.ids] for name, array in arrays.items()}

    return read


def described(table: Table | FileTable) -> dict[str, Any]:
    """What a checkpoint says about a table beside its rows."""
    storage = table._storage
    return {
        "step": table.step_count,
        "rounding": storage.rounding,
        "seed": storage.seed,
        "optimizer": settings.described(table.optimizer),
    }


def restore(
    folder: AnyPath, table: Table | FileTable, plan: ShardPlan, shard: int, step: int | None = None
) -> Manifest:
    """Bring the rows of a shard, and what an optimizer keeps of them, to a checkpoint of whatever plan."""
    count = int(read_manifest(folder, step).description["step"])

    def keep(rows: Array, arrays: Arrays) -> None:
        values = arrays.pop("values").astype(table.computing)
        table._keep(Block(values, {"step": count, **arrays}, np.arange(len(rows)), rows))

    manifest = read_shard(folder, plan, shard, keep, step)
    if isinstance(table, FileTable):
        table._step = count
        table.checkpoint()
    else:
        table.state["step"] = count
    return manifest
