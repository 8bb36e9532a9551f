"""Reading a page: notes that lead to rows, what is seen from afar, commands under the right mouse button, layouts."""

import json
import re

from playwright.sync_api import expect

from .conftest import Studio
from .desk import Desk
from .test_first_hour import DATA, MEAN, apart

GRADIENT = {"op": "Gradient", "in": {"of": {"from": "mean"}, "by": {"from": "table"}}}


def test_notes_are_set_as_markdown_and_lead_to_a_row(desk: Desk) -> None:
    desk.open_example("What a mean does to a gradient")
    note = desk.page.locator(".note")
    expect(note.locator(".note-line-heading")).to_have_text("What a mean does to a gradient")
    expect(note.locator(".formula sub").first).to_have_text("0")
    note.get_by_role("button", name="row 2 of the gradient").click()
    expect(desk.page.locator(".lens-bar")).to_contain_text("table_grad")
    expect(desk.block("table_grad").locator("tr[data-row='2']")).to_have_attribute("data-lit", "true")
    desk.page.keyboard.press("f")
    desk.come_to_rest()
    # Written in again, and shown as what was written.
    note.dblclick(position={"x": 10, "y": 4})
    field = note.get_by_label("Text of the note")
    field.fill("now **this** <b>only</b>")
    field.blur()
    expect(note.locator(".note-text b")).to_have_text("this")
    expect(note.locator(".note-text")).to_contain_text("<b>only</b>")


def test_half_way_a_block_says_what_it_is_and_what_it_holds(desk: Desk) -> None:
    nodes = {"table": DATA, "model/first/mean": MEAN}
    desk.paste(nodes=nodes, layout={"table": [0, 0], "model/first/mean": [300, 0]})
    desk.run()
    for _ in range(6):
        if desk.block("table").locator(".far-op").count():
            break
        desk.page.keyboard.press("-")
        desk.come_to_rest()
    block = desk.block("model/first/mean")
    expect(block.locator(".far-title")).to_have_text("mean")
    expect(block.locator(".far-op")).to_have_text("SparseSegmentMean")
    expect(block.locator(".far-shape")).to_have_text("[2, 2]")
    expect(block.locator(".strip rect")).to_have_count(4)


def test_the_right_mouse_button_offers_commands(desk: Desk) -> None:
    desk.paste(nodes={"table": DATA, "mean": MEAN}, layout={"table": [0, 0], "mean": [300, 0]})
    desk.block("mean").locator(".block-title").click(button="right")
    menu = desk.page.get_by_role("menu", name="Commands for mean")
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    desk.finished(menu.get_by_role("menuitem", name=re.compile("^Run up to here")).click)
    expect(menu).to_have_count(0)
    expect(desk.block("mean")).to_have_attribute("data-state", re.compile("done|cached"))
    desk.block("table").locator(".block-title").click(button="right")
    desk.page.get_by_role("menuitem", name=re.compile("^Delete")).click()
    expect(desk.block("table")).to_have_count(0)
    box = desk.page.locator(".canvas").bounding_box()
    assert box is not None
    desk.page.mouse.click(box["x"] + box["width"] - 60, box["y"] + 60, button="right")
    expect(desk.page.get_by_role("menu", name="Commands for the page")).to_be_visible()
    desk.page.keyboard.press("Escape")
    expect(desk.page.get_by_role("menu")).to_have_count(0)


def test_a_gradient_is_laid_out_under_what_it_is_taken_of(own_desk: Desk, studio: Studio) -> None:
    desk = own_desk
    document = {"format": "gradbag-page/1", "nodes": {"table": DATA, "mean": MEAN, "d": GRADIENT}}
    (studio.folder / "bare.page.json").write_text(json.dumps(document))
    desk.open_file("bare.page.json")
    desk.come_to_rest()
    boxes = {name: desk.block(name).bounding_box() for name in document["nodes"]}
    assert all(boxes.values())
    assert boxes["d"]["y"] > boxes["mean"]["y"] + boxes["mean"]["height"]
    assert apart(desk.block("d"), desk.block("table"))
