"""The boxes of a page: what stands in them, and how large they are. Positions come later."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ..spec import Op
from .declared import declared
from .links import is_link, links, split
from .model import Page
from .sizes import CHARACTER, EDGE, FOOT, HEAD, NARROWEST, ROW, SPARE_HEAD, SPARE_ROW, TITLE, WIDEST, WIDTH_STEP

LONGEST_VALUE = 22
MOST_SHOWN = 256  # outputs of one list that a box shows, as in canvas/geometry.ts


@dataclass
class Port:
    """A dot at the edge of a box: on the left with the literal that stands in it, on the right with what comes out."""

    name: str
    value: str = ""
    spare: bool = False  # the place for one more of a list, which a drawing leaves empty


@dataclass
class Box:
    """A node as it is drawn: inputs down the left edge, outputs down the right, settings below them."""

    title: str
    op: str
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    settings: list[Port] = field(default_factory=list)
    left: float = 0
    top: float = 0
    width: int = 0
    height: int = 0

    def measure(self) -> None:
        """As canvas/geometry.ts of the studio does it, so that a layout has room there too."""
        outputs = [port.name for port in self.outputs] + [""] * len(self.inputs)
        rows = [len(port.name) + len(other) + SPARE_ROW for port, other in zip(self.inputs, outputs, strict=False)]
        longest = max(len(self.title) * TITLE + SPARE_HEAD, len(self.op) + SPARE_HEAD, *rows)
        width = int((longest * CHARACTER + 2 * EDGE) / WIDTH_STEP + 0.5) * WIDTH_STEP
        self.width = max(NARROWEST, min(WIDEST, width))
        self.height = HEAD + ROW * (max(len(self.inputs), len(self.outputs)) + len(self.settings)) + FOOT

    def input_at(self, number: int) -> tuple[float, float]:
        return self.left, self.top + HEAD + ROW * (number + 0.5)

    def output_at(self, number: int) -> tuple[float, float]:
        return self.left + self.width, self.top + HEAD + ROW * (number + 0.5)


def boxes(page: Page) -> dict[str, Box]:
    """A box for every node; an op that is not known has the ports that the page mentions."""
    mentioned: dict[str, dict[str, None]] = {}
    for entry in page.nodes.values():
        for _, source in links(entry):
            if isinstance(source, str):
                node, port = split(page.nodes, source)
                mentioned.setdefault(node, {})[port or "output"] = None
    return {name: _box(name, entry, list(mentioned.get(name, ["output"]))) for name, entry in page.nodes.items()}


def _box(name: str, entry: Any, mentioned: list[str]) -> Box:
    entry = entry if isinstance(entry, dict) else {}
    kind = entry.get("op") if isinstance(entry.get("op"), str) else "?"
    op = declared(kind)
    given = entry.get("in") if isinstance(entry.get("in"), dict) else {}
    attrs = entry.get("attrs") if isinstance(entry.get("attrs"), dict) else {}
    box = Box(name, kind)
    many = [arg.name for arg in op.inputs if arg.many] if op is not None else []
    for port in dict.fromkeys([*(op.input_names if op is not None else ()), *given]):
        value = given.get(port, [] if port in many else None)
        if isinstance(value, list) and (port in many or any(is_link(one) for one in value)):
            box.inputs += [
                Port(f"{port}[{k}]", "" if is_link(one) else literal_text(one)) for k, one in enumerate(value)
            ]
            if port in many:
                box.inputs.append(Port(f"{port}[{len(value)}]", spare=True))
        else:
            box.inputs.append(Port(port, "" if value is None or is_link(value) else literal_text(value)))
    box.outputs = [Port(port) for port in (mentioned if op is None else output_ports(op, entry))]
    known = [attr.name for attr in op.attrs if attr.name in {*op.required_attrs, *attrs}] if op is not None else []
    shown = dict.fromkeys([*known, *attrs])
    box.settings = [Port(attr, literal_text(attrs[attr]) if attr in attrs else "") for attr in shown]
    box.measure()
    return box


def output_ports(op: Op, entry: Any) -> list[str]:
    """The outputs of a node as the page has it, whether it can be computed or not: 'outputs[0]' for one of a list."""
    lengths = {}
    for arg in op.outputs:
        settings = entry.get("attrs") if isinstance(entry.get("attrs"), dict) else {}
        inputs = entry.get("in") if isinstance(entry.get("in"), dict) else {}
        given = settings.get(arg.count, 0) if arg.count else inputs.get(op.input_names[op.lists[0]]) if arg.many else 0
        length = len(given) if isinstance(given, list) else given if type(given) is int else 0
        lengths[arg.name] = max(0, min(length, MOST_SHOWN))
    return [
        name
        for arg in op.outputs
        for name in ([f"{arg.name}[{k}]" for k in range(lengths[arg.name])] if arg.many else [arg.name])
    ]


def literal_text(value: Any) -> str:
    """A literal in a few characters."""
    if isinstance(value, dict):
        inner = next((value[form] for form in ("value", "file", "base64") if form in value), value)
        text = literal_text(inner) if not isinstance(inner, dict) else "…"
        return f"{text} {value['dtype']}" if isinstance(value.get("dtype"), str) and len(text) < 14 else text
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
