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
from gradbag.page.links import sources
from gradbag.studio.services.checking import checked
from gradbag.studio.services.differentiating import choices, differentiate
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
        good = [one["name"] for one in choices(shipped, drawn, output)["inputs"] if not one["reason"]]
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
    assert all(name.startswith("loss/grad/") for name in made["added"][:-1])
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


def test_every_new_node_leads_to_a_gradient(shipped_as: Callable[[str], pages.Page]) -> None:
    made = differentiate(shipped_as("safe_embedding_lookup"), "loss", ["table"])
    page = pages.Page(made["page"])
    wired = sources(page.nodes)
    needed = list(made["gradients"].values())
    for name in needed:  # grows while it is walked
        needed += [source for _, source in wired[name] if source not in needed]
    assert set(made["added"]) <= set(needed)


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


def test_literals_that_a_gradient_reads_are_written_again(page_of: Make) -> None:
    many = [k % 3 for k in range(100)]
    nodes: dict[str, Any] = {
        "table": {"op": "Const", "attrs": {"dtype": "float64", "value": [[1, 2], [3, 4], [5, 6]]}},
        "mean": {
            "op": "SparseSegmentMean",
            "in": {"data": {"from": "table"}, "indices": many, "segment_ids": [0] * 100},
        },
    }
    made = differentiate(page_of(nodes), "mean", ["table"])
    after = pages.Page(made["page"])
    assert pages.check(after) == []
    (grad,) = [made["page"]["nodes"][n] for n in made["added"] if "indices" in made["page"]["nodes"][n].get("in", {})]
    assert grad["in"]["indices"]["value"] == many
    got = pages.run(after).fetches["d_mean_d_table"]
    np.testing.assert_allclose(got, [[0.34] * 2, [0.33] * 2, [0.33] * 2])


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
