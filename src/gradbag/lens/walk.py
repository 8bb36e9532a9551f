"""The way from an entry along the wires: up through all that feeds it, then down through all that it feeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import errors
from ..graph.graph import Node, Output
from ..page.drawing import Drawn
from ..page.links import links, split
from ..page.model import Page
from .call import Call
from .masks import Array, Mask, Masks, either, lit_rows
from .probing import Budget
from .terms import terms_of

MOST_CALLS = 20_000
MOST_SECONDS = 2.0
MOST_ROWS = 2_000  # of one value that are marked
MOST_ELEMENTS = 4_000_000  # of a value that is followed


def look(
    page: Page,
    drawn: Drawn,
    values: Mapping[str, Sequence[Array]],
    node: str,
    port: str,
    index: Sequence[int],
    cell: Sequence[int] | None = None,
) -> dict[str, Any]:
    """What belongs to a row, or to an entry, of an output or an input of a node.

    `values` has what each node gave in the last run, by name, in the order of its outputs; literals need not be there.
    `index` is a row, or one number for each axis; empty, it means the whole value. `cell` is an entry of which the sum
    is told.
    """
    lens = Lens(page, drawn, values)
    found = lens.look(node, port, index)
    told = drawn.graph.node(node)
    found["sum"] = (
        None if cell is None or port in told.ports else terms_of(values, lens.parts, told.output(port), list(cell))
    )
    return found


class Lens:
    """What has lit up so far, by "node.port": which entries (`marks`), and in what order they were `met` on the way."""

    def __init__(self, page: Page, drawn: Drawn, values: Mapping[str, Sequence[Array]]) -> None:
        self.page, self.graph, self.values = page, drawn.graph, values
        self.parts = {part.name: name for name, parts in drawn.parts.items() for part in parts}
        self.budget = Budget(MOST_CALLS, MOST_SECONDS)
        self.marks: dict[str, Mask] = {}
        self.met: dict[str, dict[str, None]] = {"feeds": {}, "fed": {}, "wires": {}}
        self.partial = ""
        self.readers: dict[Node, list[Node]] = defaultdict(list)
        for node in self.graph:
            for source in dict.fromkeys(output.node for output in node.inputs):
                self.readers[source].append(node)

    def look(self, name: str, port: str, index: Sequence[int]) -> dict[str, Any]:
        node = self.graph.get(name)
        if node is None:
            why = "has a problem that must be solved first" if name in self.page.nodes else "is not on the page"
            raise errors.InvalidArgumentError(f"{name[:80]!r} {why}")
        ports = node.ports
        place = ports.index(port) if port in ports else None
        start = node.inputs[place] if place is not None else node.output(port)
        value = self._value(start)
        if value is None:
            raise errors.InvalidArgumentError(f"{name} has no value to look at; run the page first")
        mask = _seed(value, index, f"{name}.{port}")
        self._mark(f"{name}.{port}", mask)
        if place is not None and start.node.name in self.page.nodes:
            self._mark(_label(start), mask, "feeds")
            self._mark(f"{name}.{port}", mask, "wires")
        self._up({start: mask})
        lit = {start: mask} if place is None else {}
        if place is None or self._pass(node, [mask if p == place else None for p in range(len(ports))], lit):
            self._down(lit, self.readers[node])
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        marks = {}
        for name, mask in self.marks.items():
            rows = [-1] if mask.ndim == 0 else np.flatnonzero(lit_rows(mask)).tolist()
            if len(rows) > MOST_ROWS:
                self._leave(f"only the first {MOST_ROWS:,} rows of {name} are marked")
            marks[name] = rows[:MOST_ROWS]
        for way in ("feeds", "fed"):  # what a gradient is made of lights up in it, and is not spoken of
            for name in [name for name in self.met[way] if name.rpartition(".")[0] in self.parts]:
                del self.met[way][name]
        for gradient in {self.parts[node] for name in marks if (node := name.rpartition(".")[0]) in self.parts}:
            for port, source in links(self.page.nodes[gradient]):
                name, wanted = split(self.page.nodes, source)
                if (wanted and source in marks) or (not wanted and any(one.startswith(f"{name}.") for one in marks)):
                    self.met["wires"][f"{gradient}.{port}"] = None
        return {"marks": marks, **{way: list(names) for way, names in self.met.items()}, "partial": self.partial}

    # ------------------------------------------------------------------ walking
    def _up(self, lit: dict[Output, Mask]) -> None:
        todo = {output.node for output in lit}
        while todo:
            node = max(todo, key=lambda n: n.number)  # all its readers are done: they come later
            todo.remove(node)
            call = self._call(node) if node.inputs else None
            if call is None:
                continue
            found = call.back([lit.get(output) for output in node.outputs])
            self._leave(self.budget.unfinished)
            for port, source, entries in zip(node.ports, node.inputs, found, strict=True):
                if entries is None or not entries.any():
                    continue
                self._mark(f"{node.name}.{port}", entries, "wires", "feeds")
                if source.node.name in self.page.nodes:
                    self._mark(_label(source), entries, "feeds")
                lit[source] = entries | lit[source] if source in lit else entries
                todo.add(source.node)

    def _down(self, lit: dict[Output, Mask], readers: Sequence[Node]) -> None:
        todo = set(readers)
        while todo:
            node = min(todo, key=lambda n: n.number)  # all that it reads is done
            todo.remove(node)
            if self._pass(node, [lit.get(source) for source in node.inputs], lit):
                todo.update(self.readers[node])

    def _pass(self, node: Node, inputs: Masks, lit: dict[Output, Mask]) -> bool:
        """From the inputs of a node to its outputs; says whether anything came through."""
        call = self._call(node)
        if call is None:
            return False
        found: Masks = [None] * len(node.outputs)
        for place, mask in enumerate(inputs):
            if mask is None or not mask.any():
                continue
            # One after the other, so that only those wires light up through which something goes.
            alone = call.forth([mask if p == place else None for p in range(len(inputs))])
            if any(m is not None and m.any() for m in alone):
                self._mark(f"{node.name}.{node.ports[place]}", mask, "wires", "fed")
                found = [either(f, a) for f, a in zip(found, alone, strict=True)]
        self._leave(self.budget.unfinished)
        for output, entries in zip(node.outputs, found, strict=True):
            if entries is not None and entries.any():
                lit[output] = entries
                self._mark(_label(output), entries, "fed")
        return any(output in lit for output in node.outputs)

    # ------------------------------------------------------------------ values and marks
    def _call(self, node: Node) -> Call | None:
        """The node ready to be asked. A walk comes to each node once: it goes up or down, never both ways."""
        inputs = [self._value(source) for source in node.inputs]
        outputs = [self._value(output) for output in node.outputs]
        given = [value for value in (*inputs, *outputs) if value is not None]
        if len(given) < len(inputs) + len(outputs):
            self._leave(f"{node.name} has not run, so nothing is followed through it")
        elif any(value.size > MOST_ELEMENTS for value in given):
            self._leave(f"{node.name} has values too large to be followed")
        else:
            return Call(node, given[: len(inputs)], given[len(inputs) :], self.budget)
        return None

    def _value(self, output: Output) -> Array | None:
        found = self.values.get(output.node.name)
        if found is not None and output.index < len(found):
            return np.asarray(found[output.index])
        if output.known is not None:
            return output.known
        value = output.node.attrs.get("value") if not output.node.inputs else None  # a Const
        return value if isinstance(value, np.ndarray) else None

    def _mark(self, name: str, mask: Mask, *ways: str) -> None:
        before = self.marks.get(name)
        self.marks[name] = mask if before is None else before | mask
        for way in ways:
            self.met[way][name] = None

    def _leave(self, why: str) -> None:
        self.partial = self.partial or why


def _label(output: Output) -> str:
    return f"{output.node.name}.{output.port}"


def _seed(value: Array, index: Sequence[int], name: str) -> Mask:
    mask = np.zeros(value.shape, bool)
    places = tuple(index) if value.ndim else ()
    fits = len(places) <= value.ndim and all(0 <= i < n for i, n in zip(places, value.shape, strict=False))
    if not fits or value.size > MOST_ELEMENTS:
        why = f"has shape {list(value.shape)}" if not fits else f"has {value.size} elements, too many to look at"
        raise errors.InvalidArgumentError(f"{name} {why}; there is no entry {list(places)[:8]} to look at")
    mask[places] = True
    return mask
