"""The functions that a graph file brings along, checked before anything is built from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ... import errors, memory
from .. import lists
from ..parsing import PARSING, output_names
from .attrs import Attrs, by_name, output_ports
from .branching import ABSENT, BRANCHING, HANDED_ON, HANDLES, SIDES
from .looping import LOOPING, PARTS
from .order import run_order
from .parsing_nodes import settings
from .references import Reference, parse_port, split
from .weighing import ATTR_BYTES, INPUT_BYTES, NODE_BYTES, allowed

DEEPEST_CALL = 32
# Calls of calls multiply: a small file can describe more nodes than fit any memory. Written out, a graph may take this
# many times what its file takes, or as much as this many nodes.
MOST_TIMES, MOST_NODES = 100, 200_000
_NAME_BYTES = 1024  # names grow with every call around them
CALLS = ("PartitionedCall", "StatefulPartitionedCall")  # they name the function in the attribute f
OPTIONAL = (*HANDED_ON, ABSENT)
CALLED = {**dict.fromkeys(BRANCHING, tuple(SIDES.values())), **dict.fromkeys(LOOPING, PARTS)}


class Function:
    """A function's signature and body, by name."""

    def __init__(self, proto: Any) -> None:
        signature = proto.signature
        self.name: str = signature.name
        self.nodes = proto.node_def
        self.local = {node.name: node for node in proto.node_def}
        self.inputs: list[str] = [arg.name for arg in signature.input_arg]
        self.outputs: list[str] = [arg.name for arg in signature.output_arg]
        self.handles = [arg.type in HANDLES for arg in signature.output_arg]
        self.defaults = {attr.name: attr.default_value for attr in signature.attr if attr.HasField("default_value")}
        args = (*signature.input_arg, *signature.output_arg)
        self.lists: list[str] = [arg.name for arg in args if arg.number_attr or arg.type_list_attr]
        if len(self.local) < len(proto.node_def):
            raise self.problem("two of its nodes have the same name")
        returned = self._texts("ret", proto.ret)
        missing = [name for name in self.outputs if name not in returned]
        if missing or len(set(self.inputs)) < len(self.inputs):
            raise self.problem(f"nothing is returned for {missing[0]!r}" if missing else "two arguments share a name")
        self.returns = [returned[name] for name in self.outputs]
        self.control = list(self._texts("control_ret", proto.control_ret).values())

    def problem(self, sentence: str) -> errors.InvalidArgumentError:
        return errors.InvalidArgumentError(f"the function {self.name[:80]!r}: {sentence}")

    def _texts(self, what: str, entries: Iterable[Any]) -> dict[str, str]:
        found: dict[str, str] = {}
        for entry in entries:
            if entry.key in found:
                raise self.problem(f"{what} has {entry.key!r} twice")
            found[entry.key] = entry.value
        return found


class Library:
    """The functions by name. Making one refuses calls in a circle and calls that go too deep."""

    def __init__(self, proto: Any, nodes: Any) -> None:
        self.functions: dict[str, Function] = {}
        for described in proto.function:
            function = Function(described)
            if function.name in self.functions:
                raise function.problem("the file has two of this name")
            if lists.find(function.name) is not None or function.name in CALLS:
                raise function.problem("an op has the same name")
            self.functions[function.name] = function
        if self.functions:
            self._check_calls(nodes)

    def called(self, node: Any) -> tuple[Function, Any] | None:
        """The function that a node calls, and the entries of its attributes; None for a node that is an ordinary op."""
        op = node.op
        function = self.functions.get(op)
        if function is not None:
            return function, node.attr
        return self.named(node, "f") if op in CALLS else None

    def named(self, node: Any, attr: str) -> tuple[Function, Any]:
        """The function that an attribute of a node names."""
        for entry in node.attr:
            if entry.key == attr and entry.value.WhichOneof("value") == "func":
                function = self.functions.get(entry.value.func.name)
                if function is None:
                    raise errors.InvalidArgumentError(f"the function {entry.value.func.name[:80]!r} is not in the file")
                return function, entry.value.func.attr
        raise errors.InvalidArgumentError(f"{node.op}: the attribute {attr} must name a function")

    def port(self, function: Function, text: str, given: Attrs | None) -> Reference:
        """What `node:output:index` means inside a function: the node and which of its outputs."""
        name, _, rest = text.partition(":")
        node = function.local.get(name)
        if node is None:
            raise errors.InvalidArgumentError(
                f"the input {text[:80]!r} is neither a node nor an argument of {function.name!r}"
            )
        output, _, index = rest.partition(":")
        number = parse_port(text, index)
        if node.op in CALLS or node.op in CALLED:
            return name, number
        called = self.functions.get(node.op)
        op = lists.find(node.op)
        if node.op in PARSING:
            names = output_names(settings(node.op, by_name(node.attr, given)))
            if f"{output}[{number}]" in names:
                return name, names.index(f"{output}[{number}]")
        if called is None and op is None:
            return name, number  # an op that gradbag does not have: said together with all others
        if called is not None:
            ports: Sequence[str] = called.outputs
        else:
            assert op is not None
            ports = output_ports(op, by_name(node.attr, given), len(split(node.input)[0]))
        if output in ports and not number:
            return name, ports.index(output)
        if f"{output}[{number}]" in ports:
            return name, ports.index(f"{output}[{number}]")
        raise errors.InvalidArgumentError(f"the input {text[:80]!r}: {node.op} has the outputs {', '.join(ports[:99])}")

    def inside(self, node: Any) -> Iterator[tuple[str, str]]:
        """The ops in the functions that a node names and in those that they call, each with its node."""
        waiting, seen = [node], set[str]()
        while waiting:
            for name in self._calls([waiting.pop()]):
                if name not in seen:
                    seen.add(name)
                    for inner in self.functions[name].nodes:
                        if self._calls([inner]):
                            waiting.append(inner)
                        elif inner.op not in OPTIONAL:
                            yield inner.op, inner.name

    def _check_calls(self, nodes: Any) -> None:
        names = list(self.functions)
        numbers = {name: number for number, name in enumerate(names)}
        calls = [self._calls(function.nodes) for function in self.functions.values()]
        callees = [[numbers[name] for name in called] for called in calls]
        depth, weight = [1] * len(names), [0] * len(names)
        own_weight = [_weight(function.nodes) for function in self.functions.values()]
        for number in run_order(names, callees, "the file's functions call each other in"):
            own = self.functions[names[number]]
            depth[number] = 1 + max((depth[callee] for callee in callees[number]), default=0)
            around = (2 + len(own.outputs)) * (NODE_BYTES + _NAME_BYTES)  # the nodes that stand for the call
            weight[number] = own_weight[number] + around + sum(weight[callee] for callee in callees[number])
            if depth[number] > DEEPEST_CALL:
                raise own.problem(f"its calls go deeper than {DEEPEST_CALL}")
        outside = _weight(nodes)
        total = outside + sum(weight[numbers[name]] for name in self._calls(nodes))
        most = max(MOST_TIMES * (outside + sum(own_weight)), MOST_NODES * (NODE_BYTES + _NAME_BYTES))
        limit = memory.get_memory_limit()
        if total > min(most, limit):
            written = f"with the functions written out the graph would take about {errors.in_bytes(total)}"
            if total > limit:
                raise errors.ResourceExhaustedError(f"{written}, more than the {allowed(limit)}")
            raise errors.ResourceExhaustedError(
                f"{written}, more than {MOST_TIMES} times what stands in the file, and more than {MOST_NODES:,} nodes"
            )

    def _calls(self, nodes: Any) -> list[str]:
        """The functions that the nodes call, as often as they do."""
        found = []
        for node in nodes:
            if node.op in self.functions or node.op in CALLS or node.op in CALLED:
                try:
                    if node.op in CALLED:
                        found += [self.named(node, attr)[0].name for attr in CALLED[node.op]]
                    else:
                        called = self.called(node)
                        found += [] if called is None else [called[0].name]
                except errors.Error as problem:
                    raise errors.at_node(problem, node.name) from None
        return found


def _weight(nodes: Any) -> int:
    """What nodes of a body take in the graph, in bytes."""
    parts = sum(INPUT_BYTES * len(node.input) + ATTR_BYTES * len(node.attr) for node in nodes)
    return parts + len(nodes) * (NODE_BYTES + _NAME_BYTES)
