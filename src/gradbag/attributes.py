"""Attributes of a call, checked and brought into one form: whatever a caller writes, an op sees the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import arguments, dtypes, errors
from .spec import REQUIRED, Attr, Op, is_dtype_name

_PYTHON = {"bool": bool, "int": int, "float": float, "string": str}


def normal(op: Op, given: Mapping[str, Any]) -> dict[str, Any]:
    """All attributes of an op in declared order: the given ones, and the defaults of the others."""
    if not given and not op.required_attrs:
        return dict(op.attr_defaults)
    for name in given:
        if name not in op.attr_defaults:
            known = ", ".join(op.attr_defaults) or "none"
            raise errors.InvalidArgumentError(f"{op.name} has no attribute {name!r}; it takes {known}")
    missing = [name for name in op.required_attrs if name not in given]
    if missing:
        raise errors.InvalidArgumentError(f"{op.name}: the attribute {missing[0]} is required")
    values = {}
    for attr in op.attrs:
        value = given.get(attr.name, attr.default)
        values[attr.name] = value if attr.name not in given else normal_value(op, attr, value)
    for attr in op.attrs:
        if attr.kind == "tensor":
            values[attr.name] = arguments.constant(op, attr.name, values[attr.name], values["dtype"])
    return values


def normal_value(op: Op, attr: Attr, value: Any) -> Any:
    """One value in the form of its kind; a value of another type is refused, never cast."""
    match attr.kind:
        case "type":
            return _dtype_name(op, attr, value)
        case "shape":
            return _shape(op, attr, value)
        case "ints":
            return _members(op, attr, value, int)
        case "floats":
            return _members(op, attr, value, float)
        case "strings":
            return _members(op, attr, value, str)
        case "tensor":
            return value  # the attribute `dtype` decides its form
    if attr.kind == "float" and type(value) is int:
        value = float(value)
    if type(value) is not _PYTHON[attr.kind]:
        raise errors.UnsupportedTypeError(
            f"{op.name}: {attr.name} must be a {_PYTHON[attr.kind].__name__}; got {_type(value)}"
        )
    if attr.allowed and value not in attr.allowed:
        raise errors.unfit(op.name, attr.name, "one of " + ", ".join(map(repr, attr.allowed)), repr(value))
    return value


def _type(value: Any) -> str:
    module = type(value).__module__.replace("builtins", "")  # NumPy has a bool of its own
    return f"{module}.{type(value).__name__}".lstrip(".")


def _dtype_name(op: Op, attr: Attr, value: Any) -> str:
    """A name, a NumPy dtype or scalar type, or a framework's dtype, which has a name."""
    allowed = attr.allowed or op.types.get(attr.name, ())
    try:
        name = value if isinstance(value, str) else getattr(value, "name", None) or dtypes.name_of(np.dtype(value))
    except (TypeError, ValueError):
        name = _type(value)
    if not is_dtype_name(name) or (allowed and name not in allowed):
        raise errors.wrong_type(op.name, attr.name, allowed or ["the name of a dtype"], str(name))
    return str(name)


def _shape(op: Op, attr: Attr, value: Any) -> tuple[int | None, ...] | None:
    """A sequence of sizes, None or -1 for one that is not known; None where not even their number is."""
    if value is None:
        return None
    sizes = [value] if isinstance(value, int) else list(value) if isinstance(value, Sequence) else None
    if sizes is None or isinstance(value, str) or not all(s is None or (type(s) is int and s >= -1) for s in sizes):
        raise errors.unfit(op.name, attr.name, "a list of sizes, with None for unknown ones", errors.shown(value))
    return tuple(None if s == -1 else s for s in sizes)


def _members(op: Op, attr: Attr, value: Any, kind: type) -> tuple[Any, ...]:
    """A list of values of one type; one alone stands for a list of it, and whole numbers are floats too."""
    values = [value] if type(value) is kind else list(value) if isinstance(value, (list, tuple)) else None
    if values is not None and kind is float:
        values = [float(v) if type(v) is int else v for v in values]
    if values is None or not all(type(v) is kind for v in values):
        raise errors.unfit(op.name, attr.name, f"a list of {kind.__name__}s", errors.shown(value))
    return tuple(values)


__all__ = ["REQUIRED", "normal", "normal_value"]
