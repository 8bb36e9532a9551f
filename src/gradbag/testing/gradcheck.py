"""Gradients checked along one random direction, to any order.

A linear op needs no finite differences: its derivative in a direction is its value there, so the forward rule can be
compared with the op itself and the reverse rule with the forward rule, both nearly to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, raw_ops
from ..autodiff import jvp, vjp
from .cases import Case

Function = Callable[..., Any]


def assert_gradient(case: Case, order: int = 2, seed: int = 0) -> int:
    """Check the rules of a case's op by finite differences; gives the number of directions checked."""
    function, primals = function_of(case)
    if not primals or not function(*primals):
        return 0
    return _check(function, primals, order, np.random.default_rng(seed), str(case))


def assert_adjoint(case: Case, seed: int = 0) -> None:
    """g J v by the forward rule equals (J' g) v by the reverse rule, nearly exactly."""
    function, primals = function_of(case)
    rng = np.random.default_rng(seed)
    directions = [random_like(rng, p) for p in primals]
    value, tangent = jvp(function, primals, directions)
    weights = [random_like(rng, y) for y in value]
    forward = _inner(weights, tangent)
    _, pullback = vjp(function, *primals)
    backward = _inner(pullback(tuple(weights)), directions)
    scale = sum(float(np.abs(w * t).sum()) for w, t in zip(weights, tangent, strict=True))
    assert abs(forward - backward) <= 1e-12 * max(scale, 1.0), f"{case}: {forward} forward, {backward} backward"


def function_of(case: Case) -> tuple[Function, list[Any]]:
    """The op as a function of its differentiable inputs alone, giving its differentiable outputs as a tuple."""
    op = case.op
    arrays = case.arrays
    named: Any = zip(op.flat_inputs(len(arrays)), arrays, strict=True)
    places = [
        p
        for p, (a, v) in enumerate(named)
        if v is not None and a.name in op.differentiable and dtypes.is_differentiable(v.dtype)
    ]
    call = getattr(raw_ops, op.name)

    def function(*values: Any) -> Any:
        given = list(arrays)
        for place, value in zip(places, values, strict=True):
            given[place] = value
        answer = call(**dict(zip(op.input_names, op.grouped(given), strict=True)), **case.attrs)
        return tuple(y for y in op.flat_answer(answer) if dtypes.is_differentiable(y.dtype))

    return function, [arrays[place] for place in places]


def _check(function: Function, primals: Sequence[Any], order: int, rng: np.random.Generator, label: str) -> int:
    value, pullback = vjp(function, *primals)
    weights = tuple(random_like(rng, y) for y in value)
    directions = [random_like(rng, p) for p in primals]
    step = 1e-6
    ahead = function(*[p + step * d for p, d in zip(primals, directions, strict=True)])
    behind = function(*[p - step * d for p, d in zip(primals, directions, strict=True)])
    numeric = _inner(weights, [_slope(a, b, 2 * step) for a, b in zip(ahead, behind, strict=True)])
    exact = _inner(pullback(weights), directions)
    scale = 1.0 + sum(float(np.abs(w).sum()) for w in weights)
    assert abs(numeric - exact) <= 1e-6 * scale, f"{label}: {numeric} by differences, {exact} by the rule"
    if order == 1:
        return 1

    def pulled(*both: Any) -> Any:
        # The gradient as a function of the point and of the cotangents: its gradient is the second derivative.
        point, weights = both[: len(primals)], both[len(primals) :]
        return vjp(function, *point)[1](weights)

    return 1 + _check(pulled, [*primals, *weights], order - 1, rng, f"{label}, order {order}")


def _slope(ahead: Any, behind: Any, step: float) -> Any:
    """The difference quotient; what is infinite or no number, say the mean of nothing, does not move."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(ahead), (ahead - behind) / step, 0)


def _inner(weights: Sequence[Any], values: Sequence[Any]) -> float:
    """The real part of the sum of products: complex cotangents are multiplied, not their conjugates."""
    return float(sum(np.sum(w * v).real for w, v in zip(weights, values, strict=True)))


def random_like(rng: np.random.Generator, like: Any) -> Any:
    """A random direction of the shape and dtype of an array."""
    values = rng.standard_normal(like.shape)
    if like.dtype.kind == "c":
        values = values + 1j * rng.standard_normal(like.shape)
    return np.asarray(values).astype(like.dtype)
