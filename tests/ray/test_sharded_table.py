"""Shards as actors of Ray: the bits of one table, also after an actor was killed."""

from __future__ import annotations

import os
import random
import signal

import numpy as np
import pytest
import ray

import gradbag
from gradbag.cli import main
from gradbag.ray import ShardedTable

ROWS, COLUMNS, KILLS = 200, 4, 10
RULE = gradbag.optim.RowAdagrad(0.1)


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=128 << 20,
        _system_config={"health_check_period_ms": 500},
    )
    yield
    ray.shutdown()


def batch(step, weighted=False):
    rng = np.random.default_rng(step)
    lengths = rng.integers(0, 7, 10)
    ids = rng.integers(0, ROWS, lengths.sum())
    weights = rng.uniform(0.1, 2, len(ids)).astype(np.float32) if weighted else None
    return gradbag.Bags.from_lengths(ids, lengths, weights), rng.standard_normal((10, COLUMNS)).astype(np.float32)


def one_table(steps, combiner="mean", weighted=False, **settings):
    table = gradbag.Table(ROWS, COLUMNS, RULE, **settings)
    rows = None
    for step in range(steps):
        bags, grad = batch(step, weighted)
        rows = table.lookup(bags, combiner)
        table.step(bags, grad, combiner)
    return rows, table.values


@pytest.mark.parametrize(
    ("shards", "combiner", "weighted"), [(1, "sum", False), (3, "mean", True), (2, "sqrtn", False)]
)
def test_actors_have_the_bits_of_one_table(shards, combiner, weighted):
    table = ShardedTable(ROWS, COLUMNS, shards, RULE, partition="hash")
    asked = table.start(batch(0, weighted)[0], combiner)
    for step in range(8):
        bags, grad = batch(step, weighted)
        rows = table.finish(asked)
        table.push(bags, grad, combiner)
        asked = table.start(batch(step + 1, weighted)[0], combiner)  # after the push: it sees what that has moved
    want, values = one_table(8, combiner, weighted)
    assert rows.tobytes() == want.tobytes()
    assert table.gather().tobytes() == values.tobytes()


def test_workers_may_come_in_any_order():
    table = ShardedTable(ROWS, COLUMNS, 2, RULE)
    for step in range(4):
        bags, grad = batch(step)
        for worker in (1, 0):  # the other way round
            part = slice(5 * worker, 5 * worker + 5)
            table.push(bags[part], grad[part], worker=worker, workers=2)
            table.step = step + (worker == 0)
    assert table.gather().tobytes() == one_table(4)[1].tobytes()


def test_killed_actors_come_back_with_the_same_bits(tmp_path):
    chance = random.Random(2)  # when to kill
    table = ShardedTable(ROWS, COLUMNS, 2, RULE, folder=tmp_path)
    step, kills = 0, 0
    deaths = sorted(chance.sample(range(1, 20), KILLS))
    while step < 20:
        bags, grad = batch(step)
        try:
            if deaths and step == deaths[0]:
                deaths.pop(0)
                os.kill(chance.choice(table.pids()), signal.SIGKILL)
                kills += 1
            table.lookup(bags)
            step = table.push(bags, grad)
            table.wait()
            if step % 5 == 0:
                table.save()
        except (ray.exceptions.RayActorError, ray.exceptions.RayTaskError):
            step = table.recover()
    assert kills == KILLS
    assert table.gather().tobytes() == one_table(20)[1].tobytes()


def test_an_actor_comes_back_also_with_a_large_beginning(tmp_path):
    rows = np.random.default_rng(0).standard_normal((ROWS, 1000)).astype(np.float32)  # more than Ray sends with a call
    table = ShardedTable(ROWS, 1000, 2, RULE, folder=tmp_path, init=lambda numbers, _: rows[numbers])
    os.kill(table.pids()[1], signal.SIGKILL)
    assert table.recover() == 0
    assert table.gather().tobytes() == rows.tobytes()


def test_a_shard_refuses_the_gradient_of_another_step():
    table = ShardedTable(ROWS, COLUMNS, 2, RULE)
    bags, grad = batch(0)
    table.step = 7
    table.push(bags, grad)
    with pytest.raises(gradbag.InvalidArgumentError, match=r"step must be 0, where shard \d is"):
        table.wait()


def test_bad_ids_are_refused_before_anything_is_sent():
    table = ShardedTable(ROWS, COLUMNS, 2, RULE)
    with pytest.raises(gradbag.InvalidArgumentError, match=r"ids\[1\] == 200 out of range \[0, 200\)"):
        table.lookup([[1, ROWS]])


def test_the_check_of_a_cluster_tells_how_fast_it_is(capsys):
    assert main(["shard", "check", "--ray", "--megabytes", "1", "--repeat", "2"]) == 0
    told = capsys.readouterr().out
    assert "1 nodes, by Ray" in told
    assert "contents: right" in told
    assert "RAY_AUTH_MODE" not in told  # a token is set
