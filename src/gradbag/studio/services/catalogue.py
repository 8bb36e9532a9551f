"""The blocks that an editor can offer, as plain data read from the registry."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import gradbag

from ... import dtypes, opdocs
from ...page.declared import GRADIENT
from ...page.literals import MOST_INLINE, count
from ...spec import Arg, Attr, Op, registry, snake_case
from ..messages import AttrInfo, Catalogue, Example, InputInfo, OpInfo, OutputInfo, PortInfo


def catalogue() -> Catalogue:
    """All that can be a block, with its ports and settings; the sparse ops come first."""
    return _catalogue(tuple(blocks()))


def declared_ops() -> Iterator[Op]:
    return iter(registry)


def blocks() -> list[Op]:
    """All that a person can put on a page."""
    return [*declared_ops(), GRADIENT]


@functools.lru_cache(maxsize=4)
def _catalogue(ops: tuple[Op, ...]) -> Catalogue:
    return Catalogue(
        version=gradbag.__version__,
        dtypes=[*dtypes.ANY, *dtypes.QUANTIZED],
        categories=list(dict.fromkeys(category(op) for op in ops)),
        ops=[op_info(op) for op in ops],
    )


def category(op: Op) -> str:
    """The heading under which an op stands, from the module that declares it."""
    if op is GRADIENT:
        return "Gradients"
    words = op.category.split("_")
    if op.section == "array":
        return " ".join(words).capitalize()
    if words[-1] == "grad":
        words[-1] = "gradients"
    elif not words[-1].endswith("s"):
        words[-1] += "s"
    return " ".join(["Sparse", *words])


def op_info(op: Op) -> OpInfo:
    """One op: all that an editor needs to draw it, to fill it and to find it."""
    return OpInfo(
        name=op.name,
        title=op.name,  # as in TensorFlow, the help and the files
        summary=opdocs.summary(op),
        category=category(op),
        sparse=op.section != "array" and op is not GRADIENT,
        gradient=op is GRADIENT,
        fed=op.state == "fed",
        differentiable=op.rule is not None and bool(op.differentiable),
        types={variable: list(names) for variable, names in op.types.items()},
        inputs=[InputInfo(**_port(arg), many=arg.many) for arg in op.inputs],
        outputs=[OutputInfo(**_port(arg), many=arg.many, count=arg.count) for arg in op.outputs],
        attrs=[_setting(op, attr) for attr in op.attrs],
        example=example(op),
        words=_words(op),
    )


def example(op: Op) -> Example:
    """What a new block holds, so that it runs at once; what only a session can fill stays empty."""
    given = {} if op is GRADIENT else op.example.inputs
    # A variable, which no value can stand for.
    wired = (
        op.input_names[:1]
        if op.state in ("assign", "update", "initialized")
        else [a.name for a in op.inputs if a.updates]
    )
    inputs = {a.name: _literal(op, a, given[a.name]) for a in op.inputs if a.name in given and a.name not in wired}
    attrs = {a.name: _plain(given[a.name]) for a in op.attrs if a.name in given}
    return Example({"in": inputs, "attrs": attrs})


def _literal(op: Op, arg: Arg, value: Any) -> Any:
    """An input of the example as it stands in a page; its dtype is said where the usual one is not meant."""
    dtype = op.example.dtypes.get(arg.dtype)
    if arg.many:
        return [_typed(_plain(one), dtype) for one in value]
    return _typed(_plain(value), dtype)


def _typed(value: Any, dtype: str | None) -> Any:
    assert count(value) <= MOST_INLINE, "an example stands in the page itself"
    return value if dtype is None else {"value": value, "dtype": dtype}


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _port(arg: Arg) -> PortInfo:
    return PortInfo(name=arg.name, dtype=arg.dtype, dims=arg.shape, text=arg.doc)


def _setting(op: Op, attr: Attr) -> AttrInfo:
    required = attr.name in op.required_attrs
    choices = attr.allowed or op.types.get(attr.name, ())
    return AttrInfo(
        name=attr.name,
        kind=attr.kind,
        required=required,
        default=_plain(op.example.inputs[attr.name] if required else attr.default),
        allowed=list(choices) or None,
        text=attr.doc,
    )


def _words(op: Op) -> str:
    """What people may type who do not know the name: TensorFlow's spellings, and all that the op's page says."""
    spoken = snake_case(op.name).replace("_", " ")
    parts = [op.python_name, spoken, f"tf.raw_ops.{op.name}", category(op), opdocs.details(op)]
    parts += [f"{a.name} {a.doc}" for a in (*op.inputs, *op.outputs)]
    parts += [f"{a.name} {a.doc}" for a in op.attrs]
    return " ".join(" ".join(parts).split())
