"""Where a wire fits: the same answer that the page's check gives once it is wired."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradbag import page as pages
from gradbag.errors import InvalidArgumentError
from gradbag.page.drawing import Drawn, draw
from gradbag.page.links import is_link
from gradbag.spec import registry
from gradbag.studio.services.fitting import fits

Make = Callable[..., pages.Page]
TABLE = {"op": "Const", "attrs": {"dtype": "float64", "value": [[1, 2], [3, 4], [5, 6]]}}
PLACES = {"op": "Const", "attrs": {"dtype": "int32", "value": [0, 1, 2]}}
MEAN = {
    "op": "SparseSegmentMean",
    "in": {"data": {"from": "table"}, "indices": {"from": "places"}, "segment_ids": [0, 0, 1]},
}


def wired(page: pages.Page, source: str, target: str) -> pages.Page:
    """The page after a wire was dropped."""
    document = copy.deepcopy(page.document)
    node, _, port = target.rpartition(".")
    inputs = document["nodes"][node].setdefault("in", {})
    name, bracket, place = port.partition("[")
    if bracket:
        listed = inputs.setdefault(name, [])
        listed[int(place[:-1]) : int(place[:-1]) + 1] = [{"from": source}]
    else:
        inputs[port] = {"from": source}
    return pages.Page(document, page.folder)


def assert_as_the_check_says(page: pages.Page, drawn: Drawn, source: str, target: str, reason: str) -> None:
    node = target.rpartition(".")[0]
    after = draw(wired(page, source, target), drawn)
    own = [p for p in after.problems if p.node == node or "wait for each other" in p.text or "reads itself" in p.text]
    if not reason and any(not is_link(value) for value in page.nodes[node].get("in", {}).values()):
        return  # what is typed into the node's ports can be typed anew
    assert bool(own) == bool(reason), (source, target, reason, [str(p) for p in own])


def test_the_answers_are_those_of_the_check(shipped: pages.Page) -> None:
    drawn = draw(shipped)
    rng = np.random.default_rng(1)
    tried = 0
    for node in drawn.graph:
        if node.name not in shipped.nodes or (len(shipped.nodes) > 10 and rng.random() > 0.3):
            continue
        for output in node.outputs:
            found = fits(shipped, drawn, node.name, output.port, "output")["ports"]
            chosen = [t for t in found if rng.random() < 0.4 and t.rpartition(".")[2] != "values"]
            for target in chosen:
                if target.rpartition(".")[2] in ("inputs", "values"):  # one more of a list, by the list's own name
                    continue
                assert_as_the_check_says(shipped, drawn, f"{node.name}.{output.port}", target, found[target])
                tried += 1
    assert tried


def test_both_ends_say_the_same(shipped: pages.Page) -> None:
    drawn = draw(shipped)
    one = {}
    for node in [n for n in drawn.graph if n.name in shipped.nodes][:12]:
        for output in node.outputs:
            for target, reason in fits(shipped, drawn, node.name, output.port, "output")["ports"].items():
                one[f"{node.name}.{output.port}", target] = reason
    targets = sorted({target for _, target in one})
    for target in targets[:: max(1, len(targets) // 15)]:
        name, _, port = target.rpartition(".")
        for source, reason in fits(shipped, drawn, name, port, "input")["ports"].items():
            if (source, target) in one:
                assert bool(reason) == bool(one[source, target]), (source, target)
                if "cycle" not in reason:
                    assert reason == one[source, target]


@pytest.mark.parametrize(
    ("node", "port", "target", "reason"),
    [
        ("table", "output", "mean.indices", "wants int32 or int64; this is float64"),
        ("places", "output", "mean.data", "wants one of float16, bfloat16, float32, float64"),
        ("matrix", "output", "mean.indices", "wants rank 1; this has shape [3, 2]"),
        ("mean", "output", "table2.x", "would make a cycle: table2 → mean → table2"),
        ("places", "output", "mean.indices", ""),
        ("short", "output", "mean.indices", ""),  # the segment ids are typed, and can be typed anew
        ("short", "output", "wired_mean.indices", "segment_ids must have shape [n] with n=2; got [3]"),
        ("single", "output", "sum.x", "wants float64, like y; this is float32"),
        ("mean", "output", "mean.data", "would make a cycle: mean → mean"),
    ],
)
def test_reasons_are_words(page_of: Make, node: str, port: str, target: str, reason: str) -> None:
    nodes = {
        "table": TABLE,
        "places": PLACES,
        "matrix": {"op": "Const", "attrs": {"dtype": "int32", "value": [[1, 2], [3, 4], [5, 6]]}},
        "short": {"op": "Const", "attrs": {"dtype": "int32", "value": [0, 1]}},
        "single": {"op": "Const", "attrs": {"dtype": "float32", "value": [[0, 1]]}},
        "table2": {"op": "Neg", "in": {"x": {"from": "table"}}},
        "mean": {**MEAN, "in": {**MEAN["in"], "data": {"from": "table2"}}},  # type: ignore[dict-item]
        "wired_mean": {**MEAN, "in": {**MEAN["in"], "segment_ids": {"from": "places"}}},  # type: ignore[dict-item]
        "sum": {"op": "AddV2", "in": {"x": {"from": "table"}, "y": {"from": "table2"}}},
    }
    page = page_of(nodes)
    found = fits(page, draw(page), node, port, "output")["ports"][target]
    assert found == reason or (reason and found.startswith(reason)), found


def test_a_literal_takes_the_dtype_of_the_new_wire(page_of: Make) -> None:
    page = page_of(
        {
            "table": TABLE,
            "places": PLACES,
            "half": {"op": "Mul", "in": {"x": {"from": "table"}, "y": 0.5}},
            "twice": {"op": "Mul", "in": {"x": {"from": "table"}, "y": 2}},
            "said": {"op": "Mul", "in": {"x": {"from": "table"}, "y": {"value": 2, "dtype": "float64"}}},
        }
    )
    found = fits(page, draw(page), "places", "output", "output")["ports"]
    assert found["twice.x"] == ""
    assert "0.5" in found["half.x"]
    assert found["said.x"] == "wants float64, like y; this is int32"


def test_a_block_that_is_not_complete_takes_what_it_misses(page_of: Make) -> None:
    page = page_of(
        {
            "table": TABLE,
            "places": PLACES,
            "mean": {"op": "SparseSegmentMean"},
            "odd": {"op": "Nothing", "in": {"x": 1}},
        }
    )
    found = fits(page, draw(page), "places", "output", "output")["ports"]
    assert found["mean.indices"] == found["mean.segment_ids"] == ""
    assert "this is int32" in found["mean.data"]
    assert "no known op" in found["odd.x"]


def test_a_fault_that_was_there_before_is_not_held_against_a_wire(page_of: Make) -> None:
    mean = {
        "op": "SparseSegmentMean",
        "in": {"data": [[1.5]], "indices": {"from": "places"}, "segment_ids": {"from": "short"}},
    }
    short = {"op": "Const", "attrs": {"dtype": "int32", "value": [0, 1]}}
    page = page_of({"table": TABLE, "places": PLACES, "short": short, "mean": mean})
    found = fits(page, draw(page), "table", "output", "output")["ports"]
    assert found["mean.data"] == ""


def test_a_list_of_inputs_takes_one_more(page_of: Make) -> None:
    page = page_of(
        {
            "table": TABLE,
            "places": PLACES,
            "all": {"op": "AddN", "in": {"inputs": [{"from": "table"}]}},
            "none": {"op": "AddN"},
        }
    )
    drawn = draw(page)
    found = fits(page, drawn, "table", "output", "output")["ports"]
    assert {found[f"all.{at}"] for at in ("inputs[0]", "inputs[1]", "inputs")} == {""}
    assert found["none.inputs"] == found["none.inputs[0]"] == ""
    other = fits(page, drawn, "places", "output", "output")["ports"]
    assert other["all.inputs[0]"] == ""
    assert other["all.inputs[1]"] == "wants float64, like inputs[0]; this is int32"


def test_new_blocks_fit_and_the_best_come_first(page_of: Make) -> None:
    page = page_of({"table": TABLE, "places": PLACES, "mean": MEAN})
    drawn = draw(page)
    takers = fits(page, drawn, "table", "output", "output")["ops"]
    assert registry[takers[0]["op"]].section != "array"
    assert {"op": "SparseSegmentMean", "port": "data"} in takers
    assert all(len(set(one)) == 2 for one in takers)
    givers = fits(page, drawn, "mean", "indices", "input")["ops"]
    assert givers[0]["op"] == "Const"
    assert not {"Exp", "MatMul", "Where"} & {one["op"] for one in givers}


def test_what_is_not_there_is_said(page_of: Make) -> None:
    page = page_of({"table": TABLE})
    for arguments in [
        ("x", "output", "output"),
        ("table", "x", "output"),
        ("table", "x", "input"),
        ("table", "output", "up"),
    ]:
        with pytest.raises(InvalidArgumentError):
            fits(page, draw(page), *arguments)


def test_work_grows_with_the_page_not_with_its_square(page_of: Make) -> None:
    def calls(count: int) -> int:
        """How many functions a question calls: the same on every machine, unlike its time."""
        nodes: dict[str, Any] = {"table": TABLE, "places": PLACES}
        for k in range(count):
            nodes[f"mean{k}"] = {**MEAN, "in": {**MEAN["in"], "data": {"from": f"sum{k - 1}" if k else "table"}}}  # type: ignore[dict-item]
            nodes[f"sum{k}"] = {"op": "ConcatV2", "in": {"values": [{"from": f"mean{k}"}, [[1, 2]]], "axis": 0}}
        page = page_of(nodes)
        drawn = draw(page)
        assert not drawn.problems
        fits(page, drawn, "table", "output", "output")  # what is made once is made
        seen = 0

        def count_calls(frame: object, event: str, arg: object) -> None:
            nonlocal seen
            seen += event == "call"

        sys.setprofile(count_calls)
        try:
            fits(page, drawn, "sum10", "output", "output")
        finally:
            sys.setprofile(None)
        return seen

    small, middle, large = calls(15), calls(75), calls(135)
    assert 0 < large - middle < 1.2 * (middle - small)
