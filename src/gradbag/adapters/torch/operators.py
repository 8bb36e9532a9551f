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
_PLAIN = frozenset([torch.Tensor, torch.nn.Parameter])
_USUAL = torch._C._dispatch_tls_local_include_set()  # without modes, transformations and tracers
_INDEX = {name: dtypes.numpy_dtype(name) for name in dtypes.INDEX}


def takes(kind: type) -> bool:
    return issubclass(kind, torch.Tensor)


def interpret(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Answer a raw op of which some argument is a tensor."""
    operator = _operators.get(op)
    if operator is None:
        operator = _operators[op] = Operator(op)
    return operator.call(values, attrs)


def _undisturbed() -> bool:
    """Whether nobody wants to hear of a call: no mode, no transformation, no tracer, no profiler."""
    return (
        torch._C._dispatch_tls_local_include_set() == _USUAL
        and not torch._C._len_torch_function_stack()
        and not torch._C._autograd._profiler_enabled()
    )


def trace(op: Op, given: dict[str, Any]) -> Any:
    """Answer a raw op inside `torch.compile`, given its arguments by name: no C++ and no caches on the way."""
    attrs = dict(op.attr_defaults)
    for name, value in given.items():
        if name in attrs:
            attrs[name] = value
        elif name not in op.input_names and value is not None:  # None is no name and no array to write into
            raise TypeError(f"{op.name} got an unexpected argument {name!r} inside torch.compile")
    values = [given[name] for name in op.input_names]
    operator = _operators.get(op)
    if operator is None:
        operator = _operators[op] = Operator(op)
    return operator.dispatch(values, attrs)


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
        self.tensors = Form(op, by_size=False)
        self.sizes = Form(op, by_size=True) if op.held else self.tensors
        # The commonest calls by the types of their arguments: tensors, a parameter among them, and integers as sizes.
        self._ready = {}
        for kind in _PLAIN:
            for place in range(len(op.inputs)):
                kinds: list[type] = [torch.Tensor] * len(op.inputs)
                kinds[place] = kind
                self._ready[tuple(kinds)] = self.tensors
                if op.held and not op.held_vectors and place not in op.held:
                    self._ready[tuple([int if p in op.held else k for p, k in enumerate(kinds)])] = self.sizes

    def call(self, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """The way of most calls goes around the dispatcher, which would cost more than a small kernel."""
        form = self._ready.get(tuple(map(type, values)))
        plain = form is not None
        if form is None:
            form, values = self._formed(values)
            plain = all(type(v) in _PLAIN or not isinstance(v, torch.Tensor) for v in values)
        if attrs is not self.op.attr_defaults:
            values = [*values, *attrs.values()]
        if not (plain and _undisturbed()):
            return self._named(form.overload(*values))
        try:
            answer = form.step.apply(None, *values) if gradients.wants_step(values) else form.kernel(*values)
        except views.NotOnCPUError:
            answer = form.overload(*values)
        return self._named(answer)

    def dispatch(self, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
        form, values = self._formed(values)
        return self._named(form.overload(*values, *attrs.values()))

    def _named(self, answer: Any) -> Any:
        return answer if self.op.result is None else tuple.__new__(self.op.result, answer)

    def _formed(self, values: Sequence[Any]) -> tuple[Form, Sequence[Any]]:
        for value in values:
            if not isinstance(value, torch.Tensor):
                return self._completed(values)
        return self.tensors, values

    def _completed(self, values: Sequence[Any]) -> tuple[Form, Sequence[Any]]:
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
class Form:
    """One overload of an op: who answers for it, by the dispatcher's keys and without it."""

    def __init__(self, op: Op, by_size: bool) -> None:
        full = f"{op.python_name}.sizes" if by_size else op.python_name
        _LIBRARY.define(f"{full}{_schema(op, by_size)}")
        self.overload = getattr(getattr(torch.ops.gradbag, op.python_name), "sizes" if by_size else "default")
        self.kernel = _kernel(op, by_size)
        self.step = gradients.step_of(op, by_size, self.overload, self.kernel, _ops)
        _LIBRARY.impl(full, self.kernel, "CPU")
        _LIBRARY.impl(full, _refusal(op), "CompositeExplicitAutograd")
        _LIBRARY.impl(full, gradients.recorded(self.overload, self.step), "Autograd", with_keyset=True)
        torch.library.register_fake(f"gradbag::{full}", _outline(op), lib=_LIBRARY)
        torch.library.register_vmap(f"gradbag::{full}", batches.batched(op, self.overload), lib=_LIBRARY)


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
    places = [place for place in range(count) if not (by_size and place in op.held)]

    def kernel(*values: Any) -> Any:
        arrays = list(values[:count])
        for place in places:
            try:
                arrays[place] = arrays[place].numpy()
            except (RuntimeError, TypeError):
                arrays[place] = views.to_array(op, place, arrays[place])
        for place, dtype in vectors:
            arrays[place] = np.array(arrays[place], dtype)
        attrs = defaults if len(values) == count else {**defaults, **dict(zip(names, values[count:], strict=False))}
        answer = raw_ops.apply(op, arrays, attrs)
        try:
            return torch.from_numpy(answer) if op.result is None else tuple([torch.from_numpy(a) for a in answer])
        except TypeError:
            return views.to_tensor(answer) if op.result is None else tuple([views.to_tensor(a) for a in answer])

    return kernel


def _refusal(op: Op) -> Callable[..., Any]:
    def refuse(*values: Any) -> Any:
        for place, value in enumerate(values[: len(op.inputs)]):
            if isinstance(value, torch.Tensor) and (not value.is_cpu or value.layout is not torch.strided):
                raise views.not_dense(op, place, value)
        raise errors.UnsupportedTypeError(f"{op.name} takes dense tensors on the CPU")

    return refuse


def _outline(op: Op) -> Callable[..., Any]:
    def outline(*values: Any) -> Any:
        outputs = shapes.outlines(op, values[: len(op.inputs)])
        return outputs[0] if op.result is None else tuple(outputs)

    return outline


_ops = gradients.TorchOps(interpret)
_operators = {op: Operator(op) for op in registry if op.many is None}
