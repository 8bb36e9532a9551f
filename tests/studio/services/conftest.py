"""Pages for the studio's services: the shipped examples, pages of one op, and their values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gradbag
from gradbag import page as pages
from gradbag.graph.graph import Node
from gradbag.graph.session import ClientSession
from gradbag.page.drawing import Drawn, draw
from gradbag.page.running import tasks

EXAMPLES = sorted((Path(gradbag.__file__).parent / "examples").glob("*.page.json"))
assert EXAMPLES


@pytest.fixture(params=EXAMPLES, ids=lambda path: path.name.partition(".")[0])
def shipped(request: pytest.FixtureRequest) -> pages.Page:
    return pages.load(request.param)


@pytest.fixture
def shipped_as() -> Callable[[str], pages.Page]:
    return lambda name: pages.load(EXAMPLES[0].parent / f"{name}.page.json")


@pytest.fixture
def page_of() -> Callable[..., pages.Page]:
    """A page from its nodes and other sections."""
    return lambda nodes, **sections: pages.Page({"format": pages.FORMAT, "nodes": nodes, **sections})


@pytest.fixture
def ran() -> Callable[[pages.Page], tuple[Drawn, dict[str, list[Any]]]]:
    """A page's graph, and what each of its nodes gives."""

    def run(page: pages.Page) -> tuple[Drawn, dict[str, list[Any]]]:
        drawn = draw(page)
        assert not drawn.problems
        session = ClientSession(drawn.graph)
        found: dict[str, list[Any]] = {}
        stateful = any(node.op.state == "variable" for node in drawn.graph)
        # What assigns to a variable runs in the page's own runs; else everything can be fetched at once.
        for task in tasks(page) if stateful else [None]:
            nodes = list(drawn.graph) if task is None else _needed(drawn, [*task.fetch, *task.only])
            read = [node for node in nodes if node.op.state != "variable"]
            values = iter(session.run(fetches=[o for node in read for o in node.outputs], run_only=read))
            found |= {node.name: [next(values) for _ in node.outputs] for node in read}
            found |= {node.name: [session.variable(node)] for node in nodes if node.op.state == "variable"}
        return drawn, found

    return run


def _needed(drawn: Drawn, names: list[str]) -> list[Node]:
    seen: set[Node] = set()
    waiting = [drawn.graph.node(name) for name in names]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += [source.node for source in node.inputs]
            waiting += node.control
    return sorted(seen, key=lambda node: node.number)
