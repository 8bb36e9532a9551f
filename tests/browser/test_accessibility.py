"""For everybody: axe finds nothing serious in any state or theme, and the keyboard's focus is seen and never lost."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from .conftest import Studio
from .desk import Desk

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
GRAVE = {"serious", "critical"}


def violations(desk: Desk) -> list[str]:
    """What axe holds against the page as it is, with the places."""
    desk.page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = desk.page.evaluate(
        "async () => (await axe.run(document, { preload: false, resultTypes: ['violations'] })).violations"
    )
    return [
        f"{one['id']}: {node['target']} {node['any'][0]['message'] if node['any'] else ''}"
        for one in found
        if one["impact"] in GRAVE
        for node in one["nodes"][:5]
    ]


# ---------------------------------------------------------------------- the states, each on top of the one before
def with_an_error(desk: Desk) -> None:
    desk.choose("dtype", "indices", "float32")
    expect(desk.block("mean_grad").get_by_role("note")).to_be_visible()
    desk.page.get_by_role("contentinfo").get_by_role("button").first.click()
    expect(desk.page.get_by_role("region", name="Problems")).to_be_visible()


def with_the_inspector(desk: Desk) -> None:
    desk.page.get_by_title("(Ctrl+Z)").click()
    desk.finished(desk.button("Run").click)
    desk.block("mean_grad").locator(".block-title").click()
    expect(desk.inspector.get_by_role("grid")).to_be_visible()


def with_the_grid_editor(desk: Desk) -> None:
    desk.open_grid("value", "grad")


def with_help(desk: Desk) -> None:
    desk.page.keyboard.press("Escape")
    desk.page.keyboard.press("F1")
    expect(desk.page.get_by_role("article")).to_have_attribute("aria-busy", "false")


def with_the_palette(desk: Desk) -> None:
    desk.page.mouse.dblclick(700, 80)
    desk.page.get_by_role("combobox", name="Find a block").fill("sum")


def with_the_keys(desk: Desk) -> None:
    desk.page.keyboard.press("Escape")
    desk.button("Keys").click()
    expect(desk.dialog("Keys")).to_be_visible()


def with_the_files(desk: Desk) -> None:
    desk.page.keyboard.press("Escape")
    desk.page.get_by_role("tab", name="Files").click()


def with_the_outline(desk: Desk) -> None:
    desk.page.get_by_role("tab", name="Outline").click()
    desk.page.get_by_role("tree").get_by_role("treeitem").first.click()


STATES: list[Callable[[Desk], None]] = [
    lambda desk: None,
    lambda desk: desk.open_example("SparseSegmentMeanGrad") and None,
    with_an_error,
    with_the_inspector,
    with_the_grid_editor,
    with_help,
    with_the_palette,
    with_the_keys,
    with_the_files,
    with_the_outline,
]
NAMES = ["empty", "results", "error", "inspector", "grid editor", "help", "palette", "keys", "files", "outline"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(shared_studio: Studio, open_desk: Callable[..., Desk], theme: str) -> None:
    desk = open_desk(shared_studio.address, color_scheme=theme)
    expect(desk.page.locator("html")).to_have_attribute("data-theme", theme)
    found: list[str] = []
    for name, reach in zip(NAMES, STATES, strict=True):
        reach(desk)
        found += [f"{name}: {violation}" for violation in violations(desk)]
    assert not found, "\n".join(found)


def test_axe_bites(desk: Desk) -> None:
    desk.page.evaluate("() => document.querySelector('main').append(document.createElement('button'))")
    assert any(violation.startswith("button-name") for violation in violations(desk))


# ---------------------------------------------------------------------- the keyboard's focus
UNSEEN = """() => {
    const at = document.activeElement;
    if (!at || at === document.body) return "nothing has the focus";
    const drawn = (element) => {
        const style = getComputedStyle(element);
        return (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
    };
    const width = (wire) => wire && getComputedStyle(wire).strokeWidth;
    const other = document.querySelector(".react-flow__edge:not(:focus, .selected) path.wire");
    // A field may show the focus at its frame; a wire grows wide.
    if (drawn(at) || drawn(at.parentElement)) return "";
    if (at.matches(".react-flow__edge") && width(at.querySelector("path.wire")) !== width(other)) return "";
    return at.outerHTML.slice(0, 200);
}"""


def test_the_focus_is_seen_at_every_stop(desk: Desk) -> None:
    desk.open_example("SparseSegmentMeanGrad")
    desk.page.keyboard.press("[")  # the list of blocks is long, and all its rows are alike
    desk.block("mean_grad").locator(".block-title").click()
    unseen, stops = [], set()
    for _ in range(90):
        desk.page.keyboard.press("Tab")
        why = desk.page.evaluate(UNSEEN)
        if why == "nothing has the focus":  # between the last stop and the first, the browser's own
            continue
        stops.add(desk.focused())
        if why:
            unseen.append(why)
    assert len(stops) > 25
    assert not unseen, "\n".join(sorted(set(unseen)))


def back_to(desk: Desk, opened: str) -> None:
    desk.page.keyboard.press("Escape")
    expect(desk.page.get_by_role("dialog")).to_have_count(0)
    assert desk.focused(), f"after {opened} nothing has the focus"


def test_the_focus_comes_back_from_dialogs(desk: Desk) -> None:
    desk.open_example("SparseSegmentMeanGrad")
    keys = desk.button("Keys")
    keys.focus()
    desk.page.keyboard.press("Enter")
    expect(desk.dialog("Keys")).to_be_visible()
    desk.page.keyboard.press("Escape")
    expect(keys).to_be_focused()

    desk.tab_to("Block grad")
    for key, title in (("F2", "Rename grad"), ("c", "Connect grad.output"), ("d", "Differentiate")):
        desk.page.keyboard.press(key)
        expect(desk.dialog(title)).to_be_visible()
        back_to(desk, title)
    desk.page.keyboard.press("Space")
    expect(desk.page.get_by_role("combobox", name="Find a block")).to_be_focused()
    back_to(desk, "the palette")


def test_the_focus_goes_to_a_block_that_was_added_by_keys(desk: Desk) -> None:
    desk.page.keyboard.press("Space")
    desk.page.keyboard.type("Neg")
    expect(desk.page.locator("#quick-0")).to_be_visible()
    desk.page.keyboard.press("Enter")
    expect(desk.block("neg")).to_be_visible()
    expect(desk.page.locator('.react-flow__node[data-id="n:neg"]')).to_be_focused()
