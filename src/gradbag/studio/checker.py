"""Questions about pages that nothing has to run for. What a page was drawn as is kept for its next state."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import msgspec

from .. import page as pages
from ..page import data_files
from ..page.drawing import Drawn
from ..page.saving import move_large
from . import messages
from .services import catalogue, checking, exporting, opening
from .services import help as helping
from .wire import Parts

MOST_DRAWN = 8


class Checker:
    """Each handler takes a message and gives what the contract of its route says."""

    def __init__(self) -> None:
        self._drawn: OrderedDict[str, Drawn] = OrderedDict()
        self.handlers = {
            "catalogue": lambda _: catalogue.catalogue(),
            "help": lambda m: helping.help_page(m["op"]),
            "check": self.check,
            "fits": self.fits,
            "layout": self.layout,
            "differentiate": self.differentiate,
            "restate": self.restate,
            "differentiable": self.differentiable,
            "export": self.export,
            "open": self.open,
            "text": lambda m: messages.Text(text=pages.text(page_in(m))),
            "document": self.document,
            "prepare": self.prepare,
            "capture": self.capture,
        }

    def _draw(self, message: dict[str, Any]) -> tuple[pages.Page, messages.Check, Drawn]:
        page, name = page_in(message), str(message["path"])
        found, drawn = checking.checked(page, self._drawn.pop(name, None), message.get("open") or ())
        self._drawn[name] = drawn
        if len(self._drawn) > MOST_DRAWN:
            self._drawn.popitem(last=False)
        return page, found, drawn

    def check(self, message: dict[str, Any]) -> messages.Check:
        return self._draw(message)[1]

    def fits(self, message: dict[str, Any]) -> messages.Fits:
        from .services import fitting

        page, _, drawn = self._draw(message)
        return fitting.fits(page, drawn, message["node"], message["port"], message["side"])

    def layout(self, message: dict[str, Any]) -> messages.Layout:
        from .services import tidying

        return tidying.tidy(page_in(message), message["nodes"])

    def differentiable(self, message: dict[str, Any]) -> messages.Differentiable:
        from .services import differentiating

        page, _, drawn = self._draw(message)
        return differentiating.choices(page, drawn, message["output"])

    def differentiate(self, message: dict[str, Any]) -> messages.Differentiated:
        from .services import differentiating

        inputs, ports = message.get("inputs") or (), message.get("ports") or ()
        return differentiating.differentiate(page_in(message), message["output"], inputs, ports)

    def restate(self, message: dict[str, Any]) -> messages.Differentiated:
        from .services import restating

        page, _, drawn = self._draw(message)
        return restating.restate(page, drawn)

    # ------------------------------------------------------------------ files
    def export(self, message: dict[str, Any]) -> Parts:
        content, media_type, name = exporting.exported(page_in(message), message["form"])
        return Parts(content=content, media_type=media_type, name=name)

    def open(self, message: dict[str, Any]) -> Parts:
        content = data_files.read_bytes(Path(message["file"]), message["name"], message["most"])
        found = opening.opened(content, message["name"])
        return Parts(answer=json_bytes(found), nodes=outline(found["page"].get("nodes")))

    def document(self, message: dict[str, Any]) -> bytes:
        """A page from the disk, in the present format."""
        return json_bytes(page_in(message).document)

    def prepare(self, message: dict[str, Any]) -> Parts:
        """What is written when a page is saved: its canonical text, and files for what is too long for it."""
        page = page_in(message)
        move_large(page)
        files = {name: data_files.file_bytes(array) for name, array in page.data.items()}
        return Parts(
            text=pages.text(page).encode(), data=files, page=json_bytes(page.document), nodes=outline(page.nodes)
        )

    def capture(self, message: dict[str, Any]) -> messages.Captured:
        from .services import captures

        return captures.captured(message["content"], message["name"], message["step"])


def page_in(message: dict[str, Any]) -> pages.Page:
    return pages.parse(message["page"], Path(message["folder"]))


def outline(nodes: Any) -> dict[str, Any]:
    """Which nodes there are, and of which op: enough to know a page again."""
    if not isinstance(nodes, dict):
        return {}
    return {name: {"op": entry.get("op")} for name, entry in nodes.items() if isinstance(entry, dict)}


def json_bytes(content: Any) -> bytes:
    made: bytes = msgspec.json.encode(content)
    return made
