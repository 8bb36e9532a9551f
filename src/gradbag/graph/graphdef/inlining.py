"""Calls of functions written out: the body's nodes take the place of the call, named call/node as in TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import errors
from ..graph import LONGEST_NAME, check_name
from .attrs import Attrs, by_name
from .branching import ABSENT, BRANCHING, HANDED_ON, HANDLES, SIDES, Join, merged, switched
from .frames import Frame
from .library import Function, Library
from .looping import LOOPING, handles
from .references import Reference, parse, split


@dataclass(slots=True)
class Call:
    """A node before it is built: what it reads, by name."""

    name: str
    op: str
    inputs: list[Reference]
    control: list[str]
    proto: Any = None  # the NodeDef with its attributes; None for a node that stands for a call
    given: Attrs | None = None  # the attributes of the function's call, which the node's own may refer to
    attrs: dict[str, Any] | None = None  # those of a node that no file has
    frame: Frame | None = None  # of a loop that was written as a cycle


@dataclass(slots=True)
class _Frame:
    """A body that is being written out; the graph itself is the outermost."""

    nodes: Iterator[Any]
    name: str = ""
    function: Function | None = None
    given: Attrs | None = None
    arguments: dict[str, Reference] = field(default_factory=dict)
    control: list[str] = field(default_factory=list)  # what must run before every node of the body
    join: Join | None = None  # of a branch: what waits for its end
    side: str = ""


class Inliner:
    """Makes one list of nodes out of a graph and its functions, with a stack of its own instead of recursion."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.calls: list[Call] = []
        self.aliases: dict[Reference, Reference] = {}  # what the outputs of a call with several outputs are
        self.absent: set[str] = set()  # nodes that stand for no value at all

    def write_out(self, nodes: Any) -> None:
        """The nodes of a graph."""
        self._write_out(_Frame(iter(nodes)))

    def write_function(self, name: str, function: Function, given: Attrs, arguments: Sequence[Call]) -> list[Reference]:
        """The nodes of a function, with some that stand for its arguments; gives what it returns."""
        self.calls += arguments
        self._write_out(self._enter(name, function, given, [(call.name, 0) for call in arguments], []))
        return [self.source((name, place)) for place in range(len(function.returns))]

    def _write_out(self, outermost: _Frame) -> None:
        stack = [outermost]
        while stack:
            frame = stack[-1]
            node = next(frame.nodes, None)
            name = frame.name if node is None else f"{frame.name}/{node.name}" if frame.function else node.name
            try:
                if node is None:
                    stack.pop()
                    self._finish(frame)
                    continue
                if len(name) > LONGEST_NAME:
                    check_name(name)  # before calls inside calls make it longer still
                values, control = split(node.input)
                if frame.function is None:
                    inputs = [parse(text) for text in values]
                else:
                    inputs = [self._inside(frame, text) for text in values]
                    local = any(text.partition(":")[0] not in frame.arguments for text in values) or bool(control)
                    control = [f"{frame.name}/{before}" for before in control]
                    if not local:
                        control += frame.control
                called = self.library.called(node)
                if node.op in BRANCHING:
                    stack += self._branches(name, node, frame.given, inputs, control)
                elif node.op in LOOPING:
                    self.calls.append(Call(name, node.op, inputs, control, node, frame.given))
                    self.aliases |= handles(name, node, inputs)
                elif node.op in HANDED_ON or (node.op == "Identity" and _holds_handle(node)):
                    self.aliases[name, 0] = inputs[0]
                    self.write(name, "NoOp", [], control)
                elif node.op == ABSENT:
                    self.absent.add(name)
                    self.write(name, "NoOp", [], control)
                elif called is None:
                    self.calls.append(Call(name, node.op, inputs, control, node, frame.given))
                else:
                    function, entries = called
                    given = {**function.defaults, **by_name(entries, frame.given)}
                    stack.append(self._enter(name, function, given, inputs, control))
            except errors.Error as problem:
                raise at(problem, name) from None

    def write(self, name: str, op: str, inputs: Sequence[Reference] = (), control: Sequence[str] = ()) -> None:
        """A node that no file has."""
        self.calls.append(Call(name, op, list(inputs), list(control)))

    def _branches(
        self, name: str, node: Any, given: Attrs | None, inputs: list[Reference], control: list[str]
    ) -> list[_Frame]:
        join, frames = Join(name), []
        arguments = switched(self, name, node, inputs, control)
        for side, attr in SIDES.items():
            function, entries = self.library.named(node, attr)
            frame = self._enter(
                f"{name}/{side}_branch", function, {**function.defaults, **by_name(entries, given)}, arguments[side], []
            )
            frame.control, frame.join, frame.side = [f"{name}/{side}"], join, side
            frames.append(frame)
        return frames

    def _enter(
        self, name: str, function: Function, given: Attrs, inputs: list[Reference], control: list[str]
    ) -> _Frame:
        if function.lists:
            raise function.problem(f"{function.lists[0]!r} is a list, which gradbag cannot inline")
        if len(inputs) != len(function.inputs):
            raise function.problem(f"it takes {len(function.inputs)} arguments; got {len(inputs)}")
        if control:
            before = f"Func/{name}/input_control_node"
            self.calls.append(Call(before, "NoOp", [], control))
            control = [before]
        arguments = dict(zip(function.inputs, inputs, strict=True))
        return _Frame(iter(function.nodes), name, function, given, arguments, control)

    def _finish(self, frame: _Frame) -> None:
        """A node with the call's name: others may wait for it, and read it if it has one output."""
        if frame.function is None:
            return
        control = [f"{frame.name}/{before}" for before in frame.function.control] + frame.control
        returns = [self._inside(frame, text) for text in frame.function.returns]
        if frame.join is not None:
            frame.join.ends[frame.side] = returns, control if frame.function.control else []
            if len(frame.join.ends) == len(SIDES):
                merged(self, frame.join)
            return
        handed = frame.function.handles
        if len(returns) == 1 and not handed[0] and self.source(returns[0])[0] not in self.absent:
            self.calls.append(Call(frame.name, "Identity", returns, control))
            return
        self.calls.append(Call(frame.name, "NoOp", [], control))
        for index, returned in enumerate(returns):
            if (
                control and not handed[index]
            ):  # what the function does besides must be done even for somebody who only reads this output
                output = f"Func/{frame.name}/output/_{index}"
                self.calls.append(Call(output, "Identity", [returned], [frame.name]))
                returned = (output, 0)
            self.aliases[frame.name, index] = returned

    def _inside(self, frame: _Frame, text: str) -> Reference:
        """What an input of a node in a function means in the graph around it."""
        assert frame.function is not None
        name, _, rest = text.partition(":")
        if name in frame.arguments and rest in ("", "0"):
            return frame.arguments[name]
        local, port = self.library.port(frame.function, text, frame.given)
        return f"{frame.name}/{local}", port

    def source(self, reference: Reference) -> Reference:
        """The output that a reference ends at."""
        way: dict[Reference, None] = {}
        while reference in self.aliases:
            if reference in way:
                raise errors.InvalidArgumentError(f"the graph has a cycle: {reference[0]!r} is an input of itself")
            way[reference] = None
            reference = self.aliases[reference]
        for passed in way:  # so a long row of calls that hand on the same is walked once
            self.aliases[passed] = reference
        return reference


def _holds_handle(node: Any) -> bool:
    return any(e.key == "T" and e.value.type in HANDLES for e in node.attr)


def at(problem: errors.Error, name: str) -> errors.Error:
    """The error with the name of its node, of which a hostile file may have made a very long one."""
    return errors.at_node(problem, name if len(name) <= LONGEST_NAME else name[:80] + "...")
