"""Bags of ids that embedding tables are measured with: of sizes that kernels were tuned on, and of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from limit import on_lines


@dataclass(frozen=True)
class Workload:
    name: str
    rows: int
    columns: int
    bags: int
    shortest: int
    longest: int
    skewed: bool  # whether few ids make up most entries
    weighted: bool = False

    def __str__(self) -> str:
        kinds = ("Zipf" if self.skewed else "uniform") + (", weighted" if self.weighted else "")
        bags = f"{self.bags:,} bags of {self.shortest}-{self.longest}"
        return f"{self.name}: {self.rows:,} x {self.columns}, {bags}, {kinds}"

    @property
    def combiner(self) -> str:
        return "sum" if self.shortest == self.longest == 1 else "mean"


WORKLOADS = [
    Workload("A", 100_000, 32, 20_000, 0, 20, True),
    Workload("B", 500_000, 64, 20_000, 1, 39, True),
    Workload("C", 500_000, 64, 20_000, 1, 39, False),
    Workload("D", 2_000_000, 16, 10_000, 50, 50, True),
    Workload("E", 250_000, 128, 100_000, 1, 1, False),
    Workload("F", 500_000, 32, 10_000, 1, 50, True, weighted=True),
    Workload("G", 300_000, 48, 30_000, 2, 12, True),
    Workload("H", 700_000, 100, 5_000, 1, 60, False),
]


def drawn(seed: int, count: int) -> list[Workload]:
    """Workloads of sizes that nobody has tuned for."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        longest = int(rng.integers(1, 60))
        entries = int(rng.integers(50_000, 300_000))
        columns = int(rng.choice([8, 12, 20, 24, 32, 40, 56, 64, 80, 96, 128]))
        found.append(
            Workload(
                f"seed {seed}.{number + 1}",
                rows=min(int(10 ** rng.uniform(4, 6.3)), 80_000_000 // columns),
                columns=columns,
                bags=2 * entries // (longest + 1),
                shortest=int(rng.integers(0, 2)),
                longest=longest,
                skewed=bool(rng.integers(0, 2)),
                weighted=number % 4 == 3,
            )
        )
    return found


class Inputs:
    """Bags of a workload, valid ones and such as a safe look-up takes."""

    def __init__(self, work: Workload) -> None:
        rng = np.random.default_rng(7)
        lengths = rng.integers(work.shortest, work.longest + 1, work.bags)
        count = int(lengths.sum())
        self.work = work
        self.ids = (rng.zipf(1.2, count) % work.rows if work.skewed else rng.integers(0, work.rows, count)).astype("i8")
        self.splits = np.concatenate([[0], np.cumsum(lengths)])
        self.offsets = self.splits[:-1].copy()
        self.weights = rng.uniform(0.5, 2.0, count).astype(np.float32) if work.weighted else None
        self.table = on_lines(rng.standard_normal((work.rows, work.columns), dtype=np.float32))
        self.grad = rng.standard_normal((work.bags, work.columns), dtype=np.float32) * 0.01

    def unsafe(self) -> tuple[Any, Any]:
        """2 % of the ids invalid, 5 % of the bags empty, as a SparseTensor and its weights."""
        rng = np.random.default_rng(8)
        rows = np.repeat(np.arange(self.work.bags), np.diff(self.splits))
        kept = rng.random(self.work.bags)[rows] > 0.05
        ids = np.where(rng.random(len(self.ids)) < 0.02, -1, self.ids)[kept]
        columns = (np.arange(len(rows)) - self.splits[rows])[kept]
        indices = np.stack([rows[kept], columns], 1)
        shape = [self.work.bags, max(int(np.diff(self.splits).max()), 1)]
        weights = None if self.weights is None else (indices, self.weights[kept], shape)
        return (indices, ids, shape), weights
