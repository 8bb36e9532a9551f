"""Gradients as new blocks of a page: the nodes of the derivative, wired to what is there, and nothing else moved."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

from ... import dtypes, errors
from ...autodiff import RowGrad
from ...graph.gradient_ops import GraphOps
from ...graph.gradients import add_symbolic_gradients
from ...graph.graph import Graph, Node, Output
from ...graph.scope import Scope
from ...page.checking import MOST_NODES
from ...page.drawing import Drawn, draw
from ...page.import_graph import entry_of, literals_of
from ...page.layout import LEFT, TOP, placed, positions
from ...page.links import is_link, split
from ...page.literals import MOST_INLINE
from ...page.model import Page
from ...spec import registry, snake_case
from ..messages import Choice, Differentiable, Differentiated
from .carrying import inline

MOST_INPUTS = 100
GAP = 60  # between what was there and what is new


# ------------------------------------------------------------------ what can be chosen
def choices(page: Page, drawn: Drawn, output: str) -> Differentiable:
    """All outputs that an output is computed from, each with "" or the reason why it has no gradient."""
    end = _find(page, drawn.graph, output)
    before = _upstream(end.node)
    if end.dtype not in dtypes.DIFFERENTIABLE:
        reached, why = set(), f"{output} is {end.dtype}, which has no derivative"
    else:
        reached, why = _reached(end), f"{output} does not depend on it in a way that has a derivative"
    found = []
    for node in drawn.graph:
        for source in node.outputs if node in before and node.name in page.nodes and node is not end.node else ():
            name = _label(source)
            if source.dtype not in dtypes.DIFFERENTIABLE:
                found.append(Choice(name=name, reason=f"is {source.dtype}, which has no derivative"))
            else:
                found.append(Choice(name=name, reason="" if source in reached else why))
    return Differentiable(inputs=found)


def _label(output: Output) -> str:
    return f"{output.node.name}.{output.port}"


def _find(page: Page, graph: Graph, name: str) -> Output:
    node, port = split(page.nodes, name)
    found = graph.get(node)
    if node not in page.nodes or found is None:
        why = "has a problem that must be solved first" if node in page.nodes else "is not on the page"
        raise errors.InvalidArgumentError(f"{name[:80]!r} {why}")
    if port:
        return found.output(port)
    if len(found.dtypes) != 1:
        raise errors.InvalidArgumentError(f"{name} has {len(found.dtypes)} outputs, name one")
    return found.outputs[0]


def _upstream(node: Node) -> set[Node]:
    seen: set[Node] = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += [source.node for source in one.inputs]
    return seen


def _reached(end: Output) -> set[Output]:
    """The outputs to which the rules of gradients lead back."""
    found = {end}
    for node in sorted(_upstream(end.node), key=lambda n: -n.number):
        op = node.op
        carrying = any(o in found and o.port in op.differentiable_outputs for o in node.outputs)
        if op.rule is None or not carrying:
            continue
        for arg, source in zip(node.args, node.inputs, strict=True):
            if arg.name in op.differentiable and source.dtype in dtypes.DIFFERENTIABLE:
                found.add(source)
    return found


# ------------------------------------------------------------------ new nodes
def differentiate(page: Page, output: str, inputs: Sequence[str]) -> Differentiated:
    """The page with the gradient of an output (of its sum, if it is no scalar) by some inputs.

    `gradients` names, for each input, the new node that has its gradient; compact gradients have their zeros filled in.
    """
    if not 0 < len(inputs) <= MOST_INPUTS:
        raise errors.InvalidArgumentError(f"choose at least one input, and at most {MOST_INPUTS}")
    graph = draw(page).graph
    end = _find(page, graph, output)
    leaves = [_find(page, graph, name) for name in dict.fromkeys(inputs)]
    old = len(graph)
    scope = Scope(graph, f"{end.node.name}/grad", {})
    gradients = add_symbolic_gradients(scope, [end], leaves)
    ops = GraphOps(scope)
    ends = [ops.dense(gradient) if isinstance(gradient, RowGrad) else gradient for gradient in gradients]
    results = {}
    taken = {*page.nodes, *(node.name for node in graph)}
    for name, leaf, gradient in zip(dict.fromkeys(inputs), leaves, ends, strict=True):
        unique = _unique(f"d_{_slug(end)}_d_{_slug(leaf)}", taken)
        results[name] = graph.add(registry["Identity"], unique, [gradient]).name
    if len(graph) > MOST_NODES:
        raise errors.ResourceExhaustedError(f"the page would have {len(graph)} nodes; at most {MOST_NODES} are drawn")
    return _brought(page, graph, old, end, results)


def _slug(output: Output) -> str:
    name = output.node.name if len(output.node.dtypes) == 1 else f"{output.node.name}_{output.port}"
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")


def _unique(name: str, taken: set[str]) -> str:
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    taken.add(unique)
    return unique


def _brought(page: Page, graph: Graph, old: int, end: Output, results: dict[str, str]) -> Differentiated:
    """The page with the graph's nodes from number `old` on."""
    made = Page(copy.deepcopy(page.document), page.folder)
    made.document["nodes"] = dict(page.nodes)
    carried = Page()  # takes the large arrays
    originals = {node for node in graph if node.number < old and node.name not in page.nodes}
    literals = literals_of(graph) | originals
    # Rules also answer for inputs that nobody asked about; what leads to no result is left out.
    needed = {node for name in results.values() for node in _upstream(graph.node(name))}
    added = [node for node in graph if node.number >= old and node in needed and node not in literals]
    taken = set(page.nodes) | {node.name for node in originals} | set(results.values())
    for node in added:
        if node.name not in results.values():
            # The graph is our own: its nodes may be called by what a person reads well.
            node.name = _unique(f"{end.node.name}/grad/{snake_case(node.op.name)}", taken)
        made.document["nodes"][node.name] = {}  # all names first: a link must not mean another node than it should
    carried.document["nodes"] = made.nodes
    for node in added:
        entry = entry_of(carried, node, literals)
        _keep_large(page, carried, node, entry)
        made.document["nodes"][node.name] = entry
    names = [node.name for node in added]
    _place(page, made, names)
    _fetch(made, end, list(results.values()))
    return Differentiated(page=made.document, added=names, gradients=results)


def _keep_large(page: Page, carried: Page, node: Node, entry: dict[str, Any]) -> None:
    """Arrays that were to go to data files: as they stand in the page already, or in the entry itself."""
    ports = dict(zip(node.ports, node.inputs, strict=True))
    for port, source in ports.items():
        if source.node.op.name != "Const" or source.node.name in carried.nodes:
            continue
        array = source.node.attrs["value"]
        if array.size > MOST_INLINE:
            literal = _written(page, source.node) or inline(array)
            name, _, place = port.partition("[")
            if place:
                entry["in"][name][int(place[:-1])] = literal
            else:
                entry["in"][name] = literal
    for name, value in entry.get("attrs", {}).items():
        if isinstance(value, dict) and value.get("file") in carried.data:
            entry["attrs"][name] = inline(carried.data[value["file"]])


def _written(page: Page, constant: Node) -> dict[str, Any] | None:
    """The literal that a Const was made of, with its dtype."""
    for reader in constant.graph:
        given = page.nodes[reader.name].get("in", {}) if reader.name in page.nodes else {}
        for port, source in zip(reader.ports, reader.inputs, strict=True):
            if source.node is constant and given:
                name, _, place = port.partition("[")
                value = given[name][int(place[:-1])] if place else given[name]
                if is_link(value):
                    continue
                said = value if isinstance(value, dict) else {"value": value}
                return {**copy.deepcopy(said), "dtype": source.dtype}
    return None


def _place(page: Page, made: Page, names: Sequence[str]) -> None:
    """New boxes in order below those that are there; a page without a layout goes on without one."""
    if not page.section("layout"):
        return
    boxes = placed(page).values()
    left = min(box.left for box in boxes) - LEFT
    top = max(box.top + box.height for box in boxes) + GAP - TOP
    found = positions(Page({"nodes": {name: made.nodes[name] for name in names}}))
    made.document["layout"] = {
        **made.section("layout"),
        **{name: [round(x + left), round(y + top)] for name, (x, y) in found.items()},
    }


def _fetch(made: Page, output: Output, names: Sequence[str]) -> None:
    """A run that fetches the output, else the last that fetches anything, gets the gradients too: to be seen."""
    runs = [
        run for run in made.section("runs").values() if isinstance(run, dict) and isinstance(run.get("fetch"), list)
    ]
    same = [run for run in runs if output.node.name in run["fetch"] or _label(output) in run["fetch"]]
    for run in (same or runs)[-1:]:
        run["fetch"] += names
