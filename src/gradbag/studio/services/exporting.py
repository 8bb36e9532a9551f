"""A page as a file to take away."""

from __future__ import annotations

import re

from ... import errors
from ...graph.graphdef import to_graphdef_bytes
from ...page.canonical import write_text
from ...page.drawing import to_graph
from ...page.export_python import to_python
from ...page.export_svg import to_svg
from ...page.model import Page
from .carrying import whole
from .pictures import with_page

KINDS = ("page", "python", "graphdef", "svg")


def file_name(page: Page) -> str:
    return re.sub(r"[^a-z0-9]+", "_", page.title.lower()).strip("_")[:80].strip("_") or "page"


def exported(page: Page, kind: str) -> tuple[bytes, str, str]:
    """The content, its media type and a name for the file."""
    name = file_name(page)
    match kind:
        case "page":
            return write_text(whole(page)[0]).encode(), "application/json", f"{name}.page.json"
        case "python":
            return to_python(page).encode(), "text/x-python; charset=utf-8", f"{name}.py"
        case "graphdef":
            return to_graphdef_bytes(to_graph(page)), "application/octet-stream", f"{name}.pb"
        case "svg":
            return with_page(to_svg(page), page).encode(), "image/svg+xml", f"{name}.svg"
    raise errors.InvalidArgumentError(f"a page cannot become {kind[:40]!r}; it can become {', '.join(KINDS)}")
