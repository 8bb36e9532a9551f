"""What a run needs, worked out once for each set of fetches and feeds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from .cache import call_digest, step_digest
from .graph import Node, Output


class Step:
    """A node of a plan. Values live in numbered slots, so that a run looks nothing up by name."""

    __slots__ = ("before", "call", "digest", "followers", "known", "node", "outputs", "sources", "state")

    def __init__(self, node: Node, sources: Sequence[int], outputs: range) -> None:
        self.node, self.sources, self.outputs, self.state = node, tuple(sources), outputs, node.op.state
        self.before = 0  # how many steps must be done first
        self.followers: list[int] = []  # the steps that wait for this one
        self.known = [value for value in node.known if value is not None]
        if len(self.known) < len(node.dtypes):
            self.known = []  # not all of them
        self.call = b""
        self.digest: bytes | None = None  # of the result, where neither feeds nor variables decide it


class Plan:
    """The nodes that some fetches need, in an order to run them in."""

    def __init__(self, fetches: Collection[Output], run_only: Iterable[Node], feeds: Collection[Output]) -> None:
        self.slots: dict[Output, int] = {output: slot for slot, output in enumerate(feeds)}
        self.feeds = list(feeds)
        count = len(self.slots)
        self.steps: list[Step] = []
        numbers: dict[Node, int] = {}
        fed = set(feeds)
        for node in _needed([o.node for o in fetches if o not in fed] + list(run_only), fed):
            sources = [self.slots[i] for i in node.inputs]
            # A fed output keeps the slot of its feed, even where the node runs for another of its outputs.
            own = range(count, count + len(node.dtypes))
            count = own.stop
            for index, slot in enumerate(own):
                self.slots.setdefault(Output(node, index), slot)
            step = Step(node, sources, own)
            before = {numbers[i.node] for i in node.inputs if i not in fed}
            before |= {numbers[c] for c in node.control}
            step.before = len(before)
            for number in before:
                self.steps[number].followers.append(len(self.steps))
            numbers[node] = len(self.steps)
            self.steps.append(step)
        self.size = count
        self.readers = [0] * count
        self.maker = [-1] * count
        for number, step in enumerate(self.steps):
            for slot in step.sources:
                self.readers[slot] += 1
            for slot in step.outputs:
                self.maker[slot] = number
        self.fetched = [self.slots[o] for o in fetches]
        self.kept = frozenset(self.fetched)
        self.keyed = False

    def add_digests(self) -> None:
        """The part of the keys that is the same for every run."""
        if self.keyed:
            return
        for step in self.steps:
            step.call = call_digest(step.node)
            makers = [self.maker[slot] for slot in step.sources]
            if not step.state and all(m >= 0 and self.steps[m].digest is not None for m in makers):
                step.digest = step_digest(step.call, [self.source_digest(slot) for slot in step.sources])
        self.keyed = True

    def source_digest(self, slot: int) -> bytes:
        """Of the value in a slot that a step with a fixed digest fills."""
        step = self.steps[self.maker[slot]]
        assert step.digest is not None
        return step.digest + bytes([slot - step.outputs.start])


def _needed(ends: Sequence[Node], fed: Collection[Output]) -> list[Node]:
    """All nodes on which the ends depend; what is fed need not be computed."""
    seen: set[Node] = set()
    waiting = list(ends)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting.extend(i.node for i in node.inputs if i not in fed)
            waiting.extend(node.control)
    return sorted(seen, key=lambda node: node.number)  # nodes only read earlier ones
