"""From a graph to a page: the nodes as they are, each Const that was a literal back in its port, and a layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np

from .. import errors
from ..graph.graph import Graph, Node, Output, refuse_loop
from ..spec import REQUIRED, Arg
from .layout import positions
from .links import split
from .literals import to_json
from .model import Page


def from_graph(graph: Graph, title: str = "") -> Page:
    """The page that builds a graph again, node by node under the same names."""
    page = Page()
    if title:
        page.document["title"] = title
    literals = literals_of(graph)
    nodes = page.document["nodes"]
    kept = [node for node in graph if node not in literals]
    for node in kept:
        nodes[node.name] = {}  # all names first: a link must not mean another node than it should
    for node in kept:
        nodes[node.name] = entry_of(page, node, literals)
    page.document["layout"] = positions(page)
    return page


def entry_of(page: Page, node: Node, literals: Collection[Node]) -> dict[str, Any]:
    """A node as a page says it; `literals` are the Consts whose values stand in the ports that read them."""
    refuse_loop(node, "a page")
    entry: dict[str, Any] = {"op": node.op.name}
    inputs = _inputs(page, node, literals)
    if inputs:
        entry["in"] = inputs
    attrs = _attrs(page, node)
    if attrs:
        entry["attrs"] = attrs
    if node.control:
        entry["after"] = [before.name for before in node.control]
    return entry


def literals_of(graph: Graph) -> set[Node]:
    """The Consts that drawing would make of a value in a port: read once, and named for that port."""
    readers: Counter[Node] = Counter()
    for node in graph:
        readers.update(source.node for source in node.inputs)
        readers.update(dict.fromkeys(node.control, 2))  # must stay a node of its own
    found = set()
    for node in graph:
        for port, source in zip(node.ports, node.inputs, strict=True):
            constant = source.node
            named = f"{node.name}/{port.replace('[', '_').replace(']', '')}"
            alone = readers[constant] == 1 and not constant.control
            if constant.op.name == "Const" and constant.name == named and alone:
                found.add(constant)
    return found


def _inputs(page: Page, node: Node, literals: Collection[Node]) -> dict[str, Any]:
    op = node.op
    args = node.args
    bound = {name for name in node.attrs if name in op.types}
    bound |= {arg.dtype for arg, source in zip(args, node.inputs, strict=True) if source.node not in literals}
    values = [
        _literal(page, node, arg, source, bound) if source.node in literals else {"from": _link(page, source)}
        for arg, source in zip(args, node.inputs, strict=True)
    ]
    every = zip(op.input_names, op.grouped(node.flat(values)), strict=True)
    return {name: value for name, value in every if value is not None}


def _literal(page: Page, node: Node, arg: Arg, source: Output, bound: set[str]) -> Any:
    decided = len(node.op.allowed(arg)) == 1 or arg.dtype in bound
    return page.literal(source.node.attrs["value"], source.node.name, typed=not decided)


def _link(page: Page, source: Output) -> str:
    name = source.node.name
    wanted = (name, "" if len(source.node.dtypes) == 1 else source.port)
    text = ".".join(part for part in wanted if part)
    if split(page.nodes, text) != wanted:
        raise errors.InvalidArgumentError(f"a link to {text!r} would mean the node of that name; rename one of the two")
    return text


def _attrs(page: Page, node: Node) -> dict[str, Any]:
    """Those that differ from their defaults, as JSON."""
    found: dict[str, Any] = {}
    for attr in sorted(node.op.attrs, key=lambda a: a.kind == "tensor"):  # a dtype before its values
        value = node.attrs[attr.name]
        if attr.kind == "tensor":
            found[attr.name] = page.literal(value, node.name, typed="dtype" not in node.op.attr_defaults)
        elif attr.default is REQUIRED or not _same(value, attr.default):
            found[attr.name] = attr_json(attr.kind, value)
    return found


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, float) and isinstance(default, float):
        return np.float64(value).tobytes() == np.float64(default).tobytes()
    return bool(value == default)


def attr_json(kind: str, value: Any) -> Any:
    """An attribute of any kind but a tensor as it stands in a page."""
    if kind in ("float", "floats"):
        return to_json(np.asarray(value, np.float64))
    if kind == "int":
        return to_json(np.asarray(value, np.int64))
    if kind == "ints":
        return to_json(np.asarray(value, np.int64))
    return list(value) if isinstance(value, tuple) else value
