"""A row lens: all that feeds an entry of a value, and all that it feeds, entry by entry through a page's nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import errors
from ..page.drawing import Drawn
from ..page.model import Page
from .graph import Graph, Node, Output
from .lens_node import Array, Budget, Call, Mask, Masks, lit_rows

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
) -> dict[str, Any]:
    """What belongs to a row, or to an entry, of an output or an input of a node.

    `values` has what each node gave in the last run, by name, in the order of its outputs; literals need not be there.
    `index` is a row, or one number for each axis; empty, it means the whole value.
    """
    return Lens(page, drawn.graph, values).look(node, port, index)


class Lens:
    """The walk along the wires, upstream and then downstream."""

    def __init__(self, page: Page, graph: Graph, values: Mapping[str, Sequence[Array]]) -> None:
        self.page, self.graph, self.values = page, graph, values
        self.budget = Budget(MOST_CALLS, MOST_SECONDS)
        self.calls: dict[Node, Call | None] = {}
        self.marks: dict[str, Mask] = {}
        self.feeds: dict[str, None] = {}
        self.fed: dict[str, None] = {}
        self.wires: dict[str, None] = {}
        self.partial = ""
        self.readers: dict[Node, list[Node]] = {}
        for node in graph:
            for name in dict.fromkeys(source.node for source in node.inputs):
                self.readers.setdefault(name, []).append(node)

    def look(self, name: str, port: str, index: Sequence[int]) -> dict[str, Any]:
        node = self.graph.get(name)
        if node is None:
            why = "has a problem that must be solved first" if name in self.page.nodes else "is not on the page"
            raise errors.InvalidArgumentError(f"{name[:80]!r} {why}")
        ports = node.op.flat_names(len(node.inputs))
        place = ports.index(port) if port in ports else None
        start = node.inputs[place] if place is not None else node.output(port)
        value = self._value(start)
        if value is None:
            raise errors.InvalidArgumentError(f"{name} has no value to look at; run the page first")
        mask = _seed(value, index, f"{name}.{port}")
        self._mark(f"{name}.{port}", mask)
        if place is not None and start.node.name in self.page.nodes:
            self._mark(_label(start), mask)
            self.feeds[_label(start)] = None
            self.wires[f"{name}.{port}"] = None
        self._up(start, mask)
        if place is None:
            self._down({start: mask}, self.readers.get(node, []))
        else:
            self._pass_on(node, [mask if p == place else None for p in range(len(ports))], {})
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        marks = {}
        for name, mask in self.marks.items():
            rows = [-1] if mask.ndim == 0 else np.flatnonzero(lit_rows(mask)).tolist()
            if len(rows) > MOST_ROWS:
                self._leave(f"only the first {MOST_ROWS:,} rows of {name} are marked")
            marks[name] = rows[:MOST_ROWS]
        return {
            "marks": marks,
            "feeds": list(self.feeds),
            "fed": list(self.fed),
            "wires": list(self.wires),
            "partial": self.partial,
        }

    # ------------------------------------------------------------------ walking
    def _up(self, start: Output, mask: Mask) -> None:
        lit = {start: mask}
        todo = {start.node}
        while todo:
            node = max(todo, key=lambda n: n.number)  # all its readers are done: they come later
            todo.remove(node)
            call = self._call(node) if node.inputs else None
            if call is None:
                continue
            found = call.back([lit.get(output) for output in node.outputs])
            self._tell(call)
            for name, source, entries in self._lit_inputs(node, found):
                self._mark(name, entries)
                self.wires[name] = None
                self.feeds[name] = None
                lit[source] = entries | lit[source] if source in lit else entries
                if source.node.name in self.page.nodes:
                    self._mark(_label(source), entries)
                    self.feeds[_label(source)] = None
                todo.add(source.node)

    def _down(self, lit: dict[Output, Mask], readers: Sequence[Node]) -> None:
        todo = set(readers)
        while todo:
            node = min(todo, key=lambda n: n.number)
            todo.remove(node)
            if self._pass(node, [lit.get(source) for source in node.inputs], lit):
                todo.update(self.readers.get(node, []))

    def _pass_on(self, node: Node, inputs: Masks, lit: dict[Output, Mask]) -> None:
        if self._pass(node, inputs, lit):
            self._down(lit, self.readers.get(node, []))

    def _pass(self, node: Node, inputs: Masks, lit: dict[Output, Mask]) -> bool:
        """From the inputs of a node to its outputs; says whether anything came through."""
        call = self._call(node)
        if call is None:
            return False
        through = False
        found: Masks = [None] * len(node.outputs)
        for place, mask in enumerate(inputs):
            if mask is None or not mask.any():
                continue
            # One after the other, so that only those wires light up through which something goes.
            alone = call.forth([mask if p == place else None for p in range(len(inputs))])
            if any(m is not None and m.any() for m in alone):
                through = True
                name = f"{node.name}.{node.op.flat_names(len(inputs))[place]}"
                self._mark(name, mask)
                self.wires[name] = None
                self.fed[name] = None
                found = [b if a is None else a if b is None else a | b for a, b in zip(found, alone, strict=True)]
        self._tell(call)
        for output, entries in zip(node.outputs, found, strict=True):
            if entries is not None and entries.any():
                lit[output] = entries
                self._mark(_label(output), entries)
                self.fed[_label(output)] = None
        return through

    @staticmethod
    def _lit_inputs(node: Node, found: Masks) -> Iterator[tuple[str, Output, Mask]]:
        names = node.op.flat_names(len(node.inputs))
        for name, source, entries in zip(names, node.inputs, found, strict=True):
            if entries is not None and entries.any():
                yield f"{node.name}.{name}", source, entries

    # ------------------------------------------------------------------ values and marks
    def _call(self, node: Node) -> Call | None:
        if node not in self.calls:
            inputs = [self._value(source) for source in node.inputs]
            outputs = [self._value(output) for output in node.outputs]
            given = [value for value in (*inputs, *outputs) if value is not None]
            if len(given) < len(inputs) + len(outputs):
                self._leave(f"{node.name} has not run, so nothing is followed through it")
                self.calls[node] = None
            elif any(value.size > MOST_ELEMENTS for value in given):
                self._leave(f"{node.name} has values too large to be followed")
                self.calls[node] = None
            else:
                self.calls[node] = Call(node, given[: len(inputs)], given[len(inputs) :], self.budget)
        return self.calls[node]

    def _value(self, output: Output) -> Array | None:
        found = self.values.get(output.node.name)
        if found is not None and output.index < len(found):
            return np.asarray(found[output.index])
        if output.known is not None:
            return output.known
        value = output.node.attrs.get("value") if not output.node.inputs else None  # a Const
        return value if isinstance(value, np.ndarray) else None

    def _mark(self, name: str, mask: Mask) -> None:
        before = self.marks.get(name)
        self.marks[name] = mask if before is None else before | mask

    def _tell(self, call: Call) -> None:
        if call.unfinished:
            self._leave(f"only the first entries of {call.node.name}.{call.unfinished} were followed")

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
