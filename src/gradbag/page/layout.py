"""Where boxes go when nobody has put them anywhere: in layers, the backward pass under the forward one."""

from __future__ import annotations

from .boxes import Box, boxes
from .declared import GRADIENT
from .links import order, sources
from .model import Page

LEFT, TOP = 40, 40
BETWEEN_LAYERS, BETWEEN_BOXES, BETWEEN_ROWS = 100, 24, 140
LANE = 12  # the height that is kept free for a wire
FARTHEST = 1e7  # a box beyond it could never be found again


def positions(page: Page, *, rows: bool = True) -> dict[str, list[int]]:
    """A position for every node: in rows, the forward pass on top, what goes back under it, what reads that below."""
    made = boxes(page)
    wired = {name: [source for _, source in ports] for name, ports in sources(page.nodes).items()}
    found: dict[str, list[int]] = {}
    top, right = TOP, 0
    for back, names in _rows(page, wired) if rows else [(False, list(page.nodes))]:
        row = _row(names, wired, made, back)
        if not row:
            continue
        width = max(left + made[name].width for name, (left, _) in row.items())
        # A derivative goes from right to left: it begins under the end of what it is taken of.
        shift = max(right - width, 0) if back else 0
        for name, (left, down) in row.items():
            found[name] = [LEFT + left + shift, top + down]
        right = max(right, width)
        top += max(down + made[name].height for name, (_, down) in row.items()) + BETWEEN_ROWS
    return {name: found[name] for name in page.nodes}


def _rows(page: Page, wired: dict[str, list[str]]) -> list[tuple[bool, list[str]]]:
    """The forward pass, the gradients, and what reads gradients; whether a row goes back."""
    names, _ = order(page.nodes)
    back = {name for name, entry in page.nodes.items() if _goes_back(name, entry)}
    after: set[str] = set()
    for name in names:
        if name not in back and wired[name] and all(source in back for source in wired[name]):
            back.add(name)  # the end of one, under a name of its own
        elif name not in back and any(source in back or source in after for source in wired[name]):
            after.add(name)
    forward = [name for name in page.nodes if name not in back and name not in after]
    return [
        (False, forward),
        (True, [name for name in page.nodes if name in back]),
        (False, [name for name in page.nodes if name in after]),
    ]


def _goes_back(name: str, entry: object) -> bool:
    """A gradient, or a part of one that was written out."""
    is_gradient = isinstance(entry, dict) and entry.get("op") == GRADIENT.name
    return is_gradient or any(part in ("grad", "gradients") for part in name.split("/")[:-1])


def _row(
    names: list[str], all_wired: dict[str, list[str]], made: dict[str, Box], back: bool
) -> dict[str, tuple[int, int]]:
    """Nodes in layers: each right of all that it reads, or left of it, near the height of its neighbours there.

    A wire over several layers keeps a place free in those between, so that it does not run behind a box.
    """
    inside = set(names)
    wired = {name: [source for source in all_wired[name] if source in inside] for name in names}
    layer = _layers(wired)
    columns: dict[int, list[str | tuple[str, int]]] = {}
    reads: dict[str | tuple[str, int], list[str | tuple[str, int]]] = {}
    for name in names:
        columns.setdefault(layer[name], []).append(name)
        reads[name] = []
        for source in dict.fromkeys(wired[name]):
            before: str | tuple[str, int] = source
            for number in range(layer[source] + 1, layer[name]):
                lane = (source, number)  # shared by all wires of one node
                if lane not in reads:
                    columns.setdefault(number, []).append(lane)
                    reads[lane] = [before]
                before = lane
            reads[name].append(before)
    found: dict[str, tuple[int, int]] = {}
    middle: dict[str | tuple[str, int], float] = {}
    left = 0
    for number in sorted(columns):
        column = columns[number]
        heights = {one: _mean([middle[s] for s in reads[one] if s in middle]) for one in column}
        column.sort(key=lambda one: heights[one])
        top = 0
        width = max((made[one].width for one in column if isinstance(one, str)), default=0)
        for one in column:
            height = made[one].height if isinstance(one, str) else LANE
            if heights[one] < float("inf"):  # at the height of what it reads, where there is room
                top = max(top, round(heights[one] - height / 2))
            if isinstance(one, str):
                found[one] = (-left - width if back else left, top)
            middle[one] = top + height / 2
            top += height + BETWEEN_BOXES
        left += width + BETWEEN_LAYERS
    least = min((x for x, _ in found.values()), default=0)
    return {name: (x - least, y) for name, (x, y) in found.items()}


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


def _layers(wired: dict[str, list[str]]) -> dict[str, int]:
    layer = dict.fromkeys(wired, 0)  # what stands in a cycle has no better place
    waiting = {name: len(set(of)) for name, of in wired.items()}
    readers: dict[str, set[str]] = {}
    for name, of in wired.items():
        for source in of:
            readers.setdefault(source, set()).add(name)
    ready = [name for name, count in waiting.items() if not count]
    for name in ready:
        for reader in sorted(readers.get(name, ())):
            layer[reader] = max(layer[reader], layer[name] + 1)
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    # What reads nothing stands just left of its first reader, not at the far end.
    for name, of in wired.items():
        if not of and name in readers:
            layer[name] = max(min(layer[reader] for reader in readers[name]) - 1, 0)
    return layer


def _mean(numbers: list[float]) -> float:
    """Of nothing: below everything."""
    return sum(numbers) / len(numbers) if numbers else float("inf")
