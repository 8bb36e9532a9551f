"""A raw op that was given arrays of JAX: answered at once, or by the op's primitive where something is traced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from ... import arguments, dtypes, eager, errors
from ...spec import Arg, Op
from . import arrays, compat, primitives
from .call import Call, Contents, size_not_known


def takes(kind: type) -> bool:
    return issubclass(kind, (jax.Array, compat.Tracer))


def interpret(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Answer a raw op of which some argument is an array of JAX."""
    if not any(isinstance(value, compat.Tracer) for value in values):
        return _at_once(op, values, attrs)
    free, held, absent = _separated(op, values)
    attributes = tuple((name, _hashable(value)) for name, value in attrs.items())
    call = Call(op, len(values), absent, held, (), None, attributes, False)
    given = _arrays(call, free)
    if op.shape_rule is not None:
        call = replace(call, ruled=_ruled(call, free, given, attrs), checked=True)
    else:
        counted = _counted(call, free, given, attrs) if op.counted_words else ()
        call = replace(call, counted=counted, checked=_is_checked(op, given, attrs))
    return _named(op, _bound(call, free))


def interpret_sized(op: Op, values: Sequence[Any], attrs: dict[str, Any], size: int, fill_value: int) -> Any:
    """The same for an op whose outputs are filled up to `size` rows, and how many rows there are in truth."""
    free, held, absent = _separated(op, values)
    call = Call(op, len(values), absent, held, (size,), fill_value, tuple(attrs.items()), False)
    call = replace(call, checked=_is_checked(op, _arrays(call, free), attrs))
    *outputs, count = _bound(call, free)
    return _named(op, outputs), count


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _at_once(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
    given = [
        arrays.to_array(op, arg, value) if isinstance(value, jax.Array) else value
        for arg, value in zip(op.flat_inputs(len(values)), values, strict=True)
    ]
    if not arrays.has_64_bits():
        given = [_narrow(value) for value in given]
    run = eager.functional if op.updates else eager.quick_run
    return _named(op, arrays.from_arrays(run(op, given, attrs)))


def _narrow(value: Any) -> Any:
    """A NumPy array that is computed with, in the dtype that JAX would give it."""
    if not isinstance(value, np.ndarray) or value.dtype not in (np.float64, np.complex128):
        return value
    return value.astype(jax.dtypes.canonicalize_dtype(value.dtype))


def _named(op: Op, outputs: Sequence[Any]) -> Any:
    """The answer of a raw op; of one that updates inputs, their new values and then its outputs."""
    if op.updates:
        return outputs[0] if len(outputs) == 1 else tuple(outputs)
    return op.answer(outputs)


# ------------------------------------------------------------------ what is known while JAX traces
def _separated(op: Op, values: Sequence[Any]) -> tuple[list[Any], tuple[Contents, ...], tuple[int, ...]]:
    """The inputs that are arrays, the contents of those that hold sizes, and the places of those that are left out."""
    values, args, held_places = list(values), op.flat_inputs(len(values)), op.flat_held(len(values))
    for place in held_places:
        value = compat.known(values[place])
        if value is None:
            wanted = "known while JAX traces: a Python int or list (see static_argnames of jax.jit)"
            raise errors.unfit(op.name, args[place].name, wanted, "a traced array")
        values[place] = np.asarray(value) if isinstance(value, jax.Array) else value
    is_jax = [isinstance(value, jax.Array) for value in values]
    given = zip(args, values, is_jax, strict=True)
    converted = arguments.to_arrays(op, [_stand_in(op, arg, value) if flag else value for arg, value, flag in given])
    free = [
        value if flag else _constant(op, args[place], array)
        for place, (value, flag, array) in enumerate(zip(values, is_jax, converted, strict=True))
        if place not in held_places and array is not None
    ]
    shaped = [value if flag else array for value, flag, array in zip(values, is_jax, converted, strict=True)]
    op.bind_shapes(
        [None if value is None else value.shape for value in shaped],
        [array if place in held_places else None for place, array in enumerate(converted)],
    )
    held = [converted[place].tolist() for place in held_places]
    absent = tuple(place for place, array in enumerate(converted) if array is None)
    return free, tuple(tuple(sizes) if isinstance(sizes, list) else sizes for sizes in held), absent


def _stand_in(op: Op, arg: Arg, value: Any) -> Any:
    """A NumPy array of a JAX array's dtype, from which Python values in the call take theirs."""
    if not isinstance(value, compat.Tracer):
        arrays.to_array(op, arg, value)  # refuses what is not on the CPU
    name = arrays.name_of(op, arg, value.dtype)
    if name not in op.allowed(arg):
        raise errors.wrong_type(op.name, arg.name, op.allowed(arg), name)
    return np.zeros((), dtypes.numpy_dtype(name))


def _constant(op: Op, arg: Arg, array: Any) -> Any:
    """An array of JAX; without 64 bits, integers must fit 32."""
    shown = arrays.shown_dtype(dtypes.name_of(array.dtype))
    if array.dtype.kind == "i" and shown != array.dtype and array.size:
        limits = np.iinfo(shown)
        if array.min() < limits.min or array.max() > limits.max:
            raise errors.unfit(op.name, arg.name, f"within {shown}, as jax_enable_x64 is off", "more")
    return arrays.from_arrays([array.astype(shown)])[0]  # a copy, and not traced as one of jnp.asarray would be


def _arrays(call: Call, free: Sequence[Any]) -> list[Any]:
    """All inputs in NumPy as far as they are known; zeros where the op is linear, else unknown."""
    op = call.op
    found: list[Any] = []
    for place, value in zip(call.free, free, strict=True):
        arg = call.args[place]
        array = compat.known(value)
        if array is not None:
            found.append(arrays.to_array(op, arg, array))
        elif arg.name in op.linear and op.shape_rule is None:
            found.append(_zeros(op, arg, value))
        else:
            found.append(_unknown)
    return call.complete(found)


def _zeros(op: Op, arg: Arg, value: Any) -> Any:
    dtype = dtypes.numpy_dtype(arrays.name_of(op, arg, value.dtype))
    return np.broadcast_to(np.zeros((), dtype), value.shape)


def _ruled(call: Call, free: Sequence[Any], given: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """The outputs of an op whose rule about shapes may look at values."""
    shapes = [None if value is None else tuple(value.shape) for value in call.complete(free)]
    contents = [None if value is _unknown else value for value in given]
    outline = call.op.infer(shapes, call.names(free), contents, attrs)
    if not any(shape is None or None in shape for shape, _ in outline):
        return tuple(outline)
    if call.op.kernel is None:  # which alone counts
        raise size_not_known(call.op)
    # The rest only the data tells, as far as that is known.
    sizes: Any = dict(zip(call.op.counted_words, _counted(call, free, given, attrs), strict=True))
    found = [
        arg.dims.shape(sizes) if shape is None or None in shape else shape
        for arg, (shape, _) in zip(call.op.outputs, outline, strict=True)
    ]
    return tuple((shape, name) for shape, (_, name) in zip(found, outline, strict=True))


def _counted(call: Call, free: Sequence[Any], given: Sequence[Any], attrs: dict[str, Any]) -> tuple[int, ...]:
    """The sizes that depend on values; what has a derivative has no say in them, so zeros do for it."""
    op = call.op
    given = [
        _zeros(op, arg, value) if array is _unknown and op.rule is not None and arg.name in op.differentiable else array
        for arg, value, array in zip(call.args, call.complete(free), given, strict=True)
    ]
    if any(array is _unknown for array in given):
        raise size_not_known(op)
    try:
        ruled = op.bound(op.size_rule, attrs)(*given) if op.size_rule is not None else {}
    except errors.Fault as fault:
        raise errors.invalid(op.name, fault) from None
    if ruled and all(isinstance(size, int) for size in ruled.values()):
        return tuple(ruled[word] for word in op.counted_words)
    sizes: Any = {}
    for arg, array in zip(op.outputs, eager.quick_run(op, given, attrs), strict=True):  # no lists: they have a rule
        arg.dims.bind(array.shape, sizes)
    return tuple(sizes[word] for word in op.counted_words)


class _UnknownError(Exception):
    pass


class _Unknown:
    def __getattr__(self, name: str) -> Any:
        raise _UnknownError

    def __len__(self) -> int:
        raise _UnknownError


_unknown = _Unknown()


def _is_checked(op: Op, given: Sequence[Any], attrs: dict[str, Any]) -> bool:
    """Make the check that an op has for its values, if those that it looks at are known; else it is Python's to do."""
    if op.check_rule is None:
        return True
    try:
        op.bound(op.check_rule, attrs)(*given)
    except _UnknownError:
        return False
    except errors.Fault as fault:
        raise errors.invalid(op.name, fault) from None
    return True


def _bound(call: Call, free: Sequence[Any]) -> Sequence[Any]:
    primitive = primitives.of(call.op)
    return primitive.forward.bind(*free, call=call)  # type: ignore[no-any-return]


primitives.namespace.interpret = interpret
