"""What an editor shows after each edit: problems, the dtype and shape at every port, and what a node computes."""

from __future__ import annotations

import json
from typing import Any

from ... import errors
from ...dims import AnyShape
from ...graph.cache import call_digest, digest, step_digest
from ...graph.graph import Graph, Node
from ...page.checking import inspect, outputs
from ...page.drawing import Drawn
from ...page.links import Problem, links, split
from ...page.model import Page
from ...spec import Op, registry
from .. import messages
from ..messages import Check, CheckedNode, NamedSlot, Slot


def checked(page: Page, before: Drawn | None = None) -> tuple[Check, Drawn]:
    """The check of a page, and what it became: give that back with the next state of the page."""
    drawn = inspect(page, before)
    found = keys(drawn.graph, page)
    answer = Check(
        problems=[messages.Problem(node=p.node, port=p.port, text=_text(page, p)) for p in drawn.problems],
        nodes={name: _node(page, drawn.graph, name, found.get(name)) for name in page.nodes},
    )
    return answer, drawn


def _text(page: Page, problem: Problem) -> str:
    """At a block everybody sees which op it is."""
    entry = page.nodes.get(problem.node)
    op = entry.get("op") if isinstance(entry, dict) else None
    return problem.text.removeprefix(f"{op}: ")


def slot(dtype: str | None, shape: AnyShape) -> Slot:
    return Slot(dtype=dtype, shape=None if shape is None else list(shape))


def _node(page: Page, graph: Graph, name: str, key: str | None) -> CheckedNode:
    node = graph.get(name)
    if node is None:
        return _broken(page, graph, page.nodes[name])
    ports = node.ports
    return CheckedNode(
        key=key,
        inputs={p: slot(source.dtype, source.shape) for p, source in zip(ports, node.inputs, strict=True)},
        outputs=[
            NamedSlot(name=arg.name, **slot(dtype, shape))
            for arg, dtype, shape in zip(node.op.outputs, node.dtypes, node.shapes, strict=True)
        ],
    )


def _broken(page: Page, graph: Graph, entry: Any) -> CheckedNode:
    """What can be said of a node that has a problem: what comes in, and which outputs it would have."""
    inputs = {}
    for port, source in links(entry):
        name, wanted = split(page.nodes, source) if isinstance(source, str) else ("", "")
        node = graph.get(name)
        inputs[port] = slot(None, None) if node is None else _output(node, wanted)
    op = op_of(entry)
    declared = [] if op is None else [(a.name, a.dtype if a.dtype not in op.types else None) for a in op.outputs]
    return CheckedNode(
        key=None, inputs=inputs, outputs=[NamedSlot(name=n, **slot(dtype, None)) for n, dtype in declared]
    )


def _output(node: Node, port: str) -> Slot:
    for output in node.outputs:
        if output.port == port or (not port and len(node.dtypes) == 1):
            return slot(output.dtype, output.shape)
    return slot(None, None)


def op_of(entry: Any) -> Op | None:
    """The op of an entry of a page, if there is one."""
    name = entry.get("op") if isinstance(entry, dict) else None
    return registry.get(name) if isinstance(name, str) else None


# ------------------------------------------------------------------ keys
def keys(graph: Graph, page: Page | None = None) -> dict[str, str | None]:
    """A digest of what each node computes: the same as that of its result in a cache, where the graph decides it.

    It is None where the value can change without an edit: at variables, what assigns to them, and all that depends on
    either. With a page, what its runs feed counts as an edit does; without one, what must be fed has no key.
    """
    fed = {} if page is None else _fed(page, graph)
    found: dict[Node, bytes | None] = {}
    acting: set[Node] = set()
    for node in graph:  # nodes only read earlier ones
        state = node.op.state
        if state in ("assign", "update") or not acting.isdisjoint((*(i.node for i in node.inputs), *node.control)):
            acting.add(node)
            found[node] = None
        elif state == "variable" or (state == "fed" and page is None):
            found[node] = None
        else:
            found[node] = _key(node, found, fed.get(node))
    return {node.name: None if key is None else key.hex() for node, key in found.items()}


def _key(node: Node, found: dict[Node, bytes | None], fed: bytes | None) -> bytes | None:
    inputs = []
    for source in node.inputs:
        key = found[source.node]
        if key is None:
            return None
        inputs.append(key + bytes([source.index]) if source.index else key)
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
