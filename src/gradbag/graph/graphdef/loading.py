"""From a GraphDef to a graph: every node is checked against its op's declaration before it is built."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ... import errors
from ...spec import Op, registry
from ..bulk import in_bulk
from ..graph import Graph, Node, Output
from .attrs import by_name, places_of, read_attrs, with_absent
from .files import read
from .inlining import Call, Inliner, at
from .library import Library
from .order import run_order
from .references import parse
from .tensors import Budget

FILE_LIMIT = 1 << 28
CONSTANT_LIMIT = 1 << 30
MOST_NODES_SHOWN = 20


@in_bulk
def load_graphdef(
    source: str | Path | bytes | bytearray | memoryview,
    *,
    outputs: Sequence[str] | None = None,
    file_limit: int = FILE_LIMIT,
    constant_limit: int = CONSTANT_LIMIT,
) -> Graph:
    """The graph of a TensorFlow GraphDef: a file's path, or its content; binary or text, which the content tells.

    Calls of functions that the file brings along are written out. With `outputs`, names of nodes or of their outputs,
    only what these need is loaded, so that the rest may have ops that gradbag does not. `file_limit` is the largest
    file in bytes, `constant_limit` what its constants may take together. Needs the extra `gradbag[graphdef]`.
    """
    proto = read(source, file_limit)
    inliner = Inliner(Library(proto.library, proto.node))
    inliner.write_out(proto.node)
    return built(inliner, Budget(constant_limit), None if outputs is None else [parse(name)[0] for name in outputs])


def built(inliner: Inliner, budget: Budget, ends: Sequence[str] | None = None) -> Graph:
    """The graph of calls that are written out; only of those that some nodes need, if these are given."""
    calls = inliner.calls if ends is None else needed(inliner, ends)
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
            "the graph has ops that gradbag does not have: "
            + "; ".join(_told(op, unknown[op]) for op in unknown)
            + ". If the results that you want do not need them, name these: load_graphdef(..., outputs=[...]) or "
            "gradbag run --fetch; docs/saved_graphs.md lists the ops that there are"
        )
    return found


def _told(op: str, nodes: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:80]) for name in nodes[:MOST_NODES_SHOWN])
    more = f" and {len(nodes) - MOST_NODES_SHOWN} more" if len(nodes) > MOST_NODES_SHOWN else ""
    return f"{op[:80]} (node{'s' if len(nodes) > 1 else ''} {shown}{more})"


def needed(inliner: Inliner, ends: Sequence[str]) -> list[Call]:
    """The calls on which some nodes depend, in their order."""
    by_name_of = {call.name: call for call in inliner.calls}
    found: set[str] = set()
    waiting = [inliner.source((end, port))[0] for end in ends for port in range(_ports(inliner, end))] + list(ends)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        call = by_name_of.get(name)
        if call is None:
            raise errors.InvalidArgumentError(f"the graph has no node {errors.shown(name)!r}")
        found.add(name)
        waiting += [inliner.source(reference)[0] for reference in call.inputs] + call.control
    return [call for call in inliner.calls if call.name in found]


def _ports(inliner: Inliner, name: str) -> int:
    """How many outputs of a call are known by other names."""
    count = 0
    while (name, count) in inliner.aliases:
        count += 1
    return count


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
        for variable, dtypes in types.items() if op.takes(len(inputs)) else ():
            for place, dtype in zip(places_of(op, variable, len(inputs)), dtypes, strict=False):
                source = inputs[place]
                if source is not None and source.dtype != dtype:
                    argument = op.flat_names(len(inputs))[place]
                    raise errors.wrong_type(op.name, argument, [dtype], source.dtype, f"as {variable} says")
    return graph.add(op, call.name, inputs, attrs, control)
