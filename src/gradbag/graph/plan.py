"""What a run needs, worked out once for each set of fetches and feeds."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .bulk import in_bulk
from .cache import call_digest, step_digest
from .graph import Node, Output


class Step:
    """A node of a plan. Values live in numbered slots, so that a run looks nothing up by name."""

    __slots__ = (
        "acts",
        "before",
        "cacheable",
        "call",
        "digest",
        "known",
        "node",
        "outputs",
        "reads",
        "sources",
        "state",
    )

    def __init__(self, node: Node, sources: Sequence[int], outputs: range, before: Collection[int]) -> None:
        self.node, self.sources, self.outputs = node, tuple(sources), outputs
        # What could have been fed, and was not, is an ordinary step: it has a default, or says that it has none.
        self.state = "" if node.op.state == "fed" else node.op.state
        self.before = tuple(before)  # the steps that must be done first
        # To assign, the variable's value before is not read, and need not be there.
        self.reads = self.sources[1:] if self.state == "assign" else self.sources
        self.known = [value for value in node.known if value is not None]
        if len(self.known) < len(node.dtypes):
            self.known = []  # not all of them
        self.acts = self.state in ("assign", "update") or node.op.updates  # or something that it waits for does
        self.cacheable = not self.state and not self.known and not node.op.updates
        self.call = b""
        self.digest: bytes | None = None  # of the result, where neither feeds nor variables decide it


class Plan:
    """The nodes that some fetches need, in an order to run them in.

    In a `whole` plan every result on the way is wanted, so that each is looked up in the cache or computed.
    """

    @in_bulk
    def __init__(
        self, fetches: Collection[Output], run_only: Sequence[Node], feeds: Collection[Output], whole: bool = False
    ) -> None:
        # Of outputs, by node and index: a tuple is found faster than an Output.
        slots: dict[tuple[Node, int], int] = {(o.node, o.index): slot for slot, o in enumerate(feeds)}
        self.feeds = list(feeds)
        self.steps: list[Step] = []
        count = len(slots)
        numbers: dict[Node, int] = {}
        acting: set[int] = set()
        fed = set(feeds)
        last = [o.node for o in fetches if o not in fed] + list(run_only)
        for node in _needed(last, fed):
            own = range(count, count + len(node.dtypes))
            count = own.stop
            before = {numbers[i.node] for i in node.inputs if not fed or i not in fed}
            if node.control:
                before |= {numbers[c] for c in node.control}
            step = Step(node, [slots[i.node, i.index] for i in node.inputs], own, before)
            if step.acts or not acting.isdisjoint(before):
                # Taken from the cache, it would not do what it is there for.
                step.acts, step.cacheable = True, False
                acting.add(len(self.steps))
            self.steps.append(step)
            numbers[node] = len(self.steps) - 1
            for index, slot in enumerate(own):
                # A fed output keeps the slot of its feed, even where the node runs for another of its outputs.
                slots.setdefault((node, index), slot)
        self.size = count
        self.maker = [-1] * count
        for number, step in enumerate(self.steps):
            for slot in step.outputs:
                self.maker[slot] = number
        ends = [numbers[node] for node in last]
        if whole:  # a variable may have no value yet, which does no harm where nothing reads it
            ends += [number for number, step in enumerate(self.steps) if step.outputs and step.state != "variable"]
        self.ends = tuple(dict.fromkeys(ends))
        self.fetched = [slots[o.node, o.index] for o in fetches]
        self.kept = frozenset(self.fetched)
        self.keyed = False

    def add_digests(self) -> None:
        """The part of the keys that is the same for every run."""
        if self.keyed:
            return
        for step in self.steps:
            step.call = call_digest(step.node)
            if not step.state and not step.acts:
                inputs = [self.source_digest(slot) for slot in step.sources]
                if None not in inputs:
                    step.digest = step_digest(step.call, inputs)  # type: ignore[arg-type]
        self.keyed = True

    def source_digest(self, slot: int) -> bytes | None:
        """Of the value in a slot, if a step with a fixed digest fills it."""
        number = self.maker[slot]
        step = self.steps[number]
        if number < 0 or step.digest is None:
            return None
        index = slot - step.outputs.start
        return step.digest + bytes([index]) if index else step.digest


def _needed(ends: Sequence[Node], fed: Collection[Output]) -> list[Node]:
    """All nodes on which the ends depend; what is fed need not be computed."""
    seen: set[Node] = set()
    waiting = list(ends)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += [i.node for i in node.inputs if not fed or i not in fed]
            waiting.extend(node.control)
    return sorted(seen, key=lambda node: node.number)  # nodes only read earlier ones
