"""From a GraphDef to a graph: every node is checked against its op's declaration before it is built."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ... import errors
from ...spec import Op, registry
from ..bulk import in_bulk
from ..graph import Graph, Node, Output
from .attrs import by_name, place_of, read_attrs, with_absent
from .files import read
from .inlining import Call, Inliner, at
from .library import Library
from .order import run_order
from .tensors import Budget

FILE_LIMIT = 1 << 28
CONSTANT_LIMIT = 1 << 30
MOST_NODES_SHOWN = 20


@in_bulk
def load_graphdef(
    source: str | Path | bytes | bytearray | memoryview,
    *,
    file_limit: int = FILE_LIMIT,
    constant_limit: int = CONSTANT_LIMIT,
) -> Graph:
    """The graph of a TensorFlow GraphDef: a file's path, or its content; binary or text, which the content tells.

    Calls of functions that the file brings along are written out. `file_limit` is the largest file in bytes,
    `constant_limit` what its constants may take together. Needs the extra `gradbag[graphdef]`.
    """
    return _graph(read(source, file_limit), Budget(constant_limit))


def _graph(proto: Any, budget: Budget) -> Graph:
    inliner = Inliner(Library(proto.library, proto.node))
    inliner.write_out(proto.node)
    calls = inliner.calls
    ops = _ops(calls)
    sources = _linked(calls, inliner)
    names = [call.name for call in calls]
    graph = Graph()
    built: list[Any] = [None] * len(calls)
    for number in run_order(names, sources):
        call = calls[number]
        try:
            built[number] = _build(graph, call, ops[call.op], [built[s] for s in sources[number]], budget)
        except errors.Error as problem:
            raise at(problem, call.name) from None
    return graph


def _ops(calls: Sequence[Call]) -> dict[str, Op]:
    """The ops by name; all that gradbag does not have are told at once."""
    found: dict[str, Op] = {}
    unknown: dict[str, list[str]] = {}
    for call in calls:
        if call.op not in found:
            op = registry.get(call.op)
            if op is None:
                unknown.setdefault(call.op, []).append(call.name)
            else:
                found[call.op] = op
    if unknown:
        raise errors.InvalidArgumentError(
            "the graph has ops that gradbag does not have: " + "; ".join(_told(op, unknown[op]) for op in unknown)
        )
    return found


def _told(op: str, nodes: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:80]) for name in nodes[:MOST_NODES_SHOWN])
    more = f" and {len(nodes) - MOST_NODES_SHOWN} more" if len(nodes) > MOST_NODES_SHOWN else ""
    return f"{op[:80]} (node{'s' if len(nodes) > 1 else ''} {shown}{more})"


def _linked(calls: Sequence[Call], inliner: Inliner) -> list[list[int]]:
    """The numbers of the nodes that each node reads, then of those that it waits for."""
    numbers: dict[str, int] = {}
    for number, call in enumerate(calls):
        if numbers.setdefault(call.name, number) != number:
            raise at(errors.InvalidArgumentError("the graph has two nodes of this name"), call.name)
    sources = []
    for call in calls:
        try:
            if inliner.aliases:
                call.inputs = [inliner.source(reference) for reference in call.inputs]
            sources.append([numbers[name] for name, _ in call.inputs] + [numbers[name] for name in call.control])
        except KeyError as missing:
            problem = errors.InvalidArgumentError(f"the input {missing.args[0][:80]!r} is no node of the graph")
            raise at(problem, call.name) from None
        except errors.Error as problem:
            raise at(problem, call.name) from None
    return sources


def _build(graph: Graph, call: Call, op: Op, before: Sequence[Node], budget: Budget) -> Node:
    inputs: list[Output | None] = []
    for (name, port), node in zip(call.inputs, before, strict=False):
        if port >= len(node.dtypes):
            raise errors.InvalidArgumentError(
                f"{op.name}: the input {name}:{port} asks for an output that {node.op.name} does not have"
            )
        inputs.append(Output(node, port))
    control = before[len(inputs) :]
    attrs: dict[str, Any] = {}
    if call.proto is not None:
        given = by_name(call.proto.attr, call.given)
        inputs = with_absent(op, given, inputs)
        attrs, types = read_attrs(op, given, len(inputs), budget)
        for variable, dtype in types.items() if op.takes(len(inputs)) else ():
            place = place_of(op, variable, len(inputs))
            source = None if place is None else inputs[place]
            if source is not None and source.dtype != dtype:
                argument = op.flat_names(len(inputs))[place or 0]
                raise errors.wrong_type(op.name, argument, [dtype], source.dtype, f"as {variable} says")
    return graph.add(op, call.name, inputs, attrs, control)
