"""The functions that a graph file brings along, checked before anything is built from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ... import errors
from ...spec import registry
from .order import run_order
from .references import Reference, parse_port

DEEPEST_CALL = 32
MOST_NODES = 10_000_000  # calls of calls multiply: a small file can describe more nodes than fit any memory
CALLS = ("PartitionedCall", "StatefulPartitionedCall")  # they name the function in the attribute f


class Function:
    """A function's signature and body, by name."""

    def __init__(self, proto: Any) -> None:
        signature = proto.signature
        self.name: str = signature.name
        self.nodes = proto.node_def
        self.local = {node.name: node for node in proto.node_def}
        self.inputs: list[str] = [arg.name for arg in signature.input_arg]
        self.outputs: list[str] = [arg.name for arg in signature.output_arg]
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
            if function.name in registry or function.name in CALLS:
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
        if op not in CALLS:
            return None
        for entry in node.attr:
            if entry.key == "f" and entry.value.WhichOneof("value") == "func":
                function = self.functions.get(entry.value.func.name)
                if function is None:
                    raise errors.InvalidArgumentError(f"the function {entry.value.func.name[:80]!r} is not in the file")
                return function, entry.value.func.attr
        raise errors.InvalidArgumentError(f"{op}: the attribute f must name a function")

    def port(self, function: Function, text: str) -> Reference:
        """What `node:output:index` means inside a function: the node and which of its outputs."""
        name, _, rest = text.partition(":")
        node = function.local.get(name)
        if node is None:
            raise errors.InvalidArgumentError(
                f"the input {text[:80]!r} is neither a node nor an argument of {function.name!r}"
            )
        output, _, index = rest.partition(":")
        number = parse_port(text, index)
        if node.op in CALLS:
            return name, number
        called = self.functions.get(node.op)
        op = registry.get(node.op)
        outputs = called.outputs if called is not None else [arg.name for arg in op.outputs] if op is not None else None
        if outputs is None:
            return name, 0  # an op that gradbag does not have: said together with all others
        if output not in outputs or number:
            raise errors.InvalidArgumentError(
                f"the input {text[:80]!r}: {node.op} has the outputs {', '.join(outputs)}"
            )
        return name, outputs.index(output)

    def _check_calls(self, nodes: Any) -> None:
        names = list(self.functions)
        numbers = {name: number for number, name in enumerate(names)}
        calls = [self._calls(function.nodes) for function in self.functions.values()]
        callees = [[numbers[name] for name in called] for called in calls]
        depth, size = [1] * len(names), [0] * len(names)
        for number in run_order(names, callees, "the file's functions call each other in"):
            own = self.functions[names[number]]
            depth[number] = 1 + max((depth[callee] for callee in callees[number]), default=0)
            size[number] = 2 + len(own.nodes) + len(own.outputs) + sum(size[callee] for callee in callees[number])
            if depth[number] > DEEPEST_CALL:
                raise own.problem(f"its calls go deeper than {DEEPEST_CALL}")
        if len(nodes) + sum(size[numbers[name]] for name in self._calls(nodes)) > MOST_NODES:
            raise errors.InvalidArgumentError(
                f"with the functions written out the graph would have more than {MOST_NODES:,} nodes"
            )

    def _calls(self, nodes: Any) -> list[str]:
        """The functions that the nodes call, as often as they do."""
        found = []
        for node in nodes:
            if node.op in self.functions or node.op in CALLS:
                try:
                    called = self.called(node)
                except errors.Error as problem:
                    raise errors.at_node(problem, node.name) from None
                if called is not None:
                    found.append(called[0].name)
        return found
