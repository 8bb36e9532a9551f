"""The studio in a real Chromium, with a real server on a folder of its own."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
SIZE = {"width": 1280, "height": 720}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    for item in items:
        if folder in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = os.environ.get("GRADBAG_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.fail(f"no browser: install chromium, or name one in GRADBAG_BROWSER; looked for {', '.join(BROWSERS)}")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


@dataclass
class Studio:
    """A running studio: its folder, and the address with the token that opens it."""

    folder: Path
    address: str
    process: subprocess.Popen[str]

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


def start(folder: Path, state: Path) -> Studio:
    command = [sys.executable, "-m", "gradbag", "studio", str(folder), "--no-browser", "--port", "0"]
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"http://\S+#token=\S+", line)
        if found:
            return Studio(folder, found.group(), process)
    raise AssertionError(f"the studio ended with status {process.wait()} before it printed its address")


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    folder = tmp_path / "pages"
    folder.mkdir()
    started = start(folder, tmp_path / "state")
    yield started
    if started.process.poll() is None:
        started.stop()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages in windows of their own; a test fails when one of them met an error that nobody handled."""
    problems: list[str] = []
    contexts = []

    def heard(message: ConsoleMessage) -> None:
        # What the browser itself says of an answer that the page expects and handles.
        if message.type == "error" and "Failed to load resource" not in message.text:
            problems.append(message.text)

    def failed(error: Error) -> None:
        problems.append(f"{error.message}\n{error.stack}")

    def opened(address: str, **options: Any) -> Page:
        context = browser.new_context(**{"viewport": SIZE, "color_scheme": "light", **options})
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        contexts.append(context)
        page = context.new_page()
        page.on("console", heard)
        page.on("pageerror", failed)
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not problems, "\n".join(problems)


@pytest.fixture
def page(studio: Studio, open_page: Callable[..., Page]) -> Page:
    return open_page(studio.address)
