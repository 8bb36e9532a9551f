"""From a page to a graph: a node's id is its name, a literal in a port becomes a Const called node/port.

Everything that is right is built, and everything that is wrong is listed; what reads a broken node is left out quietly,
for it has no fault of its own.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import errors
from ..graph.bulk import in_bulk
from ..graph.cache import array_digest
from ..graph.graph import Graph, Node, Output
from .gradient_node import GradientBuilder
from .links import Problem, is_gradient, order, read_by
from .model import Page
from .node_builder import NodeBuilder


@dataclass
class Drawn:
    """What a page became: the graph of its sound nodes, the list of all problems, and a mark of each node's text."""

    graph: Graph = field(default_factory=Graph)
    problems: list[Problem] = field(default_factory=list)
    marks: dict[str, bytes] = field(default_factory=dict)
    parts: dict[str, list[Node]] = field(default_factory=dict)  # by gradient: the nodes that it was written out as


@in_bulk
def draw(page: Page, before: Drawn | None = None) -> Drawn:
    """Build all of a page that can be built.

    `before` is what an earlier state of the page became: nodes that say the same as then, and read the same, are taken
    over. After a small change of a large page that is most of the work.
    """
    drawn = Drawn()
    nodes = page.nodes
    if not isinstance(page.document.get("nodes"), dict):
        drawn.problems.append(Problem("", "nodes", "must be an object of nodes by their ids"))
    marks = {name: _mark(entry) for name, entry in nodes.items()}
    names = None if before is None else _order_before(nodes, marks, before.marks)
    if names is None:
        names, cycles = order(nodes)
        drawn.problems += cycles
    keep = None if before is None else Keeper(nodes, drawn, before)
    for name in names:
        drawn.marks[name] = marks[name]
        if keep is None or not keep.takes_over(name, marks[name]):
            builder = GradientBuilder if is_gradient(nodes[name]) else NodeBuilder
            builder(page, drawn, name, nodes[name]).build()
    if drawn.problems:
        places = {name: place for place, name in enumerate(nodes)}
        drawn.problems.sort(key=lambda problem: places.get(problem.node, -1))
    return drawn


def _mark(entry: Any) -> bytes:
    """Equal for entries that say the same in the same order, and quickly made; it is only ever compared."""
    try:
        return marshal.dumps(entry, 2)
    except ValueError:  # not from a text, and so it holds something else than JSON does
        return b""


def _order_before(
    nodes: Mapping[str, Any], marks: Mapping[str, bytes], before: Mapping[str, bytes]
) -> list[str] | None:
    """The order in which an earlier state was drawn, if it is one for this state too."""
    if before.keys() != nodes.keys():
        return None
    done: set[str] = set()
    for name, mark in before.items():
        changed = marks[name] != mark or not mark
        if changed and not done.issuperset(source for _, source in read_by(nodes, nodes[name])):
            return None
        done.add(name)
    return list(before)


class Keeper:
    """Takes nodes over from an earlier drawing of a page."""

    def __init__(self, nodes: Mapping[str, Any], drawn: Drawn, before: Drawn) -> None:
        self.nodes, self.drawn, self.graph, self.before = nodes, drawn, drawn.graph, before
        self.same: set[Node] = set()  # the nodes of the new graph that were taken over
        # A node called a.b that comes or goes changes what a link to a.b means, one called a/b the names of literals.
        others = nodes.keys() ^ before.marks.keys()
        self.usable = not any("." in name or "/" in name for name in others)

    def takes_over(self, name: str, mark: bytes) -> bool:
        """Whether a node is as it was, and is now in the new graph too."""
        if not self.usable or not mark or self.before.marks.get(name) != mark or b"file" in mark:
            return False  # what a data file holds may have changed
        old = self.before.graph.get(name)
        if old is None:
            return False
        parts = self.before.parts.get(name)
        if parts is not None and not self._takes_parts(name, parts):
            return False
        sources: list[Node | None] = []
        for source in old.inputs:
            node = source.node
            now = self.graph.get(node.name)
            if now is None:
                if node.name in self.before.marks:  # a node of the page, then; it is gone or broken
                    return False
            elif now.known is not node.known and not _alike(node, now):
                return False
            sources.append(now)
        control = tuple([found for node in old.control if (found := self.graph.get(node.name)) is not None])
        if len(control) < len(old.control):
            return False
        for place, now in enumerate(sources):
            if now is None:  # a literal, which only this node reads
                sources[place] = self.graph.adopt(old.inputs[place].node, (), ())
                self.same.add(self.graph.node(old.inputs[place].node.name))
        wired = [Output(now, source.index) for now, source in zip(sources, old.inputs, strict=True) if now is not None]
        self.same.add(self.graph.adopt(old, tuple(wired), control))
        return True

    def _takes_parts(self, name: str, parts: Sequence[Node]) -> bool:
        """The same for what a gradient was written out as: it may hang on everything before what it differentiates."""
        read = [self.graph.get(source) for _, source in read_by(self.nodes, self.nodes[name])]
        waiting, seen = [node for node in read if node is not None], set[Node]()
        while waiting:
            node = waiting.pop()
            if node not in self.same:
                return False
            if node not in seen:
                seen.add(node)
                waiting += [source.node for source in node.inputs]
        if None in read or any(part.name in self.graph or part.name in self.nodes for part in parts):
            return False
        taken = [
            self.graph.adopt(
                part,
                tuple(Output(self.graph.node(source.node.name), source.index) for source in part.inputs),
                tuple(self.graph.node(node.name) for node in part.control),
            )
            for part in parts
        ]
        self.same.update(taken)
        self.drawn.parts[name] = taken
        return True


def _alike(one: Node, other: Node) -> bool:
    """Whether what reads the one can read the other: dtypes, shapes and known values are the same."""
    return (
        one.dtypes == other.dtypes
        and one.shapes == other.shapes
        and all(
            a is b or (a is not None and b is not None and array_digest(a) == array_digest(b))
            for a, b in zip(one.known, other.known, strict=True)
        )
    )


def to_graph(page: Page) -> Graph:
    """The graph of a page; a page with problems raises the first of them, and tells how many there are."""
    drawn = draw(page)
    refuse(drawn.problems)
    return drawn.graph


def refuse(problems: list[Problem]) -> None:
    """Raise the first of some problems."""
    if problems:
        first, more = problems[0], len(problems) - 1
        rest = f" (and {more} more problem{'s' if more > 1 else ''}: `gradbag check` lists them)" if more else ""
        raised = errors.about(first.port, errors.InvalidArgumentError(f"{first}{rest}"))
        raised.node = first.node
        raise raised
