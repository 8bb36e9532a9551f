"""Embedding tables as a job: look-ups, gradients and steps beside TensorFlow, PyTorch and FBGEMM.

python benchmarks/embedding.py [--quick] [--threads 1 2] [--only NAME] [--seed N]

What a user calls is timed: a function, a layer, a step of training. All take turns, the quickest round of each counts;
on one thread it is processor time, on more it is time that passes. Before anything is timed, the results of every peer
are compared with ours. A ratio above one says that gradbag is quicker.

A third of the sizes is drawn from the seed. Beside the peers stands the limit program (limit.py), which only moves the
memory that a step has to move. In a process of its own, the first call of each job is timed and the peak of its memory
measured (embedding_cold.py).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
import torch
from embedding_goals import told
from embedding_inputs import WORKLOADS, Inputs, drawn
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from fbgemm_gpu.split_table_batched_embeddings_ops_common import PoolingMode
from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
    ComputeDevice,
    EmbeddingLocation,
    SplitTableBatchedEmbeddingBagsCodegen,
)
from limit import on_lines

import gradbag
import gradbag.tensorflow
import gradbag.torch

try:
    import step_limit as limits
except OSError:  # the library is built by `make bench-embedding`
    limits = None  # type: ignore[assignment]

RESULTS = Path(__file__).parent.parent / "docs" / "benchmarks" / "embedding.json"
LEARNING_RATE = 0.05
EPSILON = 1e-8
INITIAL = 0.1  # from zero, the first step of Adagrad is only the sign of sums, which are made in other orders
# How many arrays of the size of the table a step changes, row by row; one number for a row is not counted.
LIMITED = {"row-wise Adagrad": 1, "Adagrad": 2}
CACHES = 48 << 20  # tables beyond it lie in memory
Call = Callable[[], Any]


@dataclass
class Job:
    """One line of the results: ours and others', the results of which were equal."""

    name: str
    ours: Call
    peers: dict[str, Call]


def close(got: Any, want: Any, tolerance: float = 2e-5) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=tolerance, atol=tolerance)


# ------------------------------------------------------------------ look-ups
def safe_look_up(given: Inputs) -> Iterator[Job]:
    ids, weights = given.unsafe()
    tensors = [None if part is None else tf.sparse.SparseTensor(*part) for part in (ids, weights)]
    own = [None if part is None else gradbag.SparseTensor(*part) for part in (ids, weights)]
    variable = tf.Variable(given.table)

    @tf.function
    def theirs() -> Any:
        return tf.nn.safe_embedding_lookup_sparse(variable, *tensors, combiner="mean")

    def ours() -> Any:
        return gradbag.safe_embedding_lookup_sparse(given.table, *own, combiner="mean")

    close(ours(), theirs())
    yield Job("safe look-up", ours, {"tf.function": theirs})


def layers(given: Inputs, mode: str, sparse: bool = False) -> tuple[Any, Any]:
    """Both on one table, so that neither has the luckier memory."""
    weight = torch.from_numpy(given.table)
    make = {"mode": mode, "sparse": sparse, "freeze": False}
    return (
        gradbag.torch.EmbeddingBag.from_pretrained(weight, **make),
        torch.nn.EmbeddingBag.from_pretrained(weight, **make),
    )


def look_up(given: Inputs) -> Iterator[Job]:
    entries = [torch.from_numpy(given.ids), torch.from_numpy(given.offsets)]
    if given.weights is not None:
        entries.append(torch.from_numpy(given.weights))
    for mode in ("sum",) if given.weights is not None else ("mean", "sum"):
        ours, theirs = (_without_tape(layer, entries) for layer in layers(given, mode))
        close(ours(), theirs(), 1e-4)
        yield Job(f"layer, {mode}", ours, {"torch.nn": theirs})


def _without_tape(layer: Any, entries: list[Any]) -> Call:
    def run() -> Any:
        with torch.no_grad():
            return layer(*entries)

    return run


def gradient(given: Inputs) -> Iterator[Job]:
    entries = [torch.from_numpy(given.ids), torch.from_numpy(given.offsets)]
    if given.weights is not None:
        entries.append(torch.from_numpy(given.weights))
    grad = torch.from_numpy(given.grad)
    mode = "sum" if given.weights is not None else given.work.combiner
    ours, theirs = (_with_gradient(layer, entries, grad) for layer in layers(given, mode, sparse=True))
    close(ours().coalesce().values(), theirs().values())
    tape = _tape(given, mode)
    slices = tape()
    summed = tf.math.unsorted_segment_sum(slices.values, slices.indices, given.work.rows).numpy()
    close(summed[ours().coalesce().indices()[0].numpy()], ours().coalesce().values())
    yield Job("forward and compact gradient", ours, {"torch, coalesced": theirs, "tf.function": tape})


def _with_gradient(layer: Any, entries: list[Any], grad: Any) -> Call:
    def run() -> Any:
        layer.weight.grad = None
        layer(*entries).backward(grad)
        return layer.weight.grad.coalesce()

    return run


def _tape(given: Inputs, mode: str) -> Call:
    variable = tf.Variable(given.table)
    rows = np.repeat(np.arange(given.work.bags), np.diff(given.splits))
    places = np.stack([rows, np.arange(len(rows)) - given.splits[rows]], 1)
    shape = [given.work.bags, max(given.work.longest, 1)]
    ids = tf.sparse.SparseTensor(places, given.ids, shape)
    weights = None if given.weights is None else tf.sparse.SparseTensor(places, given.weights, shape)

    @tf.function
    def run() -> Any:
        with tf.GradientTape() as tape:
            output = tf.nn.safe_embedding_lookup_sparse(variable, ids, weights, combiner=mode)
        slices = tape.gradient(output, variable, output_gradients=given.grad)
        unique, places = tf.unique(slices.indices)
        return tf.IndexedSlices(tf.math.unsorted_segment_sum(slices.values, places, tf.size(unique)), unique)

    return run


# ------------------------------------------------------------------ steps
def steps(given: Inputs) -> Iterator[Job]:
    """Look up, and move the rows: no gradient array where it is fused, as in FBGEMM."""
    mode = "sum" if given.weights is not None else given.work.combiner
    bags = gradbag.Bags(given.ids, given.offsets, given.weights)
    fused = {
        "row-wise Adagrad": (
            gradbag.optim.RowAdagrad.fbgemm(LEARNING_RATE, epsilon=EPSILON),
            "EXACT_ROWWISE_ADAGRAD",
            None,
        ),
        "Adagrad": (
            gradbag.optim.Adagrad.fbgemm(LEARNING_RATE, epsilon=EPSILON, initial_accumulator=INITIAL),
            "EXACT_ADAGRAD",
            partial(torch.optim.Adagrad, eps=EPSILON, initial_accumulator_value=INITIAL),
        ),
        "lazy Adam": (gradbag.optim.Adam.torch(LEARNING_RATE), None, torch.optim.SparseAdam),
    }
    for name, (optimizer, kind, of_torch) in fused.items():
        table = on_lines(given.table)
        ours = _own_step(table, optimizer, bags, given.grad, mode)
        ours()
        peers: dict[str, Call] = {}
        if kind is not None:
            peers["FBGEMM"], after = _of_fbgemm(given, mode, kind, optimizer.initial_accumulator)
            peers["FBGEMM"]()
            close(table, after())
        if of_torch is not None:
            peers["torch sparse"], after = _of_torch(given, mode, of_torch)
            peers["torch sparse"]()
            close(table, after(), 1e-4)
        if limits is not None and name in LIMITED and given.table.nbytes > CACHES:
            peers["limit"] = limits.step(given.table, given.ids, given.grad.nbytes, LIMITED[name])
        yield Job(f"step, {name}", ours, peers)


def _own_step(table: Any, optimizer: Any, bags: Any, grad: Any, mode: str) -> Call:
    state = optimizer.init(table)

    def run() -> None:
        gradbag.raw_ops.EmbeddingBag(
            table=table, ids=bags.ids, offsets=bags.offsets, weights=bags.weights, combiner=mode
        )
        optimizer.step(table, state, bags, grad, combiner=mode)

    return run


def _of_fbgemm(given: Inputs, mode: str, kind: str, initial: float) -> tuple[Call, Call]:
    place = (given.work.rows, given.work.columns, EmbeddingLocation.HOST, ComputeDevice.CPU)
    layer = SplitTableBatchedEmbeddingBagsCodegen(
        [place],
        optimizer=EmbOptimType[kind],
        learning_rate=LEARNING_RATE,
        eps=EPSILON,
        pooling_mode=PoolingMode[mode.upper()],
        device=torch.device("cpu"),
    )
    weight = layer.split_embedding_weights()[0]
    weight.copy_(torch.from_numpy(given.table))
    for states in layer.split_optimizer_states():
        for state in states:
            state.fill_(initial)
    ids, splits, grad = (torch.from_numpy(a) for a in (given.ids, given.splits, given.grad))
    weights = None if given.weights is None else torch.from_numpy(given.weights)

    def run() -> None:
        layer(ids, splits, weights).backward(grad)

    return run, lambda: weight.detach().numpy()


def _of_torch(given: Inputs, mode: str, kind: Any) -> tuple[Call, Call]:
    layer = torch.nn.EmbeddingBag.from_pretrained(
        torch.from_numpy(on_lines(given.table)), mode=mode, sparse=True, freeze=False
    )
    optimizer = kind(layer.parameters(), lr=LEARNING_RATE)
    entries = [torch.from_numpy(given.ids), torch.from_numpy(given.offsets)]
    if given.weights is not None:
        entries.append(torch.from_numpy(given.weights))
    grad = torch.from_numpy(given.grad)

    def run() -> None:
        optimizer.zero_grad()
        layer(*entries).backward(grad)
        optimizer.step()

    return run, lambda: layer.weight.detach().numpy()


# ------------------------------------------------------------------ measuring
JOBS = [safe_look_up, look_up, gradient, steps]
FEWEST_ROUNDS, MOST_ROUNDS, ROUND_SECONDS = 3, 12, 1.2


def best(calls: list[Call], most: int, clock: Callable[[], float]) -> list[float]:
    found = [math.inf] * len(calls)
    started = time.perf_counter()
    for done in range(most):
        if done >= FEWEST_ROUNDS and time.perf_counter() - started > ROUND_SECONDS:
            break
        for place, call in enumerate(calls):
            begin = clock()
            call()
            found[place] = min(found[place], clock() - begin)
    return found


def set_threads(count: int) -> None:
    gradbag.set_num_threads(count)
    torch.set_num_threads(count)
    if limits is not None:
        limits.set_threads(count)


def cold(work: Any) -> list[dict[str, Any]]:
    """What the first calls of a fresh process take, by embedding_cold.py."""
    script = Path(__file__).with_name("embedding_cold.py")
    given = json.dumps(asdict(work))
    ran = subprocess.run([sys.executable, script, given], check=True, capture_output=True, text=True)
    found: list[dict[str, Any]] = json.loads(ran.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two workloads, few rounds; nothing is kept")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", default="", help="jobs whose name has this in it")
    parser.add_argument("--seed", type=int, default=1, help="of a third of the sizes")
    chosen = parser.parse_args()
    # TensorFlow is told once, before its first op; its one thread does not go with two of others.
    tf.config.threading.set_intra_op_parallelism_threads(max(chosen.threads))
    tf.config.threading.set_inter_op_parallelism_threads(1)
    rows: list[dict[str, Any]] = []
    everything = [*WORKLOADS, *drawn(chosen.seed, len(WORKLOADS) // 2)]
    for work in WORKLOADS[:2] if chosen.quick else everything:
        print(work, flush=True)
        given = Inputs(work)
        for make in JOBS:
            for job in make(given):
                if chosen.only not in job.name:
                    continue
                for threads in chosen.threads:
                    set_threads(threads)
                    clock = time.process_time if threads == 1 else time.perf_counter
                    ours, *others = best([job.ours, *job.peers.values()], 4 if chosen.quick else MOST_ROUNDS, clock)
                    for peer, seconds in zip(job.peers, others, strict=True):
                        rows.append(
                            {"workload": work.name, "job": job.name, "peer": peer, "threads": threads}
                            | {"ms": ours * 1e3, "peer ms": seconds * 1e3, "ratio": seconds / ours}
                        )
                        print(
                            f"  {job.name:32}{peer:18}{threads} thread{'s' if threads > 1 else ' '}"
                            f"{ours * 1e3:9.2f} ms{seconds * 1e3:10.2f} ms{seconds / ours:7.2f}x"
                        )
        if not chosen.only:
            rows += [{"workload": work.name} | row for row in cold(work)]
    print("\nratios: geometric mean (least), and the goal of each")
    for line in told(rows):
        print(" ", line)
    if not chosen.quick and not chosen.only:
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
