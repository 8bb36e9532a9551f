"""JAX on 1 to 4 devices, in one process and in two, against one table: every bit after twenty steps."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cases import BAGS, COLUMNS, ROWS, STEPS, Case, batch
from conftest import finish, free_port
from test_same_bits import assert_bits

import gradbag

pytest.importorskip("jax")
PROGRAM = Path(__file__).parent / "jax_program.py"
RUNS = [(1, 1), (1, 3), (1, 4), (2, 4)]  # processes, and devices of all of them


@pytest.fixture(scope="module", params=RUNS, ids=lambda run: f"{run[0]}-processes-{run[1]}-devices")
def seen(request, tmp_path_factory):
    """What every process has written down."""
    processes, devices = request.param
    folder, port = tmp_path_factory.mktemp("devices"), free_port()
    flags = f"--xla_force_host_platform_device_count={devices // processes}"
    started = [
        subprocess.Popen(
            [sys.executable, PROGRAM, folder / f"{process}", *map(str, (processes, process, devices, port))],
            env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
            stderr=subprocess.PIPE,
        )
        for process in range(processes)
    ]
    assert finish(started, 200) == [0] * processes
    found = [pickle.loads((folder / f"{process}").read_bytes()) for process in range(processes)]  # noqa: S301
    return devices, found


@cache
def one_table(case: Case):
    table = gradbag.Table(ROWS, COLUMNS, gradbag.optim.RowAdagrad(0.1))
    for step in range(STEPS):
        bags, grad = batch(case, step)
        rows, before = table.lookup(bags, case.combiner), table.values.copy()
        table.step(bags, grad, case.combiner)
    of_rows = gradbag.raw_ops.EmbeddingBagDenseGrad(
        grad=grad,
        ids=bags.ids,
        offsets=bags.offsets,
        weights=bags.weights,
        num_rows=np.int64(ROWS),
        combiner=case.combiner,
    )
    return rows, of_rows, before, bags, grad, table


def test_devices_have_the_bits_of_one_table(seen):
    _, found = seen
    for each in found:
        cases = [case for case in each if isinstance(case, Case)]
        assert len(cases) == 6
        for case in cases:
            rows, of_rows, before, bags, grad, table = one_table(case._replace(strategy="mod", skips=False))
            assert_bits(each[case]["rows"], rows)
            assert_bits(each[case]["gradient"], of_rows)
            assert_bits(each[case]["table"], table.values)
            assert_bits(each[case]["state"], table.state["accumulator"])
            if case.weighted:
                want = weights_gradient(before, bags, grad, case.combiner)
                np.testing.assert_allclose(each[case]["weights"], want, rtol=2e-5, atol=1e-5)


def weights_gradient(table, bags, grad, combiner):
    """By differences, in double."""
    found = np.zeros(len(bags.ids))
    for entry in range(len(bags.ids)):
        sums = []
        for moved in (1e-6, -1e-6):
            weights = bags.weights.astype(float)
            weights[entry] += moved
            rows = gradbag.Table.of(table.astype(float)).lookup(gradbag.Bags(bags.ids, bags.offsets, weights), combiner)
            sums.append((rows * grad).sum())
        found[entry] = (sums[0] - sums[1]) / 2e-6
    return found


def test_second_derivatives(seen):
    _, found = seen
    for each in found:
        for got, want in zip(*each["second_order"], strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-3)


def test_all_devices_tell_of_what_is_wrong_on_one_and_what_is_too_small(seen):
    devices, found = seen
    for each in found:
        ids, rows, entries, bags, nothing = each["refusals"]
        assert f"device {devices - 1}: ids[7] == {ROWS} out of range [0, {ROWS})" in ids
        assert "ShardedTable: capacity.rows must be at least " in rows
        assert rows.split("capacity.rows")[1].split("\n")[0].endswith("for another one; got 1")
        assert "capacity.entries must be at least 8, as many as device 0 has for another one; got 7" in entries
        assert "capacity.bags must be at least 2, as many as device 0 has for another one; got 1" in bags
        assert nothing is None  # and then it went on


def test_the_room_that_was_measured_is_enough(seen):
    _, found = seen
    for each in found:
        capacity, rows, ids = each["measured"]
        assert max(capacity) <= 12
        table = gradbag.Table(ROWS, COLUMNS, init="normal")
        assert_bits(rows, table.lookup(gradbag.Bags.of(ids.reshape(-1, 4))))


def test_there_are_bags_for_every_device():
    assert BAGS % 12 == 0
