"""The raw ops, called like `tf.raw_ops`: keyword-only, `name=None`, named tuples with TensorFlow's field names.

    >>> import gradbag
    >>> gradbag.raw_ops.SparseSegmentSum(data=[[1.0], [2.0]], indices=[0, 1], segment_ids=[0, 0])
    array([[3.]], dtype=float32)

Every op is an attribute of this module; `dir(gradbag.raw_ops)` lists them: the sparse ops, then those of arrays that
stand around them.

`out` is an array to write the output into, or a tuple of arrays and Nones for several outputs. It must be exactly what
the call would allocate, and overlap nothing else in the call; that is checked before anything is written. If the call
fails later, its content is undefined. An argument that an op updates is changed in place, once all is checked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any as _Any  # there is an op of this name

from . import adapters, attributes, eager, errors, opdocs
from . import ops as _declarations  # noqa: F401  # declares the ops
from .spec import REQUIRED, Op, registry

# How to answer a call that was given something else than arrays, by the type of what was given.
Interpreter = Callable[[Op, Sequence[_Any], dict[str, _Any]], _Any]
interpreters: dict[type, Interpreter | None] = {}


def apply(op: Op, values: Sequence[_Any], attrs: dict[str, _Any], out: eager.Out | None = None) -> _Any:
    """Run an op on its inputs, in declared order and flat, in whatever interpreter they ask for."""
    if out is None:
        answer = eager.shortcut(op, values, attrs)
        if answer is not NotImplemented:
            return answer
    for value in values:
        interpreter = interpreter_of(type(value))
        if interpreter is not None:
            if out is not None:
                raise errors.unfit(op.name, "out", f"None where an argument is {type(value).__name__}", "an array")
            return interpreter(op, values, attrs)
    return eager.answer(op, values, attrs, out)


def interpreter_of(kind: type) -> Interpreter | None:
    """Who answers a call that was given a value of a type; None for arrays and Python values."""
    if kind not in interpreters:
        interpreters[kind] = adapters.interpreter_of(kind)
    return interpreters[kind]


def _function(op: Op) -> Callable[..., _Any]:
    inputs, defaults, optional = op.input_names, op.attr_defaults, op.optional_names
    count, kept = len(inputs), eager.prepared.of(op)
    take = itemgetter(*inputs) if count > 1 else lambda given: tuple(given[name] for name in inputs)

    def call(*args: _Any, **given: _Any) -> _Any:
        if args:
            raise TypeError(f"{op.name} takes keyword arguments only: {', '.join(_known(op))}")
        if optional:
            given = dict.fromkeys(optional) | given
        try:
            values = take(given)
        except KeyError:
            missing = [name for name in inputs if name not in given]
            raise TypeError(f"{op.name} misses the required argument {missing[0]!r}") from None
        if op.lists:
            values = op.flat(op.listed(values))
        if len(given) == count and not op.required_attrs:
            if kept.usual is not None:
                answer = kept.usual.call(values)
                if answer is not NotImplemented:
                    return answer
            return apply(op, values, defaults)
        brought = given.pop("out", None)
        out = None if brought is None else eager.Out(op, brought)
        return apply(op, values, _attrs(op, given), out)

    def traced(**given: _Any) -> _Any:
        return adapters.trace_for_torch(op, given)

    call._torchdynamo_inline = traced  # type: ignore[attr-defined]  # the name under which PyTorch's compiler looks
    call.__name__ = call.__qualname__ = op.name
    call.__module__ = __name__
    call.__doc__ = opdocs.docstring(op)
    call.__signature__ = signature(op)  # type: ignore[attr-defined]
    call.autograph_info__ = {}  # type: ignore[attr-defined]  # TensorFlow then does not rewrite it, and what it calls
    return call


def _attrs(op: Op, given: dict[str, _Any]) -> dict[str, _Any]:
    attrs = {}
    for name, value in given.items():
        if name in op.attr_defaults:
            attrs[name] = value
        elif name not in op.input_names and name != "name":
            raise TypeError(f"{op.name} got an unexpected argument {name!r}; it takes {', '.join(_known(op))}")
    return attributes.normal(op, attrs)


def _known(op: Op) -> list[str]:
    """What a call may name."""
    return [*op.input_names, *op.attr_defaults, "name", *(["out"] if op.sized_outputs else [])]


def signature(op: Op) -> inspect.Signature:
    keyword = inspect.Parameter.KEYWORD_ONLY
    empty = inspect.Parameter.empty
    parameters = [inspect.Parameter(a.name, keyword, default=None if a.optional else empty) for a in op.inputs]
    parameters += [
        inspect.Parameter(a.name, keyword, default=empty if a.default is REQUIRED else a.default) for a in op.attrs
    ]
    others = _known(op)[len(parameters) :]
    parameters += [inspect.Parameter(name, keyword, default=None) for name in others]
    return inspect.Signature(parameters)


# Ops of the package are plain attributes, which costs a call nothing; others are looked up.
globals().update({op.name: _function(op) for op in registry.loaded()})
_later: dict[Op, Callable[..., _Any]] = {}


def __getattr__(name: str) -> Callable[..., _Any]:
    op = None if name.startswith("_") else registry.get(name)
    if op is None:
        raise AttributeError(f"gradbag.raw_ops has no op {name!r}; `gradbag ops` lists them")
    if op not in _later:
        _later[op] = _function(op)
    return _later[op]


def __dir__() -> list[str]:
    return [op.name for op in registry]
