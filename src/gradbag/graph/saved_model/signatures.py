"""What the signatures of a saved model take and give, and which one is meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ... import errors
from ...dims import AnyShape
from ..graph import Output, shape_text
from ..graphdef.messages import type_names
from ..graphdef.tensors import read_shape

SERVING = "serving_default"
FIRST = "__saved_model_init_op"  # what must run before anything else, in the form of a signature


@dataclass(frozen=True)
class Signature:
    """What a caller gives and gets, by name."""

    inputs: Mapping[str, Output]
    outputs: Mapping[str, Output]

    def __str__(self) -> str:
        taken, given = (
            ", ".join(_port(name, output.dtype, output.shape) for name, output in ports.items())
            for ports in (self.inputs, self.outputs)
        )
        return f"({taken}) -> {given}"


def described(meta: Any) -> dict[str, Any]:
    """The messages of the signatures of a graph, by name."""
    return {entry.key: entry.value for entry in meta.signature_def if entry.key != FIRST}


def chosen(name: str, known: Mapping[str, Any], where: str) -> str:
    """The name of the signature that is meant: without one, the serving one or the only one."""
    found = name or (SERVING if SERVING in known or len(known) != 1 else next(iter(known)))
    if found not in known:
        listed = "; ".join(f"{name}{_told(known[name])}" for name in sorted(known)) or "none"
        raise errors.InvalidArgumentError(f"{where} has no signature {errors.shown(found)!r}; it has {listed}")
    return found


def _told(signature: Any) -> str:
    if isinstance(signature, Signature):
        return str(signature)
    taken, given = (
        ", ".join(_port(e.key, type_names([e.value.dtype])[0], read_shape(e.value.tensor_shape)) for e in entries)
        for entries in (signature.inputs, signature.outputs)
    )
    return f"({taken}) -> {given}"


def _port(name: str, dtype: str, shape: AnyShape) -> str:
    return f"{name} {dtype}{shape_text(shape)}"
