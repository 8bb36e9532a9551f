"""Pages for the studio's services: the shipped examples, pages of one op, and their values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gradbag
from gradbag.graph import page as pages
from gradbag.graph.page_graph import Drawn, draw
from gradbag.graph.session import ClientSession

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
        values = iter(ClientSession(drawn.graph).run(fetches=[o for node in drawn.graph for o in node.outputs]))
        return drawn, {node.name: [next(values) for _ in node.outputs] for node in drawn.graph}

    return run
