"""AttrValue: the attributes of a node, checked against the op's declaration."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ... import errors
from ...spec import Attr, Op
from ..graph import Node
from . import messages
from .tensors import Budget, read_shape, read_tensor, read_type, write_shape, write_tensor

COUNT = "N"  # TensorFlow's attribute for the length of a list of inputs
ABSENT = "absent_inputs"  # the places of the optional inputs that a node does not have
Attrs = Mapping[str, Any]  # of AttrValue messages, by name

# Which member of the oneof carries a kind of attribute.
_FIELDS = {
    "bool": "b",
    "int": "i",
    "float": "f",
    "string": "s",
    "type": "type",
    "shape": "shape",
    "ints": "list",
    "tensor": "tensor",
}


# ------------------------------------------------------------------ reading
def by_name(entries: Iterable[Any], given: Attrs | None = None) -> dict[str, Any]:
    """The entries of an attribute map; `given` are those of the call in whose function the node stands.

    Names that begin with _ are notes of whoever wrote the file, and left out.
    """
    found: dict[str, Any] = {}
    for entry in entries:
        key = entry.key
        if key.startswith("_"):
            continue
        value = entry.value
        if key in found:
            raise errors.InvalidArgumentError(f"the attribute {errors.shown(key)!r} is given twice")
        if given is not None and value.WhichOneof("value") == "placeholder":
            stands_for = value.placeholder
            if stands_for not in given:
                raise errors.InvalidArgumentError(
                    f"the attribute {key!r} stands for {stands_for!r}, which is not given"
                )
            value = given[stands_for]
        found[key] = value
    return found


def read_attrs(op: Op, given: Attrs, count: int, budget: Budget) -> tuple[dict[str, Any], dict[str, str]]:
    """The declared attributes, and the type variables that the `count` inputs must agree with."""
    kinds = _kinds(op)
    attrs: dict[str, Any] = {}
    types: dict[str, str] = {}
    for name, value in given.items():
        attr = kinds.get(name)
        if attr is not None:
            attrs[name] = _read(op, attr, value, budget)
        elif name in op.types:
            types[name] = _type(op, name, value)
        elif (name != COUNT or not op.lists) and (name != ABSENT or not op.optional_names):
            known = ", ".join([*op.types, *op.attr_defaults]) or "none"
            raise errors.InvalidArgumentError(f"{op.name} has no attribute {errors.shown(name)!r}; it takes {known}")
    if op.lists:
        _check_count(op, given.get(COUNT), op.list_length(count))
    return attrs, types


def with_absent(op: Op, given: Attrs, inputs: Sequence[Any]) -> list[Any]:
    """The inputs of a node with None for the optional ones that it does not have."""
    flat = list(inputs)
    for place in sorted(_integers(op, ABSENT, given[ABSENT].list) if ABSENT in given else []):
        flat.insert(place, None)
    return flat


def _kinds(op: Op) -> dict[str, Attr]:
    found = _KINDS.get(op)
    if found is None:
        found = _KINDS[op] = {attr.name: attr for attr in op.attrs}
    return found


_KINDS: dict[Op, dict[str, Attr]] = {}


def _read(op: Op, attr: Attr, value: Any, budget: Budget) -> Any:
    _check_field(op, attr.name, value, _FIELDS[attr.kind])
    match attr.kind:
        case "bool":
            return value.b
        case "int":
            return value.i
        case "float":
            return value.f
        case "string":
            try:
                return value.s.decode()
            except UnicodeDecodeError:
                raise errors.InvalidArgumentError(f"{op.name}: {attr.name} must be UTF-8 text") from None
        case "type":
            return read_type(value.type)
        case "shape":
            return read_shape(value.shape)
        case "ints":
            return _integers(op, attr.name, value.list)
        case "tensor":
            return read_tensor(value.tensor, budget)
    raise AssertionError(attr.kind)


def _check_field(op: Op, name: str, value: Any, field: str) -> None:
    got = value.WhichOneof("value")
    if got != field:
        raise errors.InvalidArgumentError(
            f"{op.name}: the attribute {name} must stand in the field {field!r}; got {got or 'nothing'}"
        )


def _type(op: Op, variable: str, value: Any) -> str:
    _check_field(op, variable, value, "type")
    name = read_type(value.type)
    if name not in op.types[variable]:
        raise errors.wrong_type(op.name, variable, op.types[variable], name)
    return name


def _integers(op: Op, name: str, proto: Any) -> list[int]:
    for field, _ in proto.ListFields():
        if field.name != "i":
            raise errors.InvalidArgumentError(f"{op.name}: the attribute {name} must be a list of ints")
    return list(proto.i)


def _check_count(op: Op, value: Any, count: int) -> None:
    if value is None:
        raise errors.InvalidArgumentError(f"{op.name}: the attribute {COUNT} is required")
    _check_field(op, COUNT, value, "i")
    if value.i != count:
        listed = op.input_names[op.lists[0]]
        raise errors.InvalidArgumentError(f"{op.name}: {COUNT} says {value.i} {listed}; the node has {count}")


# ------------------------------------------------------------------ writing
def write_attrs(node: Node, proto: Any, output_shapes: bool) -> None:
    """All attributes of a node in the order of their names, then what is known of its outputs."""
    for name, kind, find in _layout(node.op):
        _write(kind, find(node), node, proto.attr.add(key=name).value)
    if node.absent:
        proto.attr.add(key=ABSENT).value.list.i.extend(node.absent)
    if output_shapes and node.shapes:
        shapes = proto.attr.add(key="_output_shapes").value.list.shape
        for shape in node.shapes:
            write_shape(shape, shapes.add())


Find = Callable[[Node], Any]


@functools.lru_cache(1024)
def _layout(op: Op) -> list[tuple[str, str, Find]]:
    """Name, kind and source of each attribute of an op's nodes."""
    found: dict[str, tuple[str, Find]] = {
        variable: ("type", _bound_by(op, variable)) for variable in op.types if variable not in op.attr_defaults
    }
    found |= {attr.name: (attr.kind, _setting(attr.name)) for attr in op.attrs}
    if op.lists:
        found[COUNT] = ("int", lambda node: op.list_length(len(node.inputs) + len(node.absent)))
    return [(name, *found[name]) for name in sorted(found)]


def _setting(name: str) -> Find:
    return lambda node: node.attrs[name]


def place_of(op: Op, variable: str, count: int) -> int | None:
    """Where among the `count` flat inputs of a call the first one stands that has the dtype of a type variable."""
    return next((place for place, arg in enumerate(op.flat_inputs(count)) if arg.dtype == variable), None)


def _bound_by(op: Op, variable: str) -> Find:
    def find(node: Node) -> Any:
        place = next((place for place, arg in enumerate(node.args) if arg.dtype == variable), None)
        if place is not None:
            return node.inputs[place].dtype
        return node.dtypes[next(index for index, arg in enumerate(op.outputs) if arg.dtype == variable)]

    return find


def _write(kind: str, value: Any, node: Node, proto: Any) -> None:
    match kind:
        case "type":
            proto.type = messages.NUMBERS[value]
        case "bool":
            proto.b = value
        case "int":
            proto.i = value
        case "float":
            proto.f = value
        case "string":
            proto.s = value.encode()
        case "shape":
            write_shape(value, proto.shape)
        case "ints":
            proto.list.SetInParent()
            proto.list.i.extend(value)
        case "tensor":
            write_tensor(value, node.dtypes[0], proto.tensor)
