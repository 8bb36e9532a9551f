"""Why a number is this number: terms that add up, and gradients beside differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradbag import lens
from gradbag import page as pages
from gradbag.graph.session import ClientSession
from gradbag.lens.difference import difference
from gradbag.page.drawing import draw

TABLE = {"op": "Const", "attrs": {"dtype": "float64", "value": [[1, 2], [3, 4], [5, 6]]}}
POOLED = {
    "op": "SparseSegmentMean",
    "in": {"data": {"from": "table"}, "indices": [0, 2, 2], "segment_ids": [0, 0, 1]},
}
LOSS = {"op": "Sum", "in": {"input": {"from": "squares"}, "axis": [0, 1]}}
NODES: dict[str, Any] = {
    "table": TABLE,
    "pooled": POOLED,
    "squares": {"op": "Square", "in": {"x": {"from": "pooled"}}},
    "loss": LOSS,
    "root": {"op": "Sqrt", "in": {"x": {"from": "loss"}}},
    "d": {"op": "Gradient", "in": {"of": {"from": "loss"}, "by": {"from": "table"}}},
    "weighted": {
        "op": "Gradient",
        "in": {"of": {"from": "pooled"}, "by": {"from": "table"}, "grad": [[1.5, 1], [1.5, 1]]},
    },
}


@pytest.fixture
def told() -> Any:
    page = pages.Page({"format": "gradbag-page/1", "nodes": NODES})
    drawn = draw(page)
    assert not drawn.problems
    session = ClientSession(drawn.graph)
    nodes = [node for node in drawn.graph if node.dtypes]
    found = session.run(fetches=[node.outputs[0] for node in nodes])
    values = {node.name: [value] for node, value in zip(nodes, found, strict=True)}
    return lambda node, cell: lens.look(
        page, drawn, values, node, "output" if node in "d weighted pooled" else "y", [0], cell
    )["sum"]


def test_a_mean_is_a_sum_with_halves(told: Any) -> None:
    found = told("pooled", [0, 1])
    assert (found["value"], found["is_sum"], found["count"]) == (4, True, 2)
    assert {(term["source"], *term["index"], term["coefficient"]) for term in found["terms"]} == {
        ("table.output", 0, 1, 0.5),
        ("table.output", 2, 1, 0.5),
    }


def test_a_gradient_is_a_sum_of_what_flows_back(told: Any) -> None:
    found = told("weighted", [2, 0])
    assert found["value"] == 2.25
    assert sorted((term["value"], term["coefficient"]) for term in found["terms"]) == [(1.5, 0.5), (1.5, 1.0)]


def test_a_root_is_no_sum(told: Any) -> None:
    found = told("root", [])
    assert not found["is_sum"]
    assert found["terms"][0]["coefficient"] == pytest.approx(0.5 / found["value"])


@pytest.mark.parametrize("name", ["d", "weighted"])
def test_a_gradient_agrees_with_differences(name: str) -> None:
    page = pages.Page({"format": "gradbag-page/1", "nodes": NODES})
    session = ClientSession(draw(page).graph)
    for index in np.ndindex(3, 2):
        found = difference(page, session, name, index)
        assert found["holds"], found
        assert found["difference"] == pytest.approx(found["gradient"], abs=1e-6)
