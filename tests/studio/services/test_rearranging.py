"""Tidying and differentiating."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradbag import errors
from gradbag import page as pages
from gradbag.page.drawing import draw
from gradbag.page.layout import placed
from gradbag.studio.services.checking import checked
from gradbag.studio.services.differentiating import choices, differentiate
from gradbag.studio.services.restating import restate
from gradbag.studio.services.tidying import tidy

Make = Callable[..., pages.Page]


# ------------------------------------------------------------------ tidying
def test_tidying_all_places_every_node_without_overlap(shipped: pages.Page) -> None:
    layout = tidy(shipped)["layout"]
    assert layout.keys() == shipped.nodes.keys()
    boxes = list(placed(pages.Page({**shipped.document, "layout": layout})).values())
    for k, a in enumerate(boxes):
        for b in boxes[:k]:
            assert (
                a.left + a.width <= b.left
                or b.left + b.width <= a.left
                or a.top + a.height <= b.top
                or b.top + b.height <= a.top
            ), (a.title, b.title)


def test_tidying_some_leaves_the_others_and_the_corner(shipped_as: Callable[[str], pages.Page]) -> None:
    page = shipped_as("safe_embedding_lookup")
    chosen = ["lookup", "loss", "zeros"]
    before, after = page.section("layout"), tidy(page, chosen)["layout"]
    assert {n for n in before if before[n] != after[n]} <= set(chosen)
    for axis in (0, 1):
        assert min(before[n][axis] for n in chosen) == min(after[n][axis] for n in chosen)
    assert tidy(page, [])["layout"] == before
    with pytest.raises(errors.InvalidArgumentError, match="not on the page"):
        tidy(page, ["nobody"])


# ------------------------------------------------------------------ differentiating
def test_all_that_can_be_chosen_has_a_gradient(shipped: pages.Page) -> None:
    drawn = draw(shipped)
    tried = 0
    for node in drawn.graph:
        if node.name not in shipped.nodes or node.dtypes[:1] not in (["float32"], ["float64"]) or not node.inputs:
            continue
        output = f"{node.name}.{node.outputs[0].port}"
        offered = choices(shipped, drawn, output)["inputs"]
        good = [one["name"] for one in offered if not one["reason"] and one["side"] == "output"]
        if good and tried < 6:
            tried += 1
            made = differentiate(shipped, output, good[:4])
            after = pages.Page(made["page"], shipped.folder)
            assert pages.check(after) == []
            assert pages.parse(pages.text(after).encode()).document == made["page"]
            assert made["gradients"].keys() == set(good[:4])
            assert set(made["added"]) == made["page"]["nodes"].keys() - shipped.nodes.keys()
    assert tried


def test_nothing_else_on_the_page_changes(shipped_as: Callable[[str], pages.Page]) -> None:
    page = shipped_as("safe_embedding_lookup")
    before = copy.deepcopy(page.document)
    made = differentiate(page, "loss.output", ["table.output"])
    assert page.document == before
    lines = pages.text(pages.Page(made["page"])).splitlines()
    kept = [line.rstrip(",") for line in pages.text(page).splitlines()]
    gone = [line for line in kept if line not in {one.rstrip(",") for one in lines}]
    assert [line.strip()[:7] for line in gone] == ['"main":']  # which fetches the gradient now too
    bottom = max(box.top + box.height for box in placed(page).values())
    assert all(made["page"]["layout"][name][1] > bottom for name in made["added"])


def test_the_gradient_is_right_and_can_be_found(shipped_as: Callable[[str], pages.Page]) -> None:
    page = shipped_as("safe_embedding_lookup")
    made = differentiate(page, "loss", ["table"])
    assert made["gradients"] == {"table": "d_loss_d_table"}
    fetched = pages.run(pages.Page(made["page"])).fetches
    np.testing.assert_array_equal(fetched["d_loss_d_table"], fetched["table_grad"])


def test_a_page_that_trains_runs_with_its_new_gradients(shipped_as: Callable[[str], pages.Page]) -> None:
    page = shipped_as("sparse_logistic_regression")
    drawn = draw(page)
    good = [one["name"] for one in choices(page, drawn, "loss")["inputs"] if not one["reason"]]
    assert "weights.ref" in good
    made = differentiate(page, "loss", ["weights.ref"])
    assert [made["page"]["runs"][run].get("fetch") for run in ("init", "train")] == [None, ["loss", "d_loss_d_weights"]]
    answer = pages.run(pages.Page(made["page"]))
    assert answer.mismatches == []
    assert set(made["gradients"].values()) <= answer.fetches.keys()


def test_a_second_time_gets_other_names(shipped_as: Callable[[str], pages.Page]) -> None:
    once = differentiate(shipped_as("safe_embedding_lookup"), "loss", ["table"])
    twice = differentiate(pages.Page(once["page"]), "loss", ["table"])
    assert twice["gradients"] == {"table": "d_loss_d_table_2"}
    assert not set(once["added"]) & set(twice["added"])
    assert pages.check(pages.Page(twice["page"])) == []


def test_the_gradient_of_a_gradient(page_of: Make) -> None:
    page = page_of(
        {
            "x": {"op": "Const", "attrs": {"dtype": "float64", "value": 2}},
            "y": {"op": "Pow", "in": {"x": {"from": "x"}, "y": 3}},
        }
    )
    first = differentiate(page, "y", ["x"])
    second = differentiate(pages.Page(first["page"]), first["gradients"]["x"], ["x"])
    after = pages.Page(second["page"])
    assert pages.run(after, fetch=[second["gradients"]["x"]]).fetches[second["gradients"]["x"]] == 12
    assert "layout" not in second["page"]


def test_a_value_in_a_port_can_be_differentiated_by(page_of: Make) -> None:
    nodes = {"mean": {"op": "SparseSegmentMean", "in": {"data": [[1], [2]], "indices": [0, 1], "segment_ids": [0, 0]}}}
    page = page_of(nodes)
    found = [(one["name"], one["side"]) for one in choices(page, draw(page), "mean")["inputs"]]
    assert found == [("mean.data", "input")]
    made = differentiate(page, "mean", [], ["mean.data"])
    (name,) = made["added"]
    assert made["page"]["nodes"][name]["in"] == {"of": {"from": "mean"}, "by": {"input": "mean.data"}}
    np.testing.assert_array_equal(pages.run(pages.Page(made["page"])).fetches[name], [[0.5], [0.5]])


def test_gradients_that_were_written_out_are_found_and_replaced(page_of: Make) -> None:
    nodes: dict[str, Any] = {
        "x": {"op": "Const", "attrs": {"dtype": "float64", "value": [1, 2, 3]}},
        "y": {"op": "Square", "in": {"x": {"from": "x"}}},
        "y/grad/ones_like": {"op": "OnesLike", "in": {"x": {"from": "y"}}},
        "y/grad/mul": {"op": "Mul", "in": {"x": {"from": "x"}, "y": 2}},
        "y/grad/mul_2": {"op": "Mul", "in": {"x": {"from": "y/grad/mul"}, "y": {"from": "y/grad/ones_like"}}},
        "d_y_d_x": {"op": "Identity", "in": {"input": {"from": "y/grad/mul_2"}}},
        "reader": {"op": "Neg", "in": {"x": {"from": "y/grad/mul"}}},
        "d_not_d_one": {"op": "Identity", "in": {"input": {"from": "x"}}},
    }
    page = page_of(nodes, groups={"g": {"title": "", "nodes": ["y/grad/mul_2"]}})
    answer, drawn = checked(page)
    assert answer["frozen"] == ["d_y_d_x"]
    made = restate(page, drawn)["page"]
    assert made["nodes"]["d_y_d_x"] == {"op": "Gradient", "in": {"of": {"from": "y"}, "by": {"from": "x"}}}
    assert made["nodes"].keys() == {"x", "y", "y/grad/mul", "d_y_d_x", "reader", "d_not_d_one"}  # mul is read elsewhere
    assert made["groups"] == {}
    fetches = pages.run(pages.Page(made), fetch=["d_y_d_x"]).fetches
    np.testing.assert_array_equal(fetches["d_y_d_x"], pages.run(page, fetch=["d_y_d_x"]).fetches["d_y_d_x"])


def test_the_parts_of_a_gradient_go_from_right_to_left(page_of: Make) -> None:
    nodes: dict[str, Any] = {
        "x": {"op": "Const", "attrs": {"dtype": "float64", "value": [1, 2, 3]}},
        "y": {"op": "Square", "in": {"x": {"from": "x"}}},
        "z": {"op": "Exp", "in": {"x": {"from": "y"}}},
        "d": {"op": "Gradient", "in": {"of": {"from": "z"}, "by": {"from": "x"}}},
    }
    assert checked(page_of(nodes))[0]["parts"] == {}
    answer, _ = checked(page_of(nodes), None, ["d", "y", "nobody"])
    (parts,) = answer["parts"].values()
    assert answer["nodes"]["d"]["parts"] >= len(parts) > 2
    columns = {part["name"]: part["at"][0] for part in parts}
    for part in parts:
        for source in part["inputs"].values():
            name = source.rpartition(".")[0]
            assert name in nodes or columns[name] > columns[part["name"]]


def test_a_compact_gradient_is_shown_with_its_zeros(page_of: Make) -> None:
    nodes: dict[str, Any] = {
        "table": {"op": "Const", "attrs": {"dtype": "float64", "value": [[1, 2], [3, 4], [5, 6]]}},
        "mean": {
            "op": "SparseSegmentMean",
            "in": {"data": {"from": "table"}, "indices": [0, 0], "segment_ids": [0, 1]},
            "attrs": {"sparse_gradient": True},
        },
    }
    made = differentiate(page_of(nodes), "mean", ["table"])
    got = pages.run(pages.Page(made["page"])).fetches["d_mean_d_table"]
    np.testing.assert_array_equal(got, [[2, 2], [0, 0], [0, 0]])


def test_what_has_no_derivative_says_so(page_of: Make) -> None:
    nodes: dict[str, Any] = {
        "x": {"op": "Const", "attrs": {"dtype": "float64", "value": [1, 2]}},
        "i": {"op": "Const", "attrs": {"dtype": "int32", "value": [1, 0]}},
        "stop": {"op": "StopGradient", "in": {"input": {"from": "x"}}},
        "y": {"op": "GatherV2", "in": {"params": {"from": "stop"}, "indices": {"from": "i"}, "axis": 0}},
        "apart": {"op": "Neg", "in": {"x": 1.5}},
    }
    page = page_of(nodes)
    _, drawn = checked(page)
    found = {one["name"]: one["reason"] for one in choices(page, drawn, "y")["inputs"]}
    assert found["stop.output"] == ""
    assert found["i.output"] == "is int32, which has no derivative"
    assert "does not depend" in found["x.output"]
    assert "apart.y" not in found
    assert all(one["reason"] for one in choices(page, drawn, "i")["inputs"])
    for arguments in [("y", ["x"]), ("y", ["i"]), ("y", []), ("nobody", ["x"]), ("y", ["nobody"])]:
        with pytest.raises(errors.Error):
            differentiate(page, *arguments)
