"""Calls on NumPy arrays: what an eager call does, and what XLA asks Python for where no kernel can answer alone."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from ... import dtypes, errors, raw_ops
from ...autodiff.op_step import ArrayOps
from ...autodiff.row_grad import RowGrad
from . import arrays
from .call import Call

Array = np.ndarray[Any, Any]
_ops = ArrayOps()


class Outline:
    """Stands for an array of which a gradient rule only needs the shape."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype


def run(call: Call, free: Sequence[Any]) -> list[Array]:
    """The outputs as JAX shows them, filled up where the call says so."""
    op = call.op
    values = call.complete(free)
    given = [np.asarray(value, dtypes.numpy_dtype(name)) for value, name in zip(values, call.names(free), strict=True)]
    answer = raw_ops.apply(op, given, dict(call.attrs))
    found = [answer] if op.result is None else list(answer)
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
    names = [a.name for a in op.outputs]
    y: dict[str, Any] = {}
    for place, value in zip(call.resting, resting, strict=True):
        if place < len(names):
            y[names[place]] = _declared(value, op.outputs[place].dtype)
    g = {names[place]: np.asarray(value) for place, value in zip(call.moving, cotangents, strict=True)}
    if call.fill_value is not None:
        # What was filled up is constant, and no rule has heard of it.
        count, word = int(resting[-1]), op.counted_words[0]
        for arg in op.outputs:
            for found in (y, g):
                if arg.name in found and word in arg.dims.words:
                    axis = arg.dims.words.index(word)
                    found[arg.name] = found[arg.name][(*[slice(None)] * axis, slice(count))]
    for place in call.moving:
        y[names[place]] = Outline(g[names[place]].shape, g[names[place]].dtype)
    x: dict[str, Any] = {}
    for name, value, declared in zip(op.input_names, call.complete(free), call.names(free), strict=True):
        x[name] = value if isinstance(value, Outline) else np.asarray(value, dtypes.numpy_dtype(declared))
    assert op.rule is not None
    pulled = op.rule(_ops, SimpleNamespace(**x, **dict(call.attrs)), SimpleNamespace(**y), SimpleNamespace(**g))
    answers = [pulled[op.input_names[call.free[k]]] for k in call.linear]
    return [np.asarray(a.dense() if isinstance(a, RowGrad) else a) for a in answers]


def _declared(value: Any, dtype: str) -> Array:
    """Indices are shown as int32 where JAX has no int64."""
    return np.asarray(value, dtypes.numpy_dtype(dtype) if dtype in dtypes.ANY else None)
