"""Where a wire may end: every port of the page, and every op, tried by the ops' own rules."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ... import attributes, errors
from ...dims import AnyShape
from ...graph.graph import Graph, Node, Output, shape_text
from ...page.boxes import output_ports
from ...page.declared import GRADIENT
from ...page.drawing import Drawn, draw
from ...page.links import is_link, sources, split
from ...page.literals import LiteralError
from ...page.migrate import FORMAT
from ...page.model import Page
from ...spec import Arg, Op
from ..messages import Fits, FittingOp
from .catalogue import blocks, example
from .checking import op_of

LONGEST_CYCLE = 6
MOST_TYPES_SHOWN = 4
NO_LITERAL: Any = object()


@dataclass(frozen=True)
class Carried:
    """What a wire carries; None where that is not known."""

    dtype: str | None
    shape: AnyShape = None
    known: Any = None

    @classmethod
    def of(cls, output: Output) -> Carried:
        return cls(output.dtype, output.shape, output.known)


@dataclass(frozen=True)
class Port:
    """An input of a node and what it gets now; a literal that says no dtype takes the one that its neighbours have."""

    name: str
    arg: Arg
    carried: Carried
    literal: Any = NO_LITERAL
    typed: bool = False  # into the port itself, a literal of any kind

    @property
    def wired(self) -> bool:
        return self.literal is NO_LITERAL and self.carried.dtype is not None


@dataclass(frozen=True)
class Target:
    """A node that a wire may end at."""

    page: Page
    op: Op
    attrs: Mapping[str, Any] | None  # None where they are wrong themselves
    ports: tuple[Port, ...]
    sound: bool


def fits(page: Page, drawn: Drawn, node: str, port: str, side: str) -> Fits:
    """For a wire that begins at a port: each port of the other side with "" or the reason against it, and new ops."""
    if node not in page.nodes:
        raise errors.InvalidArgumentError(f"{node[:80]!r} is not on the page")
    if side == "output":
        return _from_output(page, drawn.graph, node, port)
    if side == "input":
        return _from_input(page, drawn.graph, node, port)
    raise errors.InvalidArgumentError(f"a side is output or input, not {side[:40]!r}")


def _from_output(page: Page, graph: Graph, node: str, port: str) -> Fits:
    carried = _carried(page, graph, node, port)
    way = _ways(page, node, upstream=True)
    found: dict[str, str] = {}
    for name, entry in page.nodes.items():
        cycle = _cycle_text(way, node, name, upstream=True)
        target = _target(page, graph, name)
        if target is None:
            for unknown in entry.get("in", {}) if isinstance(entry, dict) else ():
                found[f"{name}.{unknown}"] = cycle or f"{name} has no known op, so nothing says what it takes"
            continue
        for place, at in _places(target):
            found[f"{name}.{at}"] = cycle or _refusal(target, place, carried)
    return Fits(ports=found, ops=[FittingOp(op=op.name, port=at) for op, at in _takers(carried)])


def _from_input(page: Page, graph: Graph, node: str, port: str) -> Fits:
    target = _target(page, graph, node)
    place = None if target is None else next((place for place, at in _places(target) if at == port), None)
    if target is None or place is None:
        raise errors.InvalidArgumentError(f"{node} has no input {port[:80]!r}")
    way = _ways(page, node, upstream=False)
    found = {}
    for name, entry in page.nodes.items():
        cycle = _cycle_text(way, node, name, upstream=False)
        op = op_of(entry)
        for at in output_ports(op, entry) if op is not None else ():
            found[f"{name}.{at}"] = cycle or _refusal(target, place, _carried(page, graph, name, at))
    return Fits(ports=found, ops=[FittingOp(op=op.name, port=at) for op, at in _givers(target, place)])


def _carried(page: Page, graph: Graph, name: str, port: str) -> Carried:
    """What comes out of a port; of a node with a problem, what its declaration says."""
    op = op_of(page.nodes[name])
    name_of_list = port.partition("[")[0]
    declared = next((a for a in op.outputs if a.name == name_of_list), None) if op is not None else None
    if op is None or declared is None:
        raise errors.InvalidArgumentError(f"{name} has no output {port[:80]!r}")
    node = graph.get(name)
    if node is not None:
        return Carried.of(node.output(port))
    return Carried(None if declared.dtype in op.types else declared.dtype)


# ------------------------------------------------------------------ targets
def _target(page: Page, graph: Graph, name: str) -> Target | None:
    entry = page.nodes[name]
    op = op_of(entry)
    if op is None:
        return None
    given = entry.get("in", {})
    given = given if isinstance(given, dict) else {}
    node = None if op is GRADIENT else graph.get(name)  # it was written out, and its ports are gone
    listed = bool(op.lists) and isinstance(given.get(op.input_names[op.lists[0]]), list)
    values = [given.get(a.name, []) if a.many and not listed else given.get(a.name) for a in op.inputs]
    flat = op.flat([v if not a.many or isinstance(v, list) else [v] for a, v in zip(op.inputs, values, strict=True)])
    args, names = op.flat_inputs(len(flat)), op.flat_names(len(flat))
    sources = node.flat(node.inputs) if node is not None else [None] * len(flat)
    ports = [_port(page, graph, op, *at) for at in zip(names, args, flat, sources, strict=True)]
    return Target(page, op, _attrs(op, entry, node), tuple(ports), node is not None)


def _port(page: Page, graph: Graph, op: Op, name: str, arg: Arg, value: Any, source: Output | None) -> Port:
    linked = is_link(value)
    if source is not None:
        said = linked or (isinstance(value, dict) and not value.keys().isdisjoint(("dtype", "file", "base64")))
        literal = NO_LITERAL if said or len(op.allowed(arg)) == 1 else value
        return Port(name, arg, Carried.of(source), literal, typed=not linked)
    if not linked or not isinstance(value["from"], str):
        return Port(name, arg, Carried(None))
    start, port = split(page.nodes, value["from"])
    before = graph.get(start)
    if before is None or (not port and len(before.dtypes) != 1) or port not in ("", *(o.port for o in before.outputs)):
        return Port(name, arg, Carried(None))
    return Port(name, arg, Carried.of(before.output(port) if port else before.outputs[0]))


def _attrs(op: Op, entry: Any, node: Node | None) -> Mapping[str, Any] | None:
    if node is not None:
        return node.attrs
    try:
        return attributes.normal(op, entry.get("attrs", {}))
    except (errors.Error, AttributeError, TypeError):
        return None


def _places(target: Target) -> Iterator[tuple[int, str]]:
    """The ports of a node with their names; a list of inputs also takes one more, by its own name and by the next."""
    op = target.op
    for place, port in enumerate(target.ports):
        yield place, port.name
    if op.lists:
        listed = len(target.ports) - len(op.inputs) + 1
        for name in (f"{op.input_names[op.lists[0]]}[{listed}]", op.input_names[op.lists[0]]):
            yield -1, name


# ------------------------------------------------------------------ trying
def _refusal(target: Target, place: int, carried: Carried) -> str:
    """The reason that holds whatever is typed into the other ports: example values, say, are there to be typed anew."""
    reason = _reason(target, place, carried)
    if not reason:
        return ""
    loose = [replace(port, carried=Carried(port.carried.dtype)) if port.typed else port for port in target.ports]
    return _reason(replace(target, ports=tuple(loose)), place, carried)


def _reason(target: Target, place: int, carried: Carried) -> str:
    """Why an input cannot get what a wire carries; "" where it can."""
    op = target.op
    ports = list(target.ports)
    if place < 0:
        assert op.lists
        place = op.lists[0] + len(ports) - len(op.inputs) + 1
        ports.insert(place, Port(op.input_names[op.lists[0]], op.inputs[op.lists[0]], Carried(None)))
    port = ports[place]
    reason = _alone(op, port.arg, carried)
    if reason or carried.dtype is None:
        return reason
    ports[place] = replace(port, carried=carried, literal=NO_LITERAL)
    if port.arg.dtype in op.types:
        for number, other in enumerate(ports):
            if number == place or other.arg.dtype != port.arg.dtype or other.carried.dtype == carried.dtype:
                continue
            if other.wired:
                return f"wants {other.carried.dtype}, like {other.name}; this is {carried.dtype}"
            if other.literal is not NO_LITERAL:
                try:
                    target.page.array(other.literal, carried.dtype)
                except LiteralError as problem:
                    return f"{other.name} {problem}"
            ports[number] = replace(other, carried=replace(other.carried, dtype=carried.dtype, known=None))
    told = _tried(target, ports)
    if told and not target.sound:
        ports[place] = replace(port, carried=Carried(carried.dtype))
        if _tried(target, ports) == told:  # it was so before
            return ""
    return told


def _alone(op: Op, arg: Arg, carried: Carried) -> str:
    """What speaks against a wire whatever the other inputs are."""
    allowed = op.allowed(arg)
    if carried.dtype is not None and carried.dtype not in allowed:
        return f"wants {_one_of(allowed)}; this is {carried.dtype}"
    if arg.dims.bind(carried.shape, {}):
        return ""
    shape = carried.shape or ()
    rank, more = len(arg.dims.terms) - (arg.dims.star >= 0), arg.dims.star >= 0
    if len(shape) < rank or (len(shape) > rank and not more):
        return f"wants rank {rank}{' or more' if more else ''}; this has shape {shape_text(shape)}"
    return f"wants shape [{arg.shape}]; this has shape {shape_text(shape)}"


def _tried(target: Target, ports: Sequence[Port]) -> str:
    op = target.op
    if target.attrs is None or not _even(op, ports):
        return ""
    bound = {name: value for name, value in target.attrs.items() if name in op.types}
    for port in ports:
        if port.carried.dtype is not None:
            bound.setdefault(port.arg.dtype, port.carried.dtype)
    names = [port.carried.dtype or bound.get(port.arg.dtype) or op.allowed(port.arg)[0] for port in ports]
    try:
        op.infer([p.carried.shape for p in ports], names, [p.carried.known for p in ports], target.attrs)
    except errors.Error as problem:
        return str(problem).removeprefix(f"{op.name}: ")
    return ""


def _even(op: Op, ports: Sequence[Port]) -> bool:
    """Whether the lists of inputs are all of one length; before that nothing can be told of the whole."""
    lengths = {sum(port.arg.name == op.inputs[place].name for port in ports) for place in op.lists}
    return len(lengths) < 2 and 0 not in lengths


def _one_of(names: Sequence[str]) -> str:
    if len(names) > MOST_TYPES_SHOWN:
        return f"one of {', '.join(names[:MOST_TYPES_SHOWN])}, …"
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# ------------------------------------------------------------------ cycles
def _ways(page: Page, start: str, upstream: bool) -> dict[str, str]:
    """All nodes before a node, or all after it, each with its neighbour on the way to it."""
    wired = {name: [source for _, source in ports] for name, ports in sources(page.nodes).items()}
    if not upstream:
        readers: dict[str, list[str]] = {}
        for name, before in wired.items():
            for source in before:
                readers.setdefault(source, []).append(name)
        wired = readers
    found = {start: start}
    waiting = [start]
    for name in waiting:  # grows while it is walked
        for other in wired.get(name, ()):
            if other not in found:
                found[other] = name
                waiting.append(other)
    return found


def _cycle_text(way: Mapping[str, str], start: str, end: str, upstream: bool) -> str:
    if end not in way:
        return ""
    members = [end]
    while members[-1] != start:
        members.append(way[members[-1]])
    if not upstream:
        members.reverse()
    if len(members) > LONGEST_CYCLE:
        members = [*members[: LONGEST_CYCLE // 2], "…", *members[-LONGEST_CYCLE // 2 :]]
    return f"would make a cycle: {' → '.join([*members, members[0]])}"


# ------------------------------------------------------------------ new blocks
@functools.lru_cache(maxsize=4)
def _new_blocks(ops: tuple[Op, ...]) -> tuple[Page, Graph, tuple[Target, ...]]:
    """Every op as a block that was just dropped."""
    nodes = {op.name: {"op": op.name, **example(op)} for op in ops}
    page = Page({"format": FORMAT, "nodes": nodes})
    graph = draw(page).graph
    return page, graph, tuple(t for op in ops if (t := _target(page, graph, op.name)) is not None)


def _takers(carried: Carried) -> list[tuple[Op, str]]:
    """The ops that could read what a wire carries, those that would run at once first."""
    found = []
    for number, target in enumerate(_new_blocks(tuple(blocks()))[2]):
        op = target.op
        for place, arg in enumerate(op.inputs):
            if not arg.updates and (carried.dtype is None or not _alone(op, arg, carried)):
                at = -1 if arg.many else place
                later = carried.dtype is not None and bool(_reason(target, at, carried))
                # Of two ops the one that takes fewer dtypes is made for this one.
                found.append(((later, place, op.section == "array", len(op.allowed(arg)), number), op, arg.name))
                break
    return [(op, name) for _, op, name in sorted(found, key=lambda one: one[0])]


def _givers(target: Target, place: int) -> list[tuple[Op, str]]:
    """The ops whose output could go into an input."""
    op, at = target.op, target.ports[place] if place >= 0 else None
    arg = at.arg if at is not None else op.inputs[op.lists[0] if op.lists else 0]
    alike = [p.carried.dtype for p in target.ports if p is not at and p.arg.dtype == arg.dtype and p.wired]
    wanted = set(alike[:1] if arg.dtype in op.types and alike else op.allowed(arg))
    _, graph, givers = _new_blocks(tuple(blocks()))
    found = []
    for number, block in enumerate(givers):
        giver = block.op
        node = graph.get(giver.name)
        for index, output in enumerate(giver.outputs):
            if wanted.isdisjoint(giver.allowed(output)):
                continue
            shape = None if output.dims.star >= 0 else (None,) * len(output.dims.terms)
            if not arg.dims.bind(shape, {}):
                continue
            later = bool(giver.inputs) and (
                node is None or bool(_reason(target, place, Carried.of(Output(node, index))))
            )
            found.append(((later, len(giver.inputs), giver.section == "array", index, number), giver, output.name))
            break
    return [(giver, name) for _, giver, name in sorted(found, key=lambda one: one[0])]
