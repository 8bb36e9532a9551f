"""The PyTorch layer beside PyTorch's own, and PyTorch's own layer with gradbag's kernels behind it.

python benchmarks/bags.py [--quick]

Processor time of one thread, the best of interleaved rounds; a ratio below one is quicker than `torch.nn.EmbeddingBag`.
Before anything is timed, both layers must give the same numbers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import gradbag
import gradbag.torch

LEARNING_RATE = 0.1


@dataclass(frozen=True)
class Workload:
    rows: int
    columns: int
    bags: int
    shortest: int
    longest: int
    skewed: bool  # whether few ids make up most entries

    def __str__(self) -> str:
        spread = "zipf" if self.skewed else "uniform"
        return f"{self.rows} x {self.columns}, {self.bags} bags of {self.shortest}-{self.longest} {spread} ids"

    def entries(self) -> tuple[torch.Tensor, torch.Tensor]:
        rng = np.random.default_rng(0)
        lengths = rng.integers(self.shortest, self.longest + 1, self.bags)
        count = int(lengths.sum())
        ids = rng.zipf(1.2, count) % self.rows if self.skewed else rng.integers(0, self.rows, count)
        offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        return torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(offsets)


LARGE = [
    Workload(1_000_000, 64, 20_000, 1, 39, True),
    Workload(1_000_000, 64, 20_000, 1, 39, False),
    Workload(3_000_000, 16, 10_000, 50, 50, True),
    Workload(700_000, 100, 9_000, 1, 25, False),
    Workload(400_000, 128, 60_000, 1, 1, False),
]
MIDDLE = [Workload(20_000, 32, 256, 1, 20, False), Workload(300_000, 32, 5_000, 1, 20, True)]
TINY = [Workload(1_000, 16, 4, 2, 3, False), Workload(100_000, 32, 3, 1, 6, False)]


def layers(work: Workload, mode: str, sparse: bool) -> tuple[Any, Any]:
    ours = gradbag.torch.EmbeddingBag(work.rows, work.columns, mode=mode, sparse=sparse)
    theirs = torch.nn.EmbeddingBag(work.rows, work.columns, mode=mode, sparse=sparse)
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def best(calls: list[Callable[[], Any]], rounds: int, repeats: int) -> list[float]:
    """Seconds of each in its quickest round; they take turns, so that all meet the same disturbances."""
    found = [float("inf")] * len(calls)
    for _ in range(rounds):
        for place, call in enumerate(calls):
            begin = time.process_time()
            for _ in range(repeats):
                call()
            found[place] = min(found[place], (time.process_time() - begin) / repeats)
    return found


def look_up(layer: Any, entries: Any) -> Callable[[], Any]:
    def run() -> Any:
        with torch.no_grad():
            return layer(*entries)

    return run


def step(layer: Any, entries: Any) -> Callable[[], Any]:
    optimizer = torch.optim.SGD(layer.parameters(), lr=LEARNING_RATE)

    def run() -> None:
        optimizer.zero_grad()
        layer(*entries).sum().backward()
        optimizer.step()

    return run


def compare(name: str, pair: tuple[Any, Any], entries: Any, make: Any, rounds: int, repeats: int) -> None:
    calls = [make(layer, entries) for layer in pair]
    if make is step:
        for call in calls:
            call()
        torch.testing.assert_close(pair[0].weight, pair[1].weight)
    torch.testing.assert_close(look_up(pair[0], entries)(), look_up(pair[1], entries)())
    ours, theirs = best(calls, rounds, repeats)
    print(f"{name:75}{ours * 1e6:12.1f}{theirs * 1e6:12.1f}{ours / theirs:8.2f}")


def unedited(work: Workload, mode: str, sparse: bool, rounds: int, repeats: int) -> None:
    """Steps of PyTorch's own layer: as it is, and answered by gradbag's kernels."""
    pair = layers(work, mode, sparse)[1], layers(work, mode, sparse)[1]
    pair[1].load_state_dict(pair[0].state_dict())
    plain, other = (step(layer, work.entries()) for layer in pair)

    def patched() -> None:
        with gradbag.torch.patch():
            other()

    plain()
    before = gradbag.torch.patched()["_embedding_bag_backward"]
    patched()
    assert gradbag.torch.patched()["_embedding_bag_backward"] == before + 1
    torch.testing.assert_close(pair[1].weight, pair[0].weight)

    def all_plain() -> None:
        for _ in range(repeats):
            plain()

    def all_patched() -> None:
        with gradbag.torch.patch():
            for _ in range(repeats):
                other()

    ours, theirs = (seconds / repeats for seconds in best([all_patched, all_plain], rounds, 1))
    name = f"unedited step, {mode}, {'sparse' if sparse else 'dense'}: {work}"
    print(f"{name:75}{ours * 1e6:12.1f}{theirs * 1e6:12.1f}{ours / theirs:8.2f}")


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    torch.set_num_threads(1)
    gradbag.set_num_threads(1)
    print(f"{'':75}{'gradbag µs':>12}{'torch µs':>12}{'ratio':>8}")
    for work in LARGE[:1] if quick else LARGE:
        for mode in ("mean",) if quick else ("mean", "sum"):
            pair = layers(work, mode, sparse=True)
            compare(f"look up, {mode}: {work}", pair, work.entries(), look_up, 5 if quick else 15, 1)
    for work in TINY:
        for sparse in (True, False):
            name = f"step, mean, {'sparse' if sparse else 'dense'}: {work}"
            compare(name, layers(work, "mean", sparse), work.entries(), step, 20, 100)
    for work in TINY + LARGE[:1] if quick else TINY + MIDDLE + LARGE:
        for mode in ("sum", "mean"):
            for sparse in (True, False):
                unedited(work, mode, sparse, *((20, 100) if work in TINY else (5, 1)))


if __name__ == "__main__":
    main()
