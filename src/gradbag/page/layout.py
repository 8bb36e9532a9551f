"""Where boxes go when nobody has put them anywhere: in layers from left to right, the same for the same page."""

from __future__ import annotations

from .boxes import Box, boxes
from .links import order, sources
from .model import Page

LEFT, TOP = 40, 40
BETWEEN_LAYERS, BETWEEN_BOXES = 100, 24
FARTHEST = 1e7  # a box beyond it could never be found again


def positions(page: Page) -> dict[str, list[int]]:
    """A position for every node: a layer right of all that it reads, near the height of its neighbours there."""
    layer = _layers(page)
    made = boxes(page)
    wired = sources(page.nodes)
    columns: dict[int, list[str]] = {}
    for name in page.nodes:
        columns.setdefault(layer[name], []).append(name)
    found: dict[str, list[int]] = {}
    middle: dict[str, float] = {}
    left = LEFT
    for number in sorted(columns):
        column = columns[number]
        heights = {name: _mean([middle[s] for _, s in wired[name] if s in middle]) for name in column}
        column.sort(key=lambda name: heights[name])
        top = TOP
        for name in column:
            box = made[name]
            if heights[name] < float("inf"):  # at the height of what it reads, where there is room
                top = max(top, round(heights[name] - box.height / 2))
            found[name] = [left, top]
            middle[name] = top + box.height / 2
            top += box.height + BETWEEN_BOXES
        left += max(made[name].width for name in column) + BETWEEN_LAYERS
    return {name: found[name] for name in page.nodes}


def placed(page: Page) -> dict[str, Box]:
    """The boxes of a page at their positions; those that have none are laid out below the others."""
    made = boxes(page)
    given = {
        name: position
        for name, position in page.section("layout").items()
        if isinstance(position, list)
        and len(position) == 2
        and all(type(n) in (int, float) and abs(n) <= FARTHEST for n in position)
    }
    missing = [name for name in made if name not in given]
    below = max([given[name][1] + box.height + BETWEEN_BOXES for name, box in made.items() if name in given], default=0)
    found = positions(page) if missing else {}
    for name, box in made.items():
        box.left, box.top = given[name] if name in given else (found[name][0], found[name][1] + below)
    return made


def _layers(page: Page) -> dict[str, int]:
    wired = sources(page.nodes)
    names, _ = order(page.nodes)
    layer = dict.fromkeys(page.nodes, 0)  # what stands in a cycle has no better place
    for name in names:
        layer[name] = max([layer[source] + 1 for _, source in wired[name]], default=0)
    # What reads nothing stands just left of its first reader, not at the far end.
    first: dict[str, int] = {}
    for name, ports in wired.items():
        for _, source in ports:
            first[source] = min(first.get(source, layer[name]), layer[name])
    for name, ports in wired.items():
        if not ports and name in first:
            layer[name] = max(first[name] - 1, 0)
    return layer


def _mean(numbers: list[float]) -> float:
    """Of nothing: below everything."""
    return sum(numbers) / len(numbers) if numbers else float("inf")
