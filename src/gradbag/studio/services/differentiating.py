"""Gradients of a page: what can be differentiated by what, and new nodes that are the gradients."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ... import dtypes, errors
from ...graph.graph import Graph, Node, Output
from ...page.declared import GRADIENT
from ...page.drawing import Drawn, draw
from ...page.layout import placed
from ...page.links import split
from ...page.model import Page
from ..messages import Choice, Differentiable, Differentiated

MOST_INPUTS = 100
GAP = 60  # between what was there and what is new
APART = 40  # between new blocks side by side


# ------------------------------------------------------------------ what can be chosen
def choices(page: Page, drawn: Drawn, output: str) -> Differentiable:
    """All outputs that an output is computed from, and all values in ports, with "" or why they have no gradient."""
    end = find(page, drawn.graph, output)
    before = upstream(end.node)
    reached = _reached(end) if end.dtype in dtypes.DIFFERENTIABLE else set()
    found = []
    for node in drawn.graph:
        if node not in before or node.name not in page.nodes:
            continue
        found += [
            Choice(name=label(source), side="output", reason=_reason(output, end, source, reached))
            for source in (node.outputs if node is not end.node else ())
        ]
        found += [
            Choice(name=f"{node.name}.{port}", side="input", reason=_reason(output, end, source, reached))
            for port, source in _typed(page, drawn, node)
            if source.dtype in dtypes.DIFFERENTIABLE  # whole numbers stand in many ports, and nobody asks about them
        ]
    return Differentiable(inputs=found)


def _typed(page: Page, drawn: Drawn, node: Node) -> Iterator[tuple[str, Output]]:
    """The ports of a node that hold a value, with the constant that it became."""
    if node.name not in drawn.parts:
        for port, source in zip(node.ports, node.inputs, strict=True):
            if source.node.name not in page.nodes:
                yield port, source


def _reason(output: str, end: Output, source: Output, reached: set[Output]) -> str:
    if end.dtype not in dtypes.DIFFERENTIABLE:
        return f"{output} is {end.dtype}, which has no derivative"
    if source.dtype not in dtypes.DIFFERENTIABLE:
        return f"is {source.dtype}, which has no derivative"
    return "" if source in reached else f"{output} does not depend on it in a way that has a derivative"


def label(output: Output) -> str:
    return f"{output.node.name}.{output.port}"


def find(page: Page, graph: Graph, name: str) -> Output:
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


def upstream(node: Node) -> set[Node]:
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
    for node in sorted(upstream(end.node), key=lambda n: -n.number):
        op = node.op
        carrying = any(o in found and o.port.partition("[")[0] in op.differentiable_outputs for o in node.outputs)
        if op.rule is None or not carrying:
            continue
        for arg, source in zip(node.args, node.inputs, strict=True):
            if arg.name in op.differentiable and source.dtype in dtypes.DIFFERENTIABLE:
                found.add(source)
    return found


# ------------------------------------------------------------------ new nodes
def differentiate(page: Page, output: str, inputs: Sequence[str], ports: Sequence[str] = ()) -> Differentiated:
    """The page with the gradient of an output (of its sum, if it is no scalar) by some outputs and values in ports.

    `gradients` names, for each of them, the new node that is its gradient.
    """
    if not 0 < len(inputs) + len(ports) <= MOST_INPUTS:
        raise errors.InvalidArgumentError(f"choose at least one input, and at most {MOST_INPUTS}")
    drawn = draw(page)
    end = find(page, drawn.graph, output)
    made = Page(copy.deepcopy(page.document), page.folder)
    taken = {*page.nodes, *(node.name for node in drawn.graph)}
    results = {}
    of = {"from": short(end)}
    wanted: list[tuple[str, str, dict[str, Any], str]] = []
    for name in dict.fromkeys(inputs):
        leaf = find(page, drawn.graph, name)
        wanted.append((name, slug(leaf), {"from": short(leaf)}, leaf.node.name))
    wanted += [(name, _plain(name), {"input": name}, name.rpartition(".")[0]) for name in dict.fromkeys(ports)]
    places = []
    for name, last, by, node in wanted:
        gradient = _unique(f"d_{slug(end)}_d_{last}", taken)
        made.document["nodes"][gradient] = {"op": GRADIENT.name, "in": {"of": of, "by": by}}
        results[name] = gradient
        places.append((gradient, node))
    wrong = [problem for problem in draw(made).problems if problem.node in results.values()]
    if wrong:
        raise errors.InvalidArgumentError(wrong[0].text)
    _place(page, made, places)
    _fetch(made, end, list(results.values()))
    return Differentiated(page=made.document, added=list(results.values()), gradients=results)


def slug(output: Output) -> str:
    return _plain(output.node.name if len(output.node.dtypes) == 1 else f"{output.node.name}_{output.port}")


def short(output: Output) -> str:
    """What a link says that means an output."""
    return output.node.name if len(output.node.dtypes) == 1 else label(output)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")


def _unique(name: str, taken: set[str]) -> str:
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    taken.add(unique)
    return unique


def _place(page: Page, made: Page, places: Sequence[tuple[str, str]]) -> None:
    """Each gradient under what it is by, below all that is there; a page without a layout goes on without one."""
    if not page.section("layout"):
        return
    boxes = placed(page)
    top = max(box.top + box.height for box in boxes.values()) + GAP
    widths = {name: box.width for name, box in placed(made).items()}
    layout, free = dict(made.section("layout")), float("-inf")
    for name, under in sorted(places, key=lambda place: boxes[place[1]].left):
        left = max(boxes[under].left, free)
        layout[name] = [round(left), round(top)]
        free = left + widths[name] + APART
    made.document["layout"] = layout


def _fetch(made: Page, output: Output, names: Sequence[str]) -> None:
    """A run that fetches the output, else the last that fetches anything, gets the gradients too: to be seen."""
    runs = [
        run for run in made.section("runs").values() if isinstance(run, dict) and isinstance(run.get("fetch"), list)
    ]
    same = [run for run in runs if output.node.name in run["fetch"] or label(output) in run["fetch"]]
    for run in (same or runs)[-1:]:
        run["fetch"] += names
