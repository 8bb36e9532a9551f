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
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Playwright,
    Request,
    expect,
    sync_playwright,
)

from .desk import Desk

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
SIZE = {"width": 1280, "height": 720}
# Milliseconds; more on a machine that has many other things to do.
PATIENCE = int(os.environ.get("GRADBAG_PATIENCE", "15000"))
# Said on the console, where the tests hear it.
REPORT = """addEventListener("securitypolicyviolation", (event) =>
    console.error(`refused by the policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));"""


def pytest_configure(config: pytest.Config) -> None:
    expect.set_options(timeout=PATIENCE)
    config.addinivalue_line("markers", "browser: drives the studio in a real browser, which must be installed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    for item in items:
        if folder in item.path.parents:
            item.add_marker(pytest.mark.browser)


# ---------------------------------------------------------------------- the browser
def launched(playwright: Playwright) -> Browser:
    path = os.environ.get("GRADBAG_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.fail(f"no browser: install chromium, or name one in GRADBAG_BROWSER; looked for {', '.join(BROWSERS)}")
    return playwright.chromium.launch(executable_path=path, args=FLAGS)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = launched(playwright)
        yield found
        found.close()


# ---------------------------------------------------------------------- the server
@dataclass
class Studio:
    """A running studio: its folder, and the address with the token that opens it."""

    folder: Path
    address: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        found = re.search(r":(\d+)/", self.address)
        assert found is not None
        return int(found[1])

    @property
    def origin(self) -> str:
        return self.address.partition("#")[0]

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self._end()

    def kill(self) -> None:
        self.process.kill()
        self._end()

    def _end(self) -> None:
        assert self.process.stdout is not None
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.process.stdout.close()


def start(folder: Path, state: Path, port: int = 0) -> Studio:
    command = [sys.executable, "-m", "gradbag", "studio", str(folder), "--no-browser", "--port", str(port)]
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    for line in process.stdout:
        found = re.search(r"http://\S+#token=\S+", line)
        if found:
            return Studio(folder, found.group(), process)
    raise AssertionError(f"the studio ended with status {process.wait()} before it printed its address")


@pytest.fixture(scope="session")
def shared_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """For tests that leave nothing behind but values in its cache."""
    base = tmp_path_factory.mktemp("studio")
    (base / "pages").mkdir()
    studio = start(base / "pages", base / "state")
    yield studio
    studio.stop()


@pytest.fixture
def start_studio(tmp_path: Path) -> Iterator[Callable[..., Studio]]:
    """Servers, one after the other, on the same folder."""
    folder = tmp_path / "pages"
    folder.mkdir()
    started: list[Studio] = []

    def begin(port: int = 0) -> Studio:
        started.append(start(folder, tmp_path / "state", port))
        return started[-1]

    yield begin
    for studio in started:
        if studio.process.poll() is None:
            studio.stop()


@pytest.fixture
def studio(start_studio: Callable[..., Studio]) -> Studio:
    return start_studio()


# ---------------------------------------------------------------------- tabs
class Watch:
    """What must not happen in any tab: an error nobody handled, a breach of the policy, a request to elsewhere."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def over(self, context: BrowserContext) -> None:
        context.add_init_script(REPORT)
        context.on("request", self._asked)
        context.on("console", self._heard)
        context.on("weberror", lambda error: self._failed(error.error))

    def _heard(self, message: ConsoleMessage) -> None:
        # "Failed to load resource", "WebSocket connection": what the browser says of answers that the page handles.
        expected = ("Failed to load resource", "WebSocket connection to")
        if message.type == "error" and not message.text.startswith(expected):
            self.problems.append(message.text)

    def _failed(self, error: Error) -> None:
        self.problems.append(f"{error.message}\n{error.stack}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "blob:", "data:")):
            self.problems.append(f"asked {request.url}")


@pytest.fixture
def watch() -> Iterator[Watch]:
    found = Watch()
    yield found
    assert not found.problems, "\n".join(found.problems)


@pytest.fixture
def open_desk(browser: Browser, watch: Watch) -> Iterator[Callable[..., Desk]]:
    """Opens the studio in a window of its own; `beside` opens it in another tab of a window instead.

    It begins with an empty page: without "page=" a first visit shows an example.
    """
    contexts: list[BrowserContext] = []

    def opened(address: str, *, beside: Desk | None = None, **options: Any) -> Desk:
        if beside is None:
            settings = {"viewport": SIZE, "color_scheme": "light", "reduced_motion": "reduce", **options}
            context = browser.new_context(**settings)
            context.set_default_timeout(PATIENCE)
            context.grant_permissions(["clipboard-read", "clipboard-write"])
            watch.over(context)
            contexts.append(context)
        else:
            context = beside.page.context
        desk = Desk(context.new_page())
        desk.page.goto(f"{address}&page=" if "#token=" in address and "&" not in address else address)
        return desk.ready()

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def desk(shared_studio: Studio, open_desk: Callable[..., Desk]) -> Desk:
    """A tab with an empty page."""
    return open_desk(shared_studio.address)


@pytest.fixture
def own_desk(studio: Studio, open_desk: Callable[..., Desk]) -> Desk:
    """The same, with a folder and a cache that nobody has used."""
    return open_desk(studio.address)
