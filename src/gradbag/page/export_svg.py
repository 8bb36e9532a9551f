"""A page as a drawing: the same page gives the same bytes, with no script and nothing from outside in it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from html import escape

from ..graph.graph import Graph, shape_text
from .boxes import Box
from .checking import inspect
from .frames import Group, Note, groups, notes
from .layout import placed
from .links import links, split
from .model import Page
from .sizes import CHARACTER, EDGE, HEAD, ROW

MARGIN, TITLE = 32, 40
KIND = 5.1  # the width of a mean character of the words beside outputs
PAPER, INK, PALE, CARD, HEADER, BROKEN = "#fbfbfd", "#1d2433", "#6b7385", "#ffffff", "#eef1f7", "#c4314b"
# By the first letters of a dtype's name: floats blue, integers green, the rest apart.
COLOURS = {
    "float": "#2f6fde",
    "bfloat": "#2f6fde",
    "complex": "#7a4bd0",
    "int": "#1f9254",
    "uint": "#1f9254",
    "q": "#1f9254",
    "bool": "#c77a12",
    "string": "#b8408f",
}
HUES = ("#2f6fde", "#1f9254", "#c77a12", "#b8408f", "#7a4bd0", "#6b7385")  # of groups and notes
AROUND, LINE = 16, 15  # between a group's frame and its boxes; the height of a line of a note
STYLE = (
    "text{font-family:'DejaVu Sans','Segoe UI',Helvetica,Arial,sans-serif;font-size:11px;fill:" + INK + "}"
    ".page{font-size:16px;font-weight:600}.title{font-size:12.5px;font-weight:600}.op,.kind{fill:"
    + PALE
    + "}.kind{font-size:9px}"
    ".value{font-family:'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:10px;fill:#3d4658}"
    ".wire{fill:none;stroke-width:1.8;stroke-opacity:.85}"
)


def to_svg(page: Page) -> str:
    """The drawing of a page as it lies; what has a problem is outlined in red."""
    drawn = inspect(page)
    broken = {problem.node for problem in drawn.problems}
    boxes = placed(page)
    frames = [(group, frame) for group in groups(page) if (frame := _frame(group, boxes)) is not None]
    remarks = notes(page)
    places = [(box.left, box.top, box.left + box.width, box.top + box.height) for box in boxes.values()]
    places += [frame for _, frame in frames]
    places += [(note.left, note.top, note.left + note.width, note.top + note.height) for note in remarks]
    left = min([place[0] for place in places], default=0) - MARGIN
    top = min([place[1] for place in places], default=0) - MARGIN - TITLE
    right = max([place[2] for place in places], default=200) + MARGIN
    bottom = max([place[3] for place in places], default=0) + MARGIN
    room = max([_room(box, drawn.graph) for box in boxes.values() if box.left + box.width + MARGIN >= right], default=0)
    width, height = right - left + room, bottom - top
    size = f'width="{_n(width)}" height="{_n(height)}"'
    view = f'viewBox="{_n(left)} {_n(top)} {_n(width)} {_n(height)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {view} {size} role="img">',
        f"<title>{_text(page.title or 'page')}</title>",
        f"<style>{STYLE}</style>",
        f'<rect x="{_n(left)}" y="{_n(top)}" {size} fill="{PAPER}"/>',
        f'<text class="page" x="{_n(left + MARGIN)}" y="{_n(top + MARGIN)}">{_text(page.title)}</text>',
    ]
    for group, frame in frames:
        lines += _group(group, frame)
    for note in remarks:
        lines += _note(note)
    wires = list(_wires(page, boxes, drawn.graph))
    lines += wires
    for name, box in boxes.items():
        lines += _box(box, drawn.graph, name in broken)
    # Once more, faintly, above the boxes: a wire that passes behind one can be followed.
    return "\n".join([*lines, '<g opacity=".2">', *wires, "</g>", "</svg>", ""])


Frame = tuple[float, float, float, float]


def _frame(group: Group, boxes: dict[str, Box]) -> Frame | None:
    """Left, top, right and bottom of a group, with room for its title."""
    members = [boxes[name] for name in group.nodes if name in boxes]
    if not members:
        return None
    right = max(box.left + box.width for box in members) + AROUND
    bottom = max(box.top + box.height for box in members) + AROUND
    return min(box.left for box in members) - AROUND, min(box.top for box in members) - AROUND - ROW, right, bottom


def _group(group: Group, frame: Frame) -> Iterator[str]:
    left, top, right, bottom = frame
    hue = HUES[group.colour]
    place = f'x="{_n(left)}" y="{_n(top)}" width="{_n(right - left)}" height="{_n(bottom - top)}" rx="10"'
    yield f'<rect {place} fill="{hue}" fill-opacity=".08" stroke="{hue}" stroke-opacity=".6"/>'
    title = _cut(group.title, max(1, int((right - left - 2 * EDGE) / 7.2)))
    yield f'<text class="title" x="{_n(left + EDGE)}" y="{_n(top + 18)}">{_text(title)}</text>'


def _note(note: Note) -> Iterator[str]:
    hue = HUES[note.colour]
    place = f'x="{_n(note.left)}" y="{_n(note.top)}" width="{_n(note.width)}" height="{_n(note.height)}" rx="6"'
    yield f'<rect {place} fill="{hue}" fill-opacity=".14"/>'
    wide = max(1, int((note.width - 2 * EDGE) / CHARACTER))
    lines = [part for line in note.text.split("\n") for part in textwrap.wrap(line, wide) or [""]]
    for number, line in enumerate(lines[: int(max(0, note.height - EDGE) / LINE)]):
        y = note.top + EDGE + LINE * (number + 0.6)
        yield f'<text x="{_n(note.left + EDGE)}" y="{_n(y)}">{_text(line)}</text>'


def _wires(page: Page, boxes: dict[str, Box], graph: Graph) -> Iterator[str]:
    for name, entry in page.nodes.items():
        box = boxes[name]
        places = {port.name: number for number, port in enumerate(box.inputs)}
        for port, source in links(entry):
            if not isinstance(source, str) or port not in places:
                continue
            node, wanted = split(page.nodes, source)
            if node not in boxes:
                continue
            outputs = [output.name for output in boxes[node].outputs]
            number = outputs.index(wanted) if wanted in outputs else 0
            x, y = boxes[node].output_at(number)
            u, v = box.input_at(places[port])
            reach = max(30.0, abs(u - x) / 2)
            colour = _colour(graph, node, number)
            yield (
                f'<path class="wire" stroke="{colour}" d="M{_n(x)} {_n(y)}C{_n(x + reach)} {_n(y)} '
                f'{_n(u - reach)} {_n(v)} {_n(u)} {_n(v)}"/>'
            )


def _box(box: Box, graph: Graph, broken: bool) -> Iterator[str]:
    x, y, width, height = box.left, box.top, box.width, box.height
    outline = BROKEN if broken else "#c9d0de"
    place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}"'
    yield f'<g><rect {place} height="{_n(height)}" rx="8" fill="{CARD}" stroke="{outline}" stroke-width="1.2"/>'
    bend = f"M{_n(x)} {_n(y + HEAD - 6)}v{_n(14 - HEAD)}a8 8 0 0 1 8-8h{_n(width - 16)}a8 8 0 0 1 8 8v{_n(HEAD - 14)}z"
    yield f'<path d="{bend}" fill="{HEADER}" stroke="{outline}" stroke-width="1.2"/>'
    longest, characters = int((width - 2 * EDGE) / 7.2), int((width - 2 * EDGE) / CHARACTER)
    yield f'<text class="title" x="{_n(x + EDGE)}" y="{_n(y + 17)}">{_text(_cut(box.title, longest))}</text>'
    if box.op != box.title:
        yield f'<text class="op" x="{_n(x + EDGE)}" y="{_n(y + 31)}">{_text(_cut(box.op, longest + 4))}</text>'
    for number, port in enumerate(box.inputs):
        if port.spare:
            continue
        u, v = box.input_at(number)
        filled = "#9aa3b5" if port.value else CARD
        yield f'<circle cx="{_n(u)}" cy="{_n(v)}" r="4" fill="{filled}" stroke="#7d879b" stroke-width="1.3"/>'
        beside = len(box.outputs[number].name) + 2 if number < len(box.outputs) else 0
        room = characters - len(port.name) - beside
        value = f' <tspan class="value">{_text(_cut(port.value, room))}</tspan>' if port.value and room > 1 else ""
        yield f'<text x="{_n(u + EDGE)}" y="{_n(v + 4)}">{_text(port.name)}{value}</text>'
    for number, port in enumerate(box.outputs):
        u, v = box.output_at(number)
        colour = _colour(graph, box.title, number)
        yield f'<circle cx="{_n(u)}" cy="{_n(v)}" r="4" fill="{colour}"/>'
        yield f'<text x="{_n(u - EDGE)}" y="{_n(v + 4)}" text-anchor="end">{_text(port.name)}</text>'
        kind = _kind(graph, box.title, number)
        if kind:
            # On a patch of paper: a wire may pass below it.
            patch = f'x="{_n(u + 7)}" y="{_n(v - 16)}" width="{_n(len(kind) * KIND + 4)}" height="11"'
            yield f'<rect {patch} rx="3" fill="{PAPER}" fill-opacity=".9"/>'
            yield f'<text class="kind" x="{_n(u + 9)}" y="{_n(v - 7)}">{_text(kind)}</text>'
    below = y + HEAD + ROW * max(len(box.inputs), len(box.outputs))
    for number, setting in enumerate(box.settings):
        v = below + ROW * (number + 0.5) + 4
        value = _cut(setting.value, max(1, characters - len(setting.name) - 1))
        yield (
            f'<text class="op" x="{_n(x + EDGE)}" y="{_n(v)}">{_text(setting.name)} '
            f'<tspan class="value">{_text(value)}</tspan></text>'
        )
    yield "</g>"


def _kind(graph: Graph, name: str, number: int) -> str:
    if name not in graph or number >= len(graph.node(name).dtypes):
        return ""
    node = graph.node(name)
    return f"{node.dtypes[number]} {shape_text(node.shapes[number])}"


def _room(box: Box, graph: Graph) -> float:
    """What the words beside the outputs of a last box need."""
    return max([len(_kind(graph, box.title, k)) * KIND + 12 for k in range(len(box.outputs))], default=0.0)


def _colour(graph: Graph, name: str, number: int) -> str:
    kind = _kind(graph, name, number)
    return next((colour for start, colour in COLOURS.items() if kind.startswith(start)), "#8a93a5")


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _text(text: str) -> str:
    """Text of a page, harmless in XML: some characters cannot stand there at all."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text), quote=False)


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
