"""Gradients on a page, written out anew whenever it is drawn: an edit of the page is an edit of the gradient."""

from __future__ import annotations

from typing import Any

from .. import errors
from ..graph.gradient_ops import GraphOps
from ..graph.gradients import add_symbolic_gradients
from ..graph.graph import Node, Output
from ..graph.scope import Scope
from ..spec import Op, registry
from .declared import GRADIENT
from .links import input_of
from .node_builder import NodeBuilder


class GradientBuilder(NodeBuilder):
    """A gradient on its way into the graph: its parts, and an Identity of its own name that has the result."""

    def build_as(self, op: Op) -> None:
        attrs = self.entry.get("attrs", {})
        if attrs:
            self._attrs(op)  # there are none, and it says so
        given = self.entry.get("in", {})
        by = given.get("by")
        named = input_of(by)
        ports = self._ports(op, without=("by",) if named is not None else ())
        leaf = None if named is None else self._named_input(named)
        control = self._control()
        if not self.sound:
            self._check_alone(op, [(port, arg, value) for port, arg, value in ports if port == "grad"])
            return
        found = {port: value for port, _, value in ports}
        for port in ("of", "by"):
            if port in found and not isinstance(found[port], Output):
                self.problem(port, "must be wired: a value has no gradient")
        if self.sound:
            self._expand(found["of"], leaf or found["by"], found.get("grad"), control)

    def _named_input(self, source: str) -> Output | None:
        """What an input of a block gets."""
        name, _, port = source.rpartition(".")
        if name not in self.page.nodes:
            self.problem("by", f"names an input of {name[:80]!r}, which is not on the page")
            return None
        node = self.graph.get(name)
        if node is None:
            self.sound = False  # said there
            return None
        for found, output in zip(node.ports, node.inputs, strict=True):
            if found == port and name not in self.drawn.parts:
                return output
        self.problem("by", f"names the input {port[:80]!r}, which {name} does not have")
        return None

    def _expand(self, end: Output, leaf: Output, weights: Any, control: list[Node]) -> None:
        start = len(self.graph)
        scope = Scope(self.graph, self._prefix(), {})
        seed = None if weights is None else self._weights(end, weights)
        if not self.sound:
            return
        try:
            seeds = None if seed is None else [seed]
            (found,) = add_symbolic_gradients(scope, [end], [leaf], seeds)
            result = GraphOps(scope).dense(found)
            # Rules also answer for inputs that nobody asked about.
            parts = self.graph.keep_needed(start, [result.node])
            self.graph.add(registry["Identity"], self.name, [result], {}, control)
            self.drawn.parts[self.name] = parts
        except errors.Error as problem:
            self.graph.keep_needed(start, [])
            self.problem(_port_of(problem), _said(problem, end, leaf))

    def _weights(self, end: Output, weights: Any) -> Output | None:
        if isinstance(weights, Output):
            return weights
        array = self._value(GRADIENT, "grad", GRADIENT.inputs[-1], weights, {"T": end.dtype})
        return None if array is None else self._constant("grad", array)

    def _prefix(self) -> str:
        """For the names of the parts: none of the page's nodes may be called so."""
        plain = prefix = self.name
        number = 0
        while any(name.startswith(f"{prefix}/") for name in self.page.nodes):
            number += 1
            prefix = f"{plain}/parts_{number}"
        return prefix


def _port_of(problem: errors.Error) -> str:
    text = str(problem)
    return "grad" if "grad_outputs[0]" in text else "of" if "outputs[0]" in text and "inputs[0]" not in text else "by"


def _said(problem: errors.Error, end: Output, leaf: Output) -> str:
    """Of the three things that are given, in the words of a page."""
    text = str(problem).removeprefix("add_symbolic_gradients: ")
    if text.startswith("no output depends"):
        return f"{end.node.name} does not depend on {leaf.node.name} in a way that has a derivative"
    return text.replace("grad_outputs[0]", "grad").replace("outputs[0]", "of").replace("inputs[0]", "by")
