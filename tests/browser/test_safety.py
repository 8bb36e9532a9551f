"""Text from a page is shown as text, and the browser holds the page to its policy."""

import json
import re

from playwright.sync_api import Page, expect

from .conftest import Studio, Watch
from .desk import Desk

EVIL = "<img src=x onerror=alert(1)>"


def hostile_page() -> bytes:
    nodes = {
        "words": {"op": "Const", "attrs": {"dtype": "string", "value": [EVIL, "<script>alert(2)</script>"]}},
        "unknown": {"op": EVIL, "in": {EVIL: 1}},
        "broken": {"op": "Neg", "in": {"x": {"from": EVIL}}},
    }
    return json.dumps(
        {
            "format": "gradbag-page/1",
            "title": EVIL,
            "nodes": nodes,
            "layout": {"words": [0, 0], "unknown": [300, 0], "broken": [300, 200]},
            "groups": {EVIL: {"title": EVIL, "nodes": ["words"]}},
            "notes": {EVIL: {"text": EVIL, "at": [0, 300], "size": [220, 90]}},
        }
    ).encode()


def assert_only_text(page: Page) -> None:
    expect(page.locator("img, script:not([src])")).to_have_count(0)


def test_markup_in_a_page_is_shown_as_text(own_desk: Desk, studio: Studio) -> None:
    desk, page = own_desk, own_desk.page
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    (studio.folder / "evil.page.json").write_bytes(hostile_page())
    desk.page.keyboard.press("Control+O")
    desk.open_file("evil.page.json")
    expect(desk.page.get_by_role("banner").get_by_label("Title of the page")).to_have_value(EVIL)
    expect(page).to_have_title(f"{EVIL} · gradbag studio")
    expect(desk.block("unknown")).to_contain_text(EVIL)
    expect(page.get_by_role("tabpanel").get_by_text(EVIL)).to_be_visible()
    assert_only_text(page)
    desk.checked()
    desk.button("Run").click()
    desk.finished(desk.dialog("Run this page?").get_by_role("button", name="Run it").click)
    expect(desk.block("words")).to_contain_text("<img src=x")
    for name in ("words", "unknown", "broken"):
        desk.block(name).locator(".block-title").click()
        expect(desk.inspector.get_by_label(f"Name of {name}")).to_be_visible()
        assert_only_text(page)
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    expect(page.get_by_role("region", name="Problems")).to_contain_text(EVIL)
    assert_only_text(page)
    assert asked == []


def test_a_name_that_is_no_name_is_refused_in_words(desk: Desk) -> None:
    desk.paste(nodes={"five": {"op": "Fill", "in": {"dims": [2], "value": 5}}}, layout={"five": [0, 0]})
    desk.page.keyboard.press("F2")
    dialog = desk.dialog("Rename five")
    dialog.get_by_role("textbox").fill(EVIL)
    expect(dialog.get_by_role("button", name="Rename", exact=True)).to_be_disabled()
    expect(dialog.get_by_role("status")).to_have_text(re.compile(r"\w+"))
    desk.page.keyboard.press("Escape")
    expect(desk.block("five")).to_be_visible()


def test_an_exported_picture_is_only_a_picture(own_desk: Desk) -> None:
    """Opened on its own, where no policy of the studio protects anybody."""
    own_desk.bring("evil.page.json", hostile_page())
    expect(own_desk.block("unknown")).to_be_visible()
    _, picture = own_desk.exported("SVG picture")
    page = own_desk.page.context.new_page()
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.set_content(f"<!doctype html>{picture.decode()}")
    expect(page.locator("svg").first).to_be_visible()
    assert_only_text(page)
    expect(page.locator("svg")).to_contain_text(EVIL)
    assert asked == []


def test_the_watch_bites(desk: Desk, watch: Watch) -> None:
    """What every other test relies on: a breach of the policy is heard, and so is a request to elsewhere."""
    with desk.page.expect_console_message(lambda message: "refused by the policy" in message.text):
        desk.page.evaluate("() => { new Image().src = 'http://192.0.2.1/x.png'; }")
    assert any("img-src" in problem for problem in watch.problems)
    watch.problems.clear()


def test_the_token_leaves_the_address_and_no_key_means_no_studio(desk: Desk, studio: Studio) -> None:
    assert "token" not in desk.page.url
    stranger = desk.page.context.new_page()
    stranger.goto(studio.origin)  # another studio, whose token this window does not have
    expect(stranger.get_by_role("main")).to_contain_text("This tab has no key to the studio")
