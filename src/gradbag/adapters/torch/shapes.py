"""What an op answers when tensors have shapes but no data: for `torch.compile`, `torch.export` and meta tensors.

Sizes may be symbols here, so nothing is compared: the compiler is told what must be equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ... import errors
from ...eager.layout import Layout
from ...spec import Op
from .compat import is_known_equal
from .views import DTYPES, name_of


def outlines(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[torch.Tensor]:
    """Empty outputs for flat inputs of which some may be sizes in place of tensors that hold them."""
    args = op.flat_inputs(len(values))
    names = [
        None if v is None else name_of(v) if isinstance(v, torch.Tensor) else op.allowed(arg)[0]
        for arg, v in zip(args, values, strict=True)
    ]
    like = next(v for v in values if isinstance(v, torch.Tensor))
    shapes = [None if v is None else _shape_of(v) for v in values]
    if op.shape_rule is not None:
        found = [(shape, name) for shape, name in op.infer(shapes, names, attrs=attrs)]
        if any(shape is None for shape, _ in found):
            raise errors.UnsupportedTypeError(f"{op.name}: the number of axes depends on values, not known yet")
        return [like.new_empty([_counted(n) for n in shape or ()], dtype=DTYPES[name]) for shape, name in found]
    outputs = op.flat_outputs(op.output_count(len(values), attrs))
    types = op.output_types(outputs, op.resolve_types(names, attrs), names)
    wanted = dict(zip([arg.name for arg in op.outputs], _laid_out(op, values, shapes), strict=True))
    return [like.new_empty(wanted[arg.name], dtype=DTYPES[name]) for arg, name in zip(outputs, types, strict=True)]


def _shape_of(value: Any) -> tuple[Any, ...]:
    if isinstance(value, torch.Tensor):
        return tuple(value.shape)
    return (len(value),) if isinstance(value, (list, tuple)) else ()


def _counted(size: Any) -> Any:
    return torch.library.get_ctx().new_dynamic_size() if size is None else size


def _laid_out(op: Op, values: Sequence[Any], shapes: Sequence[Any]) -> list[list[Any]]:
    """The shapes of the outputs; what depends on the data is one size wherever it stands."""
    args = op.flat_inputs(len(values))
    for place, (arg, shape) in enumerate(zip(args, shapes, strict=True)):
        if shape is not None and arg.dims.parts(shape) is None:
            # Only the number of axes matters for the words of the refusal, and that is never a symbol.
            others: list[Any] = [None] * len(values)
            op.bind_shapes([*others[:place], shape, *others[place + 1 :]], others)
    held = {
        place: values[place] if isinstance(values[place], (list, tuple)) else [values[place]]
        for place in op.flat_held(len(values))
        if not isinstance(values[place], torch.Tensor)
    }
    ranks = [None if shape is None else len(shape) for shape in shapes]
    layout = Layout(op, ranks, {place: len(sizes) for place, sizes in held.items()})
    owners = [arg for arg, shape in zip(args, shapes, strict=True) for _ in shape or ()]
    sizes = [size for shape in shapes for size in shape or ()]
    for place, contents in held.items():
        owners += [args[place]] * len(contents)
        sizes += contents
    for one, other in [(sizes[a], b) for a, b in layout.equal] + [(size, slot) for slot, size in layout.fixed]:
        if one is not sizes[other]:
            arg, here = owners[other], sizes[other]
            text = f"{op.name}: {arg.name} must have shape [{arg.shape}]; {here} is not {one}"
            is_known_equal(one, here, lambda text=text: text)
    sizes += layout.constants
    sizes += [_counted(None) for _ in range(layout.count - len(sizes))]
    return [[sizes[slot] for slot in slots] for slots in layout.outputs]
