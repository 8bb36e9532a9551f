"""Calls on NumPy arrays: what an eager call does, and what XLA asks Python for where no kernel can answer alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes, eager, errors, gradients
from ...autodiff.op_step import array_ops
from ...gradients import Shaped
from . import arrays
from .call import Call

Array = np.ndarray[Any, Any]


def run(call: Call, free: Sequence[Any]) -> list[Array]:
    """The outputs as JAX shows them, filled up where the call says so."""
    op = call.op
    given = [
        None if name is None else np.asarray(value, dtypes.numpy_dtype(name))
        for value, name in zip(call.complete(free), call.names(free), strict=True)
    ]
    found = (eager.functional if op.updates else eager.quick_run)(op, given, dict(call.attrs))
    wanted = call.outputs(free)
    outputs = []
    for place, ((shape, name), array) in enumerate(zip(wanted, found, strict=False)):
        if array.shape != shape:
            if call.fill_value is None or any(n > m for n, m in zip(array.shape, shape, strict=True)):
                raise wrong_size(op.name, len(array), shape[0])
            whole = np.full(shape, call.padding()[place], array.dtype)
            whole[tuple(slice(n) for n in array.shape)] = array
            array = whole
        outputs.append(array.astype(arrays.shown_dtype(name), copy=False))
    if call.fill_value is not None:
        outputs.append(np.array(_count(call, found), np.int32))
    return outputs


def wrong_size(op: str, counted: int, room: int) -> errors.InvalidArgumentError:
    return errors.unfit(op, "size", f"at least {counted}, as many rows as the values give", str(room))


def _count(call: Call, found: Sequence[Array]) -> int:
    word = call.op.counted_words[0]
    sizes: Any = {}
    for arg, array in zip(call.op.outputs, found, strict=True):
        arg.dims.bind(array.shape, sizes)
    return int(sizes[word])


def push(call: Call, free: Sequence[Any]) -> list[Array]:
    """The outputs that move with the linear inputs."""
    outputs = run(call, free)
    return [outputs[place] for place in call.moving]


def pull(call: Call, free: Sequence[Any], resting: Sequence[Any], cotangents: Sequence[Any]) -> list[Array]:
    """The cotangents of the linear inputs, of which `free` has the outlines only, by the op's rule in NumPy."""
    op = call.op
    y: list[Any] = [None] * len(call.output_args)
    g: list[Any] = [None] * len(call.output_args)
    for place, value in zip(call.resting, resting, strict=True):
        if place < len(y):
            y[place] = _declared(value, call.output_args[place].dtype)
    for place, value in zip(call.moving, cotangents, strict=True):
        g[place] = np.asarray(value)
    if call.fill_value is not None:
        # What was filled up is constant, and no rule has heard of it.
        count, word = int(resting[-1]), op.counted_words[0]
        for place, arg in enumerate(call.output_args):
            for found in (y, g):
                if found[place] is not None and word in arg.dims.words:
                    axis = arg.dims.words.index(word)
                    found[place] = found[place][(*[slice(None)] * axis, slice(count))]
    for place in call.moving:
        y[place] = Shaped(g[place].shape, g[place].dtype)
    values = [
        value if value is None or isinstance(value, Shaped) else np.asarray(value, dtypes.numpy_dtype(str(declared)))
        for value, declared in zip(call.complete(free), call.names(free), strict=True)
    ]
    pulled = gradients.pull(array_ops, op, values, y, g, dict(call.attrs))
    return [np.asarray(array_ops.dense(pulled[call.free[k]])) for k in call.linear]


def _declared(value: Any, dtype: str) -> Array:
    """Indices are shown as int32 where JAX has no int64."""
    return np.asarray(value, dtypes.numpy_dtype(dtype) if dtype in dtypes.ANY else None)
