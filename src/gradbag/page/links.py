"""How the nodes of a page are joined, read from the document alone: no op is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .declared import GRADIENT
from .model import Page


@dataclass(frozen=True)
class Problem:
    """Something wrong with a page: at a port of a node, at a node, or (without a node) in another section."""

    node: str
    port: str
    text: str

    def __str__(self) -> str:
        place = ".".join(part for part in (self.node, self.port) if part)
        return f"{place}: {self.text}" if place else self.text


def split(nodes: Mapping[str, Any], source: str) -> tuple[str, str]:
    """The node and the port that "node" or "node.port" means; a node whose own name has that dot comes first."""
    if source in nodes:
        return source, ""
    node, _, port = source.rpartition(".")
    return (node, port) if node in nodes else (source, "")


def is_link(value: Any) -> bool:
    return isinstance(value, dict) and "from" in value


def input_of(value: Any) -> str | None:
    """The input that `{"input": "node.port"}` names."""
    source = value.get("input") if isinstance(value, dict) else None
    return source if isinstance(source, str) else None


def links(entry: Any) -> list[tuple[str, Any]]:
    """The ports of a node that are wired, "values[2]" in a list, with what they are wired to."""
    inputs = entry.get("in") if isinstance(entry, dict) else None
    found: list[tuple[str, Any]] = []
    if isinstance(inputs, dict):
        for port, value in inputs.items():
            if isinstance(value, dict):
                if "from" in value:
                    found.append((port, value["from"]))
            elif isinstance(value, list):
                found += [(f"{port}[{place}]", one["from"]) for place, one in enumerate(value) if is_link(one)]
    return found


def followed(entry: Any) -> list[str]:
    """The nodes that must run before a node though it does not read them."""
    after = entry.get("after") if isinstance(entry, dict) else None
    return [name for name in after if isinstance(name, str)] if isinstance(after, list) else []


def is_gradient(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("op") == GRADIENT.name


def sources(nodes: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """For each node its ports, and the nodes of the page that they are wired to."""
    return {name: read_by(nodes, entry) for name, entry in nodes.items()}


def read_by(nodes: Mapping[str, Any], entry: Any) -> list[tuple[str, str]]:
    """The ports of one node, and the nodes of the page that they are wired to."""
    wired = []
    for port, source in links(entry):
        if isinstance(source, str):
            if source in nodes:
                wired.append((port, source))
            else:
                node, _ = split(nodes, source)
                if node in nodes:
                    wired.append((port, node))
    if is_gradient(entry):
        named = input_of(entry["in"].get("by")) if isinstance(entry.get("in"), dict) else None
        if named is not None and named.rpartition(".")[0] in nodes:
            wired.append(("by", named.rpartition(".")[0]))
    if isinstance(entry, dict) and "after" in entry:
        wired += [("after", node) for node in followed(entry) if node in nodes]
    return wired


def order(nodes: Mapping[str, Any]) -> tuple[list[str], list[Problem]]:
    """The nodes so that each comes after those it reads; the cycles, and none of the nodes that wait for one."""
    wired = sources(nodes)
    waits = {name: len(ports) for name, ports in wired.items()}
    readers: dict[str, list[str]] = {}
    for name, ports in wired.items():
        for _, source in ports:
            readers.setdefault(source, []).append(name)
    ready = [name for name, count in waits.items() if not count]
    for name in ready:  # grows while it is walked
        for reader in readers.get(name, ()):
            waits[reader] -= 1
            if not waits[reader]:
                ready.append(reader)
    if len(ready) == len(nodes):
        return ready, []
    return ready, _cycles(wired, {name for name, count in waits.items() if count})


def _cycles(wired: Mapping[str, list[tuple[str, str]]], stuck: set[str]) -> list[Problem]:
    """Every stuck node waits for a stuck one, so walking back from any of them ends in a cycle."""
    problems = []
    walked: set[str] = set()
    for start in wired:
        path: dict[str, str] = {}  # the nodes of this walk, each with the port that was followed
        name = start
        while name in stuck and name not in walked:
            walked.add(name)
            path[name], name = next((port, node) for port, node in wired[name] if node in stuck)
        if name in path:
            members = list(path)[list(path).index(name) :]
            problems.append(Problem(name, path[name], _cycle_text(members)))
    return problems


def _cycle_text(members: list[str]) -> str:
    if len(members) == 1:
        return "the node reads itself, so it can never run"
    more = f" and {len(members) - 10} more" if len(members) > 10 else ""
    return f"{len(members)} nodes wait for each other: {', '.join(members[:10])}{more}"


def leaves(page: Page) -> list[str]:
    """The nodes that no other node reads or waits for, in the page's order.

    What is differentiated, or by what, need not be computed for its gradient: it is wanted all the same.
    """
    read: set[str] = set()
    for name, ports in sources(page.nodes).items():
        named = ("of", "by") if is_gradient(page.nodes[name]) else ()
        read |= {source for port, source in ports if port not in named}
    return [name for name in page.nodes if name not in read]
