"""Ranks as threads of one process, for what needs no engine to be tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import numpy as np

from ..sharding import Part


class LocalWire:
    """Carries arrays from thread to thread, and counts the bytes that go to other ranks."""

    def __init__(self, rank: int, size: int, desk: list[Any], barrier: Barrier) -> None:
        self.rank, self.size, self.sent = rank, size, 0
        self._desk, self._barrier = desk, barrier

    def swap(self, parts: Sequence[Part]) -> list[Any]:
        """What every rank has given this one."""
        cut = [np.split(part.array, np.cumsum(part.give)[:-1]) for part in parts]
        for part, pieces in zip(parts, cut, strict=True):
            assert len(part.array) == part.give.sum(), "a part must be given away whole"
            self.sent += sum(piece.nbytes for rank, piece in enumerate(pieces) if rank != self.rank)
        self._desk[self.rank] = cut
        self._barrier.wait(60)
        came = []
        for place, part in enumerate(parts):
            pieces = [self._desk[rank][place][self.rank] for rank in range(self.size)]
            assert [len(piece) for piece in pieces] == list(part.take), "as much must come as was said"
            came.append(np.concatenate(pieces))
        self._barrier.wait(60)
        return came


def run_ranks(size: int, function: Callable[[LocalWire], Any]) -> list[Any]:
    """What the function gives on each rank; an error of one comes back to the caller."""
    barrier = Barrier(size)
    desk: list[Any] = [None] * size
    answers: list[Any] = [None] * size
    problems: list[tuple[int, BaseException]] = []

    def work(rank: int) -> None:
        try:
            answers[rank] = function(LocalWire(rank, size, desk, barrier))
        except BaseException as problem:  # noqa: BLE001  # it is raised again below
            problems.append((rank, problem))
            barrier.abort()

    threads = [Thread(target=work, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for _, problem in sorted(problems, key=lambda pair: (isinstance(pair[1], BrokenBarrierError), pair[0])):
        raise problem
    return answers
