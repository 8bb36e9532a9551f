"""One process of JAX with some devices: it goes through all cases, and writes down what it has seen."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import jax
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

sys.path.insert(0, str(Path(__file__).parent))

from cases import BAGS, COLUMNS, ROWS, STEPS, Case, batch, cut

import gradbag.jax

processes, process, devices, port = map(int, sys.argv[2:6])
RULE = gradbag.optim.RowAdagrad(0.1)
# For each device: its bags, and room for the ids of the largest batch.
ROOM = 8 * BAGS


def spread(table, array):
    """An array of all devices, of which every process gives its own part."""
    array = np.asarray(array)
    sharding = NamedSharding(table.mesh, P("hosts"))
    return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])


def whole(table, array):
    """On every process."""
    return np.asarray(jax.jit(lambda each: each, out_shardings=NamedSharding(table.mesh, P()))(array))


def filled(case: Case, step: int, dtype):
    """The bags of each device as arrays of one size: those of a small batch are filled up, with ids of no meaning."""
    bags, grad = batch(case, step)
    parts = [bags[cut(case, devices, device)] for device in range(devices)]
    most = max(map(len, parts))
    ids, weights = np.full((devices, ROOM), -7), np.full((devices, ROOM), np.nan, dtype)
    offsets, grads = np.zeros((devices, most), int), np.zeros((devices, most, COLUMNS), dtype)
    for device, part in enumerate(parts):
        ids[device, : len(part.ids)] = part.ids
        offsets[device] = len(part.ids)
        offsets[device, : len(part)] = part.offsets
        grads[device, : len(part)] = grad[cut(case, devices, device)]
        if part.weights is not None:
            weights[device, : len(part.ids)] = part.weights
    counts = np.array([len(part.ids) for part in parts])
    given = ids.reshape(-1), offsets.reshape(-1), weights.reshape(-1) if case.weighted else None, counts
    return given, grads.reshape(-1, COLUMNS), [len(part) for part in parts]


def train(case: Case, mesh):
    """Twenty steps; what came out, the last gradients, the table and the state."""
    table = gradbag.jax.ShardedTable(
        ROWS, COLUMNS, mesh, "hosts", case.combiner, optimizer=RULE, partition=case.strategy, dtype=case.dtype
    )
    rows, state = table.begin()
    for step in range(STEPS):
        given, grads, lengths = filled(case, step, rows.dtype)
        ids, offsets, weights, counts = (None if each is None else spread(table, each) for each in given)
        grad = spread(table, grads)
        if step + 1 == STEPS:
            pooled, pull = jax.vjp(lambda r, w: table.lookup(r, ids, offsets, w, counts), rows, weights)  # noqa: B023
            of_rows, of_weights = pull(grad)
        rows, state = table.step(rows, state, ids, grad, offsets, weights, counts)
    most = len(given[1]) // devices
    own = np.concatenate([device * most + np.arange(length) for device, length in enumerate(lengths)])
    entries = np.concatenate([device * ROOM + np.arange(count) for device, count in enumerate(given[3])])
    return {
        "rows": whole(table, pooled)[own],
        "gradient": table.gather(of_rows),
        "weights": None if of_weights is None else whole(table, of_weights)[entries],
        "table": table.gather(rows),
        "state": table.gather(state["accumulator"]),
    }


def second_order(mesh):
    """Second derivatives in the rows and in the weights, and what they are with the whole table on one device."""
    rng = np.random.default_rng(0)
    ids, weights = rng.integers(0, ROWS, (BAGS, 3)), rng.uniform(0.5, 2, (BAGS, 3)).astype(np.float32)
    table = gradbag.jax.ShardedTable(ROWS, COLUMNS, mesh, combiner="sqrtn", init="normal")
    rows, _ = table.begin()

    def twice(look_up, rows, ids, weights):
        def loss(rows, weights, ids):
            return (look_up(rows, ids, weights) ** 3).sum()

        def steepness(rows, weights, ids):
            return sum((each**2).sum() for each in jax.grad(loss, (0, 1))(rows, weights, ids))

        return jax.jit(jax.grad(steepness, (0, 1)))(rows, weights, ids)

    of_rows, of_weights = twice(
        lambda r, i, w: table.lookup(r, i, None, w), rows, spread(table, ids), spread(table, weights)
    )
    want = twice(
        lambda r, i, w: gradbag.jax.embedding_bag(r, i, weights=w, combiner="sqrtn"), table.gather(rows), ids, weights
    )
    return (table.gather(of_rows), whole(table, of_weights)), tuple(map(np.asarray, want))


def refusals(mesh):
    """What every process is told, of batches that are wrong on one device."""
    right = np.arange(8 * devices).reshape(2 * devices, 4) % ROWS
    wrong = right.copy()
    wrong[-1, -1] = ROWS
    same = np.zeros_like(right)  # all of one row, which one device has
    told = []
    for capacity, ids in ((None, wrong), ((1, 8, 2), right), ((8, 7, 2), same), ((8, 8, 1), same), (None, right)):
        table = gradbag.jax.ShardedTable(ROWS, COLUMNS, mesh, "hosts", capacity=capacity)
        rows, _ = table.begin()
        try:
            whole(table, table.lookup(rows, spread(table, ids)))
        except (ValueError, jax.errors.JaxRuntimeError) as problem:
            told.append(str(problem))
        else:
            told.append(None)
    return told


def measured(mesh):
    """Batches go through the room that was measured for them."""
    table = gradbag.jax.ShardedTable(ROWS, COLUMNS, mesh, init="normal")
    ids = np.random.default_rng(1).integers(0, ROWS, (devices, 3, 4))
    table = gradbag.jax.ShardedTable(
        ROWS, COLUMNS, mesh, init="normal", capacity=table.capacity_for(list(ids), slack=1.0)
    )
    rows, _ = table.begin()
    return tuple(table.capacity), whole(table, table.lookup(rows, spread(table, ids.reshape(-1, 4)))), ids


def cases():
    for number, combiner in enumerate(("sum", "mean", "sqrtn")):
        for weighted in (False, True):
            strategy = ("div", "mod", "hash")[(number + weighted) % 3]
            yield Case(combiner, weighted, strategy, "float32", True, skips=bool((number + weighted) % 2))


def main() -> None:
    if processes > 1:
        jax.distributed.initialize(f"127.0.0.1:{port}", processes, process)
    mesh = jax.make_mesh((devices,), ("hosts",))
    seen = {case: train(case, mesh) for case in cases()}
    for other in (second_order, refusals, measured):
        seen[other.__name__] = other(mesh)
    Path(sys.argv[1]).write_bytes(pickle.dumps(seen))


if __name__ == "__main__":
    main()
