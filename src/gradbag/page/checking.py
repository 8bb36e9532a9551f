"""All that is wrong with a page, as records that name the node and the port."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import errors
from ..graph.graph import Graph, Output
from . import literals
from .drawing import Drawn, draw
from .layout import FARTHEST
from .links import Problem, is_link, split
from .model import Page

LONGEST_TITLE = 1000
MOST_NODES = 100_000
MODES = ("once", "step", "loop")
MOST_STEPS = 10**9


def check(page: Page) -> list[Problem]:
    """Every problem of a page: of its nodes and wires, its runs, what it expects, and where its boxes are."""
    return inspect(page).problems


def inspect(page: Page, before: Drawn | None = None) -> Drawn:
    """The graph of the sound nodes, and every problem of the page; `before` is what an earlier state of it became."""
    count = len(page.nodes)
    if count > MOST_NODES:
        return Drawn(problems=[Problem("", "nodes", f"has {count} nodes; a page has at most {MOST_NODES}")])
    drawn = draw(page, before)
    drawn.problems += _heading(page)
    drawn.problems += _runs(page, drawn.graph)
    drawn.problems += _expectations(page, drawn.graph)
    drawn.problems += _layout(page)
    return drawn


def _heading(page: Page) -> Iterator[Problem]:
    title = page.document.get("title", "")
    if not isinstance(title, str) or len(title) > LONGEST_TITLE:
        yield Problem("", "title", f"must be a text of at most {LONGEST_TITLE} characters")


def _entries(page: Page, section: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from ((name, entry) for name, entry in page.section(section).items() if isinstance(entry, dict))


def _malformed(page: Page, section: str) -> Iterator[Problem]:
    """A section, or an entry of it, that is no object."""
    if not isinstance(page.document.get(section, {}), dict):
        yield Problem("", section, "must be an object")
    for name, entry in page.section(section).items():
        if not isinstance(entry, dict):
            yield Problem("", f"{section}.{name}", "must be an object")


# ------------------------------------------------------------------ names of outputs
def outputs(page: Page, graph: Graph, name: str) -> list[Output]:
    """What a fetch means: an output by "node.port", or all outputs of a node; an error where it is not there."""
    node, port = split(page.nodes, name)
    if node not in page.nodes:
        raise errors.InvalidArgumentError(f"{name[:80]!r} is not on the page")
    if node not in graph:
        return []
    found = graph.node(node)
    return [found.output(port)] if port else found.outputs


def _named(page: Page, graph: Graph, place: str, names: Any) -> Iterator[Problem]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        yield Problem("", place, "must be a list of nodes")
        return
    for name in names:
        try:
            outputs(page, graph, name)
        except errors.Error as problem:
            yield Problem("", place, str(problem))


# ------------------------------------------------------------------ runs and expectations
def _runs(page: Page, graph: Graph) -> Iterator[Problem]:
    yield from _malformed(page, "runs")
    for name, run in _entries(page, "runs"):
        place = f"runs.{name}"
        for part in ("fetch", "only"):
            yield from _named(page, graph, f"{place}.{part}", run.get(part, []))
        if run.get("mode", "once") not in MODES:
            yield Problem("", f"{place}.mode", f"must be one of {', '.join(MODES)}")
        for part, least in (("steps", 1), ("seed", 0)):
            value = run.get(part, least)
            if type(value) is not int or not least <= value <= MOST_STEPS:
                yield Problem("", f"{place}.{part}", f"must be a whole number from {least} to {MOST_STEPS}")
        feed = run.get("feed", {})
        if not isinstance(feed, dict):
            yield Problem("", f"{place}.feed", "must be an object of values by node")
            continue
        for fed, value in feed.items():
            yield from _valued(page, graph, f"{place}.feed.{fed}", fed, value)


def _expectations(page: Page, graph: Graph) -> Iterator[Problem]:
    if not isinstance(page.document.get("expect", {}), dict):
        yield Problem("", "expect", "must be an object of values by node")
    for name, entry in page.section("expect").items():
        place = f"expect.{name}"
        tolerance = entry.get("tolerance", 0) if isinstance(entry, dict) else 0
        if type(tolerance) not in (int, float) or tolerance < 0:
            yield Problem("", f"{place}.tolerance", "must be a number that is not negative")
        yield from _valued(page, graph, place, name, entry)


def _valued(page: Page, graph: Graph, place: str, name: str, value: Any) -> Iterator[Problem]:
    """A value for an output: the output must be there, and the value must have its dtype."""
    try:
        found = outputs(page, graph, name)
    except errors.Error as problem:
        yield Problem("", place, str(problem))
        return
    if is_link(value):
        yield Problem("", place, "must be a value, not a link")
    elif len(found) > 1:
        named = ", ".join(f"{name}.{output.port}" for output in found)
        yield Problem("", place, f"{name} has {len(found)} outputs, name one: {named}")
    elif found:
        try:
            page.array(value, found[0].dtype)
        except literals.LiteralError as problem:
            yield Problem("", place, f"{name} {problem}")


# ------------------------------------------------------------------ layout
def _layout(page: Page) -> Iterator[Problem]:
    if not isinstance(page.document.get("layout", {}), dict):
        yield Problem("", "layout", "must be an object of positions by node")
    nodes = page.nodes
    for name, position in page.section("layout").items():
        if name not in nodes:
            yield Problem("", f"layout.{name}", "is not on the page")
        elif (
            not isinstance(position, list)
            or len(position) != 2
            or not all(type(n) in (int, float) and abs(n) <= FARTHEST for n in position)
        ):
            yield Problem(name, "layout", f"a position is two numbers of at most {FARTHEST:.0e}")
