"""Checkpoints of tables in pieces: any plan reads what any other has written, and none is ever torn."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

import gradbag
from gradbag.sharding import ShardPlan, checkpoint, shard_table

ROWS, COLUMNS = 103, 3


def trained(plan, **settings):
    """A table for each shard; every row is moved by its number."""
    tables = []
    for shard in range(plan.num_shards):
        table = shard_table(plan, shard, COLUMNS, gradbag.optim.RowAdagrad(0.1), **settings)
        ids = plan.ids(shard)
        grads = (np.arange(COLUMNS) + ids[:, None]).astype(np.float32)
        table.apply((np.arange(len(ids)), grads))
        tables.append(table)
    return tables


def write(folder, step, plan, tables, rows=None, base=None):
    files = []
    for shard, table in enumerate(tables):
        own = None if rows is None else rows[shard]
        files += checkpoint.write_shard(folder, step, plan, shard, checkpoint.source_of(table), own)
    checkpoint.commit(folder, step, plan, files, checkpoint.described(tables[0]), base)


@pytest.mark.parametrize(("written", "strategy"), list(product((1, 2, 3, 4), ("div", "mod", "hash"))))
def test_any_number_of_shards_reads_any_other(tmp_path, monkeypatch, written, strategy):
    monkeypatch.setattr(checkpoint, "BLOCK_BYTES", 500)  # several blocks a shard
    old = ShardPlan(ROWS, written, strategy)
    write(tmp_path, 5, old, trained(old))
    (whole,) = trained(ShardPlan(ROWS, 1, "div"))
    for shards, other in product((1, 2, 3, 4), ("div", "mod", "hash")):
        plan = ShardPlan(ROWS, shards, other)
        for shard in range(shards):
            table = shard_table(plan, shard, COLUMNS, gradbag.optim.RowAdagrad(0.1), init="zeros")
            checkpoint.restore(tmp_path, table, plan, shard)
            ids = plan.ids(shard)
            assert table.values.tobytes() == whole.values[ids].tobytes()
            assert table.state["accumulator"].tobytes() == whole.state["accumulator"][ids].tobytes()
            assert table.step_count == 1
    alone = checkpoint.read_table(tmp_path)
    assert repr(alone) == repr(whole)
    assert alone.values.tobytes() == whole.values.tobytes()


def test_only_rows_that_have_moved_since(tmp_path):
    plan = ShardPlan(ROWS, 2)
    tables = trained(plan)
    write(tmp_path, 1, plan, tables)
    moved = [np.array([0, 7]), np.zeros(0, np.int64)]
    for table, rows in zip(tables, moved, strict=True):
        table.apply((rows, np.ones((len(rows), COLUMNS), np.float32)))
    write(tmp_path, 2, plan, tables, moved, base=1)
    assert [os.path.getsize(f) < 600 for f in (tmp_path / "step-000000000002").glob("shard*")] == [True]
    whole = checkpoint.read_table(tmp_path)
    for shard, table in enumerate(tables):
        assert whole.values[plan.ids(shard)].tobytes() == table.values.tobytes()
    assert whole.step_count == 2
    assert checkpoint.read_table(tmp_path, step=1).step_count == 1


def test_tables_in_files_and_chance_that_knows_the_whole_table(tmp_path):
    settings = {"dtype": "bfloat16", "rounding": "stochastic", "seed": 3}
    (whole,) = trained(ShardPlan(ROWS, 1), **settings)
    plan = ShardPlan(ROWS, 3, "hash")
    for shard in range(3):
        rule = gradbag.optim.RowAdagrad(0.1)
        with shard_table(plan, shard, COLUMNS, rule, path=tmp_path / f"rows{shard}", **settings) as table:
            ids = plan.ids(shard)
            grads = (np.arange(COLUMNS) + ids[:, None]).astype(np.float32)
            table.apply((np.arange(len(ids)), grads))
            assert table.read(np.arange(len(ids))).tobytes() == whole.read(ids).tobytes()


def test_what_is_not_there_or_does_not_fit_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        checkpoint.read_manifest(tmp_path)
    plan = ShardPlan(ROWS, 1)
    write(tmp_path, 1, plan, trained(plan))
    with pytest.raises(gradbag.InvalidArgumentError, match="is a checkpoint already"):
        write(tmp_path, 1, plan, trained(plan))
    with pytest.raises(gradbag.InvalidArgumentError, match="num_rows must be 103, as saved; got 9"):
        checkpoint.read_arrays(tmp_path, ShardPlan(9, 1))
    (tmp_path / "step-000000000001" / "manifest.json").write_text('{"format": 7}')
    with pytest.raises(gradbag.InvalidArgumentError, match="is no manifest, or damaged"):
        checkpoint.read_manifest(tmp_path)


KILLS = 25
# A process forks the writers: it would take longer to start an interpreter than to write.
PROGRAM = """
import os, random, signal, sys, time
import numpy as np
import gradbag
from gradbag.sharding import ShardPlan, checkpoint

folder, kills = sys.argv[1], int(sys.argv[2])
checkpoint.BLOCK_BYTES = 20000
plan = ShardPlan(4000, 2)
chance = random.Random(1)


def write(step):
    while True:
        tables = [gradbag.Table.of(np.full((2000, 8), step, np.float32)) for _ in range(2)]
        files = []
        for shard, table in enumerate(tables):
            files += checkpoint.write_shard(folder, step, plan, shard, checkpoint.source_of(table))
        checkpoint.commit(folder, step, plan, files, checkpoint.described(tables[0]))
        step += 1


step = 0
for _ in range(kills):
    writer = os.fork()
    if not writer:
        write(step)
    while (checkpoint.newest(folder) or 0) <= step:
        time.sleep(0.001)
    time.sleep(chance.random() * 0.03)
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    found = checkpoint.newest(folder)
    assert found > step
    assert (checkpoint.read_arrays(folder)["values"] == found).all(), found
    step = found + 1
left = sum(not os.path.exists(f"{folder}/{name}/manifest.json") for name in os.listdir(folder))
print("whole", left)
"""


def test_a_writer_that_is_killed_leaves_whole_checkpoints_only(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), str(KILLS)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    word, unfinished = told.split()
    assert word == "whole"
    assert int(unfinished) > 0  # or nobody was killed while writing
