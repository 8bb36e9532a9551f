"""Tensors of what a caller gave beside tensors: lists, numbers and NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ... import arguments, dtypes, errors
from ...spec import Arg, Op
from . import views


def completed(op: Op, values: Sequence[Any]) -> tuple[bool, list[Any]]:
    """Tensors in place of everything else; whether the inputs that hold sizes are sizes, all of them."""
    values, held = list(values), op.flat_held(len(values))
    args = op.declared_inputs(len(values))  # the compiler cannot follow `flat_inputs`, which has a cache
    by_size = bool(held) and not any(isinstance(values[place], torch.Tensor) for place in held)
    if by_size:
        for place in held:
            values[place] = _sizes(op, args[place], values[place])
    rest = [
        place
        for place, (arg, value) in enumerate(zip(args, values, strict=True))
        if not isinstance(value, torch.Tensor)
        and not (by_size and place in held)
        and not (value is None and arg.optional)
    ]
    if rest:
        for place, tensor in zip(rest, _tensors(op, args, values, rest), strict=True):
            values[place] = tensor
    return by_size, values


def _sizes(op: Op, arg: Arg, value: Any) -> Any:
    """Sizes as Python integers: one, or a list of them."""
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind not in "iu":
            raise errors.wrong_type(op.name, arg.name, op.allowed(arg), dtypes.name_of(value.dtype))
        value = value.tolist()
    rank = len(arg.dims.terms)
    if rank and isinstance(value, (list, tuple)) and all(isinstance(v, (int, torch.SymInt)) for v in value):
        return list(value)
    if not rank and isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool):
        return value
    array = arguments.to_arrays(op, [value if a is arg else _stand_in(a, op) for a in op.inputs])[op.inputs.index(arg)]
    op.bind_shapes([array.shape if a is arg else None for a in op.inputs], [None] * len(op.inputs))
    return array.tolist()


def _stand_in(arg: Arg, op: Op) -> Any:
    return np.zeros((), dtypes.numpy_dtype(op.allowed(arg)[0]))


def _tensors(op: Op, args: Sequence[Arg], values: Sequence[Any], places: Sequence[int]) -> list[torch.Tensor]:
    """Tensors of what is none yet, in the dtypes that the others ask for."""
    if torch.compiler.is_compiling():
        return [_traced_tensor(op, args, values, place) for place in places]
    plain = []
    for place, (arg, value) in enumerate(zip(args, values, strict=True)):
        if isinstance(value, np.ndarray) and value.ndim and arg.name in op.differentiable and place in places:
            raise errors.wrong_type(
                op.name, arg.name, ["a tensor"], "a NumPy array", "beside tensors; see torch.from_numpy"
            )
        if isinstance(value, torch.Tensor):
            name = views.name_of(value)
            if name not in op.allowed(arg):
                raise errors.wrong_type(op.name, arg.name, op.allowed(arg), name)
            value = np.zeros((), dtypes.numpy_dtype(name))
        elif place not in places and value is not None:
            value = _stand_in(arg, op)
        plain.append(value)
    arrays = arguments.to_arrays(op, plain)
    return [views.to_tensor(np.array(arrays[place])) for place in places]


def _traced_tensor(op: Op, args: Sequence[Arg], values: Sequence[Any], place: int) -> torch.Tensor:
    arg = args[place]
    allowed = op.allowed(arg)
    beside = [
        v.dtype
        for a, v in zip(args, values, strict=True)
        if a.dtype == arg.dtype and arg.dtype in op.types and isinstance(v, torch.Tensor)
    ]
    if beside:
        return torch.as_tensor(values[place], dtype=beside[0])
    tensor = torch.as_tensor(values[place])
    if views.name_of(tensor) in allowed:
        return tensor
    return tensor.to(views.DTYPES[next(name for name in (*dtypes.INDEX, "float32", *allowed) if name in allowed)])
