"""Gradients that were written out node by node, and so do not follow the page: found, and replaced by live ones."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from ...graph.graph import Graph
from ...page.declared import GRADIENT
from ...page.drawing import Drawn
from ...page.links import links, read_by, sources, split
from ...page.model import Page
from ..messages import Differentiated
from .differentiating import short, slug, upstream

RESULT = re.compile(r"d_.+_d_.+")
WITHIN = "/grad/"


def written_out(page: Page, drawn: Drawn) -> dict[str, dict[str, Any]]:
    """The nodes that hold a gradient which was written out, each as the Gradient that it should be."""
    found = {}
    for name, entry in page.nodes.items():
        if RESULT.fullmatch(name) and isinstance(entry, dict) and entry.get("op") == "Identity":
            stated = _stated(page, drawn.graph, name)
            if stated is not None:
                found[name] = stated
    return found


def _stated(page: Page, graph: Graph, name: str) -> dict[str, Any] | None:
    last = [source for _, source in read_by(page.nodes, page.nodes[name])]
    if len(last) != 1 or WITHIN not in last[0]:
        return None
    start = last[0].rpartition(WITHIN)[0]
    own = _own(page.nodes, name, start + WITHIN)
    node = graph.get(start)
    if node is None:
        return None
    seeds = {
        source
        for part in own
        if page.nodes[part].get("op") == "OnesLike"
        for _, source in links(page.nodes[part])
        if isinstance(source, str) and split(page.nodes, source)[0] == start
    }
    for end in node.outputs:
        if short(end) not in seeds:
            continue
        for before in upstream(node) - {node}:
            for leaf in before.outputs:
                called = f"d_{slug(end)}_d_{slug(leaf)}"
                if before.name in page.nodes and re.fullmatch(re.escape(called) + r"(_\d+)?", name):
                    return {"op": GRADIENT.name, "in": {"of": {"from": short(end)}, "by": {"from": short(leaf)}}}
    return None


def _own(nodes: Mapping[str, Any], name: str, prefix: str) -> list[str]:
    """The nodes under a prefix that lead to a node."""
    found: dict[str, None] = {}
    waiting = [name]
    while waiting:
        for _, source in read_by(nodes, nodes[waiting.pop()]):
            if source.startswith(prefix) and source not in found:
                found[source] = None
                waiting.append(source)
    return list(found)


def restate(page: Page, drawn: Drawn) -> Differentiated:
    """The page with gradients in place of what was written out; parts that something else reads or names stay."""
    found = written_out(page, drawn)
    made = Page(copy.deepcopy(page.document), page.folder)
    if not found:  # and what a page with faults calls its nodes may be none
        return Differentiated(page=made.document, added=[], gradients={})
    nodes = made.document["nodes"]
    parts = {
        part
        for name in found
        for _, last in read_by(page.nodes, page.nodes[name])
        for part in (last, *_own(page.nodes, name, last.rpartition(WITHIN)[0] + WITHIN))
    }
    nodes |= found
    named = _named(made)
    while True:
        read = {source for ports in sources(nodes).values() for _, source in ports}
        gone = [part for part in parts if part in nodes and part not in read and part not in named]
        if not gone:
            break
        for part in gone:
            del nodes[part]
    _forget(made, {part for part in parts if part not in nodes})
    return Differentiated(page=made.document, added=list(found), gradients={})


def _named(page: Page) -> set[str]:
    """The nodes that runs and expectations speak of; a page with faults may have anything there."""
    names: list[Any] = list(page.section("expect"))
    for run in page.section("runs").values():
        parts = [run.get(part) for part in ("fetch", "only", "feed")] if isinstance(run, dict) else []
        names += [name for part in parts if isinstance(part, (list, dict)) for name in part]
    return {split(page.nodes, name)[0] for name in names if isinstance(name, str)}


def _forget(page: Page, gone: set[str]) -> None:
    layout = page.section("layout")
    for name in gone & layout.keys():
        del layout[name]
    groups = page.section("groups")
    for title, group in list(groups.items()):
        if isinstance(group, dict) and isinstance(group.get("nodes"), list) and gone & set(map(str, group["nodes"])):
            group["nodes"] = [name for name in group["nodes"] if name not in gone]
            if not group["nodes"]:
                del groups[title]
