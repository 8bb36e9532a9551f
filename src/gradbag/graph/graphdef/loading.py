"""From a GraphDef to a graph: every node is checked against its op's declaration before it is built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ... import errors
from ...spec import Op
from .. import lists
from ..bulk import in_bulk
from ..graph import Graph, Node, Output
from ..parsing import PARSING
from .attrs import by_name, places_of, read_attrs, with_absent
from .files import read
from .frames import rolled
from .inlining import Call, Inliner, at
from .library import Library
from .looping import LOOPING, loop_of
from .order import run_order
from .parsing_nodes import parsing_of
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
    calls = rolled(inliner.calls if ends is None else needed(inliner, ends), inliner.source)
    ops = _ops(calls, inliner.library)
    sources = _linked(calls, inliner)
    names = [call.name for call in calls]
    graph = Graph()
    built: list[Any] = [None] * len(calls)
    for number in run_order(names, sources):
        call = calls[number]
        try:
            before = [built[s] for s in sources[number]]
            built[number] = _build(graph, call, ops.get(call.op) or inliner.library, before, budget)
        except errors.Error as problem:
            raise at(problem, call.name) from None
    return graph


def _ops(calls: Sequence[Call], library: Library) -> dict[str, Op]:
    """The ops by name; all that gradbag does not have are told at once, those inside of loops too."""
    found: dict[str, Op] = {}
    unknown: dict[str, list[str]] = {}
    for call in calls:
        if call.op in PARSING:
            continue
        if call.op not in found and call.op not in LOOPING:
            op = lists.find(call.op)
            if op is None:
                unknown.setdefault(call.op, []).append(call.name)
            else:
                found[call.op] = op
        elif call.op in LOOPING:
            for op_name, node in _inside(call, library):
                if lists.find(op_name) is None and op_name not in PARSING:
                    unknown.setdefault(op_name, []).append(node)
    if unknown:
        raise errors.InvalidArgumentError(
            "the graph has ops that gradbag does not have: "
            + "; ".join(_told(op, unknown[op]) for op in unknown)
            + ". If the results that you want do not need them, name these: load_graphdef(..., outputs=[...]) or "
            "gradbag run --fetch; `gradbag ops` lists the ops that there are"
        )
    return found


def _inside(call: Call, library: Library) -> Iterator[tuple[str, str]]:
    """The ops inside of a loop, each with its node."""
    if call.frame is None:
        yield from ((op, f"{call.name}/{node}") for op, node in library.inside(call.proto))
        return
    for inner in {inner.name: inner for part in call.frame.parts.values() for inner in part.calls}.values():
        if inner.op in LOOPING:
            yield from _inside(inner, library)
        else:
            yield inner.op, inner.name


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
        if call is None and name in ends and name.rpartition(".")[0] in by_name_of:  # node.port
            call = by_name_of[name.rpartition(".")[0]]
            waiting += [call.name]
            continue
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


def _build(graph: Graph, call: Call, op: Op | Library, before: Sequence[Node], budget: Budget) -> Node:
    """Add the node of a call: of an op, or of a loop, whose functions stand in a library."""
    inputs: list[Output | None] = []
    for (name, port), node in zip(call.inputs, before, strict=False):
        if port >= len(node.dtypes):
            raise errors.InvalidArgumentError(
                f"{call.op}: the input {name}:{port} asks for an output that {node.op.name} does not have"
            )
        inputs.append(Output(node, port))
    control = before[len(inputs) :]
    attrs: dict[str, Any] = call.attrs or {}
    if isinstance(op, Library):
        read = [i for i in inputs if i is not None]
        op = parsing_of(call, read) if call.op in PARSING else loop_of(call, read, op, budget)
    elif call.proto is not None:
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
