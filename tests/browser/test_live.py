"""Live mode: a number of the seed's page is dragged, and everything that depends on it changes at once."""

import json
import statistics
import sys

from playwright.sync_api import expect

from .desk import Desk, numbers

# From the move of the mouse to the frame in which the last changed value is drawn.
WATCH = """() => {
    window.took = [];
    let moved = 0;
    window.addEventListener("pointermove", () => { moved = performance.now(); }, true);
    new MutationObserver(() => {
        if (!moved) return;
        const from = moved;
        requestAnimationFrame(() => setTimeout(() => window.took.push(performance.now() - from), 0));
    }).observe(document.querySelector('.block[data-node="mean_grad"] .block-values'),
        {subtree: true, characterData: true, childList: true});
}"""


def test_a_dragged_number_changes_everything_below_it(own_desk: Desk) -> None:
    desk = own_desk
    desk.open_example("SparseSegmentMeanGrad")
    desk.button("Live").click()
    expect(desk.button("Live")).to_have_attribute("aria-pressed", "true")
    desk.come_to_rest()
    before = desk.text()
    cell = desk.block("grad").locator('td[data-cell="2,0"]')
    expect(cell).to_be_visible()
    box = cell.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    desk.page.evaluate(WATCH)
    desk.page.mouse.move(x, y)
    desk.page.mouse.down()
    for step in range(1, 11):
        desk.page.mouse.move(x + 4 * step, y)
        desk.page.wait_for_timeout(120)
    expect(desk.block("mean_grad").locator(".delta").first).to_be_attached()
    desk.page.mouse.up()
    expect(desk.block("grad").locator('td[data-cell="2,0"]')).to_have_text("4")
    assert numbers(desk.rows("mean_grad"))[0][0] == round(4 / 3, 3)
    took = desk.page.evaluate("window.took")
    assert took
    sys.stdout.write(
        f"\nfrom the mouse to the last value: median {statistics.median(took):.0f} ms, most {max(took):.0f} ms\n"
    )
    desk.page.keyboard.press("Control+Z")  # the whole drag is one step
    assert json.loads(desk.text())["nodes"] == json.loads(before)["nodes"]
