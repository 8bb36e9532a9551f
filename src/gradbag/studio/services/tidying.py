"""Putting boxes in order, on command only."""

from __future__ import annotations

from ... import errors
from ...page.layout import LEFT, TOP, placed, positions
from ...page.model import Page
from ..messages import Layout


def tidy(page: Page, nodes: list[str] | None = None) -> Layout:
    """New positions of all nodes, or of some: these keep the corner at which they began, and the others stay."""
    if nodes is None:
        return Layout(layout={name: list(place) for name, place in positions(page).items()})
    for name in nodes:
        if name not in page.nodes:
            raise errors.InvalidArgumentError(f"{name[:80]!r} is not on the page")
    before = placed(page)
    found = {name: [box.left, box.top] for name, box in before.items()}
    chosen = Page({**page.document, "nodes": {n: entry for n, entry in page.nodes.items() if n in set(nodes)}})
    moved = positions(chosen)
    if moved:
        left = min(before[name].left for name in moved) - LEFT
        top = min(before[name].top for name in moved) - TOP
        found |= {name: [x + left, y + top] for name, (x, y) in moved.items()}
    return Layout(layout=found)
