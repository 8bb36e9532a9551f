"""A raw op that was given arrays of JAX: answered at once, or by the op's primitive where something is traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ... import arguments, dtypes, errors, raw_ops
from ...spec import Op
from . import arrays, primitives
from .call import Call, Contents, size_not_known


def takes(kind: type) -> bool:
    return issubclass(kind, (jax.Array, jax.core.Tracer))


def interpret(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Answer a raw op of which some argument is an array of JAX."""
    if op.basic:
        raise errors.UnsupportedTypeError(f"{op.name} is a basic op, for graphs and NumPy arrays; JAX has its own")
    if not any(isinstance(value, jax.core.Tracer) for value in values):
        return _at_once(op, values, attrs)
    free, held = _separated(op, values)
    counted = _counted(op, free, held) if op.counted_words else ()
    call = Call(op, held, counted, None, tuple(attrs.items()), _is_checked(op, free, held))
    return _named(op, _bound(call, free))


def interpret_sized(op: Op, values: Sequence[Any], attrs: dict[str, Any], size: int, fill_value: int) -> Any:
    """The same for an op whose outputs are filled up to `size` rows, and how many rows there are in truth."""
    free, held = _separated(op, values)
    call = Call(op, held, (size,), fill_value, tuple(attrs.items()), _is_checked(op, free, held))
    *outputs, count = _bound(call, free)
    return _named(op, outputs), count


def _at_once(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
    given = [
        arrays.to_array(op, place, value) if isinstance(value, jax.Array) else value
        for place, value in enumerate(values)
    ]
    if not arrays.has_64_bits():
        given = [_narrow(value) for value in given]
    answer = raw_ops.apply(op, given, attrs)
    return _named(op, arrays.from_arrays([answer] if op.result is None else answer))


def _narrow(value: Any) -> Any:
    """A NumPy array that is computed with, in the dtype that JAX would give it."""
    if not isinstance(value, np.ndarray) or value.dtype not in (np.float64, np.complex128):
        return value
    return value.astype(jax.dtypes.canonicalize_dtype(value.dtype))


def _named(op: Op, outputs: Sequence[Any]) -> Any:
    return outputs[0] if op.result is None else op.result._make(outputs)


# ------------------------------------------------------------------ what is known while JAX traces
def _separated(op: Op, values: Sequence[Any]) -> tuple[list[Any], tuple[Contents, ...]]:
    """The inputs that are arrays, and the contents of those that hold sizes."""
    values = list(values)
    for place in op.held:
        value = arrays.known(values[place])
        if value is None:
            name = op.input_names[place]
            wanted = "known while JAX traces: a Python int or list (see static_argnames of jax.jit)"
            raise errors.unfit(op.name, name, wanted, "a traced array")
        values[place] = np.asarray(value) if isinstance(value, jax.Array) else value
    is_jax = [isinstance(value, jax.Array) for value in values]
    stand_ins = [
        _stand_in(op, place, value) if flag else value
        for place, (value, flag) in enumerate(zip(values, is_jax, strict=True))
    ]
    converted = arguments.to_arrays(op, stand_ins)
    free = [
        value if flag else _constant(op, place, array)
        for place, (value, flag, array) in enumerate(zip(values, is_jax, converted, strict=True))
        if place not in op.held
    ]
    op.bind_shapes(
        [value.shape if flag else array.shape for value, flag, array in zip(values, is_jax, converted, strict=True)],
        [array if place in op.held else None for place, array in enumerate(converted)],
    )
    held = [converted[place].tolist() for place in op.held]
    return free, tuple(tuple(sizes) if isinstance(sizes, list) else sizes for sizes in held)


def _stand_in(op: Op, place: int, value: Any) -> Any:
    """A NumPy array of a JAX array's dtype, from which Python values in the call take theirs."""
    arg = op.inputs[place]
    if not isinstance(value, jax.core.Tracer):
        arrays.to_array(op, place, value)  # refuses what is not on the CPU
    name = arrays.name_of(op, arg, value.dtype)
    if name not in op.allowed(arg):
        raise errors.wrong_type(op.name, arg.name, op.allowed(arg), name)
    return np.zeros((), dtypes.numpy_dtype(name))


def _constant(op: Op, place: int, array: Any) -> Any:
    """An array of JAX; without 64 bits, integers must fit 32."""
    shown = arrays.shown_dtype(dtypes.name_of(array.dtype))
    if array.dtype.kind == "i" and shown != array.dtype and array.size:
        limits = np.iinfo(shown)
        if array.min() < limits.min or array.max() > limits.max:
            raise errors.unfit(op.name, op.input_names[place], f"within {shown}, as jax_enable_x64 is off", "more")
    return arrays.from_arrays([array.astype(shown)])[0]  # a copy, and not traced as one of jnp.asarray would be


def _arrays(op: Op, free: Sequence[Any], held: Sequence[Contents]) -> list[Any]:
    """All inputs in NumPy as far as they are known; zeros where the op is linear, else None."""
    call = Call(op, tuple(held), (), None, (), True)
    found: list[Any] = []
    for place, value in zip(call.free, free, strict=True):
        arg = op.inputs[place]
        array = arrays.known(value)
        if array is not None:
            found.append(arrays.to_array(op, place, array))
        elif arg.name in op.linear:
            dtype = dtypes.numpy_dtype(arrays.name_of(op, arg, value.dtype))
            found.append(np.broadcast_to(np.zeros((), dtype), value.shape))
        else:
            found.append(None)
    return call.complete(found)


def _counted(op: Op, free: Sequence[Any], held: Sequence[Contents]) -> tuple[int, ...]:
    """The sizes that depend on values, which linear inputs have no say in."""
    given = _arrays(op, free, held)
    if any(array is None for array in given):
        raise size_not_known(op)
    try:
        ruled = op.size_rule(*given) if op.size_rule is not None else {}
    except errors.Fault as fault:
        raise errors.invalid(op.name, fault) from None
    if ruled and all(isinstance(size, int) for size in ruled.values()):
        return tuple(ruled[word] for word in op.counted_words)  # type: ignore[misc]
    answer = raw_ops.apply(op, given, op.attr_defaults)
    sizes: Any = {}
    for arg, array in zip(op.outputs, [answer] if op.result is None else answer, strict=True):
        arg.dims.bind(array.shape, sizes)
    return tuple(sizes[word] for word in op.counted_words)


class _UnknownError(Exception):
    pass


class _Unknown:
    def __getattr__(self, name: str) -> Any:
        raise _UnknownError


def _is_checked(op: Op, free: Sequence[Any], held: Sequence[Contents]) -> bool:
    """Make the check that an op has for its values, if those that it looks at are known; else it is Python's to do."""
    if op.check_rule is None:
        return True
    try:
        op.check_rule(*[_Unknown() if array is None else array for array in _arrays(op, free, held)])
    except _UnknownError:
        return False
    except errors.Fault as fault:
        raise errors.invalid(op.name, fault) from None
    return True


def _bound(call: Call, free: Sequence[Any]) -> Sequence[Any]:
    primitive = primitives.of(call.op)
    return primitive.forward.bind(*free, call=call)  # type: ignore[no-any-return]


primitives.namespace.interpret = interpret
