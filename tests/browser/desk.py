"""What a person does at the studio's page, and what they read there."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Download, FileChooser, Locator, Page, Response, WebSocket, expect

Point = tuple[float, float]
DIGITS = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")

AT_REST = """() => {
    const now = document.querySelector(".react-flow__viewport").style.transform;
    if (window.seen !== now) [window.seen, window.since] = [now, performance.now()];
    return performance.now() - window.since > 200;
}"""


class Desk:
    """A tab of the studio."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._sockets: list[WebSocket] = []
        page.on("websocket", lambda socket: self._sockets.append(socket))

    # ------------------------------------------------------------------ finding
    def block(self, name: str) -> Locator:
        return self.page.locator(f'.block[data-node="{name}"]')

    @property
    def blocks(self) -> Locator:
        return self.page.locator(".block[data-node]")

    def dot(self, place: str, side: str) -> Locator:
        return self.page.locator(f'[data-port="{place}"][data-side="{side}"]')

    def button(self, name: str | re.Pattern[str]) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def field(self, port: str, block: str) -> Locator:
        """The field of a port or of a setting, in the block."""
        return self.block(block).get_by_label(f"{port} of {block}", exact=True)

    def dialog(self, title: str | re.Pattern[str]) -> Locator:
        return self.page.get_by_role("dialog", name=title)

    @property
    def inspector(self) -> Locator:
        return self.page.get_by_role("complementary", name="Inspector")

    @property
    def toasts(self) -> Locator:
        return self.page.get_by_role("log", name="Messages")

    @property
    def status(self) -> Locator:
        return self.page.get_by_role("contentinfo")

    def ready(self) -> "Desk":
        expect(self.status).to_contain_text("connected")
        expect(self.page.get_by_role("searchbox", name="Search blocks")).to_be_visible()
        return self

    # ------------------------------------------------------------------ editing, by mouse
    def add(self, op: str, at: Point) -> None:
        """Double-click a free place of the canvas, say what is wanted, and click on it."""
        before = self.blocks.count()
        self.page.mouse.dblclick(*at)
        self.page.get_by_role("combobox", name="Find a block").fill(op)
        self.page.get_by_role("listbox", name="Blocks").get_by_role("option").first.click()
        expect(self.blocks).to_have_count(before + 1)

    def write(self, port: str, block: str, text: str) -> None:
        field = self.field(port, block)
        field.fill(text)
        field.press("Enter")

    def open_grid(self, port: str, block: str) -> Locator:
        """Its button is there while the field has the focus, or the mouse."""
        self.field(port, block).focus()
        self.block(block).get_by_role("button", name=f"Edit {port} of {block} as a grid").click()
        dialog = self.dialog(f"{block}.{port}")
        expect(dialog.get_by_role("grid")).to_be_visible()
        return dialog

    def choose(self, setting: str, block: str, value: str) -> None:
        self.field(setting, block).select_option(value)

    def wire(self, source: str, target: str) -> None:
        """Click the output's dot, then the input's."""
        self.dot(source, "output").click()
        self.dot(target, "input").click()
        expect(self.dot(target, "input")).to_have_class(re.compile(r"\bwired\b"))

    def checked(self) -> None:
        """Wait until the server has looked at the page as it is now."""
        expect(self.status.get_by_role("button").first).to_have_text(re.compile(r"^(No problems|\d+ problems?)$"))

    def come_to_rest(self) -> None:
        """Wait until the canvas moves no more: while it is fitted, blocks that pass out of view are not drawn."""
        self.page.wait_for_function(AT_REST)

    # ------------------------------------------------------------------ running
    def finished(self, start: Callable[[], Any]) -> dict[str, Any]:
        """Start something that ends in a run, and give what the server says of its end."""
        with self._sockets[-1].expect_event("framereceived", lambda frame: _kind(frame) == "finished") as heard:
            start()
        return json.loads(heard.value)

    def run(self) -> dict[str, Any]:
        return self.finished(self.button("Run").click)

    def run_to(self, block: str) -> dict[str, Any]:
        self.block(block).hover()
        return self.finished(self.block(block).get_by_role("button", name=f"Run up to {block}").click)

    def rows(self, block: str) -> list[list[str]]:
        """The numbers of the table in a block, as they are written there."""
        table = self.block(block).locator("table.preview-table")
        expect(table.locator("tr[data-row]").first).to_be_visible()
        return [line.locator("td").all_inner_texts() for line in table.locator("tr[data-row]").all()]

    def states(self) -> dict[str, str]:
        found = self.blocks.evaluate_all("all => all.map(one => [one.dataset.node, one.dataset.state])")
        return dict(found)

    def expect_states(self, **states: str) -> None:
        for block, state in states.items():
            expect(self.block(block)).to_have_attribute("data-state", state)

    # ------------------------------------------------------------------ files
    def menu(self, menu: str, command: str | re.Pattern[str]) -> None:
        self.page.get_by_role("banner").get_by_role("button", name=menu, exact=True).click()
        self.page.get_by_role("menuitem", name=command).click()

    def exported(self, kind: str) -> tuple[str, bytes]:
        """The name and the content of an export."""
        with self.page.expect_download() as download:
            self.menu("Export", re.compile(f"^{kind}"))
        return download.value.suggested_filename, content(download.value)

    def text(self) -> bytes:
        """The page as its file would be."""
        return self.exported("Page file")[1]

    def save_as(self, name: str) -> None:
        self.page.keyboard.press("Control+Shift+S")
        dialog = self.dialog("Save as")
        dialog.get_by_role("textbox").fill(name)
        dialog.get_by_role("button", name="Save", exact=True).click()
        expect(dialog).to_be_hidden()
        expect(self.page.locator(".where .path")).to_have_text(f"{name}.page.json")
        expect(self.page.locator(".save-mark")).to_have_count(0)

    def save(self) -> None:
        with self.page.expect_response(lambda answer: answer.request.method == "PUT"):
            self.page.keyboard.press("Control+S")

    def bring(self, name: str, data: bytes) -> None:
        """Open a file from anywhere on the computer."""
        with self.page.expect_file_chooser() as chooser:
            self.menu("File", re.compile("^Import a file"))
        _answer(chooser.value, name, data)

    def drop(self, name: str, data: bytes) -> None:
        """Drop a file onto the window."""
        held = self.page.evaluate_handle(
            """([name, bytes]) => {
                const held = new DataTransfer();
                held.items.add(new File([new Uint8Array(bytes)], name));
                return held;
            }""",
            [name, list(data)],
        )
        self.page.locator(".canvas").dispatch_event("drop", {"dataTransfer": held})

    def open_example(self, title: str) -> dict[str, Any]:
        empty = self.page.get_by_role("region", name="An empty page")
        return self.finished(empty.get_by_role("button", name=title, exact=True).click)

    def open_file(self, path: str) -> None:
        self.page.keyboard.press("Control+O")
        with self.page.expect_response(lambda answer: _is_file(answer, path)):
            self.page.get_by_role("tabpanel").locator(f'button.file[title="{path}"]').click()
        expect(self.blocks.first).to_be_visible()

    def paste(self, **page: Any) -> None:
        """Put blocks onto the page that were copied as text elsewhere."""
        text = json.dumps({"format": "gradbag-page/1", **page})
        self.page.evaluate("text => navigator.clipboard.writeText(text)", text)
        self.page.keyboard.press("Control+V")
        for name in page["nodes"]:
            expect(self.block(name)).to_be_attached()
        self.checked()

    # ------------------------------------------------------------------ keyboard
    def focused(self) -> str:
        """What has the focus, in words; "" when nothing has."""
        return self.page.evaluate(
            """() => {
                const at = document.activeElement;
                if (!at || at === document.body) return "";
                return at.getAttribute("aria-label") || at.getAttribute("data-line") || at.getAttribute("data-id")
                    || at.textContent.trim() || at.tagName;
            }"""
        )

    def tab_to(self, name: str, *, back: bool = False, most: int = 250) -> None:
        """Press Tab until a thing has the focus whose name begins so."""
        self.press_until("Shift+Tab" if back else "Tab", name, most)

    def press_until(self, key: str, name: str, most: int = 20) -> None:
        """Press a key until a thing has the focus whose name begins so."""
        for _ in range(most):
            self.page.keyboard.press(key)
            if self.focused().startswith(name):
                return
        raise AssertionError(f"{name!r} was not reached by {most} times {key}; the focus is on {self.focused()!r}")


def content(download: Download) -> bytes:
    return Path(download.path()).read_bytes()


def numbers(texts: list[list[str]]) -> list[list[float]]:
    return [[float(text) for text in row] for row in texts]


def _kind(frame: str | bytes) -> str:
    return json.loads(frame)["type"]


def _answer(chooser: FileChooser, name: str, data: bytes) -> None:
    chooser.set_files({"name": name, "mimeType": "application/octet-stream", "buffer": data})


def _is_file(answer: Response, path: str) -> bool:
    return answer.request.method == "GET" and f"/api/file/{path}" in answer.url
