"""Train a small recommender in PyTorch, first with torch.nn.EmbeddingBag, then with gradbag's in its place.

    python examples/train_recommender_torch.py            an epoch of each, the losses and the time of a step
    python examples/train_recommender_torch.py --help     other sizes

The model is built like DLRM: a bag of ids per field becomes a row, the rows and what the numbers of a sample say are
multiplied with each other, and a small network makes the prediction. The clicks are made up, with few popular ids and
many rare ones, and bags that are sometimes empty.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

import gradbag.torch


@dataclass(frozen=True)
class Sizes:
    """How large the data and the model are."""

    fields: int = 8
    rows: int = 100_000
    width: int = 32
    numbers: int = 13
    batch: int = 2048
    steps: int = 100
    bag: int = 10  # ids in a bag, on average
    seed: int = 1


Batch = tuple[torch.Tensor, list[tuple[torch.Tensor, torch.Tensor]], torch.Tensor]


def clicks(sizes: Sizes) -> Iterator[Batch]:
    """An epoch of batches: numbers, for each field the ids and where its bags begin, and whether there was a click."""
    generator = torch.Generator().manual_seed(sizes.seed)
    taste = torch.randn(sizes.fields, sizes.rows, generator=generator)
    for _ in range(sizes.steps):
        numbers = torch.randn(sizes.batch, sizes.numbers, generator=generator)
        score = numbers[:, 0].clone()
        fields = []
        for field in range(sizes.fields):
            lengths = torch.randint(0, 2 * sizes.bag + 1, (sizes.batch,), generator=generator)
            ids = (sizes.rows * torch.rand(int(lengths.sum()), generator=generator) ** 3).long()
            offsets = torch.cumsum(lengths, 0) - lengths
            liked = torch.zeros(sizes.batch).index_add_(
                0, torch.arange(sizes.batch).repeat_interleave(lengths), taste[field, ids]
            )
            score += liked / lengths.clamp(min=1)
            fields.append((ids, offsets))
        yield numbers, fields, (score > 0).float()


class Recommender(nn.Module):
    """Predicts a click from numbers and bags of ids."""

    def __init__(self, sizes: Sizes, make_bag: Callable[[int, int], nn.Module]) -> None:
        super().__init__()
        self.bags = nn.ModuleList([make_bag(sizes.rows, sizes.width) for _ in range(sizes.fields)])
        self.bottom = nn.Sequential(nn.Linear(sizes.numbers, 64), nn.ReLU(), nn.Linear(64, sizes.width), nn.ReLU())
        pairs = (sizes.fields + 1) * sizes.fields // 2
        self.top = nn.Sequential(nn.Linear(sizes.width + pairs, 64), nn.ReLU(), nn.Linear(64, 1))
        self.register_buffer("pairs", torch.tril_indices(sizes.fields + 1, sizes.fields + 1, -1))

    def forward(self, numbers: torch.Tensor, fields: list[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
        bottom = self.bottom(numbers)
        rows = torch.stack([bottom, *(bag(*field) for bag, field in zip(self.bags, fields, strict=True))], 1)
        products = (rows @ rows.mT)[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([bottom, products], 1))[:, 0]


@dataclass(frozen=True)
class Step:
    loss: float
    seconds: float  # without the making of the batch


def epoch(sizes: Sizes, make_bag: Callable[[int, int], nn.Module]) -> Iterator[Step]:
    """Train step by step. The same sizes give the same data and the same first parameters, whatever the bags are."""
    torch.manual_seed(sizes.seed)
    model = Recommender(sizes, make_bag)
    tables = [bag.weight for bag in model.bags]
    rest = [*model.bottom.parameters(), *model.top.parameters()]
    optimizers = [torch.optim.SparseAdam(tables, lr=1e-2), torch.optim.Adam(rest, lr=1e-3)]
    for numbers, fields, clicked in clicks(sizes):
        start = time.perf_counter()
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(numbers, fields), clicked)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        yield Step(loss.item(), time.perf_counter() - start)


def bags(mode: str) -> dict[str, Callable[[int, int], Any]]:
    """The two ways to make a bag; both begin with the same numbers."""
    return {
        "torch.nn.EmbeddingBag": lambda rows, width: nn.EmbeddingBag(rows, width, mode=mode, sparse=True),
        "gradbag.torch.EmbeddingBag": lambda rows, width: gradbag.torch.EmbeddingBag(
            rows, width, mode=mode, sparse=True
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, value in vars(Sizes()).items():
        parser.add_argument(f"--{name}", type=int, default=value, metavar="N", help=f"default {value}")
    parser.add_argument("--mode", choices=("mean", "sum"), default="mean")
    given = vars(parser.parse_args())
    mode = given.pop("mode")
    sizes = Sizes(**given)
    made = bags(mode)
    steps: dict[str, list[Step]] = {name: [] for name in made}
    # Both at once, step by step: what else the machine does then slows both.
    for number, both in enumerate(zip(*(epoch(sizes, make_bag) for make_bag in made.values()), strict=True)):
        for done, step in zip(steps.values(), both, strict=True):
            done.append(step)
        if sys.stdout.isatty():
            print(f"\rstep {number + 1} of {sizes.steps}   loss {both[1].loss:.4f}", end="", flush=True)
    times = [statistics.median(step.seconds for step in done) for done in steps.values()]
    if sys.stdout.isatty():
        print("\r", end="")
    for (name, done), seconds in zip(steps.items(), times, strict=True):
        last = statistics.mean(step.loss for step in done[-10:])
        print(f"{name:28}loss {done[0].loss:.4f} to {last:.4f} (mean of the last ten)   {seconds * 1e3:.1f} ms a step")
    print(f"A step with gradbag takes {times[1] / times[0]:.2f} of the time.")


if __name__ == "__main__":
    main()
