"""What an op answers when tensors have shapes but no data: for `torch.compile`, `torch.export` and meta tensors.

Sizes may be symbols here, so nothing is compared: `torch._check` tells the compiler what must be equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...dims import Dims, word_of
from ...spec import Op
from .views import DTYPES, name_of


def outlines(op: Op, values: Sequence[Any]) -> list[torch.Tensor]:
    """Empty outputs for inputs of which some may be sizes in place of tensors that hold them."""
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    names = [name_of(v) if isinstance(v, torch.Tensor) else _any_index(op, p) for p, v in enumerate(values)]
    bound = op.resolve_types(names)
    sizes: dict[str, Any] = {}
    for place, (arg, value) in enumerate(zip(op.inputs, values, strict=True)):
        if isinstance(value, torch.Tensor):
            _bind(op, place, arg.dims, value.shape, sizes)
        elif isinstance(value, (list, tuple)):
            _bind(op, place, arg.dims, [len(value)], sizes)
        if arg.contents is not None and not isinstance(value, torch.Tensor):
            held = list(value) if isinstance(value, (list, tuple)) else [value]
            _bind(op, place, arg.contents, held, sizes)
    return [
        tensors[0].new_empty(_shape(arg.dims, sizes), dtype=DTYPES[bound.get(arg.dtype, arg.dtype)])
        for arg in op.outputs
    ]


def _any_index(op: Op, place: int) -> str:
    return op.allowed(op.inputs[place])[0]


def _bind(op: Op, place: int, dims: Dims, shape: Sequence[Any], sizes: dict[str, Any]) -> None:
    terms, count = dims.terms, len(shape)
    if count < len(terms) - (dims.star >= 0) or (dims.star < 0 and count > len(terms)):
        # Only the number of axes matters for the words of the refusal, and that is never a symbol.
        op.bind_shapes([None] * place + [tuple(shape)] + [None] * (len(op.inputs) - place - 1), [None] * len(op.inputs))
    for term, part in _parts(dims, shape):
        if isinstance(term, int):
            _must_equal(op, place, part, term)
        elif word_of(term) != "_":
            known = sizes.setdefault(word_of(term), part)
            if isinstance(part, tuple):
                for one, other in zip(known, part, strict=True):
                    _must_equal(op, place, one, other)
            else:
                _must_equal(op, place, known, part)


def _parts(dims: Dims, shape: Sequence[Any]) -> list[tuple[int | str, Any]]:
    """Each term with its size; the starred one with a tuple of sizes."""
    if dims.star < 0:
        return list(zip(dims.terms, shape, strict=True))
    end = len(shape) - (len(dims.terms) - dims.star - 1)
    parts = [*shape[: dims.star], tuple(shape[dims.star : end]), *shape[end:]]
    return list(zip(dims.terms, parts, strict=True))


def _must_equal(op: Op, place: int, one: Any, other: Any) -> None:
    if one is not other:
        arg = op.inputs[place]
        torch._check(one == other, lambda: f"{op.name}: {arg.name} must have shape [{arg.shape}]; {other} is not {one}")


def _shape(dims: Dims, sizes: dict[str, Any]) -> list[Any]:
    shape: list[Any] = []
    for term in dims.terms:
        if isinstance(term, int):
            shape.append(term)
        elif term.startswith("*"):
            shape.extend(sizes[word_of(term)])
        else:
            if term not in sizes:  # it depends on the data, but is one size wherever it stands
                sizes[term] = torch.library.get_ctx().new_dynamic_size()
            shape.append(sizes[term])
    return shape
