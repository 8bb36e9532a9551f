"""What a run needs, worked out once for each set of fetches and feeds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from .. import errors
from .bulk import in_bulk
from .cache import call_digest, output_digest, step_digest
from .graph import Node, Output


class Change(NamedTuple):
    """A variable that a step changes: which of the node's inputs it is, and the slot of the new value."""

    variable: Node
    place: int
    slot: int


class Step:
    """A node of a plan. Values live in numbered slots, so that a run looks nothing up by name."""

    __slots__ = (
        "acts",
        "before",
        "cacheable",
        "call",
        "changes",
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
        # The variable's value before is not read, and need not be there.
        self.reads = self.sources[1:] if self.state in ("assign", "initialized") else self.sources
        self.changes: list[Change] = []
        self.known = [value for value in node.known if value is not None]
        if len(self.known) < len(node.dtypes):
            self.known = []  # not all of them
        # Or something that it waits for does.
        self.acts = self.state in ("assign", "update", "random", "switch", "merge", "loop", "list") or node.op.updates
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
        versions = _Versions(slots)
        last = [o.node for o in fetches if o not in fed] + list(run_only)
        for node in _needed(last, fed):
            own = range(count, count + len(node.dtypes))
            count = own.stop
            before = {numbers[i.node] for i in node.inputs if not fed or i not in fed}
            if node.control:
                before |= {numbers[c] for c in node.control}
            changes = versions.changed(node, before, count)
            count += len(changes)
            step = Step(node, versions.sources(node, before, changes), own, before)
            step.changes = changes
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
        self.branches = any(step.state == "switch" for step in self.steps)
        self.maker = [-1] * count
        for number, step in enumerate(self.steps):
            for slot in (*step.outputs, *[change.slot for change in step.changes]):
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
        return output_digest(step.digest, slot - step.outputs.start)


class _Versions:
    """Which value of a variable a step sees: that of the last change that it waits for, else the one before the run.

    So it depends on the graph alone, never on what happened to run first.
    """

    def __init__(self, slots: dict[tuple[Node, int], int]) -> None:
        self.slots = slots
        # Of each variable: the steps that make a value, each with its bit and the slot of the value.
        self.made: dict[Node, list[tuple[int, int, int]]] = {}
        self.reached: list[int] = []  # for each step, a bit for every step with changes that it waits for
        self.bits = 0

    def changed(self, node: Node, before: set[int], slot: int) -> list[Change]:
        """What a node changes, with new slots; it waits for the changes before."""
        found: list[Change] = []
        reached = 0
        for earlier in before:
            reached |= self.reached[earlier]
        for place in changed_places(node):
            variable = variable_behind(node, place)
            earlier, bit, _ = self.made.get(variable, [(-1, 0, 0)])[-1]
            if earlier >= 0 and not reached >> bit & 1:
                if node.op.state == "assign":
                    text = f"{node.op.name}: the variable {variable.name!r} is assigned twice in one run"
                    raise errors.at_node(errors.InvalidArgumentError(text), node.name)
                before.add(earlier)
                reached |= self.reached[earlier]
            found.append(Change(variable, place, slot + len(found)))
        if found:
            reached |= 1 << self.bits
            self.bits += 1
        self.reached.append(reached)
        return found

    def sources(self, node: Node, before: set[int], changes: Sequence[Change]) -> list[int]:
        """The slots that a node reads."""
        number = len(self.reached) - 1
        found = [self.slots[i.node, i.index] for i in node.inputs]
        if self.made:
            behind = {change.place: change.variable for change in changes}
            for place, source in enumerate(node.inputs):
                for earlier, bit, slot in reversed(self.made.get(behind.get(place, source.node), ())):
                    if self.reached[number] >> bit & 1:
                        before.add(earlier)
                        found[place] = slot
                        break
        for change in changes:
            self.made.setdefault(change.variable, []).append((number, self.bits - 1, change.slot))
        return found


def changed_places(node: Node) -> list[int]:
    """The inputs of a node that are variables which it changes."""
    if node.op.state in ("assign", "update"):
        return [0]
    if node.op.state == "loop":
        return list(node.op.changed)  # type: ignore[attr-defined]
    return [place for place, arg in enumerate(node.args) if arg.updates] if node.op.updates else []


def variable_behind(node: Node, place: int) -> Node:
    """The variable that an input of a node stands for: itself, or what another change of it has handed on."""
    source = node.inputs[place]
    while source.node.op.state != "variable":
        places = changed_places(source.node)
        if source.index or not places:
            text = f"{node.op.name}: {node.ports[place]} comes from {node.inputs[place].node!r}, which is no variable"
            raise errors.at_node(errors.InvalidArgumentError(text), node.name)
        source = source.node.inputs[places[0]]
    return source.node


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
