"""What a process that runs keeps between runs: of each page what it was drawn as and gave, and values by digest."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import errors
from ..graph.graph import Node
from ..graph.run import Held
from ..page.checking import inspect
from ..page.drawing import Drawn
from ..page.model import Page
from .services import checking, values

Array = np.ndarray[Any, Any]

MOST_ROUNDS = 1000


@dataclass
class Clock:
    """When, in rounds of all runs, values were made and variables changed: what is older than a variable is stale."""

    now: int = 0
    made: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    in_order: int = 0  # how many of the page's runs, from the first on, were the last ones to run

    def stale(self, drawn: Drawn, names: Iterable[str]) -> list[str]:
        """The nodes whose values were made before a variable that they read got another value."""
        if not self.changed:
            return []
        read: dict[Node, frozenset[str]] = {}
        for node in drawn.graph:
            # To assign, the value before is not read.
            sources = node.inputs[1:] if node.op.state == "assign" else node.inputs
            own = frozenset([node.name]) if node.op.state == "variable" else frozenset[str]()
            read[node] = own.union(*(read[source.node] for source in sources))
        return [
            name
            for name in names
            if (one := drawn.graph.get(name)) is not None
            and any(self.changed.get(variable, 0) > self.made.get(name, 0) for variable in read[one])
        ]

    def depends_on_variables(self, node: Node) -> bool:
        waiting, seen = [node], set[Node]()
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting += [source.node for source in one.inputs]
        return any(one.op.state == "variable" for one in seen)


@dataclass
class Rounds:
    """All values of the rounds of a loop, up to a number of bytes: when they are too many, every second one goes."""

    limit: int = 1 << 26
    kept: dict[int, dict[str, list[Array]]] = field(default_factory=dict)  # by round, by node
    stride: int = 1
    size: int = 0

    def keep(self, number: int, values: Mapping[str, list[Array]]) -> None:
        if number % self.stride:
            return
        self.kept[number] = dict(values)
        self.size += _size(values)
        while len(self.kept) > 2 and (self.size > self.limit or len(self.kept) > MOST_ROUNDS):
            self.stride *= 2
            for old in [old for old in self.kept if old % self.stride]:
                self.size -= _size(self.kept.pop(old))

    def keep_last(self, number: int, values: Mapping[str, list[Array]]) -> None:
        """The last one is kept whatever its number is."""
        if number not in self.kept:
            self.kept[number] = dict(values)
            self.size += _size(values)


def _size(values: Mapping[str, list[Array]]) -> int:
    return sum(array.nbytes + 64 for outputs in values.values() for array in outputs)


@dataclass
class Sheet:
    """What is kept of a page between its runs."""

    drawn: Drawn = field(default_factory=Drawn)
    variables: dict[str, Held] = field(default_factory=dict)
    keys: dict[str, str | None] = field(default_factory=dict)
    values: dict[str, list[Array]] = field(default_factory=dict)
    computed: dict[str, str | None] = field(default_factory=dict)  # the keys when the values were made
    clock: Clock = field(default_factory=Clock)
    rounds: Rounds = field(default_factory=Rounds)

    def draw(self, page: Page) -> Drawn:
        """The page as it is now; what an edit has changed is computed anew, and until then its memory is free."""
        self.drawn = inspect(page, self.drawn)
        self.keys = checking.keys(self.drawn.graph, page)
        for name in [name for name in self.values if self.keys.get(name) != self.computed.get(name)]:
            del self.values[name], self.computed[name]
        return self.drawn

    @property
    def size(self) -> int:
        """Bytes of its values."""
        return sum(array.nbytes for outputs in self.values.values() for array in outputs)

    def forget(self) -> None:
        self.values, self.computed = {}, {}


@dataclass
class Stepping:
    """How far a run that goes step by step has come."""

    done: dict[str, tuple[str | None, list[Array]]] = field(default_factory=dict)  # by node: its key, its outputs
    assigned: dict[str, Held] = field(default_factory=dict)


class Store:
    """Values by their digests, up to a number of bytes; those that were not asked for longest go first."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._kept: OrderedDict[str, Array] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, array: Array) -> str:
        name = values.digest(array)
        with self._lock:
            if name not in self._kept:
                self._size += array.nbytes + 512
                self._kept[name] = array
            self._kept.move_to_end(name)
            while self._size > self._limit and len(self._kept) > 1:
                self._size -= self._kept.popitem(last=False)[1].nbytes + 512
        return name

    def get(self, name: str) -> Array:
        with self._lock:
            if name not in self._kept:
                raise Gone("This value is not kept any more: run the page again to see all of it.")
            self._kept.move_to_end(name)
            return self._kept[name]


class Gone(errors.Error):
    """A value that is asked for too late."""

    kind = "gone"
