"""Pages of earlier formats, brought to the present one step by step; `format` is the only version a page has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .. import errors

FORMAT = "gradbag-page/1"
Step = Callable[[dict[str, Any]], dict[str, Any]]

# From each earlier format to the one after it. A step comes with a golden file in tests/golden/pages.
STEPS: dict[str, tuple[str, Step]] = {}


def migrate(document: dict[str, Any], name: str = "the page") -> dict[str, Any]:
    """The document in the present format; one of a later format is refused, for parts of it would be lost."""
    found = document.get("format")
    while found != FORMAT:
        if not isinstance(found, str) or found not in STEPS:
            raise errors.InvalidArgumentError(f"{name} {_refusal(found)}")
        found, step = STEPS[found]
        document = {**step(document), "format": found}
    return document


def _refusal(found: object) -> str:
    version = re.fullmatch(r"gradbag-page/([0-9]{1,9})", found) if isinstance(found, str) else None
    if found is None:
        return f'does not say its format; a page begins with "format": "{FORMAT}"'
    if version is not None and int(version[1]) > int(FORMAT.rpartition("/")[2]):
        return f"has the format {found}, which is newer than this gradbag, which knows {FORMAT}; update gradbag"
    return f"has the format {repr(found)[:40]}; this gradbag knows {', '.join([*STEPS, FORMAT])}"
