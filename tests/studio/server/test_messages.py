"""The check of the replies' form, which every test here goes through, has teeth."""

from __future__ import annotations

import pytest

from gradbag.studio import messages

from .conforming import conforms

PROBLEM = {"node": "a", "port": "", "text": "is wrong"}
NODE = {"key": None, "inputs": {"x": {"dtype": None, "shape": [None, 2]}}, "outputs": [], "parts": 0}
CHECK = {"problems": [PROBLEM], "nodes": {"a": NODE}, "parts": {}, "frozen": []}


def test_what_is_right_conforms() -> None:
    assert conforms(CHECK, messages.Check)
    assert conforms({"type": "node", "id": "1", "node": "a", "state": "running"}, messages.StudioEvent)
    assert conforms({"error": {"kind": "stale", "text": "changed"}, "current": None}, messages.RefusedReply)


@pytest.mark.parametrize(
    "said",
    [
        [],
        {"problems": []},
        {**CHECK, "more": 1},
        {**CHECK, "problems": [{**PROBLEM, "port": None}]},
        {**CHECK, "nodes": {"a": {**NODE, "inputs": {"x": {"dtype": None, "shape": [2.5]}}}}},
        {**CHECK, "nodes": {"a": {**NODE, "key": True}}},
    ],
    ids=str,
)
def test_what_is_wrong_does_not(said: object) -> None:
    assert not conforms(said, messages.Check)


def test_events_are_told_apart() -> None:
    assert not conforms({"type": "node", "id": "1", "node": "a", "state": "sleeping"}, messages.StudioEvent)
    assert not conforms({"type": "files", "id": "1"}, messages.StudioEvent)
