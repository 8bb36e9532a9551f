"""What people draw around the nodes of a page: groups of them, and notes.

Nothing depends on it, so whatever else stands there is no problem of the page: it is kept, and not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .layout import FARTHEST
from .model import Page

MOST_COLOURS = 6
LONGEST_NOTE = 20_000
USUAL_SIZE = (200, 100)


@dataclass(frozen=True)
class Group:
    title: str
    nodes: tuple[str, ...]
    colour: int


@dataclass(frozen=True)
class Note:
    text: str
    left: float
    top: float
    width: float
    height: float
    colour: int


def groups(page: Page) -> list[Group]:
    """The groups that can be drawn, each with those of its nodes that are on the page."""
    found = []
    for entry in page.section("groups").values():
        members = entry.get("nodes") if isinstance(entry, dict) else None
        if isinstance(members, list) and isinstance(entry.get("title"), str):
            there = [name for name in members if isinstance(name, str) and name in page.nodes]
            found.append(Group(entry["title"], tuple(there), _colour(entry)))
    return found


def notes(page: Page) -> list[Note]:
    """The notes that can be drawn."""
    found = []
    for entry in page.section("notes").values():
        if isinstance(entry, dict) and isinstance(entry.get("text"), str) and _is_pair(entry.get("at")):
            size: Any = entry.get("size")
            width, height = size if _is_pair(size) and min(size) >= 0 else USUAL_SIZE
            left, top = entry["at"]
            found.append(Note(entry["text"][:LONGEST_NOTE], left, top, width, height, _colour(entry)))
    return found


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(n) in (int, float) and abs(n) <= FARTHEST for n in value)
    )


def _colour(entry: dict[str, Any]) -> int:
    colour = entry.get("color", 0)
    return colour % MOST_COLOURS if type(colour) is int else 0
