"""Ordinary NumPy arithmetic on traced arrays: enough to write a loss around gradbag's ops.

Cotangents of complex numbers follow JAX: they are multiplied by the plain derivative, not by its conjugate.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .trace import Traced, execute, zeros_like

Partial = Callable[..., Any]


class Elementwise:
    """A NumPy function that acts on each element, with its partial derivatives."""

    def __init__(self, function: Callable[..., Any], *partials: Partial) -> None:
        self.function, self.partials = function, partials

    def run(self, values: Sequence[Any]) -> list[Any]:
        return [np.asarray(self.function(*values))]

    def pull(
        self, values: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any], needed: Sequence[bool]
    ) -> list[Any]:
        g = _dense(cotangents[0])
        return [
            as_type(sum_to(g * partial(*values, outputs[0]), v), v.dtype) if wanted else None
            for partial, v, wanted in zip(self.partials, values, needed, strict=True)
        ]

    def push(self, values: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        shape = outputs[0].shape
        total = zeros_like(outputs[0])
        for partial, tangent in zip(self.partials, tangents, strict=True):
            if tangent is not None:
                total = total + broadcast_to(tangent * partial(*values, outputs[0]), shape)
        return [as_type(total, outputs[0].dtype)]


class Linear:
    """A linear function of one array, with the function that is its transpose."""

    def __init__(self, function: Callable[[Any], Any], transpose: Callable[[Any], Any]) -> None:
        self.function, self.transpose = function, transpose

    def run(self, values: Sequence[Any]) -> list[Any]:
        return [np.asarray(self.function(values[0]))]

    def pull(
        self, values: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any], needed: Sequence[bool]
    ) -> list[Any]:
        return [self.transpose(_dense(cotangents[0]))]

    def push(self, values: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        return execute(self, tangents)


class MatMul:
    """The product of two matrices."""

    def run(self, values: Sequence[Any]) -> list[Any]:
        return [values[0] @ values[1]]

    def pull(
        self, values: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any], needed: Sequence[bool]
    ) -> list[Any]:
        g = _dense(cotangents[0])
        first = as_type(matmul(g, transpose(values[1])), values[0].dtype) if needed[0] else None
        second = as_type(matmul(transpose(values[0]), g), values[1].dtype) if needed[1] else None
        return [first, second]

    def push(self, values: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        terms = []
        if tangents[0] is not None:
            terms.append(matmul(tangents[0], values[1]))
        if tangents[1] is not None:
            terms.append(matmul(values[0], tangents[1]))
        return [terms[0] if len(terms) == 1 else terms[0] + terms[1]]


def _dense(cotangent: Any) -> Any:
    return cotangent.dense() if hasattr(cotangent, "dense") else cotangent


# ------------------------------------------------------------------ elementwise functions
ELEMENTWISE: dict[Any, Elementwise] = {
    np.add: Elementwise(np.add, lambda x, y, z: 1, lambda x, y, z: 1),
    np.subtract: Elementwise(np.subtract, lambda x, y, z: 1, lambda x, y, z: -1),
    np.multiply: Elementwise(np.multiply, lambda x, y, z: y, lambda x, y, z: x),
    np.true_divide: Elementwise(np.true_divide, lambda x, y, z: 1 / y, lambda x, y, z: -x / (y * y)),
    np.negative: Elementwise(np.negative, lambda x, z: -1),
    np.square: Elementwise(np.square, lambda x, z: 2 * x),
    np.sqrt: Elementwise(np.sqrt, lambda x, z: 0.5 / z),
    np.exp: Elementwise(np.exp, lambda x, z: z),
    np.log: Elementwise(np.log, lambda x, z: 1 / x),
    np.tanh: Elementwise(np.tanh, lambda x, z: 1 - z * z),
}


def elementwise(function: Any, *values: Any) -> Any:
    return execute(ELEMENTWISE[function], [v if isinstance(v, Traced) else _like(v, values) for v in values])[0]


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
    return execute(Elementwise(lambda x: x**exponent, lambda x, z: exponent * x ** (exponent - 1)), [value])[0]


# ------------------------------------------------------------------ linear functions
def as_type(value: Any, dtype: Any) -> Any:
    """The gradient of an argument has the argument's dtype; of a complex one, a real argument gets the real part."""
    before = value.dtype
    if before == dtype:
        return value

    def cast(x: Any) -> Any:
        return (x.real if before.kind == "c" and dtype.kind != "c" else x).astype(dtype)

    return execute(Linear(cast, lambda g: as_type(g, before)), [value])[0]


def total(value: Any, axis: Any = None, keepdims: bool = False) -> Any:
    shape = value.shape
    axes = tuple(range(len(shape))) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    kept = tuple(1 if k in [a % len(shape) for a in axes] else n for k, n in enumerate(shape))
    step = Linear(lambda x: np.sum(x, axes, keepdims=keepdims), lambda g: broadcast_to(reshape(g, kept), shape))
    return execute(step, [value])[0]


def mean(value: Any, axis: Any = None, keepdims: bool = False) -> Any:
    added = total(value, axis, keepdims)
    return added / (value.size / max(added.size, 1))


def broadcast_to(value: Any, shape: tuple[int, ...]) -> Any:
    if tuple(value.shape) == tuple(shape):
        return value
    step = Linear(lambda x: np.broadcast_to(x, shape).copy(), lambda g: sum_to(g, value))
    return execute(step, [value])[0]


def sum_to(value: Any, like: Any) -> Any:
    """Undo broadcasting: add along the axes that `like` does not have, or has with length one."""
    missing = value.ndim - len(like.shape)
    axes = tuple(range(missing))
    axes += tuple(missing + k for k, n in enumerate(like.shape) if n == 1 and value.shape[missing + k] != 1)
    return reshape(total(value, axes), tuple(like.shape)) if axes else value


def reshape(value: Any, shape: Any) -> Any:
    before = value.shape
    if tuple(before) == shape:
        return value
    return execute(Linear(lambda x: np.reshape(x, shape), lambda g: reshape(g, before)), [value])[0]


def transpose(value: Any, axes: Any = None, *more: int) -> Any:
    if isinstance(axes, int):
        axes = (axes, *more)
    back = None if axes is None else tuple(np.argsort([a % value.ndim for a in axes]).tolist())
    return execute(Linear(lambda x: np.transpose(x, axes), lambda g: transpose(g, back)), [value])[0]


def take(value: Any, place: Any) -> Any:
    """Indexing, as in `value[place]`."""
    shape = value.shape
    return execute(Linear(lambda x: np.array(x[place]), lambda g: put(g, place, shape)), [value])[0]


def put(value: Any, place: Any, shape: tuple[int, ...]) -> Any:
    """The transpose of indexing: zeros, with `value` added at `place`."""

    def scatter(x: Any) -> Any:
        out = np.zeros(shape, x.dtype)
        np.add.at(out, place, x)
        return out

    return execute(Linear(scatter, lambda g: take(g, place)), [value])[0]


def matmul(first: Any, second: Any) -> Any:
    if first.ndim == 1:
        return reshape(matmul(reshape(first, (1, -1)), second), second.shape[1:])
    if second.ndim == 1:
        return reshape(matmul(first, reshape(second, (-1, 1))), first.shape[:-1])
    if first.ndim != 2 or second.ndim != 2:
        raise TypeError("only matrices and vectors can be multiplied with @ under a transform")
    return execute(MatMul(), [first, second])[0]


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
