"""Gradients as blocks, and the row lens along the wires."""

import json
import re

import pytest
from playwright.sync_api import expect

from .desk import Desk, numbers

TABLE = {"op": "Const", "attrs": {"dtype": "float64", "value": [[1, 2], [3, 4], [5, 6]]}}
PLACES = {"op": "Const", "attrs": {"dtype": "int32", "value": [0, 2, 2]}}
MEAN = {
    "op": "SparseSegmentMean",
    "in": {"data": {"from": "table"}, "indices": {"from": "places"}, "segment_ids": [0, 0, 1]},
}
LIT = re.compile(r"\blit\b")


@pytest.fixture
def mean(desk: Desk) -> Desk:
    """Rows 0 and 2 of a table are averaged into one row, row 2 alone into another."""
    desk.paste(
        nodes={"table": TABLE, "places": PLACES, "mean": MEAN},
        layout={"table": [0, 0], "places": [0, 240], "mean": [300, 60]},
    )
    return desk


def test_differentiate_adds_one_gradient_that_runs(mean: Desk) -> None:
    before = mean.text()
    mean.page.keyboard.press("Escape")
    mean.button("Differentiate").click()
    dialog = mean.dialog("Differentiate")
    dialog.get_by_label("Gradient of").select_option("mean.output")
    dialog.get_by_role("checkbox", name="table.output").check()
    refused = dialog.get_by_role("checkbox", name="places.output")
    expect(refused).to_be_disabled()
    expect(dialog).to_contain_text("is int32, which has no derivative")
    dialog.get_by_role("button", name="Differentiate", exact=True).click()
    expect(dialog).to_be_hidden()
    expect(mean.block("d_mean_d_table")).to_be_visible()
    nodes, ports = json.loads(before)["nodes"], {"of": {"from": "mean"}, "by": {"from": "table"}}
    assert json.loads(mean.text())["nodes"] == {**nodes, "d_mean_d_table": {"op": "Gradient", "in": ports}}
    mean.checked()
    ended = mean.run()
    assert ended["state"] == "done"
    assert numbers(mean.rows("d_mean_d_table")) == [[0.5, 0.5], [0, 0], [1.5, 1.5]]
    mean.page.keyboard.press("Control+Z")
    expect(mean.block("d_mean_d_table")).to_have_count(0)
    assert mean.text() == before


def lit_rows(desk: Desk, block: str) -> list[str]:
    return desk.block(block).locator("[data-row][data-lit]").evaluate_all("all => all.map(one => one.dataset.row)")


def test_the_lens_lights_the_rows_that_feed_a_row(mean: Desk) -> None:
    mean.run()
    mean.block("mean").locator('tr[data-row="0"]').click()
    bar = mean.page.get_by_label("Row lens", exact=True)
    expect(bar).to_contain_text("Row 0 of mean")
    expect(bar).to_contain_text("rows 0 and 2 of table")
    expect(mean.block("table")).to_have_class(LIT)
    assert lit_rows(mean, "table") == ["0", "2"]
    assert lit_rows(mean, "mean") == ["0"]
    expect(mean.page.locator("path.wire.lit")).to_have_count(2)
    mean.page.keyboard.press("ArrowDown")
    expect(bar).to_contain_text("Row 1 of mean")
    expect(bar).to_contain_text("row 2 of table")
    assert lit_rows(mean, "table") == ["2"]
    mean.page.keyboard.press("Escape")
    expect(bar).to_have_count(0)
    expect(mean.page.locator("path.wire.lit, [data-lit]")).to_have_count(0)


def test_the_lens_shows_what_a_row_feeds(mean: Desk) -> None:
    mean.run()
    mean.block("table").locator('tr[data-row="2"]').click()
    bar = mean.page.get_by_label("Row lens", exact=True)
    expect(bar).to_contain_text("rows 0 and 1 of mean")
    assert lit_rows(mean, "mean") == ["0", "1"]
    mean.page.keyboard.press("ArrowUp")
    expect(bar).to_contain_text("Row 1 of table: nothing feeds it, and it feeds nothing")
    assert lit_rows(mean, "mean") == []
    bar.get_by_role("button", name="Close the row lens").click()
    expect(bar).to_have_count(0)
