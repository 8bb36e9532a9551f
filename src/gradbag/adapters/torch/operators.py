"""The ops of the registry as PyTorch operators `gradbag::<name>`, and the calls that reach them.

An op some of whose inputs hold sizes has two overloads: in the default one they are tensors, in `sizes` they are
integers, which a compiler can follow. Ops with a kernel are registered at once, others when they are first called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch

from ... import dtypes, eager, errors
from ...spec import Op, registry
from . import batches, compat, gradients, shapes, steps, values, views

_LIBRARY = torch.library.Library("gradbag", "FRAGMENT")  # what it registers lives as long as it does
_ATTRS = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "string": "str",
    "type": "str",
    "ints": "int[]",
    "floats": "float[]",
    "strings": "str[]",
    "shape": "int[]?",
}
_PLAIN = frozenset([torch.Tensor, torch.nn.Parameter])
_INDEX = {name: dtypes.numpy_dtype(name) for name in dtypes.INDEX}


def takes(kind: type) -> bool:
    return issubclass(kind, torch.Tensor)


def interpret(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Answer a raw op of which some argument is a tensor."""
    try:
        return operator_of(op).call(values, attrs)
    except RuntimeError:
        # Looked for afterwards only: PyTorch has internal errors for nested tensors, and it should be told which one.
        for arg, value in zip(op.flat_inputs(len(values)), values, strict=True):
            if isinstance(value, torch.Tensor) and value.is_nested:
                raise views.not_dense(op, arg, value) from None
        raise


def operator_of(op: Op) -> Operator:
    operator = _operators.get(op)
    if operator is None:
        operator = _operators[op] = Operator(op)
    return operator


def trace(op: Op, given: dict[str, Any]) -> Any:
    """Answer a raw op inside `torch.compile`, given its arguments by name: no C++ and no caches on the way."""
    attrs = dict(op.attr_defaults)
    for name, value in given.items():
        if name in attrs:
            attrs[name] = value
        elif name not in op.input_names and value is not None:  # None is no name and no array to write into
            raise TypeError(f"{op.name} got an unexpected argument {name!r} inside torch.compile")
    inputs = [given.get(name) if name in op.optional_names else given[name] for name in op.input_names]
    return operator_of(op).dispatch(op.flat(inputs), attrs)


class Operator:
    """An op as PyTorch knows it."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.tensors = Form(op, by_size=False)
        self.sizes = Form(op, by_size=True) if op.held else self.tensors
        # The commonest calls by the types of their arguments: tensors, a parameter among them, and integers as sizes.
        self._ready = {}
        for kind in _PLAIN if not op.lists else ():
            for place in range(len(op.inputs)):
                kinds: list[type] = [torch.Tensor] * len(op.inputs)
                kinds[place] = kind
                for left_out in (False, True) if op.optional_names else (False,):
                    if left_out:
                        kinds = [type(None) if a.optional else k for a, k in zip(op.inputs, kinds, strict=True)]
                    self._ready[tuple(kinds)] = self.tensors
                    if op.held and not op.held_vectors and place not in op.held:
                        self._ready[tuple([int if p in op.held else k for p, k in enumerate(kinds)])] = self.sizes

    def call(self, given: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """The way of most calls goes around the dispatcher, which would cost more than a small kernel."""
        form = self._ready.get(tuple(map(type, given)))
        plain = form is not None
        if form is None:
            form, given = self._formed(given)
            plain = all(type(v) in _PLAIN or not isinstance(v, torch.Tensor) for v in given)
        settings = () if attrs is self.op.attr_defaults else tuple(attrs.values())
        if not (plain and compat.is_undisturbed()):
            return self._named(self._dispatched(form, given, settings))
        try:
            if steps.wants_step(given):
                answer = form.recorded(given, settings)
            else:
                answer = form.kernel(given, settings)
        except views.NotOnCPUError:
            answer = self._dispatched(form, given, settings)
        return self._named(answer)

    def dispatch(self, given: Sequence[Any], attrs: dict[str, Any]) -> Any:
        form, given = self._formed(given)
        return self._named(self._dispatched(form, given, tuple(attrs.values())))

    def _named(self, answer: Any) -> Any:
        """The answer of a raw op, of flat tensors: one alone, or a tuple."""
        if self.op.output_lists:
            return self.op.answer(answer)
        return answer if self.op.result is None else tuple.__new__(self.op.result, answer)

    def _dispatched(self, form: Form, given: Sequence[Any], settings: Sequence[Any]) -> Any:
        return steps.flat(self.op, form.overload(*self.op.grouped(given), *settings))

    def _formed(self, given: Sequence[Any]) -> tuple[Form, Sequence[Any]]:
        if all(isinstance(value, torch.Tensor) for value in given):
            return self.tensors, given
        by_size, complete = values.completed(self.op, given)
        return self.sizes if by_size else self.tensors, complete


# ------------------------------------------------------------------ registration
class Form:
    """One overload of an op: who answers for it, by the dispatcher's keys and without it."""

    def __init__(self, op: Op, by_size: bool) -> None:
        full = f"{op.python_name}.sizes" if by_size else op.python_name
        _LIBRARY.define(f"{full}{_schema(op, by_size)}")
        self.overload = getattr(getattr(torch.ops.gradbag, op.python_name), "sizes" if by_size else "default")
        self.kernel = _kernel(op, by_size)
        count = len(op.inputs)

        def on_cpu(*given: Any) -> Any:
            return steps.grouped(op, self.kernel(op.flat(given[:count]), given[count:]))

        _LIBRARY.impl(full, on_cpu, "CPU")
        _LIBRARY.impl(full, _refusal(op), "CompositeExplicitAutograd")
        torch.library.register_fake(f"gradbag::{full}", _outline(op), lib=_LIBRARY)
        if op.updates:
            self.recorded: Callable[..., Any] = _refuse_to_record(op)
            _LIBRARY.impl(full, _unrecorded(op, self), "Autograd", with_keyset=True)
            return
        step = steps.step_of(op, by_size, self.overload, self.kernel, ops)
        self.recorded = lambda given, settings: step.apply(None, len(given), *given, *settings)
        _LIBRARY.impl(full, steps.recorded(op, self.overload, step), "Autograd", with_keyset=True)
        torch.library.register_vmap(f"gradbag::{full}", batches.batched(op, self.overload), lib=_LIBRARY)


def _schema(op: Op, by_size: bool) -> str:
    inputs = []
    updated = 0
    for place, arg in enumerate(op.inputs):
        kind = "Tensor[]" if arg.many else "Tensor?" if arg.optional else "Tensor"
        if arg.updates:
            mark = f"({chr(ord('a') + updated)}!)"
            kind = f"Tensor{mark}[]" if arg.many else f"Tensor{mark}"
            updated += 1
        elif by_size and place in op.held:
            kind = "SymInt[]" if arg.dims.terms else "SymInt"
        inputs.append(f"{kind} {arg.name}")
    for attr in op.attrs:
        if attr.kind not in _ATTRS:
            raise errors.UnsupportedTypeError(f"{op.name}: PyTorch has no {attr.kind} for the attribute {attr.name}")
        default = f'"{attr.default}"' if isinstance(attr.default, str) else attr.default
        default = list(default) if isinstance(default, tuple) else default
        inputs.append(f"{_ATTRS[attr.kind]} {attr.name}" + ("" if attr.name in op.required_attrs else f"={default}"))
    outputs = ", ".join("Tensor[]" if arg.many else "Tensor" for arg in op.outputs)
    return f"({', '.join(inputs)}) -> {outputs if len(op.outputs) == 1 else f'({outputs})'}"


def _kernel(op: Op, by_size: bool) -> Callable[[Sequence[Any], Sequence[Any]], Any]:
    """The op on the tensors' own memory, of flat inputs and attributes; flat outputs are a tuple, but one alone."""
    names, defaults = list(op.attr_defaults), op.attr_defaults

    @cache
    def places(count: int) -> tuple[list[tuple[int, Any]], list[int], list[int]]:
        """Where vectors of sizes, sizes and what is updated stand among flat inputs."""
        held = op.flat_held(count) if by_size else []
        args = op.flat_inputs(count)
        vectors = [(p, _INDEX[op.allowed(args[p])[0]]) for p in held if args[p].dims.terms]
        return vectors, held, op.flat_updates(count)

    def kernel(given: Sequence[Any], settings: Sequence[Any]) -> Any:
        arrays = list(given)
        vectors, skipped, written = places(len(arrays))
        for place, value in enumerate(arrays):
            if value is None or place in skipped:
                continue
            try:
                if place not in written and not value.is_contiguous():
                    value = value.contiguous()  # a kernel would want a copy, and PyTorch makes it faster
                arrays[place] = value.numpy()
            except (RuntimeError, TypeError):
                arrays[place] = views.to_array(op, op.flat_inputs(len(arrays))[place], value)
        for place, dtype in vectors:
            arrays[place] = np.array(arrays[place], dtype)
        attrs = defaults
        if settings:  # of which the dispatcher has made lists where they were tuples
            given_attrs = [tuple(value) if type(value) is list else value for value in settings]
            attrs = {**defaults, **dict(zip(names, given_attrs, strict=False))}
        answer = eager.shortcut(op, arrays, attrs)
        if answer is NotImplemented:
            answer = eager.answer(op, arrays, attrs)
        for place in written:
            torch.autograd.graph.increment_version(given[place])
        if op.result is None and not op.output_lists:
            return None if answer is None else views.to_tensor(answer)
        return tuple([views.to_tensor(a) for a in (op.flat_answer(answer) if op.output_lists else answer)])

    return kernel


def _refusal(op: Op) -> Callable[..., Any]:
    def refuse(*given: Any) -> Any:
        flat = op.flat(given[: len(op.inputs)])
        for arg, value in zip(op.flat_inputs(len(flat)), flat, strict=True):
            if isinstance(value, torch.Tensor) and (not value.is_cpu or value.layout is not torch.strided):
                raise views.not_dense(op, arg, value)
        raise errors.UnsupportedTypeError(f"{op.name} takes dense tensors on the CPU")

    return refuse


def _outline(op: Op) -> Callable[..., Any]:
    count = len(op.inputs)

    def outline(*given: Any) -> Any:
        attrs = {**op.attr_defaults, **dict(zip(op.attr_defaults, given[count:], strict=False))}
        outputs = shapes.outlines(op, op.flat(given[:count]), attrs)
        if op.result is None and not op.output_lists:
            return outputs[0] if outputs else None
        return steps.grouped(op, tuple(outputs))

    return outline


# ------------------------------------------------------------------ updates
def _refuse_to_record(op: Op) -> Callable[..., Any]:
    """What an op does that updates inputs while somebody records: it has no derivative."""

    def refuse(given: Sequence[Any], settings: Sequence[Any]) -> Any:
        raise errors.UnsupportedTypeError(f"{op.name} has no gradient: call it inside torch.no_grad()")

    return refuse


def _unrecorded(op: Op, form: Form) -> Callable[..., Any]:
    def answer(keyset: Any, *given: Any) -> Any:
        flat = op.flat(given[: len(op.inputs)])
        if steps.wants_step(flat):
            return form.recorded(flat, ())
        with compat._AutoDispatchBelowAutograd():
            return form.overload.redispatch(keyset & compat._after_autograd_keyset, *given)

    return answer


ops = gradients.TorchOps(interpret)
_operators: dict[Op, Operator] = {}
for _op in registry:  # all of them: a program that was exported elsewhere asks for any
    if _op.kernel is not None:
        operator_of(_op)
