"""The graph itself: nodes that are calls of ops, joined by the outputs that they read.

A node is checked when it is added, so a graph never holds a call whose dtypes or shapes cannot fit. It only grows, and
a node only reads what was there before, so there are no cycles, and the order of the nodes is an order to run them in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from .. import attributes, dtypes, eager, errors
from ..dims import AnyShape
from ..spec import Arg, Known, Op

Array = np.ndarray[Any, Any]

LONGEST_NAME = 1024
_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")  # TensorFlow's
# Values that are known while building serve as shapes and axes: those are small.
_MOST_KNOWN = 1024


class Node:
    """One call of an op. Made by `Graph.add`."""

    __slots__ = (
        "absent",
        "attrs",
        "control",
        "digest",
        "dtypes",
        "graph",
        "inputs",
        "known",
        "name",
        "number",
        "op",
        "shapes",
    )

    def __init__(
        self,
        graph: Graph,
        number: int,
        name: str,
        op: Op,
        inputs: Sequence[Output | None],
        control: tuple[Node, ...],
    ) -> None:
        self.graph, self.number, self.name, self.op = graph, number, name, op
        self.inputs = tuple(i for i in inputs if i is not None)
        self.absent = tuple(place for place, i in enumerate(inputs) if i is None)  # optional ones that are left out
        self.control = control
        self.attrs: dict[str, Any] = {}
        self.shapes: list[AnyShape] = []
        self.dtypes: list[str] = []
        self.known: list[Array | None] = []  # the outputs' values, where they are known while building
        self.digest = b""  # of the call, once somebody has asked for it

    @property
    def outputs(self) -> list[Output]:
        return [Output(self, index) for index in range(len(self.dtypes))]

    def flat(self, values: Sequence[Any]) -> list[Any]:
        """A value for each input, with None where an optional one is left out: what an op is called with."""
        if not self.absent:
            return list(values)
        given = iter(values)
        return [None if p in self.absent else next(given) for p in range(len(values) + len(self.absent))]

    @property
    def args(self) -> list[Arg]:
        """The declaration of each input."""
        every = self.op.flat_inputs(len(self.inputs) + len(self.absent))
        return [arg for place, arg in enumerate(every) if place not in self.absent]

    @property
    def ports(self) -> list[str]:
        """The name of each input: 'values[2]' for one of a list."""
        every = self.op.flat_names(len(self.inputs) + len(self.absent))
        return [name for place, name in enumerate(every) if place not in self.absent]

    @property
    def output_ports(self) -> tuple[str, ...]:
        """The name of each output: 'outputs[2]' for one of a list."""
        return self.op.flat_output_names(len(self.dtypes))

    def output(self, port: str) -> Output:
        """An output by its declared name."""
        for index, name in enumerate(self.output_ports):
            if name == port:
                return Output(self, index)
        names = ", ".join(self.output_ports) or "none"
        raise errors.InvalidArgumentError(f"node {self.name!r} ({self.op.name}) has no output {port!r}; it has {names}")

    def __repr__(self) -> str:
        return f"<node {self.name!r}: {self.op.name}>"


class Output:
    """One output of a node: what other nodes read, what a run fetches."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int) -> None:
        self.node, self.index = node, index

    @property
    def graph(self) -> Graph:
        return self.node.graph

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return self.node.dtypes[self.index]

    @property
    def shape(self) -> AnyShape:
        """The sizes, None where one is not known before the run; None alone if not even their number is."""
        return self.node.shapes[self.index]

    @property
    def known(self) -> Array | None:
        """The value, where it is known while building."""
        return self.node.known[self.index]

    @property
    def port(self) -> str:
        return self.node.output_ports[self.index]

    @property
    def name(self) -> str:
        """As TensorFlow writes it: node:index."""
        return f"{self.node.name}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Output) and other.node is self.node and other.index == self.index

    def __hash__(self) -> int:
        return hash((id(self.node), self.index))

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise errors.UnsupportedTypeError(
            f"{self.name} has no value before it is run; ClientSession(scope).run fetches it"
        )

    def __repr__(self) -> str:
        return f"<output {self.name} {self.dtype}{shape_text(self.shape)}>"


class Graph:
    """Nodes by name, in the order in which they were added."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}

    def add(
        self,
        op: Op,
        name: str,
        inputs: Sequence[Output | None] = (),
        attrs: Mapping[str, Any] | None = None,
        control: Sequence[Node] = (),
    ) -> Node:
        """Check a call and add it; `inputs` are flat, None for an optional one that is left out.

        `control` are nodes that must have run before.
        """
        check_name(name)
        if name in self._nodes:
            raise errors.InvalidArgumentError(f"{op.name}: the graph has a node {name!r} already")
        if not op.takes(len(inputs)):
            least = len(op.inputs) - len(op.lists)
            wanted = f"{'at least ' if op.lists else ''}{least} inputs ({', '.join(op.input_names)})"
            raise errors.InvalidArgumentError(f"{op.name}: node {name!r} has {len(inputs)} inputs; it takes {wanted}")
        shapes: list[AnyShape] = []
        names: list[str | None] = []
        held: list[Array | None] = []
        for place, output in enumerate(inputs):
            if output is None:
                arg = op.flat_inputs(len(inputs))[place]
                if not arg.optional:
                    raise errors.InvalidArgumentError(f"{op.name}: node {name!r} misses the input {arg.name}")
                shapes.append(None)
                names.append(None)
                held.append(None)
                continue
            source, index = output.node, output.index
            if source.graph is not self:
                raise _foreign(op, source)
            shapes.append(source.shapes[index])
            names.append(source.dtypes[index])
            held.append(source.known[index])
        for before in control:
            if before.graph is not self:
                raise _foreign(op, before)
        node = Node(self, len(self._nodes), name, op, inputs, tuple(control))
        node.attrs = attributes.normal(op, attrs or {})
        for shape, dtype in op.infer(shapes, names, held, node.attrs):
            node.shapes.append(shape)
            node.dtypes.append(dtype)
        node.known = _known(node, [value for value, dtype in zip(held, names, strict=True) if dtype is not None])
        self._nodes[name] = node
        return node

    def adopt(self, other: Node, inputs: tuple[Output, ...], control: tuple[Node, ...], name: str = "") -> Node:
        """Add a node as another graph has it, without checking it again: its inputs must be what they were there."""
        node = Node.__new__(Node)
        node.graph, node.number, node.name, node.op = self, len(self._nodes), name or other.name, other.op
        node.inputs, node.absent, node.control, node.digest = inputs, other.absent, control, other.digest
        node.attrs, node.shapes, node.dtypes, node.known = other.attrs, other.shapes, other.dtypes, other.known
        self._nodes[node.name] = node
        return node

    def keep_needed(self, start: int, ends: Sequence[Node]) -> list[Node]:
        """Of the nodes from a number on, forget those that some of them do not need; nothing else may read them."""
        needed: set[Node] = set()
        waiting = [node for node in ends if node.number >= start]
        while waiting:
            node = waiting.pop()
            if node not in needed:
                needed.add(node)
                sources = (*(source.node for source in node.inputs), *node.control)
                waiting += [source for source in sources if source.number >= start]
        later = list(self._nodes.values())[start:]
        for node in later:
            del self._nodes[node.name]
        kept = [node for node in later if node in needed]
        for node in kept:
            node.number = len(self._nodes)
            self._nodes[node.name] = node
        return kept

    def get(self, name: str) -> Node | None:
        return self._nodes.get(name)

    def node(self, name: str) -> Node:
        found = self._nodes.get(name)
        if found is None:
            raise errors.InvalidArgumentError(
                f"the graph has no node {errors.shown(name)!r}{_close(name, self._nodes)}"
            )
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._nodes

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)

    def __repr__(self) -> str:
        return f"<graph of {len(self)} nodes>"


def _foreign(op: Op, node: Node) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(f"{op.name}: {node.name!r} belongs to another graph")


def check_name(name: object) -> None:
    if not isinstance(name, str) or len(name) > LONGEST_NAME or _NAME.fullmatch(name) is None:
        raise errors.InvalidArgumentError(
            f"{repr(name)[:80]} is no name for a node: it must begin with a letter, digit or dot, go on with these, "
            f"_ / \\ > or -, and have at most {LONGEST_NAME} characters"
        )


def refuse_loop(node: Node, what: str) -> None:
    """Loops and lists live in the graph that was loaded: nothing writes them yet."""
    if node.op.state in ("loop", "list"):
        problem = errors.UnsupportedTypeError(f"{node.op.name}: {what} holds no loop and no list of arrays")
        raise errors.at_node(problem, node.name)


def fits(array: Array, shape: AnyShape) -> bool:
    """Whether an array has a shape, as far as that is known."""
    return shape is None or (
        len(shape) == array.ndim and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    )


def shape_text(shape: AnyShape) -> str:
    """A shape for people: [3, ?], or [...] if nothing is known."""
    return "[...]" if shape is None else "[" + ", ".join("?" if n is None else str(n) for n in shape) + "]"


def _close(name: str, names: Mapping[str, Node]) -> str:
    """A hint at what was probably meant."""
    from difflib import get_close_matches

    found = get_close_matches(str(name), list(names)[:10_000], 1)
    return f"; did you mean {found[0]!r}?" if found else ""


def _known(node: Node, held: Sequence[Array | None]) -> list[Array | None]:
    """The outputs, if they follow from what is known: shapes are often computed, and then rules can use them."""
    op = node.op
    if op.state or op.updates or not op.outputs:
        return [None] * len(node.dtypes)
    if op.value_rule is not None:
        shapes = [i.node.shapes[i.index] for i in node.inputs]
        names = [i.node.dtypes[i.index] for i in node.inputs]
        known = [Known(n, s, v) for n, s, v in zip(names, shapes, held, strict=True)]
        found = list(op.value_rule(*op.grouped(node.flat(known)), **node.attrs))
        return op.flat_answer(found if op.result is not None else found[0])
    arrays = [value for value in held if value is not None]
    if not arrays or len(arrays) < len(held):
        return [None] * len(node.dtypes)
    small = all(dtype not in dtypes.DIFFERENTIABLE for dtype in node.dtypes) and all(
        shape is not None and None not in shape and prod(n or 0 for n in shape) <= _MOST_KNOWN for shape in node.shapes
    )
    if not small:
        return [None] * len(node.dtypes)
    try:
        answers = eager.quick_run(op, node.flat(arrays), node.attrs)
    except errors.Error:  # said when the node runs: perhaps it never does
        return [None] * len(node.dtypes)
    return list(answers)
