"""Pages that travel without their data files: the arrays stand in the document itself."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ... import dtypes, errors
from ...page import literals
from ...page.model import Page
from ...page.saving import holders

MOST_ELEMENTS = 1_000_000  # in all arrays together; a page's text holds four times as many values at most


def whole(page: Page) -> tuple[dict[str, Any], list[str]]:
    """A copy of a page's document with its data files inside it, and sentences about those that are not."""
    carried = Page(copy.deepcopy(page.document), page.folder)
    carried.data, carried.read_files = page.data, page.read_files
    left, notes = MOST_ELEMENTS, []
    for *_, held, key in holders(carried):
        literal = held[key]
        if not isinstance(literal, dict) or "file" not in literal:
            continue
        try:
            array = carried.array(literal, None)
        except (literals.LiteralError, errors.Error) as problem:
            notes.append(f"a data file is not there: it {problem}")
            continue
        assert array is not None
        if array.size > left:
            notes.append(f"{str(literal['file'])[:80]} has {array.size} elements, too many to travel with the page")
            continue
        left -= array.size
        held[key] = inline(array) | {k: v for k, v in literal.items() if k not in ("file", "sha256", "shape", "dtype")}
    return carried.document, notes


def inline(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """A literal that holds an array of any size itself, with its dtype."""
    dtype = dtypes.name_of(array.dtype)
    shape = {"shape": list(array.shape)} if array.size == 0 and array.ndim > 1 else {}
    if dtype == "string" and not literals.is_text(array):
        return {"base64": literals.to_base64(array), **shape, "dtype": dtype}
    return {"value": literals.to_json(array), **shape, "dtype": dtype}
