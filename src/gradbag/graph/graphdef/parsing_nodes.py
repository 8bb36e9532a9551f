"""Nodes that parse messages: their attributes, and the op that is made for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import errors
from ..graph import Output
from ..parsing import ParsingOp, Settings
from .attrs import Attrs, by_name
from .tensors import read_shape, read_type


def settings(op: str, given: Attrs) -> Settings:
    """What the attributes of a node tell."""

    def types(name: str) -> list[str]:
        found = [read_type(number) for number in given[name].list.type] if name in given else []
        for dtype in found:
            if dtype not in ("float32", "int64", "string", "int32"):
                raise errors.wrong_type(op, name, ["float32", "int64", "string"], dtype)
        return found

    texts = {
        name: [text.decode(errors="replace") for text in given[name].list.s] if name in given else []
        for name in ("sparse_keys", "dense_keys")
    }
    shapes = [read_shape(shape) for shape in given["dense_shapes"].list.shape] if "dense_shapes" in given else []
    parts = types("sparse_types"), types("Tdense"), shapes, types("ragged_value_types"), types("ragged_split_types")
    return Settings(*parts, texts["sparse_keys"], texts["dense_keys"])


def parsing_of(call: Any, inputs: Sequence[Output]) -> ParsingOp:
    """The op of a node that parses, for what it reads."""
    if not inputs:
        raise errors.InvalidArgumentError(f"{call.op}: serialized is missing")
    if any(i.dtype != "string" for i in inputs[:1]):
        raise errors.wrong_type(call.op, "serialized", ["string"], inputs[0].dtype)
    given = by_name(call.proto.attr, call.given)
    return ParsingOp(call.op, settings(call.op, given), [i.dtype for i in inputs], inputs[0].shape)
