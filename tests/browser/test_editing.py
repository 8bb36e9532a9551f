"""Tensors in the grid, blocks through the clipboard."""

import json

from playwright.sync_api import expect

from .desk import Desk

CONST = {"op": "Const", "attrs": {"dtype": "float64", "value": [[1, 2], [3, 4]]}}
TWICE = {"op": "AddV2", "in": {"x": {"from": "one"}, "y": {"from": "one"}}}


def pasted_into_the_grid(desk: Desk, text: str) -> str:
    """What the field shows after a text was pasted into the grid and taken over."""
    dialog = desk.open_grid("value", "one")
    desk.page.evaluate("text => navigator.clipboard.writeText(text)", text)
    desk.page.keyboard.press("Control+A")
    desk.page.keyboard.press("Control+V")
    desk.page.keyboard.press("Control+Enter")
    expect(dialog).to_be_hidden()
    return desk.field("value", "one").input_value()


def test_the_grid_takes_what_spreadsheets_python_and_braces_hold(desk: Desk) -> None:
    desk.paste(nodes={"one": CONST}, layout={"one": [0, 0]})
    assert pasted_into_the_grid(desk, "5\t6\n7\t8\n") == "[[5, 6], [7, 8]]"
    assert pasted_into_the_grid(desk, "{{1,2},{3,4}}") == "[[1, 2], [3, 4]]"
    assert pasted_into_the_grid(desk, "[[0.5, nan], [-inf, 1e-3]]") == "[[0.5, nan], [-inf, 0.001]]"
    desk.page.get_by_title("(Ctrl+Z)").click()
    expect(desk.field("value", "one")).to_have_value("[[1, 2], [3, 4]]")


def test_a_cell_is_typed_and_escape_leaves_it_all(desk: Desk) -> None:
    desk.paste(nodes={"one": CONST}, layout={"one": [0, 0]})
    dialog = desk.open_grid("value", "one")
    desk.page.keyboard.press("ArrowDown")
    desk.page.keyboard.type("9")
    desk.page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Done").click()
    expect(desk.field("value", "one")).to_have_value("[[1, 2], [9, 4]]")


def test_blocks_go_through_the_clipboard_as_text(desk: Desk) -> None:
    desk.paste(nodes={"one": CONST, "twice": TWICE}, layout={"one": [0, 0], "twice": [260, 0]})
    before = desk.text()
    desk.page.keyboard.press("Control+A")
    desk.page.keyboard.press("Control+C")
    copied = json.loads(desk.page.evaluate("() => navigator.clipboard.readText()"))
    assert set(copied["nodes"]) == {"one", "twice"}
    desk.page.keyboard.press("Control+V")
    expect(desk.block("twice_2")).to_be_visible()
    nodes = json.loads(desk.text())["nodes"]
    assert nodes["twice_2"]["in"] == {"x": {"from": "one_2"}, "y": {"from": "one_2"}}
    desk.page.keyboard.press("Control+Z")
    expect(desk.blocks).to_have_count(2)
    assert desk.text() == before
    desk.page.evaluate("() => navigator.clipboard.writeText('no blocks at all')")
    desk.page.keyboard.press("Control+V")
    expect(desk.toasts).to_contain_text("The clipboard holds neither blocks")
    assert desk.text() == before


def test_a_search_stays_open_though_the_last_block_is_drawn_late(desk: Desk) -> None:
    """A new block gets the focus in the next frame; who has opened another search by then keeps it."""
    desk.page.evaluate(
        """() => {
            const soon = window.requestAnimationFrame.bind(window);
            window.requestAnimationFrame = (draw) => soon(() => setTimeout(() => draw(performance.now()), 500));
        }"""
    )
    desk.add("Neg", (320, 120))
    desk.page.mouse.dblclick(620, 120)
    search = desk.page.get_by_role("combobox", name="Find a block")
    expect(search).to_be_focused()
    desk.page.wait_for_timeout(1000)
    expect(search).to_be_focused()
