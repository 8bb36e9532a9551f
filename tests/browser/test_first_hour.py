"""What a new user meets in the first hour: places of new blocks, values that are taken along, views that stay."""

import io
import json
import re

import numpy as np
from playwright.sync_api import Locator, expect

from .conftest import Studio
from .desk import Desk

DATA = {"op": "Const", "attrs": {"dtype": "float32", "value": [[1, 2], [3, 4], [5, 6]]}}
MEAN = {"op": "SparseSegmentMean", "in": {"data": {"from": "table"}, "indices": [0, 2, 2], "segment_ids": [0, 0, 1]}}


def apart(one: Locator, other: Locator) -> bool:
    a, b = one.bounding_box(), other.bounding_box()
    assert a is not None
    assert b is not None
    return a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"] or not _overlap_down(a, b)


def _overlap_down(a: dict[str, float], b: dict[str, float]) -> bool:
    return a["y"] < b["y"] + b["height"] and b["y"] < a["y"] + a["height"]


def test_new_blocks_find_a_free_place(own_desk: Desk) -> None:
    desk = own_desk
    for op in ("Const", "SegmentSum", "Neg"):
        before = desk.blocks.count()
        desk.page.keyboard.press("Space")
        desk.page.get_by_role("combobox", name="Find a block").fill(op)
        desk.page.keyboard.press("Enter")
        expect(desk.blocks).to_have_count(before + 1)
    names = ["const", "segment_sum", "neg"]
    for place, name in enumerate(names):
        for other in names[:place]:
            assert apart(desk.block(name), desk.block(other)), (name, other)


def test_a_const_pulled_from_a_port_has_its_value_and_name(own_desk: Desk) -> None:
    desk = own_desk
    desk.add("SparseSegmentMeanGrad", (620, 260))
    desk.write("grad", "sparse_segment_mean_grad", "[[6.0, 3], [2, 4]]")
    desk.checked()
    dot = desk.dot("sparse_segment_mean_grad.grad", "input").bounding_box()
    assert dot is not None
    x, y = dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2
    desk.page.mouse.move(x, y)
    desk.page.mouse.down()
    desk.page.mouse.move(x - 120, y + 40, steps=6)
    desk.page.mouse.up()
    desk.page.get_by_role("combobox", name="Find a block").fill("Const")
    desk.page.get_by_role("listbox", name="Blocks").get_by_role("option").first.click()
    expect(desk.block("grad")).to_be_visible()
    nodes = json.loads(desk.text())["nodes"]
    assert nodes["grad"]["attrs"]["value"] == [[6, 3], [2, 4]]
    assert nodes["sparse_segment_mean_grad"]["in"]["grad"] == {"from": "grad"}


def test_a_page_without_places_is_laid_out_and_not_called_edited(own_desk: Desk, studio: Studio) -> None:
    desk = own_desk
    document = {"format": "gradbag-page/1", "nodes": {"table": DATA, "mean": MEAN}}
    (studio.folder / "bare.page.json").write_text(json.dumps(document))
    desk.open_file("bare.page.json")
    expect(desk.block("mean")).to_be_visible()
    desk.come_to_rest()
    assert apart(desk.block("table"), desk.block("mean"))
    expect(desk.page.locator(".save-mark")).to_have_count(0)
    expect(desk.page.get_by_label("Title of the page").first).to_have_attribute("placeholder", "bare")


def test_the_first_run_leaves_the_view_that_was_chosen_by_hand(own_desk: Desk) -> None:
    desk = own_desk
    desk.paste(nodes={"table": DATA, "mean": MEAN}, layout={"table": [0, 0], "mean": [300, 0]})
    desk.save_as("view")
    desk.page.reload()
    desk.ready()
    expect(desk.block("mean")).to_be_visible()
    desk.come_to_rest()
    desk.page.mouse.move(600, 560)
    desk.page.mouse.wheel(0, -300)
    desk.come_to_rest()
    before = desk.page.locator(".react-flow__viewport").get_attribute("style")
    desk.run()
    expect(desk.block("mean").locator(".preview")).to_be_visible()
    desk.come_to_rest()
    assert desk.page.locator(".react-flow__viewport").get_attribute("style") == before


def test_a_failure_is_not_told_of_a_page_that_was_corrected(own_desk: Desk) -> None:
    desk = own_desk
    desk.paste(nodes={"table": DATA, "mean": MEAN}, layout={"table": [0, 0], "mean": [300, 0]})
    desk.write("indices", "mean", "[0, 2, 7]")
    desk.checked()
    assert desk.run()["state"] == "failed"
    expect(desk.status).to_contain_text("failed")
    desk.write("indices", "mean", "[0, 2, 1]")
    expect(desk.status).not_to_contain_text("failed")


def test_data_is_dropped_on_the_canvas_and_on_a_port(own_desk: Desk) -> None:
    desk = own_desk
    desk.drop("ids.csv", b"id,weight\n3,0.5\n1,2\n")
    expect(desk.blocks).to_have_count(2)
    nodes = json.loads(desk.text())["nodes"]
    assert nodes["id"]["attrs"] == {"dtype": "int32", "value": [3, 1]}
    assert nodes["weight"]["attrs"] == {"dtype": "float32", "value": [0.5, 2]}
    file = io.BytesIO()
    np.save(file, np.arange(6.0).reshape(2, 3))
    desk.drop("table.npy", file.getvalue())
    expect(desk.block("table")).to_be_visible()
    desk.page.keyboard.press("Escape")
    desk.page.evaluate("navigator.clipboard.writeText('1\\t2\\n3\\t4.5')")
    desk.page.keyboard.press("Control+V")
    expect(desk.block("table_2")).to_be_visible()
    desk.checked()
    assert desk.run()["state"] == "done"
    assert json.loads(desk.text())["nodes"]["table_2"]["attrs"] == {"dtype": "float32", "value": [[1, 2], [3, 4.5]]}


def test_a_number_tells_why_it_is_this_number(own_desk: Desk) -> None:
    desk = own_desk
    weighted = {"of": {"from": "mean"}, "by": {"from": "table"}, "grad": [[1.5, 1], [1.5, 1]]}
    nodes = {"table": DATA, "mean": MEAN, "d": {"op": "Gradient", "in": weighted}}
    desk.paste(nodes=nodes, layout={"table": [0, 0], "mean": [300, 0], "d": [600, 0]})
    desk.page.keyboard.press("Escape")
    desk.run()
    desk.block("d").locator('tr[data-row="2"] td').first.click()
    why = desk.page.get_by_role("region", name="Why this number")
    expect(why).to_contain_text(re.compile(r"2\.25\s*=\s*1\.5·1\s*\+\s*1\.5·½"))
    why.get_by_role("button", name="Check by finite differences").click()
    expect(why.get_by_label("Check by finite differences").last).to_contain_text(
        re.compile("✓ gradient 2.25, difference 2.2")
    )
    desk.block("mean").locator('tr[data-row="0"] td').nth(1).click()
    expect(why).to_contain_text("4 = 6·½ + 2·½")
    why.get_by_role("button", name="6·½").hover()
    expect(desk.block("table").locator('td[data-source="true"]')).to_have_text("6")


def test_everything_is_within_reach_at_720_pixels(own_desk: Desk) -> None:
    desk = own_desk
    desk.page.set_viewport_size({"width": 720, "height": 700})
    for thing in (desk.button("Run"), desk.button("Export"), desk.page.get_by_label("How many times to loop")):
        box = thing.bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= 720 - box["width"]
