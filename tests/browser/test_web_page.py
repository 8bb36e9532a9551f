"""A page exported as one file, opened from the file system: no server, no request, values and lens all the same."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from gradbag.studio.files import EXAMPLES

from .conftest import PATIENCE, REPORT
from .desk import Desk, numbers


@pytest.fixture
def open_file(browser: Browser) -> Iterator[Callable[[Path], Page]]:
    """Opens a file in a tab that has no network; what it says on the console, or asks for, fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 720}, color_scheme="light", offline=True)
    context.set_default_timeout(PATIENCE)
    context.add_init_script(REPORT)
    wrong: list[str] = []
    context.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    context.on("request", lambda asked: None if asked.url.startswith("file://") else wrong.append(asked.url))

    def opened(path: Path) -> Page:
        page = context.new_page()
        page.goto(path.as_uri())
        return page

    yield opened
    context.close()
    assert not wrong


def exported(name: str, folder: Path) -> Path:
    target = folder / f"{name}.html"
    arguments = ["export", str(EXAMPLES / f"{name}.page.json"), "--to", "html", "--out", str(target)]
    subprocess.run([sys.executable, "-m", "gradbag", *arguments], check=True)
    return target


def test_the_seed_page_from_a_file(open_file: Callable[[Path], Page], tmp_path: Path) -> None:
    page = open_file(exported("sparse_segment_mean_grad", tmp_path))
    block = page.locator('.block[data-node="mean_grad"]')
    expect(block.locator("table")).to_be_visible()
    rows = [row.locator("td").all_inner_texts() for row in block.locator("table tr").all()]
    shown = numbers([cells for cells in rows if cells])
    assert [[round(n, 3) for n in row[-3:]] for row in shown] == [[1.0, 0.333, 1.667]] * 3
    block.locator("table td").last.click()
    lens = page.get_by_role("region", name="Row lens")
    expect(lens).to_contain_text("grad")
    page.screenshot(path=str(tmp_path / "web_page.png"))
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("log", name="Messages")).to_contain_text("This is a page for reading")


def test_a_training_brings_its_curve(open_file: Callable[[Path], Page], tmp_path: Path) -> None:
    page = open_file(exported("sparse_logistic_regression", tmp_path))
    expect(page.get_by_label("Value in this round")).to_have_text("round 200: 0.0097505")


def test_the_studio_exports_it(own_desk: Desk, open_file: Callable[[Path], Page], tmp_path: Path) -> None:
    own_desk.paste(
        nodes={
            "x": {"op": "Const", "attrs": {"dtype": "float64", "value": [1.5, -2]}},
            "minus": {"op": "Neg", "in": {"x": {"from": "x"}}},
        }
    )
    own_desk.button("Export").click()
    with own_desk.page.expect_download() as download:
        own_desk.page.get_by_role("menuitem", name="Web page").click()
    target = tmp_path / "taken.html"
    download.value.save_as(target)
    page = open_file(target)
    expect(page.locator('.block[data-node="minus"]')).to_contain_text("-1.5")
