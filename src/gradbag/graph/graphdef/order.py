"""An order in which every node comes after what it reads."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ... import errors

MOST_SHOWN = 10


def run_order(names: Sequence[str], sources: Sequence[Sequence[int]], what: str = "the graph has") -> Sequence[int]:
    """The numbers of the nodes, each after its sources; files that are in order already keep theirs."""
    if all(source < number for number, before in enumerate(sources) for source in before):
        return range(len(names))
    waits = [len(before) for before in sources]
    followers: list[list[int]] = [[] for _ in names]
    for number, before in enumerate(sources):
        for source in before:
            followers[source].append(number)
    ready = deque(number for number, count in enumerate(waits) if not count)
    order: list[int] = []
    while ready:
        number = ready.popleft()
        order.append(number)
        for follower in followers[number]:
            waits[follower] -= 1
            if not waits[follower]:
                ready.append(follower)
    if len(order) < len(names):
        raise errors.InvalidArgumentError(f"{what} a cycle: {_cycle(names, sources, waits)}")
    return order


def _cycle(names: Sequence[str], sources: Sequence[Sequence[int]], waits: Sequence[int]) -> str:
    """Walk backwards among the nodes that still wait: each has a source that waits too, so the walk meets itself."""
    number = next(number for number, count in enumerate(waits) if count)
    place: dict[int, int] = {}
    walk: list[int] = []
    while number not in place:
        place[number] = len(walk)
        walk.append(number)
        number = next(source for source in sources[number] if waits[source])
    cycle = walk[place[number] :][::-1]
    shown = " -> ".join(names[n] for n in [*cycle[:MOST_SHOWN], *(cycle[:1] if len(cycle) <= MOST_SHOWN else [])])
    more = f" -> ... ({len(cycle)} nodes)" if len(cycle) > MOST_SHOWN else ""
    return f"{shown}{more}"
