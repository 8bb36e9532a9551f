"""Gradients as nodes of a page: always those of the page as it is, in every command alike."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradbag import page as pages
from gradbag.graph.graphdef import load_graphdef
from gradbag.graph.graphdef.saving import to_graphdef_bytes
from gradbag.graph.session import ClientSession
from gradbag.page.diff import diff
from gradbag.page.drawing import draw
from gradbag.page.export_python import to_python

TABLE = {"op": "Const", "attrs": {"dtype": "float64", "value": [[1, 2], [3, 4], [5, 6]]}}
MEAN = {"op": "SparseSegmentMean", "in": {"data": {"from": "table"}, "indices": [0, 2, 2], "segment_ids": [0, 0, 1]}}
D = {"op": "Gradient", "in": {"of": {"from": "mean"}, "by": {"from": "table"}}}


def page(**nodes: Any) -> pages.Page:
    return pages.Page({"format": "gradbag-page/1", "nodes": {"table": TABLE, "mean": MEAN, **nodes}})


def test_an_edit_of_the_page_is_an_edit_of_the_gradient() -> None:
    one = page(d=D)
    np.testing.assert_array_equal(pages.run(one).fetches["d"], [[0.5, 0.5], [0, 0], [1.5, 1.5]])
    ports = {**MEAN["in"], "indices": [1, 2, 2]}  # type: ignore[dict-item]
    other = page(mean={**MEAN, "in": ports}, d=D)
    np.testing.assert_array_equal(pages.run(other).fetches["d"], [[0, 0], [0.5, 0.5], [1.5, 1.5]])
    assert [str(difference.place) for difference in diff(one, other)] == ["mean.indices"]


def test_weights_and_higher_orders() -> None:
    cube = {"op": "Pow", "in": {"x": {"from": "mean"}, "y": 3}}
    first = {"op": "Gradient", "in": {"of": {"from": "cube"}, "by": {"from": "mean"}, "grad": [[1, 0], [0, 2]]}}
    second = {"op": "Gradient", "in": {"of": {"from": "first"}, "by": {"from": "mean"}}}
    third = {"op": "Gradient", "in": {"of": {"from": "second"}, "by": {"from": "mean"}}}
    # The order in which they stand says nothing.
    got = pages.run(
        page(third=third, second=second, first=first, cube=cube), fetch=["first", "second", "third"]
    ).fetches
    np.testing.assert_allclose(got["first"], [[27, 0], [0, 216]])
    np.testing.assert_allclose(got["second"], [[18, 0], [0, 72]])
    np.testing.assert_allclose(got["third"], [[6, 0], [0, 12]])


def test_by_the_value_in_a_port_and_after_it_was_wired() -> None:
    by = {"op": "Gradient", "in": {"of": {"from": "mean"}, "by": {"input": "mean.data"}}}
    typed = page(mean={**MEAN, "in": {**MEAN["in"], "data": [[1.0], [2], [3]]}}, d=by)  # type: ignore[dict-item]
    np.testing.assert_array_equal(pages.run(typed).fetches["d"], [[0.5], [0], [1.5]])
    np.testing.assert_array_equal(pages.run(page(d=by)).fetches["d"], pages.run(page(d=D)).fetches["d"])


def test_what_is_differentiated_stays_a_leaf() -> None:
    assert pages.run(page(d={**D, "in": {**D["in"], "grad": [[1, 1], [1, 1]]}})).fetches.keys() == {"mean", "d"}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        ({"of": {"from": "table"}, "by": {"from": "mean"}}, "d.by: table does not depend on mean in a way"),
        ({"of": {"from": "mean"}}, "d.by: Gradient: by needs a value or a wire"),
        ({"of": 3, "by": {"from": "table"}}, "d.of: must be wired"),
        ({"of": {"from": "mean"}, "by": {"input": "mean.indices"}}, "d.by: by (mean/indices:0) is int32, which has no"),
        ({"of": {"from": "mean"}, "by": {"input": "mean.x"}}, "d.by: names the input 'x', which mean does not have"),
        ({"of": {"from": "mean"}, "by": {"input": "x.y"}}, "d.by: names an input of 'x', which is not on the page"),
        ({"of": {"from": "d"}, "by": {"from": "table"}}, "d.of: the node reads itself"),
        ({"of": {"from": "mean"}, "by": {"from": "table"}, "grad": [1, 2]}, "d.grad: grad is float64[2]"),
        ({"of": {"from": "mean"}, "by": {"from": "table"}, "grad": "a"}, "d.grad: Gradient: grad 'a' is no number"),
    ],
)
def test_what_cannot_be_is_said_at_its_port(inputs: Any, problem: str) -> None:
    (found,) = pages.check(page(d={"op": "Gradient", "in": inputs}))
    assert str(found).startswith(problem)


def test_nothing_else_may_name_an_input() -> None:
    (found,) = pages.check(page(n={"op": "Neg", "in": {"x": {"input": "mean.data"}}}))
    assert str(found).startswith("n.x: names an input of a node")


def test_parts_take_no_name_of_the_page() -> None:
    taken = {"op": "Neg", "in": {"x": {"from": "d"}}}
    one = page(**{"d": D, "d/gradients/OnesLike": taken, "d/parts_1/x": TABLE})
    assert pages.check(one) == []
    assert {"d", "d/gradients/OnesLike"} <= {node.name for node in draw(one).graph}


def test_what_leads_to_no_result_is_not_built() -> None:
    product = {"op": "Mul", "in": {"x": {"from": "mean"}, "y": {"from": "mean"}}}
    one = page(product=product, d={"op": "Gradient", "in": {"of": {"from": "product"}, "by": {"from": "table"}}})
    graph = draw(one).graph
    read = {source.node for node in graph for source in node.inputs}
    assert {node.name for node in graph} - {node.name for node in read} == {"d"}
    assert [node.number for node in graph] == list(range(len(graph)))


def test_exports_write_it_out(tmp_path: Path) -> None:
    square = {"op": "Square", "in": {"x": {"from": "mean"}}}
    one = page(square=square, d={"op": "Gradient", "in": {"of": {"from": "square"}, "by": {"from": "table"}}})
    wanted = pages.run(one).fetches["d"]
    script = tmp_path / "page.py"
    script.write_text(to_python(one))
    said = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout
    lines = dict(line.split(" = ", 1) for line in said.splitlines())
    np.testing.assert_array_equal(json.loads(lines["d"]), wanted)
    graph = load_graphdef(to_graphdef_bytes(draw(one).graph))
    np.testing.assert_array_equal(ClientSession(graph).run(fetches="d"), wanted)


def test_large_weights_go_to_a_data_file(tmp_path: Path) -> None:
    many = {"op": "Const", "attrs": {"dtype": "float64", "value": list(range(100))}}
    weighted = {"of": {"from": "twice"}, "by": {"from": "many"}, "grad": list(range(100))}
    twice = {"op": "Mul", "in": {"x": {"from": "many"}, "y": 2}}
    one = page(many=many, twice=twice, d={"op": "Gradient", "in": weighted})
    pages.save(one, tmp_path / "one.page.json")
    again = pages.load(tmp_path / "one.page.json")
    assert "file" in again.nodes["d"]["in"]["grad"]
    np.testing.assert_array_equal(pages.run(again).fetches["d"], 2 * np.arange(100.0))
