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

COUNT = "N"  # TensorFlow's attribute for the length of a list of inputs, where it has no name of its own
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
    "floats": "list",
    "strings": "list",
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


def read_attrs(op: Op, given: Attrs, count: int, budget: Budget) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The declared attributes, and the dtypes of the type variables that the `count` inputs must agree with."""
    kinds, counter = _kinds(op), _counter(op) if op.lists else ""
    attrs: dict[str, Any] = {}
    types: dict[str, list[str]] = {}
    for name, value in given.items():
        attr = kinds.get(name)
        if attr is not None:
            attrs[name] = _read(op, attr, value, budget)
        elif name in op.types:
            types[name] = _types(op, name, value) if name in _each(op) else [_type(op, name, value)]
        elif (not name or name != counter) and (name != ABSENT or not op.optional_names):
            known = ", ".join([*op.types, *op.attr_defaults]) or "none"
            raise errors.InvalidArgumentError(f"{op.name} has no attribute {errors.shown(name)!r}; it takes {known}")
    if counter and not op.inputs[op.lists[0]].optional:
        _check_count(op, counter, given.get(counter), op.list_length(count))
    return attrs, types


def _counter(op: Op) -> str:
    """The attribute that says how long the lists of inputs are; one with a dtype for each member needs none."""
    lists = [op.inputs[place] for place in op.lists]
    named = [arg.count for arg in lists if arg.count]
    return named[0] if named else "" if all(arg.each for arg in lists) else COUNT


def _each(op: Op) -> set[str]:
    """The type variables that are another dtype for each member of a list."""
    return {arg.dtype for arg in op.inputs if arg.each}


def output_ports(op: Op, given: Attrs, inputs: int) -> tuple[str, ...]:
    """What the outputs of a node with these attributes and so many inputs are called."""
    if not op.output_lists:
        return op.flat_output_names(len(op.outputs))
    counter = op.outputs[op.output_lists[0]].count
    if counter and counter not in given:
        raise errors.InvalidArgumentError(f"{op.name}: the attribute {counter} is required")
    if not counter and not op.takes(inputs):
        raise errors.InvalidArgumentError(f"{op.name}: it has {inputs} inputs; it takes {', '.join(op.input_names)}")
    return op.flat_output_names(op.output_count(inputs, {counter: given[counter].i} if counter else {}))


def with_absent(op: Op, given: Attrs, inputs: Sequence[Any]) -> list[Any]:
    """The inputs of a node with None for the optional ones that it does not have."""
    if op.lists and op.inputs[op.lists[0]].optional:
        return _with_short_lists(op, given, inputs)
    flat = list(inputs)
    for place in sorted(_members(op, ABSENT, given[ABSENT].list, "i") if ABSENT in given else []):
        flat.insert(place, None)
    return flat


def _with_short_lists(op: Op, given: Attrs, inputs: Sequence[Any]) -> list[Any]:
    """The inputs with None for what the shorter ones of several lists lack."""
    lengths = []
    for arg in op.inputs:
        name = arg.dtype if arg.each else arg.count
        if arg.many and name not in given:
            raise errors.InvalidArgumentError(f"{op.name}: the attribute {name} is required")
        lengths.append((len(given[name].list.type) if arg.each else given[name].i) if arg.many else 1)
    if sum(lengths) != len(inputs) or min(lengths) < 0:
        told = ", ".join(f"{n} {a.name}" for n, a in zip(lengths, op.inputs, strict=True) if a.many)
        raise errors.InvalidArgumentError(f"{op.name}: its attributes tell {told}; the node has {len(inputs)} inputs")
    longest = max(length for arg, length in zip(op.inputs, lengths, strict=True) if arg.many)
    flat, rest = list[Any](), list(inputs)
    for arg, length in zip(op.inputs, lengths, strict=True):
        flat += [*rest[:length], *[None] * (longest - length if arg.many else 0)]
        rest = rest[length:]
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
            return _members(op, attr.name, value.list, "i")
        case "floats":
            return _members(op, attr.name, value.list, "f")
        case "strings":
            return [text.decode(errors="replace") for text in _members(op, attr.name, value.list, "s")]
        case "tensor":
            return read_tensor(value.tensor, budget)
    raise AssertionError(attr.kind)


def _check_field(op: Op, name: str, value: Any, field: str) -> None:
    got = value.WhichOneof("value")
    if got != field:
        raise errors.InvalidArgumentError(
            f"{op.name}: the attribute {name} must stand in the field {field!r}; got {got or 'nothing'}"
        )


def _types(op: Op, variable: str, value: Any) -> list[str]:
    _check_field(op, variable, value, "list")
    return [_checked_type(op, variable, number) for number in value.list.type]


def _type(op: Op, variable: str, value: Any) -> str:
    _check_field(op, variable, value, "type")
    return _checked_type(op, variable, value.type)


def _checked_type(op: Op, variable: str, number: int) -> str:
    name = read_type(number)
    if name not in op.types[variable]:
        raise errors.wrong_type(op.name, variable, op.types[variable], name)
    return name


_LISTS = {"i": "ints", "f": "floats", "s": "strings"}


def _members(op: Op, name: str, proto: Any, wanted: str) -> list[Any]:
    for field, _ in proto.ListFields():
        if field.name != wanted:
            raise errors.InvalidArgumentError(f"{op.name}: the attribute {name} must be a list of {_LISTS[wanted]}")
    return list(getattr(proto, wanted))


def _check_count(op: Op, counter: str, value: Any, count: int) -> None:
    if value is None:
        raise errors.InvalidArgumentError(f"{op.name}: the attribute {counter} is required")
    _check_field(op, counter, value, "i")
    if value.i != count:
        listed = op.input_names[op.lists[0]]
        raise errors.InvalidArgumentError(f"{op.name}: {counter} says {value.i} {listed}; the node has {count}")


# ------------------------------------------------------------------ writing
def write_attrs(node: Node, proto: Any, output_shapes: bool) -> None:
    """All attributes of a node in the order of their names, then what is known of its outputs."""
    for name, kind, find in _layout(node.op):
        _write(kind, find(node), node, proto.attr.add(key=name).value)
    if node.absent and not (node.op.lists and node.op.inputs[node.op.lists[0]].optional):
        proto.attr.add(key=ABSENT).value.list.i.extend(node.absent)
    if output_shapes and node.shapes:
        shapes = proto.attr.add(key="_output_shapes").value.list.shape
        for shape in node.shapes:
            write_shape(shape, shapes.add())


Find = Callable[[Node], Any]


@functools.lru_cache(1024)
def _layout(op: Op) -> list[tuple[str, str, Find]]:
    """Name, kind and source of each attribute of an op's nodes."""
    each = _each(op)
    found: dict[str, tuple[str, Find]] = {
        variable: ("types", _dtypes_of(variable)) if variable in each else ("type", _bound_by(op, variable))
        for variable in op.types
        if variable not in op.attr_defaults and not _is_handles(op, variable)
    }
    found |= {attr.name: (attr.kind, _setting(attr.name)) for attr in op.attrs}
    if op.lists and _counter(op):
        counted = op.inputs[op.lists[0]].name
        found[_counter(op)] = ("int", lambda node: sum(arg.name == counted for arg in node.args))
    return [(name, *found[name]) for name in sorted(found)]


def _is_handles(op: Op, variable: str) -> bool:
    """Whether a type variable is that of handles alone, of which TensorFlow does not say what they hold."""
    return all(arg.handle for arg in (*op.inputs, *op.outputs) if arg.dtype == variable)


def _dtypes_of(variable: str) -> Find:
    return lambda node: [i.dtype for arg, i in zip(node.args, node.inputs, strict=True) if arg.dtype == variable]


def _setting(name: str) -> Find:
    return lambda node: node.attrs[name]


def places_of(op: Op, variable: str, count: int) -> list[int]:
    """Where among the `count` flat inputs of a call those stand that have the dtype of a type variable."""
    return [place for place, arg in enumerate(op.flat_inputs(count)) if arg.dtype == variable]


def _bound_by(op: Op, variable: str) -> Find:
    def find(node: Node) -> Any:
        place = next((place for place, arg in enumerate(node.args) if arg.dtype == variable), None)
        if place is not None:
            return node.inputs[place].dtype
        args = op.flat_outputs(len(node.dtypes))
        return node.dtypes[next(index for index, arg in enumerate(args) if arg.dtype == variable)]

    return find


def _write(kind: str, value: Any, node: Node, proto: Any) -> None:
    match kind:
        case "type":
            proto.type = messages.NUMBERS[value]
        case "types":
            proto.list.SetInParent()
            proto.list.type.extend(messages.NUMBERS[name] for name in value)
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
        case "floats":
            proto.list.SetInParent()
            proto.list.f.extend(value)
        case "strings":
            proto.list.SetInParent()
            proto.list.s.extend(text.encode() for text in value)
        case "tensor":
            write_tensor(value, node.dtypes[0], proto.tensor)
