"""vjp, jvp and grad."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import errors
from ..row_grad import RowGrad
from ..sparse_tensor import SparseTensor
from . import arithmetic, op_step  # noqa: F401  # give traced arrays their arithmetic and the ops
from .trace import ForwardTrace, ReverseTrace, Traced, carries_gradient, pull_back, zeros_like

__all__ = ["grad", "jvp", "value_and_grad", "vjp"]


def vjp(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of `function(*primals)`, and a function that pulls a cotangent of the value back to the primals.

    The value may be an array or a (named) tuple, list or dict of arrays; the cotangent has the same form. A primal
    that `sparse_gradient=True` pooling alone uses gets a compact `RowGrad`.

        >>> import numpy as np, gradbag
        >>> table = np.array([[1.0, 2.0], [3.0, 4.0]])
        >>> pooled, pullback = gradbag.vjp(lambda t: gradbag.segment_sum(t, [0, 0, 1], [0, 0, 1]), table)
        >>> pullback(np.ones((2, 2)))[0]
        array([[2., 2.],
               [1., 1.]])
    """
    return _vjp("vjp", function, primals, range(len(primals)))


def _vjp(
    transform: str, function: Callable[..., Any], primals: Sequence[Any], places: Sequence[int]
) -> tuple[Any, Any]:
    trace = ReverseTrace()
    leaves = [trace.leaf(_differentiable(transform, p, k)) for k, p in zip(places, primals, strict=True)]
    answer = function(*leaves)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        seeds = []
        for place, (output, c) in enumerate(_pairs(answer, cotangent)):
            if isinstance(output, Traced) and output.trace is trace:
                seeds.append((output.node, _matching("vjp", f"cotangent {place}", c, output)))
        pulled = pull_back(seeds, leaves, _add)
        return tuple(zeros_like(leaf) if p is None else p for leaf, p in zip(leaves, pulled, strict=True))

    return _map(lambda v: v.value if isinstance(v, Traced) and v.trace is trace else v, answer), pullback


def jvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of `function(*primals)` and its derivative in the direction of the tangents.

    >>> import numpy as np, gradbag
    >>> table = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> mean = lambda t: gradbag.segment_mean(t, [0, 1], [0, 0])
    >>> gradbag.jvp(mean, [table], [np.ones((2, 2))])
    (array([[2., 3.]]), array([[1., 1.]]))
    """
    if len(primals) != len(tangents):
        raise errors.InvalidArgumentError(f"jvp: {len(primals)} primals but {len(tangents)} tangents")
    trace = ForwardTrace()
    checked = [_differentiable("jvp", p, k) for k, p in enumerate(primals)]
    moved = [_matching("jvp", f"tangent {k}", t, p) for k, (p, t) in enumerate(zip(checked, tangents, strict=True))]
    answer = function(*[Traced(trace, p, tangent=t) for p, t in zip(checked, moved, strict=True)])

    def own(value: Any) -> bool:
        return isinstance(value, Traced) and value.trace is trace

    value = _map(lambda v: v.value if own(v) else v, answer)
    return value, _map(lambda v: v.tangent if own(v) else _still(v), answer)


def value_and_grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., tuple[Any, Any]]:
    """Like `grad`, with the value of the function beside its gradient."""
    single = isinstance(argnums, int)
    asked = (argnums,) if isinstance(argnums, int) else tuple(argnums) if isinstance(argnums, (tuple, list)) else None
    if asked is None or not all(isinstance(place, int) for place in asked):
        raise errors.UnsupportedTypeError(f"grad: argnums must be an int or a tuple of ints; got {argnums!r}")

    def differentiate(*args: Any) -> tuple[Any, Any]:
        for place in asked:
            if not -len(args) <= place < len(args):
                raise errors.InvalidArgumentError(f"grad: argnums names argument {place}, but there are {len(args)}")
        places = [place % len(args) for place in asked]
        if len(set(places)) < len(places):
            raise errors.InvalidArgumentError(f"grad: argnums {argnums} names an argument twice")

        def partial(*chosen: Any) -> Any:
            given = list(args)
            for place, value in zip(places, chosen, strict=True):
                given[place] = value
            return function(*given)

        value, pullback = _vjp("grad", partial, [args[place] for place in places], places)
        if isinstance(value, (int, float, complex)):
            value = np.asarray(value)
        shape = getattr(value, "shape", None)
        if shape != ():
            what = type(value).__name__ if shape is None else f"shape {list(shape)}"
            raise errors.InvalidArgumentError(f"grad: the function must give a scalar, got {what}; use vjp, or sum it")
        gradients = pullback(np.ones((), value.dtype))
        return value, gradients[0] if single else gradients

    return differentiate


def grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that gives the gradient of a scalar `function` with respect to one or several arguments.

    >>> import numpy as np, gradbag
    >>> loss = lambda table: (gradbag.segment_mean(table, [0, 2], [0, 0]) ** 2).sum()
    >>> gradbag.grad(loss)(np.array([[1.0], [2.0], [3.0]]))
    array([[2.],
           [0.],
           [2.]])
    """
    differentiate = value_and_grad(function, argnums)
    return lambda *args: differentiate(*args)[1]


def _add(first: Any, second: Any) -> Any:
    return second + first if isinstance(second, RowGrad) else first + second


def _differentiable(transform: str, primal: Any, place: int) -> Any:
    value = primal if isinstance(primal, Traced) else np.asarray(primal)
    if not carries_gradient(value):
        raise errors.UnsupportedTypeError(
            f"{transform}: argument {place} is {value.dtype}, which has no derivative; "
            "give it a floating dtype or close over it"
        )
    return value


def _matching(transform: str, name: str, given: Any, like: Any) -> Any:
    value: Any = given if isinstance(given, (Traced, RowGrad)) else np.asarray(given)
    if isinstance(given, (int, float)):
        value = value.astype(like.dtype)
    if tuple(value.shape) != tuple(like.shape):
        raise errors.InvalidArgumentError(
            f"{transform}: {name} has shape {list(value.shape)}; wanted {list(like.shape)}"
        )
    if value.dtype != like.dtype:
        raise errors.UnsupportedTypeError(f"{transform}: {name} is {value.dtype}; wanted {like.dtype}")
    return value


def _map(function: Callable[[Any], Any], tree: Any) -> Any:
    """Apply to every array of a nest of tuples, lists, dicts, sparse tensors and row gradients."""
    if isinstance(tree, RowGrad):
        return RowGrad(tree.indices, function(tree.rows), tree.shape)
    if isinstance(tree, SparseTensor):
        return SparseTensor(tree.indices, function(tree.values), tree.dense_shape)
    if isinstance(tree, dict):
        return {key: _map(function, value) for key, value in tree.items()}
    if isinstance(tree, tuple):
        mapped = [_map(function, value) for value in tree]
        return type(tree)(*mapped) if hasattr(tree, "_fields") else tuple(mapped)
    if isinstance(tree, list):
        return [_map(function, value) for value in tree]
    return function(tree)


def _still(value: Any) -> Any:
    """The tangent of what does not move."""
    if isinstance(value, (int, float, complex)):
        return type(value)(0)
    return zeros_like(value) if hasattr(value, "shape") else value


def _pairs(value: Any, cotangent: Any) -> list[tuple[Any, Any]]:
    """The arrays of a value, each with its cotangent, which has the same form."""
    if isinstance(value, RowGrad) and isinstance(cotangent, RowGrad):
        return [(value.rows, cotangent.rows)]
    if isinstance(value, SparseTensor) and isinstance(cotangent, SparseTensor):
        return [(value.values, cotangent.values)]
    if isinstance(value, dict) and isinstance(cotangent, dict) and value.keys() == cotangent.keys():
        return [pair for key in value for pair in _pairs(value[key], cotangent[key])]
    for kind in (tuple, list):
        if isinstance(value, kind) and isinstance(cotangent, kind) and len(value) == len(cotangent):
            return [pair for v, c in zip(value, cotangent, strict=True) for pair in _pairs(v, c)]
    if isinstance(value, (RowGrad, SparseTensor, dict, tuple, list)):
        raise errors.InvalidArgumentError(
            f"vjp: the cotangent must have the form of the value, here {_form(value)}; got {_form(cotangent)}"
        )
    return [(value, cotangent)]


def _form(tree: Any) -> str:
    name = type(tree).__name__
    if isinstance(tree, dict):
        return f"{name} of {', '.join(map(repr, tree))}"
    return f"{name} of {len(tree)}" if isinstance(tree, (tuple, list)) else name
