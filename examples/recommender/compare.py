"""The time of a training step in PyTorch: gradbag's layer with its step in backward, and PyTorch's with SparseAdam.

Data, network, initial parameters and the optimizer of the network are the same, and so are the losses. The table moves
by the formula of `torch.optim.SparseAdam` in both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

import gradbag.torch
from gradbag import optim

from . import data, network
from .with_torch import FUNCTIONS

SIZES = (512, 4096)
ROUNDS, BURST = 30, 10
Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # ids, offsets, labels
Step = Callable[[Batch], float]


def main(source: str, seed: int, dtype: str) -> None:
    read = data.load(source, seed)
    threads = torch.get_num_threads()
    print(f"{read.name}, a table of {read.rows} rows of {network.WIDTH}, threads: {threads}")
    print("Milliseconds of a step, the least of bursts in turn:")
    print(f"{'batch':>6}  {'':9}{'PyTorch':>9}{'gradbag':>9}{'ratio':>8}")
    with gradbag.set_num_threads(threads):
        for size in SIZES:
            batches = _batches(read.train, size, seed, dtype)
            steps = [make(network.initial(read.rows, seed, dtype)) for make in (torch_step, gradbag_step)]
            losses = [[step(batch) for batch in batches] for step in steps]
            np.testing.assert_allclose(*losses, rtol=1e-3)  # they do the same
            for clock, (theirs, ours) in _times(steps, batches).items():
                print(f"{size:6}  {clock:9}{theirs:9.2f}{ours:9.2f}{theirs / ours:7.2f}x")


def _batches(part: data.Part, size: int, seed: int, dtype: str) -> list[Batch]:
    order = np.random.default_rng(seed).permutation(len(part))
    picked = [part.pick(order[k * size : (k + 1) * size]) for k in range(BURST)]
    return [
        (torch.tensor(each.bags.ids), torch.tensor(each.bags.offsets), torch.tensor(each.labels.astype(dtype)))
        for each in picked
    ]


def _times(steps: list[Step], batches: list[Batch]) -> dict[str, list[float]]:
    """By two clocks; taking turns, all suffer alike from what else the machine does."""
    clocks = {"processor": time.process_time, "wall": time.perf_counter}
    taken: dict[str, list[list[float]]] = {name: [[] for _ in steps] for name in clocks}
    for _ in range(ROUNDS):
        for number, step in enumerate(steps):
            before = {name: clock() for name, clock in clocks.items()}
            for batch in batches:
                step(batch)
            for name, clock in clocks.items():
                taken[name][number].append((clock() - before[name]) / len(batches) * 1e3)
    return {name: [min(each) for each in all_of] for name, all_of in taken.items()}


def gradbag_step(parameters: dict[str, Any]) -> Step:
    table = torch.from_numpy(parameters["table"].copy())
    bag = gradbag.torch.EmbeddingBag(*table.shape, _weight=table, fused=optim.Adam.torch(1e-3))
    return _step(bag, parameters, [])


def torch_step(parameters: dict[str, Any]) -> Step:
    table = torch.from_numpy(parameters["table"].copy())
    bag = nn.EmbeddingBag(*table.shape, sparse=True, _weight=table)
    return _step(bag, parameters, [torch.optim.SparseAdam(bag.parameters(), 1e-3)])


def _step(bag: nn.Module, parameters: dict[str, Any], optimizers: list[Any]) -> Step:
    dense = {name: nn.Parameter(torch.from_numpy(parameters[name].copy())) for name in network.DENSE}
    optimizers = [*optimizers, torch.optim.Adam(dense.values(), 1e-3)]

    def step(batch: Batch) -> float:
        ids, offsets, labels = batch
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = network.loss(FUNCTIONS, dense, bag(ids, offsets), labels)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        return loss.item()

    return step
