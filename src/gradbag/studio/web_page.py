"""A page as one file that any browser shows: the studio's own page, with what it would ask a server for inside it.

Nothing can be asked of anybody: the file's policy forbids every request. What was run, looked at and drawn here is what
it shows; it can be read and not changed.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

import gradbag

from .. import errors
from .. import page as pages
from ..page.model import Page
from . import messages
from .runner import Runner
from .services import catalogue, checking
from .services.carrying import whole

SINGLE = Path(__file__).parent / "static" / "single"
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
RUN = "recorded"
MOST_LENSES = 4_000
MOST_ROWS = 64  # of a value, that the lens can look at
MOST_COLUMNS = 16
MOST_VALUES = 20_000  # elements of a value that are shown whole
MEMORY = 1 << 30
_SCRIPT = re.compile(r'<script type="module"[^>]*src="\./([^"]+)"[^>]*></script>')
_STYLE = re.compile(r'<link rel="stylesheet"[^>]*href="\./([^"]+)"[^>]*>')
_ICON = re.compile(r'<link rel="icon"[^>]*>')


class Listening:
    """In the place of the process that would tell the tabs."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def tell(self, message: dict[str, Any]) -> None:
        if "event" in message:
            self.events.append(msgspec.json.decode(message["event"]))


def web_page(page: Page, run_seconds: int = 600) -> bytes:
    """The file; the page is run for it."""
    if not (SINGLE / "index.html").is_file():
        raise errors.InvalidArgumentError("the studio's page is not built: `make web` does it")
    text = (SINGLE / "index.html").read_text("utf-8")
    script, style = _SCRIPT.search(text), _STYLE.search(text)
    assert script is not None
    assert style is not None
    data = msgspec.json.encode(record(page, run_seconds)).decode().replace("<", "\\u003c")
    code = (SINGLE / script.group(1)).read_text("utf-8").replace("</script", "<\\/script")
    css = (SINGLE / style.group(1)).read_text("utf-8").replace("</style", "<\\/style")
    for old, new in (
        (_ICON.search(text), f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        (style, f"<style>{css}</style>"),
        (script, ""),
    ):
        assert old is not None
        text = text.replace(old.group(), new)
    shown = html.escape(page.title or "A page", quote=False)
    text = re.sub("<title>[^<]*</title>", lambda _: f"<title>{shown}</title>", text)
    inside = f'<script type="application/json" id="gradbag-recorded">{data}</script>\n'
    inside += f'<script type="module">{code}</script>\n'
    return text.replace("</body>", f"{inside}</body>").encode()


def record(page: Page, run_seconds: int) -> dict[str, Any]:
    """What the page asks a server for: see web/src/api/recorded.ts."""
    document = whole(page)[0]
    carried = msgspec.json.encode(document)
    desk = Listening()
    runner: Any = Runner(desk, MEMORY, run_seconds)  # type: ignore[arg-type]
    about = {"page": carried, "path": None, "folder": str(page.folder or "."), "client": RUN}
    runner.run({**about, "run": RUN, "open": [], "targets": None, "steps": 1, "name": None})
    done = {one["node"]: one for one in desk.events if one["type"] == "node" and one["state"] != "running"}
    ended = [one for one in desk.events if one["type"] in ("error", "finished")]
    found = checking.checked(pages.parse(carried, page.folder or Path()), None, ())[0]
    ops = {entry.get("op") for entry in page.nodes.values() if isinstance(entry, dict)}
    all_ops = catalogue.catalogue()
    outputs = [(node, output) for node, one in done.items() for output in one["outputs"]]
    rounds = runner.rounds(about)
    return {
        "page": document,
        "catalogue": {**all_ops, "ops": [op for op in all_ops["ops"] if op["name"] in ops]},
        "check": found,
        "events": [*done.values(), *ended],
        "values": {output["hash"]: _rows(runner, output) for _, output in outputs},
        "lenses": dict(_lenses(runner, about, outputs)),
        "rounds": rounds if len(rounds["rounds"]) > 1 else None,
        "version": gradbag.__version__,
    }


def _rows(runner: Runner, output: Any) -> messages.ValueRows:
    size = max(1, MOST_VALUES * (output["shape"] or [1])[0] // max(1, _count(output["shape"])))
    return runner.value({"hash": output["hash"], "start": 0, "count": size, "columns": None, "slice": ""})


def _count(shape: list[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _lenses(runner: Runner, about: dict[str, Any], outputs: list[Any]) -> Iterator[tuple[str, messages.Lens]]:
    """The answers to every row and cell that is likely to be clicked, as many as are carried."""
    places = itertools.chain.from_iterable(_places(node, output) for node, output in outputs)
    for node, port, index, cell in itertools.islice(places, MOST_LENSES):
        try:
            found = runner.lens({**about, "node": node, "port": port, "index": index, "cell": cell})
        except errors.Error:
            continue
        yield msgspec.json.encode([node, port, index, cell]).decode(), found


def _places(node: str, output: Any) -> Iterator[tuple[str, str, list[int], list[int] | None]]:
    shape = output["shape"]
    rows, *inner = [min(size, MOST_ROWS if not place else MOST_COLUMNS) for place, size in enumerate(shape)] or [1]
    for row in range(rows):
        yield node, output["name"], [row], None
        for rest in itertools.product(*map(range, inner)):
            yield node, output["name"], [row], [row, *rest] if shape else []
