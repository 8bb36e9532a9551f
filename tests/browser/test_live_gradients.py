"""Gradients that follow the page: edited after Differentiate, opened, saved, exported, and old ones replaced."""

import json
import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Locator, expect

from .conftest import Studio
from .desk import Desk, numbers

GRAD = "[[1, 2, 3], [4, 4, 2], [3, 1, 5]]"


def differentiate(desk: Desk, output: str, by: str) -> None:
    desk.button("Differentiate").click()
    dialog = desk.dialog("Differentiate")
    dialog.get_by_label("Gradient of").select_option(output)
    dialog.get_by_role("checkbox", name=re.compile(f"^{re.escape(by)}")).check()
    dialog.get_by_role("button", name="Differentiate", exact=True).click()
    expect(dialog).to_be_hidden()
    desk.checked()


def expect_rows(desk: Desk, block: str, rows: list[list[float]]) -> None:
    got = numbers(desk.rows(block))
    assert [[round(n, 3) for n in row] for row in got] == [[round(n, 3) for n in row] for row in rows]


def test_a_gradient_follows_values_typed_into_ports(own_desk: Desk, studio: Studio, tmp_path: Path) -> None:
    desk = own_desk
    grad = {"op": "Const", "attrs": {"dtype": "float64", "value": json.loads(GRAD)}}
    ports = {"grad": {"from": "grad"}, "indices": [0, 1, 2], "segment_ids": [0, 0, 2], "output_dim0": 3}
    nodes = {"grad": grad, "sqrtn": {"op": "SparseSegmentSqrtNGrad", "in": ports}}
    desk.paste(nodes=nodes, layout={"grad": [0, 0], "sqrtn": [280, 0]})
    desk.page.keyboard.press("Escape")
    differentiate(desk, "sqrtn.output", "grad.output")
    desk.run()
    expect_rows(desk, "d_sqrtn_d_grad", [[2**0.5] * 3, [0] * 3, [1] * 3])
    desk.write("segment_ids", "sqrtn", "[0, 1, 2]")
    desk.checked()
    desk.expect_states(d_sqrtn_d_grad="stale")
    desk.run()
    expect_rows(desk, "d_sqrtn_d_grad", [[1] * 3] * 3)
    desk.save_as("sqrtn")
    desk.page.reload()
    desk.ready()
    desk.open_file("sqrtn.page.json")
    desk.checked()
    desk.run()
    expect_rows(desk, "d_sqrtn_d_grad", [[1] * 3] * 3)
    script = tmp_path / "exported.py"
    script.write_bytes(desk.exported("Python")[1])
    said = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout
    assert "d_sqrtn_d_grad = [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]" in said


def test_a_gradient_follows_a_change_of_shape(own_desk: Desk) -> None:
    desk = own_desk
    desk.open_example("SparseSegmentMeanGrad")
    differentiate(desk, "mean_grad.output", "grad.output")
    desk.run()
    assert len(desk.rows("d_mean_grad_d_grad")) == 3
    desk.write("value", "grad", "[[1, 2, 3], [4, 4, 2], [3, 1, 5], [0, 0, 0]]")
    desk.checked()
    expect(desk.status).to_contain_text("No problems")
    desk.run()
    expect_rows(desk, "d_mean_grad_d_grad", [[0] * 3, [0] * 3, [1] * 3, [0] * 3])


def test_a_value_typed_into_a_port_can_be_differentiated_by(own_desk: Desk) -> None:
    desk = own_desk
    desk.page.keyboard.press("Space")
    desk.page.get_by_role("combobox", name="Find a block").fill("sparsesegmentmean")
    desk.page.keyboard.press("Enter")
    expect(desk.block("sparse_segment_mean")).to_be_visible()
    desk.checked()
    desk.page.keyboard.press("d")
    dialog = desk.dialog("Differentiate")
    expect(dialog).to_contain_text("the value in this port")
    dialog.get_by_role("button", name="Differentiate", exact=True).click()
    expect(dialog).to_be_hidden()
    gradient = desk.block("d_sparse_segment_mean_d_sparse_segment_mean_data")
    expect(gradient).to_contain_text("sparse_segment_mean.data")
    desk.checked()
    assert desk.run()["state"] == "done"
    expect(gradient).to_have_attribute("data-state", "done")


def parts_of(desk: Desk, block: str) -> Locator:
    return desk.page.get_by_role("region", name=f"Parts of {block}")


def test_a_gradient_opens_to_show_its_parts(own_desk: Desk) -> None:
    desk = own_desk
    desk.open_example("SparseSegmentMeanGrad")
    differentiate(desk, "mean_grad.output", "grad.output")
    desk.run()
    gradient = desk.block("d_mean_grad_d_grad")
    gradient.get_by_role("button", name="Parts of d_mean_grad_d_grad").click()
    parts = parts_of(desk, "d_mean_grad_d_grad").locator("[data-part]")
    expect(parts.first).to_be_visible()
    assert parts.count() > 1
    expect(parts.locator(".preview").first).to_be_visible()
    desk.button("Fold d_mean_grad_d_grad").click()
    expect(parts).to_have_count(0)


def test_the_lens_goes_through_a_gradient(own_desk: Desk) -> None:
    desk = own_desk
    desk.open_example("SparseSegmentMeanGrad")
    differentiate(desk, "mean_grad.output", "grad.output")
    desk.run()
    desk.block("d_mean_grad_d_grad").locator('tr[data-row="2"]').click()
    bar = desk.page.get_by_label("Row lens", exact=True)
    expect(bar).to_contain_text("Row 2 of d_mean_grad_d_grad")
    expect(bar).not_to_contain_text("gradients/")


WRITTEN_OUT = {
    "format": "gradbag-page/1",
    "nodes": {
        "x": {"op": "Const", "attrs": {"dtype": "float64", "value": [1, 2, 3]}},
        "y": {"op": "Square", "in": {"x": {"from": "x"}}},
        "y/grad/ones_like": {"op": "OnesLike", "in": {"x": {"from": "y"}}},
        "y/grad/mul": {"op": "Mul", "in": {"x": {"from": "x"}, "y": 2}},
        "y/grad/mul_2": {"op": "Mul", "in": {"x": {"from": "y/grad/mul"}, "y": {"from": "y/grad/ones_like"}}},
        "d_y_d_x": {"op": "Identity", "in": {"input": {"from": "y/grad/mul_2"}}},
    },
    "layout": {"x": [0, 0], "y": [260, 0], "d_y_d_x": [520, 0]},
}


def test_a_gradient_that_was_written_out_is_replaced_on_demand(own_desk: Desk, studio: Studio) -> None:
    desk = own_desk
    (studio.folder / "old.page.json").write_text(json.dumps(WRITTEN_OUT))
    desk.open_file("old.page.json")
    offer = desk.page.get_by_role("region", name="Gradients that were written out")
    expect(offer).to_contain_text("1 gradient of this page was written out once")
    before = desk.text()
    offer.get_by_role("button", name="Make it follow the page").click()
    expect(offer).to_have_count(0)
    expect(desk.blocks).to_have_count(3)
    assert json.loads(desk.text())["nodes"]["d_y_d_x"] == {
        "op": "Gradient",
        "in": {"of": {"from": "y"}, "by": {"from": "x"}},
    }
    desk.page.keyboard.press("Control+Z")
    desk.page.keyboard.press("f")  # what is out of view is not drawn
    expect(desk.blocks).to_have_count(6)
    assert desk.text() == before
    offer.get_by_role("button", name="Keep as is").click()
    expect(offer).to_have_count(0)
