"""Pages with parts of the wrong form open as far as they can be shown, and their files stay as they are."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from .conftest import Studio
from .desk import Desk

SOUND = {
    "format": "gradbag-page/1",
    "nodes": {
        "a": {"op": "Const", "attrs": {"dtype": "float32", "value": [1, 2]}},
        "b": {"op": "Neg", "in": {"x": {"from": "a"}}},
    },
}
FAR = 1e308
DAMAGED: dict[str, dict[str, Any]] = {
    "groups": {"groups": {"g": 3, "h": {"title": 7, "nodes": "a"}, "i": {"nodes": ["zzz", 4]}}},
    "groups_no_object": {"groups": 5},
    "notes": {"notes": {"n": 3, "m": {"text": 5}, "k": {"text": "x", "at": ["q", 1], "size": [1]}}},
    "notes_far": {"notes": {"n": {"text": "far", "at": [FAR, 0], "size": [FAR, -5]}}},
    "layout": {"layout": {"a": [FAR, 2], "b": "x"}},
    "layout_no_object": {"layout": [1]},
    "runs": {"runs": {"main": 3, "x": {"fetch": "a", "mode": 9, "steps": "q"}}},
    "title": {"title": 5},
    "title_long": {"title": "t" * 100_000},
    "entries": {"nodes": {**SOUND["nodes"], "c": 3, "d": {"op": 5}, "e": {"op": "Neg", "in": 7, "after": "x"}}},  # type: ignore[dict-item]
    "links": {"nodes": {**SOUND["nodes"], "c": {"op": "Neg", "in": {"x": {"from": 7}}}}},  # type: ignore[dict-item]
    "nodes_no_object": {"nodes": [1]},
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_can_be_shown_is_shown(name: str, shared_studio: Studio, open_desk: Callable[..., Desk]) -> None:
    document = {**SOUND, **DAMAGED[name]}
    file = shared_studio.folder / f"damaged_{name}.page.json"
    file.write_text(json.dumps(document))
    try:
        desk = open_desk(f"{shared_studio.address}&page={file.name}")
        expect(desk.toasts).to_contain_text("cannot be shown and were left out")
        if name != "nodes_no_object":
            expect(desk.block("b")).to_be_visible()
        assert json.loads(file.read_text()) == document
        expect(desk.page.get_by_text("not saved yet")).to_be_visible()  # a copy, which cannot overwrite the file
    finally:
        file.unlink()
