"""What differs between two pages in meaning: nodes, wires, values, runs; where the boxes stand is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from .declared import declared
from .links import followed, input_of, is_link, split
from .model import Page

Change = Literal["added", "removed", "op", "rewired", "value", "run", "expect"]


@dataclass(frozen=True)
class Difference:
    """One difference: of what kind, where, and both sides as text ("" where there is nothing)."""

    change: Change
    place: str
    before: str
    after: str


def diff(one: Page, other: Page) -> list[Difference]:
    """The differences of two pages, in the order of their nodes."""
    found: list[Difference] = []
    for name in dict.fromkeys([*one.nodes, *other.nodes]):
        if name not in other.nodes:
            found.append(Difference("removed", name, _op(one.nodes[name]), ""))
        elif name not in one.nodes:
            found.append(Difference("added", name, "", _op(other.nodes[name])))
        else:
            found += _node(name, one, other)
    kinds: list[tuple[str, Change]] = [("runs", "run"), ("expect", "expect")]
    for section, kind in kinds:
        sides = one.section(section), other.section(section)
        for name in dict.fromkeys([*sides[0], *sides[1]]):
            before, after = (_text(side[name]) if name in side else "" for side in sides)
            if before != after:
                found.append(Difference(kind, name, before, after))
        if list(sides[0]) != list(sides[1]) and set(sides[0]) == set(sides[1]) and kind == "run":
            found.append(Difference(kind, "order", ", ".join(sides[0]), ", ".join(sides[1])))
    return found


def _node(name: str, one: Page, other: Page) -> Iterator[Difference]:
    before, after = one.nodes[name], other.nodes[name]
    if _op(before) != _op(after):
        yield Difference("op", name, _op(before), _op(after))
    for part in ("in", "attrs"):
        sides = _ports(before, part), _ports(after, part)
        for port in dict.fromkeys([*sides[0], *sides[1]]):
            values = sides[0].get(port), sides[1].get(port)
            texts = [_meaning(page, value) for page, value in zip((one, other), values, strict=True)]
            if texts[0] != texts[1]:
                wired = part == "in" and any(is_link(value) or input_of(value) is not None for value in values)
                yield Difference("rewired" if wired else "value", f"{name}.{port}", texts[0], texts[1])
    order = [sorted(followed(entry)) for entry in (before, after)]
    if order[0] != order[1]:
        yield Difference("rewired", f"{name}.after", ", ".join(order[0]), ", ".join(order[1]))


def _op(entry: Any) -> str:
    return str(entry.get("op")) if isinstance(entry, dict) else _text(entry)


def _ports(entry: Any, part: str) -> dict[str, Any]:
    """The values by port; those of a list that has links in it one by one, as port[0], port[1]."""
    found = entry.get(part) if isinstance(entry, dict) else None
    ports: dict[str, Any] = {}
    for name, value in (found if isinstance(found, dict) else {}).items():
        if isinstance(value, list) and any(isinstance(one, dict) for one in value):
            ports |= {f"{name}[{k}]": one for k, one in enumerate(value)}
        else:
            ports[name] = value
    return ports


def _meaning(page: Page, value: Any) -> str:
    """A value as text that is equal where the values are."""
    if value is None:
        return ""
    if is_link(value):
        return _link(page, value["from"])
    if input_of(value) is not None:
        return f"what {value['input']} gets"
    if isinstance(value, dict) and "file" in value and "sha256" in value:
        return f"file {value['sha256']}"  # the same content under another name is the same value
    return _text(value)


def _link(page: Page, source: Any) -> str:
    """A link, with the port where the node has several."""
    if not isinstance(source, str):
        return _text(source)
    node, port = split(page.nodes, source)
    kind = _op(page.nodes.get(node))
    op = declared(kind)
    alone = op is not None and [arg.name for arg in op.outputs] == [port] and not op.output_lists
    return f"← {node}" if alone or not port else f"← {node}.{port}"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
