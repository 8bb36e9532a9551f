"""One node of a page on its way into the graph: its settings, its inputs, a Const for each value in a port."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import arguments, attributes, dtypes, errors
from ..graph.graph import Node, Output, check_name
from ..spec import Arg, Attr, Op, registry
from . import literals
from .declared import declared
from .links import Problem, input_of, is_link, split
from .literals import LiteralError
from .model import Page

if TYPE_CHECKING:
    from .drawing import Drawn

Array = np.ndarray[Any, Any]


class NodeBuilder:
    """One node of a page on its way into the graph."""

    def __init__(self, page: Page, drawn: Drawn, name: str, entry: Any) -> None:
        self.page, self.drawn, self.name, self.entry = page, drawn, name, entry
        self.graph = drawn.graph
        self.sound = True  # no problem of its own, and none at what it reads

    def build(self) -> None:
        op = self._op()
        if op is None:
            return
        for part in ("in", "attrs"):
            if not isinstance(self.entry.get(part, {}), dict):
                self.problem("", f"{part} must be an object")
                return
        self.build_as(op)

    def build_as(self, op: Op) -> None:
        attrs = self._attrs(op)
        ports = self._ports(op)
        control = self._control()
        if self.sound:
            self._wire(op, attrs, ports, control)
        else:
            self._check_alone(op, ports)

    def problem(self, port: str, text: str) -> None:
        self.sound = False
        self.drawn.problems.append(Problem(self.name, port, text))

    # ------------------------------------------------------------------ op and attributes
    def _op(self) -> Op | None:
        try:
            check_name(self.name)
        except errors.Error as problem:
            self.problem("", str(problem))
            return None
        if not isinstance(self.entry, dict):
            self.problem("", "must be an object with an op")
            return None
        name = self.entry.get("op")
        op = declared(name)
        if op is None:
            what = f"there is no op {name[:80]!r}" if isinstance(name, str) else "op must be the name of an op"
            self.problem("", f"{what}; `gradbag ops` lists them")
        return op

    def _attrs(self, op: Op) -> dict[str, Any]:
        given = self.entry.get("attrs", {})
        if not given and not op.required_attrs:
            return {}
        for name in given:
            if name not in op.attr_defaults:
                known = ", ".join(op.attr_defaults) or "none"
                self.problem(name, f"{op.name} has no attribute {name[:80]!r}; it takes {known}")
        found: dict[str, Any] = {}
        # Types first: they decide how the arrays beside them are read.
        for attr in sorted(op.attrs, key=lambda a: a.kind == "tensor") if given else op.attrs:
            if attr.name in given:
                try:
                    found[attr.name] = self._attr(op, attr, given[attr.name], found)
                except LiteralError as problem:
                    self.problem(attr.name, f"{op.name}: {attr.name} {problem}")
                except errors.Error as problem:
                    self.problem(attr.name, str(problem))
        for name in op.required_attrs:
            if name not in given and not (name == "dtype" and "dtype" in found):
                self.problem(name, f"{op.name}: the attribute {name} is required")
        return found

    def _attr(self, op: Op, attr: Attr, value: Any, found: dict[str, Any]) -> Any:
        if attr.kind == "tensor":
            array = self.page.array(value, found.get("dtype"))
            if array is None:
                bare = value["value"] if isinstance(value, dict) else value
                return literals.natural(bare, takes_text=True)
            if "dtype" in op.attr_defaults:
                found.setdefault("dtype", dtypes.name_of(array.dtype))
            return array
        if attr.kind == "float" and isinstance(value, str):
            value = float(literals.to_array(value, "float64"))
        elif attr.kind == "int" and isinstance(value, str):
            value = int(literals.to_array(value, "int64"))
        elif attr.kind == "ints" and isinstance(value, list):
            value = [int(one) if isinstance(one, str) and literals.is_whole(one) else one for one in value]
        elif attr.kind == "floats" and isinstance(value, list):
            value = literals.to_array(value, "float64").tolist()
        return attributes.normal_value(op, attr, value)

    # ------------------------------------------------------------------ inputs
    def _ports(self, op: Op, without: Collection[str] = ()) -> list[tuple[str, Arg, Any]]:
        """Each input, flat: what to call it, its declaration, and the output or the literal that it gets.

        On a sound node, None is an optional input that is left out.
        """
        given = self.entry.get("in", {})
        for port in given:
            if port not in op.input_names:
                known = ", ".join(op.input_names) or "none"
                self.problem(port, f"{op.name} has no input {port[:80]!r}; it takes {known}")
        ports: list[tuple[str, Arg, Any]] = []
        # Lists that are optional may differ in length: what the shorter ones lack is left out.
        lists = [given.get(op.inputs[place].name) for place in op.lists if op.inputs[place].optional]
        longest = max((len(value) for value in lists if isinstance(value, list)), default=0)
        for arg in op.inputs:
            if arg.name in without:
                continue
            if arg.name not in given and arg.optional and not arg.many:
                ports.append((arg.name, arg, None))
                continue
            if arg.name not in given and not arg.optional:
                self.problem(arg.name, f"{op.name}: {arg.name} needs a value or a wire")
                continue
            value = given.get(arg.name, [])
            if not arg.many:
                ports.append((arg.name, arg, self._source(arg.name, value)))
            elif isinstance(value, list):
                ports += [(f"{arg.name}[{k}]", arg, self._source(f"{arg.name}[{k}]", v)) for k, v in enumerate(value)]
                ports += [(f"{arg.name}[{k}]", arg, None) for k in range(len(value), longest)]
            else:
                self.problem(arg.name, f"{op.name}: {arg.name} must be a list of links and values")
        return ports

    def _source(self, port: str, value: Any) -> Any:
        """The output that a link names; a literal as it is."""
        if value is None:
            self.problem(port, "is empty: it needs a link or a value")
            return None
        if input_of(value) is not None:
            self.problem(port, "names an input of a node, which only the `by` of a Gradient may")
            return None
        return self._linked(port, value["from"]) if is_link(value) else value

    def _linked(self, port: str, source: Any) -> Output | None:
        nodes = self.page.nodes
        if not isinstance(source, str):
            self.problem(port, 'a link is {"from": "node"} or {"from": "node.port"}')
            return None
        name, wanted = (source, "") if source in nodes else split(nodes, source)
        if name not in nodes:
            self.problem(port, f"is wired to {source[:80]!r}, which is not on the page")
            return None
        if name not in self.graph:
            self.sound = False  # said there
            return None
        node = self.graph.node(name)
        if wanted:
            try:
                return node.output(wanted)
            except errors.Error as problem:
                self.problem(port, str(problem))
                return None
        if len(node.dtypes) == 1:
            return Output(node, 0)
        outputs = ", ".join(f"{name}.{output}" for output in node.output_ports)
        self.problem(port, f"{name} has {len(node.dtypes)} outputs, the link must name one: {outputs or 'none'}")
        return None

    def _control(self) -> list[Node]:
        after = self.entry.get("after", [])
        if not isinstance(after, list) or not all(isinstance(name, str) for name in after):
            self.problem("after", "must be a list of nodes")
            return []
        for name in after:
            if name not in self.page.nodes:
                self.problem("after", f"names {name[:80]!r}, which is not on the page")
            elif name not in self.graph:
                self.sound = False
        return [self.graph.node(name) for name in after] if self.sound else []

    # ------------------------------------------------------------------ the node itself
    def _wire(self, op: Op, attrs: dict[str, Any], ports: list[tuple[str, Arg, Any]], control: list[Node]) -> None:
        outputs: list[Any] = [value for _, _, value in ports]
        try:
            if any(value is not None and not isinstance(value, Output) for value in outputs):
                outputs = list(self._literals(op, attrs, ports))
            if self.sound:
                self.graph.add(op, self.name, outputs, attrs, control)
        except errors.Error as problem:
            self.problem(problem.argument, str(problem))

    def _literals(self, op: Op, attrs: dict[str, Any], ports: list[tuple[str, Arg, Any]]) -> Iterator[Output | None]:
        """The outputs of all ports, with a Const for each literal."""
        bound = {name: value for name, value in attrs.items() if name in op.types}
        for _, arg, value in ports:
            if isinstance(value, Output):
                bound.setdefault(arg.dtype, value.dtype)
            elif isinstance(value, dict) and isinstance(value.get("dtype"), str):
                bound.setdefault(arg.dtype, value["dtype"])
        ready = (Output, NoneType)
        values = [v if isinstance(v, ready) else self._value(op, p, arg, v, bound) for p, arg, v in ports]
        if not self.sound:
            return
        if not all(isinstance(value, (*ready, np.ndarray)) for value in values):
            values = self._chosen(op, ports, values)
        for (port, _, _), value in zip(ports, values, strict=True):
            yield value if isinstance(value, ready) else self._constant(port, value)

    def _check_alone(self, op: Op, ports: list[tuple[str, Arg, Any]]) -> None:
        """Say what is wrong with each literal by itself, where the node cannot be built for another reason."""
        for port, arg, literal in ports:
            if literal is None or isinstance(literal, Output):
                continue
            value = self._value(op, port, arg, literal, {})
            try:
                if value is not None:
                    arguments.constant(op, port, value, arg.dtype)
            except errors.Error as problem:
                self.problem(port, str(problem))

    @staticmethod
    def _chosen(op: Op, ports: list[tuple[str, Arg, Any]], values: list[Any]) -> list[Any]:
        """Arrays for Python numbers too, of the dtypes that a call with these arguments would give them."""
        values = _widened(ports, values)
        stand_ins = [np.empty(0, dtypes.numpy_dtype(v.dtype)) if isinstance(v, Output) else v for v in values]
        arrays = arguments.to_arrays(op, stand_ins)
        return [v if isinstance(v, Output) else array for v, array in zip(values, arrays, strict=True)]

    def _value(self, op: Op, port: str, arg: Arg, value: Any, bound: dict[str, str]) -> Any:
        """An array where the dtype is decided by the port or by what is beside it, else Python numbers."""
        allowed = op.allowed(arg)
        dtype = allowed[0] if len(allowed) == 1 else bound.get(arg.dtype)
        if dtype is None and isinstance(value, dict) and "shape" in value:
            dtype = next(name for name in ("int32", "float32", *allowed) if name in allowed)  # as for an empty list
        try:
            array = self.page.array(value, dtype)
            if array is not None:
                return array
            return literals.natural(value["value"] if isinstance(value, dict) else value, "string" in allowed)
        except LiteralError as problem:
            self.problem(port, f"{op.name}: {port} {problem}")
            return None

    def _constant(self, port: str, array: Array) -> Output:
        plain = f"{self.name}/{port.replace('[', '_').replace(']', '')}"
        name, number = plain, 0
        while name in self.page.nodes or name in self.graph:
            number += 1
            name = f"{plain}_{number}"
        attrs = {"value": array, "dtype": dtypes.name_of(array.dtype)}
        return Output(self.graph.add(registry["Const"], name, (), attrs), 0)


def _widened(ports: list[tuple[str, Arg, Any]], values: list[Any]) -> list[Any]:
    """Whole numbers become fractions where a bare fraction stands beside them in a port of the same type."""
    fractions = {arg.dtype for (_, arg, _), value in zip(ports, values, strict=True) if literals.has_fraction(value)}
    if not fractions:
        return values
    return [
        literals.as_fractions(value) if arg.dtype in fractions else value
        for (_, arg, _), value in zip(ports, values, strict=True)
    ]
