"""From a GraphDef with ops that gradbag does not have to a page: these become blocks that keep their wires.

Nothing is checked against anything here; what is wrong with the page, `checking` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import errors
from ..graph.bulk import in_bulk
from ..graph.graphdef.attrs import by_name, output_ports, read_attrs, with_absent
from ..graph.graphdef.files import read
from ..graph.graphdef.inlining import Call, Inliner, at
from ..graph.graphdef.library import Library
from ..graph.graphdef.loading import CONSTANT_LIMIT, FILE_LIMIT
from ..graph.graphdef.tensors import Budget, read_type
from ..spec import Op, registry
from .checking import MOST_NODES
from .import_graph import attr_json
from .layout import positions
from .model import Page


@in_bulk
def from_graphdef(
    data: bytes, title: str = "", *, file_limit: int = FILE_LIMIT, constant_limit: int = CONSTANT_LIMIT
) -> Page:
    """The page of a GraphDef, node by node under the same names, whether or not its ops are known."""
    proto = read(data, file_limit)
    inliner = Inliner(Library(proto.library, proto.node))
    inliner.write_out(proto.node)
    if len(inliner.calls) > MOST_NODES:
        raise errors.ResourceExhaustedError(
            f"the graph has {len(inliner.calls)} nodes; a page has at most {MOST_NODES}"
        )
    page = Page()
    if title:
        page.document["title"] = title
    budget = Budget(constant_limit)
    calls = {call.name: call for call in inliner.calls}
    nodes: dict[str, Any] = page.document["nodes"]
    for call in inliner.calls:
        if call.name in nodes:
            raise at(errors.InvalidArgumentError("the graph has two nodes of this name"), call.name)
        try:
            nodes[call.name] = _entry(page, call, inliner, calls, budget)
        except errors.Error as problem:
            raise at(problem, call.name) from None
    page.document["layout"] = positions(page)
    return page


def _entry(page: Page, call: Call, inliner: Inliner, calls: dict[str, Call], budget: Budget) -> dict[str, Any]:
    links = [{"from": _link(calls, *inliner.source(reference))} for reference in call.inputs]
    op = registry.get(call.op)
    given = by_name(call.proto.attr, call.given) if call.proto is not None else {}
    entry: dict[str, Any] = {"op": call.op}
    if op is None:
        inputs: dict[str, Any] = {f"input_{place}": link for place, link in enumerate(links)}
        attrs = {name: plain for name, value in given.items() if (plain := _plain(value)) is not None}
    else:
        flat: list[Any] = with_absent(op, given, links)
        inputs = _named(op, flat)
        attrs = _attrs(page, op, read_attrs(op, given, len(flat), budget)[0], call.name)
    if inputs:
        entry["in"] = inputs
    if attrs:
        entry["attrs"] = attrs
    if call.control:
        entry["after"] = list(dict.fromkeys(call.control))
    return entry


def _link(calls: dict[str, Call], name: str, port: int) -> str:
    if name not in calls:
        raise errors.InvalidArgumentError(f"the input {name[:80]!r} is no node of the graph")
    op = registry.get(calls[name].op)
    if op is None:
        return name if port == 0 else f"{name}.output_{port}"
    call = calls[name]
    given = by_name(call.proto.attr, call.given) if call.proto is not None else {}
    ports = output_ports(op, given, len(call.inputs))
    if port >= len(ports):
        raise errors.InvalidArgumentError(f"the input {name}:{port} asks for an output that {op.name} does not have")
    return name if len(op.outputs) == 1 and not op.output_lists else f"{name}.{ports[port]}"


def _named(op: Op, links: Sequence[Any]) -> dict[str, Any]:
    if not op.takes(len(links)):
        raise errors.InvalidArgumentError(
            f"{op.name}: it has {len(links)} inputs; it takes {', '.join(op.input_names)}"
        )
    every = zip(op.input_names, op.grouped(links), strict=True)
    return {name: link for name, link in every if link is not None}


def _attrs(page: Page, op: Op, attrs: dict[str, Any], name: str) -> dict[str, Any]:
    """As a page says them, but for those that are at their defaults."""
    found = {}
    for attr in sorted(op.attrs, key=lambda a: a.kind == "tensor"):  # a dtype before its values
        if attr.name in attrs:
            value = attrs[attr.name]
            if isinstance(value, np.ndarray):
                found[attr.name] = page.literal(value, name, typed="dtype" not in op.attr_defaults)
            elif value != attr.default:
                found[attr.name] = attr_json(attr.kind, value)
    return found


def _plain(value: Any) -> Any:
    """An attribute of an unknown op, where it is something simple: for people to read."""
    match value.WhichOneof("value"):
        case "b":
            return bool(value.b)
        case "i":
            return attr_json("int", value.i)
        case "f":
            return attr_json("float", value.f)
        case "s":
            return value.s.decode("utf-8", "replace")[:1000]
        case "type":
            try:
                return read_type(value.type)
            except errors.Error:
                return None
    return None
