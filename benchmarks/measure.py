"""Timing calls side by side.

The peers take turns, so that whatever else the machine does meets all of them; a ratio is taken inside each round, and
the median of the rounds counts. Wall time is what a user waits; beside it stands, for machines that are busy, the time
on a CPU of the busiest thread. A call in a tight loop finds its threads awake and its data in the caches; what a single
call costs after a pause, with other data in the caches, is measured as well: cold.
"""

from __future__ import annotations

import gc
import math
import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

Call = Callable[[], object]

# Thread pools that spin when they have nothing to do (OpenMP) are given this time to fall asleep before the next peer.
SETTLE_SECONDS = 0.005
# Before a cold call: long enough for every pool to sleep, and more bytes than the caches hold.
COLD_SECONDS, COLD_BYTES = 0.03, 64 << 20


@dataclass(frozen=True)
class Effort:
    """How long to measure one task: rounds until the time is over, never fewer or more than the bounds."""

    fewest: int
    most: int
    seconds: float
    batch_seconds: float  # calls shorter than this are repeated


FULL = Effort(fewest=5, most=31, seconds=4.0, batch_seconds=0.005)
QUICK = Effort(fewest=3, most=15, seconds=0.2, batch_seconds=0.002)


@dataclass
class Times:
    """Seconds of one call, a number for each round."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)


class Comparison:
    """Several ways to do the same, measured in one run; the first is the one that the others are compared with."""

    def __init__(self, peers: Mapping[str, Call], effort: Effort) -> None:
        self.peers = dict(peers)
        self.effort = effort
        self.own = next(iter(peers))
        self.times = {name: Times() for name in peers}
        self.counts = {name: _calls_in(call, effort.batch_seconds) for name, call in peers.items()}
        self._others = bytearray(COLD_BYTES)

    def run(self) -> None:
        started = time.perf_counter()
        for done in range(self.effort.most):
            if done >= self.effort.fewest and time.perf_counter() - started > self.effort.seconds:
                break
            self.round()

    def round(self) -> None:
        """Measure every peer once; who was first in this round is last in the next."""
        for name, call in self.peers.items():
            time.sleep(SETTLE_SECONDS)
            call()  # not measured: after a pause the first call waits for threads and clocks to wake up
            wall, cpu = _time(call, self.counts[name])
            self.times[name].wall.append(wall)
            self.times[name].cpu.append(cpu)
            if len(self.times[name].cold) < self.effort.fewest:  # a few are enough for a median
                self.times[name].cold.append(self._cold(call))
        first = next(iter(self.peers))
        self.peers[first] = self.peers.pop(first)

    def _cold(self, call: Call) -> float:
        """The seconds of one call that comes after a pause, behind other data."""
        self._others[:] = bytes(COLD_BYTES)
        time.sleep(COLD_SECONDS)
        started = time.perf_counter()
        call()
        return time.perf_counter() - started

    @property
    def rounds(self) -> int:
        return len(self.times[self.own].wall)

    def seconds(self, name: str, clock: str = "wall") -> float:
        return statistics.median(getattr(self.times[name], clock))

    def ratio(self, name: str, clock: str = "wall") -> float:
        """How many times longer a peer takes than the first."""
        own, others = (getattr(self.times[n], clock) for n in (self.own, name))
        # A clock may be too coarse for the shortest calls; no time at all says nothing.
        ratios = [other / mine for mine, other in zip(own, others, strict=True) if mine > 0]
        return statistics.median(ratios) if ratios else math.nan


def summary(ratios: Iterable[float | None]) -> dict[str, float]:
    known = [r for r in ratios if r is not None and r > 0]
    if not known:
        return {}
    return {"mean": statistics.geometric_mean(known), "min": min(known), "max": max(known), "count": len(known)}


def _calls_in(call: Call, seconds: float) -> int:
    """How many calls fill about this time, by the fastest of some: a disturbed one would make a batch too short."""
    call()  # the first may prepare things
    taken: list[float] = []
    while len(taken) < 20 and sum(taken) < 10 * seconds:
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return max(1, min(round(seconds / min(taken)), 100_000)) if taken else 1


def _time(call: Call, count: int) -> tuple[float, float]:
    with _no_collection():
        others = _threads()
        wall, own = time.perf_counter(), time.thread_time()
        for _ in range(count):
            call()
        wall, own = time.perf_counter() - wall, time.thread_time() - own
        busiest = max([own, *(now - others.get(name, 0.0) for name, now in _threads().items())])
    # The kernel books other threads' time a few milliseconds late, so theirs may seem longer than the call.
    return wall / count, min(busiest, wall) / count


def _threads() -> dict[str, float]:
    """Seconds that every other thread of this process has spent on a CPU; nothing where the system does not tell."""
    found = {}
    own = str(_own_id)
    try:
        for task in os.scandir("/proc/self/task"):
            if task.name != own:
                found[task.name] = int(Path(task.path, "schedstat").read_text().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        return {}
    return found


_own_id = os.getpid()  # the main thread's; everything is measured from it


@contextmanager
def _no_collection():
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
