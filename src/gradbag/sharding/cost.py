"""What a step on several hosts costs, on paper: memory, bytes and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..bags import Bags
from ..ops.pooling import accumulator
from .plan import ShardPlan
from .traffic import Traffic, traffic, zipf_ids

WAYS = ("exact", "partial", "hybrid")
LINK_SHARE = 0.85  # of a link's nominal rate that arrives
# Nanoseconds on one core; an estimate, to be replaced by what a machine of one's own takes.
ROUTE_ID, POOL_NUMBER, GRAD_NUMBER, STEP_NUMBER = 60.0, 0.6, 1.0, 0.6


@dataclass(frozen=True)
class Cost:
    """One way of a step on each host."""

    way: str
    traffic: Traffic
    network: float  # seconds
    compute: float

    @property
    def serial(self) -> float:
        return self.network + self.compute

    @property
    def overlapped(self) -> float:
        """When routes are made ahead, and ids travel while the batch before is computed."""
        ids = self.network * (self.traffic.ids + self.traffic.header) / max(self.traffic.total, 1)
        return max(self.serial - ids, self.compute)


def memory_of(rows: int, columns: int, hosts: int, dtype: Any, optimizer: Any) -> int:
    """The bytes of the largest shard: rows, and what an optimizer keeps of each."""
    kept = np.dtype(dtype).itemsize * columns
    if optimizer is not None:
        wide = accumulator(np.dtype(dtype)).itemsize
        kept += sum(wide * (1 if state.per_row else columns) for state in optimizer.rule.states)
    return -(-rows // hosts) * int(kept)


def costs(
    plan: ShardPlan,
    columns: int,
    *,
    bags: int,
    length: int,
    zipf: float,
    dtype: Any = "float32",
    gigabits: float = 10.0,
    cores: int = 8,
    latency: float = 60e-6,
    seed: int = 0,
) -> list[Cost]:
    """The ways of a step, with `bags` of `length` ids on each host; ids are drawn, and counted exactly."""
    ids = zipf_ids(np.random.default_rng(seed), bags * length, plan.num_rows, zipf)
    batch = Bags(ids, np.arange(bags) * length)
    pieces = 1 << max(plan.num_shards - 1, 1).bit_length()
    tree = ShardPlan(plan.num_rows, plan.num_shards, plan.strategy, max(pieces, plan.num_shards))
    distinct = len(np.unique(ids))
    work = len(ids) * (ROUTE_ID + columns * (POOL_NUMBER + GRAD_NUMBER)) + distinct * columns * STEP_NUMBER
    rate = gigabits * 1e9 / 8 * LINK_SHARE
    found = []
    for way in WAYS:
        moved = traffic(plan if way == "exact" else tree, batch, columns, dtype, way=way)
        waits = latency * 4 * max(plan.num_shards - 1, 0)
        found.append(Cost(way, moved, moved.total / rate + waits, work * 1e-9 / cores))
    return found
