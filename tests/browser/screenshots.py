"""The pictures of the studio in its documentation: `python tests/browser/screenshots.py` writes docs/studio/*.png."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, expect, sync_playwright

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.browser.conftest import PATIENCE, SIZE, launched, start  # noqa: E402
from tests.browser.desk import Desk  # noqa: E402
from tests.browser.test_gradients import MEAN, PLACES, TABLE  # noqa: E402
from tests.browser.test_large_pages import large_page  # noqa: E402

PICTURES = ROOT / "docs" / "studio"
SEED = "SparseSegmentMeanGrad"
# Times and places that are another on each machine.
SETTLE = """() => {
    const write = (selector, change) => document.querySelectorAll(selector).forEach((one) => {
        const text = change(one.textContent);
        if (text !== one.textContent) one.textContent = text;
    });
    write(".badge.done", () => "0.1 ms");
    write(".run-text", (text) => text.replace(/, [\\d.,]+ \\S+$/, ", 5 ms"));
    write(".status .folder", () => "~/pages");
    if (!document.querySelector("dialog[open], .quick")) document.activeElement?.blur?.();
}"""


# ---------------------------------------------------------------------- what is on them
def empty(desk: Desk) -> None:
    expect(desk.page.get_by_role("region", name="An empty page").get_by_role("listitem").first).to_be_visible()
    desk.checked()


def seed_page(desk: Desk) -> None:
    desk.open_example(SEED)
    desk.rows("mean_grad")
    desk.button("Fit the page").click()


def pooled(desk: Desk) -> None:
    """A table whose rows are averaged."""
    desk.paste(
        nodes={"table": TABLE, "places": PLACES, "mean": MEAN},
        layout={"table": [0, 0], "places": [0, 240], "mean": [300, 60]},
    )
    desk.page.keyboard.press("Escape")


def gradient(desk: Desk) -> None:
    pooled(desk)
    desk.button("Differentiate").click()
    dialog = desk.dialog("Differentiate")
    dialog.get_by_role("checkbox", name="table.output").check()
    dialog.get_by_role("button", name="Differentiate", exact=True).click()
    expect(dialog).to_be_hidden()
    desk.checked()
    desk.run()
    desk.page.keyboard.press("Escape")
    desk.button("Fit the page").click()
    expect(desk.page.locator(".save-mark")).to_have_text("edited, kept safe")


def lens(desk: Desk) -> None:
    pooled(desk)
    desk.run()
    expect(desk.page.locator(".save-mark")).to_have_text("edited, kept safe")
    desk.block("mean").locator('tr[data-row="0"]').click()
    expect(desk.page.get_by_label("Row lens", exact=True)).to_contain_text("rows 0 and 2 of table")


def error(desk: Desk) -> None:
    desk.open_example(SEED)
    desk.choose("dtype", "indices", "float32")
    expect(desk.block("mean_grad").get_by_role("note")).to_be_visible()
    expect(desk.page.locator(".save-mark")).to_have_text("edited, kept safe")
    desk.page.keyboard.press("Escape")
    desk.button("Fit the page").click()


def grid_editor(desk: Desk) -> None:
    seed_page(desk)
    desk.open_grid("value", "grad")


def inspector(desk: Desk) -> None:
    seed_page(desk)
    desk.block("mean_grad").locator(".block-title").click()
    expect(desk.inspector.get_by_role("grid")).to_be_visible()


def palette(desk: Desk) -> None:
    desk.page.mouse.dblclick(420, 120)
    desk.page.get_by_role("combobox", name="Find a block").fill("segment mean")
    expect(desk.page.locator("#quick-0")).to_be_visible()


def large(desk: Desk) -> None:
    desk.drop("large.page.json", large_page(300).encode())
    expect(desk.status).to_contain_text("300 blocks")
    desk.checked()
    desk.page.keyboard.press("f")
    expect(desk.block("n299")).to_be_visible()


DRAWN: list[Callable[[Desk], None]] = [
    empty,
    seed_page,
    gradient,
    lens,
    error,
    grid_editor,
    inspector,
    palette,
    large,
]


# ---------------------------------------------------------------------- taking them
def take(browser: Browser, address: str, draw: Callable[[Desk], None], theme: str, name: str) -> None:
    context = browser.new_context(
        viewport=SIZE, device_scale_factor=1, color_scheme=theme, reduced_motion="reduce", locale="en-GB"
    )
    context.set_default_timeout(PATIENCE)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    desk = Desk(context.new_page())
    desk.page.goto(address)
    draw(desk.ready())
    desk.page.mouse.move(640, 700)  # over nothing that changes
    desk.page.wait_for_function("() => document.getAnimations().every((one) => one.playState !== 'running')")
    desk.come_to_rest()
    desk.page.evaluate(SETTLE)
    desk.page.screenshot(path=PICTURES / f"{name}.png", animations="disabled", caret="hide")
    context.close()


def main() -> None:
    expect.set_options(timeout=PATIENCE)
    PICTURES.mkdir(parents=True, exist_ok=True)
    chosen = set(sys.argv[1:])
    wanted = [(draw, "light", draw.__name__) for draw in DRAWN] + [(seed_page, "dark", "seed_page_dark")]
    with sync_playwright() as playwright:
        browser = launched(playwright)
        for draw, theme, name in wanted:
            if chosen and name not in chosen:
                continue
            # A server each: what one has computed would be cached on the next picture.
            with tempfile.TemporaryDirectory() as base:
                folder = Path(base) / "pages"
                folder.mkdir()
                studio = start(folder, Path(base) / "state")
                try:
                    take(browser, f"{studio.address}&page=", draw, theme, name)
                finally:
                    studio.stop()
        browser.close()


if __name__ == "__main__":
    main()
