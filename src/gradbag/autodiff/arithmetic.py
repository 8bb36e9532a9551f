"""Ordinary NumPy arithmetic on traced arrays, by the ops that have the derivatives: enough to write a loss.

Cotangents of complex numbers follow JAX: they are multiplied by the plain derivative, not by its conjugate.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, raw_ops
from .trace import Traced, execute

ELEMENTWISE = {
    np.add: "AddV2",
    np.subtract: "Sub",
    np.multiply: "Mul",
    np.true_divide: "RealDiv",
    np.negative: "Neg",
    np.square: "Square",
    np.sqrt: "Sqrt",
    np.exp: "Exp",
    np.log: "Log",
    np.tanh: "Tanh",
}


def elementwise(function: Any, *values: Any) -> Any:
    if len(values) == 1:
        return getattr(raw_ops, ELEMENTWISE[function])(x=values[0])
    x, y = [v if isinstance(v, Traced) else _like(v, values) for v in values]
    dtype = np.result_type(x.dtype, y.dtype)
    return getattr(raw_ops, ELEMENTWISE[function])(x=as_type(x, dtype), y=as_type(y, dtype))


def _like(value: Any, others: Sequence[Any]) -> Any:
    """A Python number takes the dtype of the array beside it, as in NumPy."""
    if isinstance(value, (int, float, complex)) and not isinstance(value, (bool, np.generic)):
        dtype = next(o.dtype for o in others if isinstance(o, Traced))
        return np.asarray(value, np.result_type(dtype, value) if isinstance(value, complex) else dtype)
    return np.asarray(value)


def power(value: Any, exponent: Any) -> Any:
    if not isinstance(exponent, (int, float)):
        raise TypeError("only a Python number can be an exponent under a transform")
    if exponent == 0:
        return value * 0 + 1
    return value if exponent == 1 else raw_ops.Pow(x=value, y=np.asarray(exponent, value.dtype))


def as_type(value: Any, dtype: Any) -> Any:
    """The gradient of an argument has the argument's dtype; of a complex one, a real argument gets the real part."""
    if value.dtype == dtype:
        return value
    return raw_ops.Cast(x=value, DstT=dtypes.name_of(np.dtype(dtype)))


def total(value: Any, axis: Any = None, keepdims: bool = False) -> Any:
    axes = range(value.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return raw_ops.Sum(input=value, axis=np.array(list(axes), np.int32), keep_dims=keepdims)


def mean(value: Any, axis: Any = None, keepdims: bool = False) -> Any:
    added = total(value, axis, keepdims)
    return added / (value.size / max(added.size, 1))


def broadcast_to(value: Any, shape: tuple[int, ...]) -> Any:
    return raw_ops.BroadcastTo(input=value, shape=np.array(shape, np.int64))


def sum_to(value: Any, like: Any) -> Any:
    """Undo broadcasting: add along the axes that `like` does not have, or has with length one."""
    missing = value.ndim - len(like.shape)
    axes = tuple(range(missing))
    axes += tuple(missing + k for k, n in enumerate(like.shape) if n == 1 and value.shape[missing + k] != 1)
    return reshape(total(value, axes), tuple(like.shape)) if axes else value


def reshape(value: Any, shape: Any) -> Any:
    return raw_ops.Reshape(tensor=value, shape=np.array(shape, np.int64).reshape(-1))


def transpose(value: Any, axes: Any = None, *more: int) -> Any:
    if isinstance(axes, int):
        axes = (axes, *more)
    order = range(value.ndim)[::-1] if axes is None else [a % value.ndim for a in axes]
    return raw_ops.Transpose(x=value, perm=np.array(list(order), np.int32))


def matmul(first: Any, second: Any) -> Any:
    if first.ndim == 1:
        return reshape(matmul(reshape(first, (1, -1)), second), second.shape[1:])
    if second.ndim == 1:
        return reshape(matmul(first, reshape(second, (-1, 1))), first.shape[:-1])
    if first.ndim != 2 or second.ndim != 2:
        raise TypeError("only matrices and vectors can be multiplied with @ under a transform")
    dtype = np.result_type(first.dtype, second.dtype)
    return raw_ops.MatMul(a=as_type(first, dtype), b=as_type(second, dtype))


# ------------------------------------------------------------------ indexing
class Picking:
    """Indexing as NumPy has it, which no op can say, and its transpose; each is the derivative of the other."""

    def __init__(self, place: Any, shape: tuple[int, ...], picks: bool = True) -> None:
        self.place, self.shape, self.picks = place, shape, picks

    def run(self, values: Sequence[Any]) -> list[Any]:
        if self.picks:
            return [np.array(values[0][self.place])]
        out = np.zeros(self.shape, values[0].dtype)
        np.add.at(out, self.place, values[0])
        return [out]

    def pull(
        self, values: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any], needed: Sequence[bool]
    ) -> list[Any]:
        cotangent = cotangents[0].dense() if hasattr(cotangents[0], "dense") else cotangents[0]
        return execute(Picking(self.place, self.shape, not self.picks), [cotangent])

    def push(self, values: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        return execute(self, tangents)


def take(value: Any, place: Any) -> Any:
    """Indexing, as in `value[place]`."""
    return execute(Picking(place, value.shape), [value])[0]


# ------------------------------------------------------------------ what makes a traced array feel like an array
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: total,
    np.mean: mean,
    np.reshape: reshape,
    np.transpose: transpose,
    np.broadcast_to: broadcast_to,
}


def _ufunc(self: Traced, ufunc: Any, method: str, *values: Any, **settings: Any) -> Any:
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    if method == "__call__" and (ufunc in ELEMENTWISE or ufunc in (np.matmul, np.power)):
        _refuse_settings(name, settings)
        if ufunc in ELEMENTWISE:
            return elementwise(ufunc, *values)
        return matmul(*values) if ufunc is np.matmul else power(*values)
    raise TypeError(f"np.{name} has no derivative here; gradbag differentiates its own ops and {known()}")


def _function(self: Traced, function: Any, types: Any, args: Any, settings: Any) -> Any:
    if function in FUNCTIONS:
        own = inspect.signature(FUNCTIONS[function]).parameters
        _refuse_settings(function.__name__, [s for s in settings if s not in own])
        return FUNCTIONS[function](*args, **settings)
    raise TypeError(f"np.{function.__name__} has no derivative here; gradbag differentiates its own ops and {known()}")


def _refuse_settings(name: str, settings: Any) -> None:
    if settings:
        raise TypeError(f"np.{name} takes no {', '.join(settings)} under a transform")


def known() -> str:
    return ", ".join(f"np.{f.__name__}" for f in (*ELEMENTWISE, np.power, np.matmul, *FUNCTIONS))


def _binary(function: Any) -> tuple[Any, Any]:
    return lambda self, other: elementwise(function, self, other), lambda self, other: elementwise(
        function, other, self
    )


def _install() -> None:
    for name, function in {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "truediv": np.true_divide,
    }.items():
        forward, backward = _binary(function)
        setattr(Traced, f"__{name}__", forward)
        setattr(Traced, f"__r{name}__", backward)
    methods: dict[str, Any] = {
        "__neg__": lambda self: elementwise(np.negative, self),
        "__pow__": power,
        "__matmul__": matmul,
        "__rmatmul__": lambda self, other: matmul(other, self),
        "__getitem__": take,
        "__array_ufunc__": _ufunc,
        "__array_function__": _function,
        "sum": total,
        "mean": mean,
        "reshape": lambda self, *shape: reshape(self, shape[0] if len(shape) == 1 else shape),
        "transpose": transpose,
        "T": property(transpose),
    }
    for name, method in methods.items():
        setattr(Traced, name, method)


_install()
