"""Many small tables in one call, beside FBGEMM's table-batched bags and a loop of torch.nn.EmbeddingBag.

python benchmarks/grouped.py [--threads 1 2] [--only NAME]

The layers are timed as a user calls them, forward without a tape and fused steps; all take turns, the quickest round of
each counts. On one thread it is processor time, on more it is time that passes. Results are compared before.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from fbgemm_gpu.split_table_batched_embeddings_ops_common import PoolingMode
from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
    ComputeDevice,
    EmbeddingLocation,
    SplitTableBatchedEmbeddingBagsCodegen,
)

import gradbag
import gradbag.torch

LEARNING_RATE = 0.05
EPSILON = 1e-8
Call = Callable[[], Any]


@dataclass(frozen=True)
class Group:
    name: str
    tables: int
    rows: tuple[int, int]
    columns: tuple[int, ...]
    bags: int
    shortest: int
    longest: int

    def __str__(self) -> str:
        columns = "/".join(map(str, self.columns))
        lengths = f"{self.shortest}-{self.longest}"
        rows = f"{self.rows[0]:,}-{self.rows[1]:,}"
        return f"{self.name}: {self.tables} tables of {rows} x {columns}, {self.bags:,} bags of {lengths} each, Zipf"


GROUPS = [
    Group("26 small", 26, (1_000, 100_000), (16, 32, 64), 512, 1, 20),
    Group("26 large", 26, (1_000, 100_000), (16, 32, 64), 4_096, 1, 20),
    Group("26 of one", 26, (1_000, 100_000), (32,), 2_048, 1, 1),
    Group("40 mixed", 40, (500, 200_000), (8, 20, 48, 128), 1_024, 0, 10),
    Group("8 wide", 8, (10_000, 300_000), (128,), 2_000, 1, 30),
]


class GroupInputs:
    def __init__(self, work: Group) -> None:
        rng = np.random.default_rng(9)
        sizes = np.geomspace(*work.rows, work.tables).astype(int)
        self.work = work
        self.specs = [(int(rows), work.columns[k % len(work.columns)]) for k, rows in enumerate(rng.permutation(sizes))]
        lengths = rng.integers(work.shortest, work.longest + 1, (work.tables, work.bags))
        self.splits = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))
        each = [rng.zipf(1.2, count) % rows for count, (rows, _) in zip(lengths.sum(1), self.specs, strict=True)]
        self.ids = torch.from_numpy(np.concatenate(each).astype("i8"))
        self.tables = [torch.from_numpy(rng.standard_normal(spec, dtype=np.float32)) for spec in self.specs]
        width = sum(columns for _, columns in self.specs)
        self.grad = torch.from_numpy(rng.standard_normal((work.bags, width), dtype=np.float32) * np.float32(0.01))
        ends = np.cumsum([0, *map(len, each)])
        starts = self.splits[:-1].reshape(work.tables, -1)
        self.parts = [(self.ids[a:b], starts[k] - a) for k, (a, b) in enumerate(pairwise(ends))]

    def own(self, mode: str, fused: Any = None) -> Any:
        layer = gradbag.torch.GroupedEmbeddingBag(self.specs, mode=mode, fused=fused)
        with torch.no_grad():
            for weight, table in zip(layer.weights, self.tables, strict=True):
                weight.copy_(table)
        return layer

    def fbgemm(self, mode: str) -> Any:
        layer = SplitTableBatchedEmbeddingBagsCodegen(
            [(*spec, EmbeddingLocation.HOST, ComputeDevice.CPU) for spec in self.specs],
            optimizer=EmbOptimType.EXACT_ROWWISE_ADAGRAD,
            learning_rate=LEARNING_RATE,
            eps=EPSILON,
            pooling_mode=PoolingMode[mode.upper()],
            device=torch.device("cpu"),
        )
        for weight, table in zip(layer.split_embedding_weights(), self.tables, strict=True):
            weight.copy_(table)
        return layer

    def loop(self, mode: str) -> Any:
        layers = [
            torch.nn.EmbeddingBag.from_pretrained(table.clone(), mode=mode, sparse=True, freeze=False)
            for table in self.tables
        ]

        def run() -> Any:
            return torch.cat([layer(*part) for layer, part in zip(layers, self.parts, strict=True)], 1)

        return layers, run


def close(got: Any, want: Any, tolerance: float) -> None:
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)


def look_ups(given: GroupInputs) -> Iterator[tuple[str, Call, dict[str, Call]]]:
    for mode in ("sum", "mean"):
        own, fbgemm, (_, loop) = given.own(mode), given.fbgemm(mode), given.loop(mode)
        calls = [lambda own=own: own(given.ids, given.splits), lambda f=fbgemm: f(given.ids, given.splits), loop]
        ours, theirs, looped = (torch.no_grad()(call) for call in calls)
        close(ours(), theirs(), 1e-4)
        close(ours(), looped(), 1e-4)
        yield f"many tables, {mode}", ours, {"FBGEMM": theirs, "loop of torch.nn": looped}


def steps(given: GroupInputs) -> Iterator[tuple[str, Call, dict[str, Call]]]:
    mode = "sum"
    own = given.own(mode, gradbag.optim.RowAdagrad.fbgemm(LEARNING_RATE, epsilon=EPSILON))
    fbgemm = given.fbgemm(mode)
    ours, theirs = (_trained(layer, given) for layer in (own, fbgemm))
    ours(), theirs()
    for weight, other in zip(own.weights, fbgemm.split_embedding_weights(), strict=True):
        close(weight.detach(), other, 2e-5)
    yield "many tables, step, row-wise Adagrad", ours, {"FBGEMM": theirs}
    own = given.own(mode, gradbag.optim.Adagrad.torch(LEARNING_RATE))
    layers, loop = given.loop(mode)
    optimizer = torch.optim.Adagrad([layer.weight for layer in layers], lr=LEARNING_RATE)

    def looped() -> None:
        optimizer.zero_grad()
        loop().backward(given.grad)
        optimizer.step()

    ours = _trained(own, given)
    ours(), looped()
    for weight, layer in zip(own.weights, layers, strict=True):
        close(weight.detach(), layer.weight.detach(), 1e-4)
    yield "many tables, step, Adagrad", ours, {"loop of torch.nn": looped}


def _trained(layer: Any, given: GroupInputs) -> Call:
    def run() -> None:
        layer(given.ids, given.splits).backward(given.grad)

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", default="", help="workloads whose description has this in it")
    chosen = parser.parse_args()
    for work in GROUPS:
        if chosen.only not in str(work):
            continue
        print(work, flush=True)
        given = GroupInputs(work)
        for name, ours, peers in (job for make in (look_ups, steps) for job in make(given)):
            for threads in chosen.threads:
                gradbag.set_num_threads(threads)
                torch.set_num_threads(threads)
                own, *others = best([ours, *peers.values()], time.process_time if threads == 1 else time.perf_counter)
                for peer, seconds in zip(peers, others, strict=True):
                    ratio = f"{own * 1e3:9.2f} ms{seconds * 1e3:10.2f} ms{seconds / own:7.2f}x"
                    print(f"  {name:38}{peer:18}{threads} threads{ratio}", flush=True)


def best(calls: list[Call], clock: Callable[[], float]) -> list[float]:
    found = [math.inf] * len(calls)
    for _ in range(8):
        for place, call in enumerate(calls):
            begin = clock()
            call()
            found[place] = min(found[place], clock() - begin)
    return found


if __name__ == "__main__":
    main()
