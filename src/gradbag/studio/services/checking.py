"""What an editor shows after each edit: problems, the dtype and shape at every port, and what a node computes."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from ... import errors
from ...dims import AnyShape
from ...graph.cache import call_digest, digest, output_digest, step_digest
from ...graph.graph import Graph, Node
from ...page.boxes import output_ports
from ...page.checking import inspect, outputs
from ...page.declared import declared
from ...page.drawing import Drawn
from ...page.links import Problem, links, split
from ...page.model import Page
from ...spec import Op
from .. import messages
from ..messages import Check, CheckedNode, NamedSlot, Slot
from . import parts, restating


def checked(page: Page, before: Drawn | None = None, opened: Collection[str] = ()) -> tuple[Check, Drawn]:
    """The check of a page, and what it became: give that back with the next state of the page.

    Of the gradients that are `opened` the parts are told too.
    """
    drawn = inspect(page, before)
    found = keys(drawn.graph, page)
    answer = Check(
        problems=[messages.Problem(node=p.node, port=p.port, text=_text(page, p)) for p in drawn.problems],
        nodes={name: _node(page, drawn, name, found.get(name)) for name in page.nodes},
        parts={name: parts.told(page, drawn, name, found) for name in opened if name in drawn.parts},
        frozen=list(restating.written_out(page, drawn)),
    )
    return answer, drawn


def _text(page: Page, problem: Problem) -> str:
    """At a block everybody sees which op it is."""
    entry = page.nodes.get(problem.node)
    op = entry.get("op") if isinstance(entry, dict) else None
    return problem.text.removeprefix(f"{op}: ")


def slot(dtype: str | None, shape: AnyShape) -> Slot:
    return Slot(dtype=dtype, shape=None if shape is None else list(shape))


def _node(page: Page, drawn: Drawn, name: str, key: str | None) -> CheckedNode:
    node = drawn.graph.get(name)
    if node is None:
        return _broken(page, drawn.graph, page.nodes[name])
    if name in drawn.parts:
        shown = _broken(page, drawn.graph, page.nodes[name])
        return CheckedNode(key=key, inputs=shown["inputs"], outputs=slots(node), parts=len(drawn.parts[name]))
    inputs = {p: slot(source.dtype, source.shape) for p, source in zip(node.ports, node.inputs, strict=True)}
    return CheckedNode(key=key, inputs=inputs, outputs=slots(node), parts=0)


def slots(node: Node) -> list[NamedSlot]:
    """The outputs of a node."""
    return [
        NamedSlot(name=port, **slot(dtype, shape))
        for port, dtype, shape in zip(node.output_ports, node.dtypes, node.shapes, strict=True)
    ]


def _broken(page: Page, graph: Graph, entry: Any) -> CheckedNode:
    """What can be said of a node that has a problem: what comes in, and which outputs it would have."""
    inputs = {}
    for port, source in links(entry):
        name, wanted = split(page.nodes, source) if isinstance(source, str) else ("", "")
        node = graph.get(name)
        inputs[port] = slot(None, None) if node is None else _output(node, wanted)
    op = op_of(entry)
    ports = [] if op is None else output_ports(op, entry)
    dtypes = {} if op is None else {a.name: a.dtype for a in op.outputs if a.dtype not in op.types}
    outputs = [NamedSlot(name=port, **slot(dtypes.get(port.partition("[")[0]), None)) for port in ports]
    return CheckedNode(key=None, inputs=inputs, outputs=outputs, parts=0)


def _output(node: Node, port: str) -> Slot:
    for output in node.outputs:
        if output.port == port or (not port and len(node.dtypes) == 1):
            return slot(output.dtype, output.shape)
    return slot(None, None)


def op_of(entry: Any) -> Op | None:
    """The op of an entry of a page, if there is one."""
    return declared(entry.get("op")) if isinstance(entry, dict) else None


# ------------------------------------------------------------------ keys
def keys(graph: Graph, page: Page | None = None) -> dict[str, str | None]:
    """A digest of what each node computes: the same as that of its result in a cache, where the graph decides it.

    Where variables decide it too, it says what is computed of them; their values may change without an edit. With a
    page, what its runs feed counts as an edit does; without one, what must be fed has no key.
    """
    fed = {} if page is None else _fed(page, graph)
    found: dict[Node, bytes | None] = {}
    for node in graph:  # nodes only read earlier ones
        found[node] = None if node.op.state == "fed" and page is None else _key(node, found, fed.get(node))
    return {node.name: None if key is None else key.hex() for node, key in found.items()}


def _key(node: Node, found: dict[Node, bytes | None], fed: bytes | None) -> bytes | None:
    inputs = []
    for source in node.inputs:
        key = found[source.node]
        if key is None:
            return None
        inputs.append(output_digest(key, source.index))
    key = step_digest(call_digest(node), inputs)
    return key if fed is None else digest(key, fed)


def _fed(page: Page, graph: Graph) -> dict[Node, bytes]:
    """For each node that a run feeds, what all runs feed it: changing that is an edit."""
    said: dict[Node, list[Any]] = {}
    for run, entry in page.section("runs").items():
        feed = entry.get("feed") if isinstance(entry, dict) else None
        for name, literal in (feed if isinstance(feed, dict) else {}).items():
            try:
                for output in outputs(page, graph, name):
                    said.setdefault(output.node, []).append([run, name, literal])
            except errors.Error:  # a problem of the page, told there
                continue
    return {node: json.dumps(feeds, sort_keys=True).encode() for node, feeds in said.items()}
