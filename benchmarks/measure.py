"""Timing calls side by side.

The peers take turns, so that whatever else the machine does meets all of them; a ratio is taken inside each round, and
the median of the rounds counts. Wall time is what a user waits; on-CPU time, of all threads together, stands beside it
for machines that are busy.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

Call = Callable[[], object]


@dataclass
class Times:
    """Seconds of one call, a number for each round."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


class Comparison:
    """Several ways to do the same, measured in one run; the first is the one that the others are compared with."""

    def __init__(self, peers: Mapping[str, Call], batch_seconds: float) -> None:
        self.peers = dict(peers)
        self.times = {name: Times() for name in peers}
        self.counts = {name: _calls_in(call, batch_seconds) for name, call in peers.items()}

    def round(self) -> None:
        """Measure every peer once; who was first in this round is last in the next."""
        for name, call in self.peers.items():
            wall, cpu = _time(call, self.counts[name])
            self.times[name].wall.append(wall)
            self.times[name].cpu.append(cpu)
        first = next(iter(self.peers))
        self.peers[first] = self.peers.pop(first)

    def seconds(self, name: str) -> float:
        return statistics.median(self.times[name].wall)

    def ratio(self, name: str, clock: str = "wall") -> float:
        """How many times longer a peer takes than the first."""
        own, others = (getattr(self.times[n], clock) for n in (next(iter(self.times)), name))
        # A clock may be too coarse for the shortest calls; no time at all says nothing.
        ratios = [other / mine for mine, other in zip(own, others, strict=True) if mine > 0]
        return statistics.median(ratios) if ratios else math.nan


def summary(ratios: Iterable[float]) -> dict[str, float]:
    known = [r for r in ratios if r > 0]
    if not known:
        return {}
    return {"geometric_mean": statistics.geometric_mean(known), "min": min(known), "max": max(known)}


def _calls_in(call: Call, seconds: float) -> int:
    """How many calls fill about this time; the first, which may prepare things, does not count."""
    call()
    count = 1
    while count < 100_000 and (taken := _time(call, count)[0] * count) < seconds:
        count = max(count + 1, min(count * 10, int(count * seconds / max(taken, 1e-9))))
    return count


def _time(call: Call, count: int) -> tuple[float, float]:
    with _no_collection():
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(count):
            call()
        return (time.perf_counter() - wall) / count, (time.process_time() - cpu) / count


@contextmanager
def _no_collection():
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
