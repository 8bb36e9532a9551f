"""The ops of the registry as PyTorch operators `gradbag::<name>`, and the calls that reach them.

An op some of whose inputs hold sizes has two overloads: in the default one they are tensors, in `sizes` they are
integers, which a compiler can follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ... import arguments, dtypes, errors, raw_ops
from ...spec import Arg, Op, registry
from . import batches, gradients, shapes, views

_LIBRARY = torch.library.Library("gradbag", "FRAGMENT")  # what it registers lives as long as it does
_ATTRS = {"bool": "bool", "int": "int", "float": "float", "string": "str", "type": "str", "ints": "int[]"}
_INDEX = {name: dtypes.numpy_dtype(name) for name in dtypes.INDEX}


def takes(kind: type) -> bool:
    return issubclass(kind, torch.Tensor)


def interpret(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Answer a raw op of which some argument is a tensor."""
    operator = _operators.get(op)
    if operator is None:
        operator = _operators[op] = Operator(op)
    return operator.call(values, attrs)


def trace(op: Op, given: dict[str, Any]) -> Any:
    """Answer a raw op inside `torch.compile`, given its arguments by name: no C++ and no caches on the way."""
    attrs = dict(op.attr_defaults)
    for name, value in given.items():
        if name in attrs:
            attrs[name] = value
        elif name not in op.input_names and value is not None:  # None is no name and no array to write into
            raise TypeError(f"{op.name} got an unexpected argument {name!r} inside torch.compile")
    return interpret(op, [given[name] for name in op.input_names], attrs)


class Operator:
    """An op as PyTorch knows it."""

    def __init__(self, op: Op) -> None:
        if op.basic:
            raise errors.UnsupportedTypeError(
                f"{op.name} is a basic op, for graphs and NumPy arrays; PyTorch has its own for tensors"
            )
        if op.many is not None:
            raise errors.UnsupportedTypeError(f"{op.name} takes a list of arrays, which is not there for tensors")
        self.op = op
        self.tensors = _defined(op, "")
        self.sizes = _defined(op, "sizes") if op.held else self.tensors

    def call(self, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
        op = self.op
        overload = self.tensors
        for value in values:
            if not isinstance(value, torch.Tensor):
                overload, values = self._completed(values)
                break
        answer = overload(*values, *attrs.values()) if attrs else overload(*values)
        return answer if op.result is None else op.result._make(answer)

    def _completed(self, values: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        """Tensors in place of lists, numbers and NumPy arrays, unless they are all the sizes that the op wants."""
        op = self.op
        values = list(values)
        by_size = bool(op.held) and not any(isinstance(values[place], torch.Tensor) for place in op.held)
        if by_size:
            for place in op.held:
                values[place] = _sizes(op, op.inputs[place], values[place])
        rest = [
            place
            for place, value in enumerate(values)
            if not isinstance(value, torch.Tensor) and not (by_size and place in op.held)
        ]
        if rest:
            for place, tensor in zip(rest, _tensors(op, values, rest), strict=True):
                values[place] = tensor
        return self.sizes if by_size else self.tensors, values


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


def _tensors(op: Op, values: Sequence[Any], places: Sequence[int]) -> list[torch.Tensor]:
    """Tensors of what is none yet, in the dtypes that the others ask for."""
    if torch.compiler.is_compiling():
        return [_traced_tensor(op, values, place) for place in places]
    plain = []
    for place, (arg, value) in enumerate(zip(op.inputs, values, strict=True)):
        if isinstance(value, np.ndarray) and value.ndim and arg.name in op.differentiable and place in places:
            raise errors.wrong_type(
                op.name, arg.name, ["a tensor"], "a NumPy array", "beside tensors; see torch.from_numpy"
            )
        if isinstance(value, torch.Tensor):
            name = views.name_of(value)
            if name not in op.allowed(arg):
                raise errors.wrong_type(op.name, arg.name, op.allowed(arg), name)
            value = np.zeros((), dtypes.numpy_dtype(name))
        elif place not in places:
            value = _stand_in(arg, op)
        plain.append(value)
    arrays = arguments.to_arrays(op, plain)
    return [views.to_tensor(np.array(arrays[place])) for place in places]


def _traced_tensor(op: Op, values: Sequence[Any], place: int) -> torch.Tensor:
    arg = op.inputs[place]
    allowed = op.allowed(arg)
    beside = [
        v.dtype
        for a, v in zip(op.inputs, values, strict=True)
        if a.dtype == arg.dtype and arg.dtype in op.types and isinstance(v, torch.Tensor)
    ]
    if beside:
        return torch.as_tensor(values[place], dtype=beside[0])
    tensor = torch.as_tensor(values[place])
    if views.name_of(tensor) in allowed:
        return tensor
    return tensor.to(views.DTYPES[next(name for name in (*dtypes.INDEX, "float32", *allowed) if name in allowed)])


# ------------------------------------------------------------------ registration
def _defined(op: Op, overload_name: str) -> Any:
    """Define one overload and register who answers for it."""
    full = f"{op.python_name}.{overload_name}" if overload_name else op.python_name
    by_size = bool(overload_name)
    _LIBRARY.define(f"{full}{_schema(op, by_size)}")
    overload = getattr(getattr(torch.ops.gradbag, op.python_name), overload_name or "default")
    _LIBRARY.impl(full, _kernel(op, by_size), "CPU")
    _LIBRARY.impl(full, _refusal(op), "CompositeExplicitAutograd")
    _LIBRARY.impl(full, gradients.recorded(op, overload, _ops), "Autograd", with_keyset=True)
    torch.library.register_fake(f"gradbag::{full}", _outline(op), lib=_LIBRARY)
    torch.library.register_vmap(f"gradbag::{full}", batches.batched(op, overload), lib=_LIBRARY)
    return overload


def _schema(op: Op, by_size: bool) -> str:
    inputs = []
    for place, arg in enumerate(op.inputs):
        kind = "Tensor" if not (by_size and place in op.held) else "SymInt[]" if arg.dims.terms else "SymInt"
        inputs.append(f"{kind} {arg.name}")
    for attr in op.attrs:
        if attr.kind not in _ATTRS:
            raise errors.UnsupportedTypeError(f"{op.name}: PyTorch has no {attr.kind} for the attribute {attr.name}")
        default = f'"{attr.default}"' if isinstance(attr.default, str) else attr.default
        inputs.append(f"{_ATTRS[attr.kind]} {attr.name}" + ("" if attr.name in op.required_attrs else f"={default}"))
    outputs = ", ".join(["Tensor"] * len(op.outputs))
    return f"({', '.join(inputs)}) -> {outputs if op.result is None else f'({outputs})'}"


def _kernel(op: Op, by_size: bool) -> Callable[..., Any]:
    """The op on the tensors' own memory."""
    count = len(op.inputs)
    names, defaults = list(op.attr_defaults), op.attr_defaults
    vectors = [(p, _INDEX[op.allowed(op.inputs[p])[0]]) for p in op.held_vectors] if by_size else []
    held = set(op.held) if by_size else set()
    places = [place for place in range(count) if place not in held]

    def kernel(*values: Any) -> Any:
        arrays = list(values[:count])
        for place in places:
            arrays[place] = views.to_array(op, place, arrays[place])
        for place, dtype in vectors:
            arrays[place] = np.array(arrays[place], dtype)
        attrs = defaults if len(values) == count else {**defaults, **dict(zip(names, values[count:], strict=False))}
        answer = raw_ops.apply(op, arrays, attrs)
        if op.result is None:
            return views.to_tensor(answer)
        return tuple([views.to_tensor(a) for a in answer])

    return kernel


def _refusal(op: Op) -> Callable[..., Any]:
    def refuse(*values: Any) -> Any:
        for arg, value in zip(op.inputs, values, strict=False):
            if isinstance(value, torch.Tensor) and (value.device.type != "cpu" or value.layout is not torch.strided):
                got = f"one on {value.device}, {value.layout}"
                raise errors.wrong_type(op.name, arg.name, ["a dense tensor on the CPU"], got)
        raise errors.UnsupportedTypeError(f"{op.name} takes dense tensors on the CPU")

    return refuse


def _outline(op: Op) -> Callable[..., Any]:
    def outline(*values: Any) -> Any:
        outputs = shapes.outlines(op, values[: len(op.inputs)])
        return outputs[0] if op.result is None else tuple(outputs)

    return outline


_ops = gradients.TorchOps(interpret)
_operators = {op: Operator(op) for op in registry if op.many is None}
