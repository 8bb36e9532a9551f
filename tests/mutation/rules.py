"""Broken gradient rules and forward rules, derived from the registry: each op, each input, each attribute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

from gradbag import RowGrad
from gradbag.autodiff.op_step import OpStep
from gradbag.autodiff.trace import Traced
from gradbag.spec import Attr, Op
from gradbag.testing import native_ops

Damage = Callable[[Any], Any]


class Reached:
    """Whether the broken code ran at all: a mutant that no test reaches has not been tried."""

    def __init__(self) -> None:
        self.count = 0


@dataclass(frozen=True)
class RuleMutant:
    op: Op
    breaks: str
    broken: Callable[[Reached], AbstractContextManager[Any]]

    @property
    def name(self) -> str:
        return f"{self.op.name}: {self.breaks}"


def rule_mutants() -> Iterator[RuleMutant]:
    for op in native_ops():
        for name in op.differentiable:
            for what, damage in DAMAGES.items():
                yield RuleMutant(op, f"the gradient of {name} {what}", _rule(op, name, damage))
            for attr in (a for a in op.attrs if a.kind == "bool"):
                what = f"is 0.1 % too large with {attr.name}={not attr.default}"
                yield RuleMutant(op, f"the gradient of {name} {what}", _rule(op, name, _scaled, only_with=attr))
            if op.is_linear and not op.lists:  # else the rule may be transposed, which is right as well
                yield RuleMutant(op, f"{name} has no forward rule", _not_linear(op, name))
            yield RuleMutant(op, f"the forward rule ignores {name}", _push(op, ignores=name))
        yield RuleMutant(op, "the forward rule is 0.1 % too large", _push(op, ignores=None))


# ------------------------------------------------------------------ damages
def _scaled(value: Any) -> Any:
    return value * 1.001


def _zeros(value: Any) -> Any:
    return value * 0.0


def _last_forgotten(value: Any) -> Any:
    mask = np.ones(value.shape, value.dtype)
    mask.reshape(-1)[-1:] = 0
    return value * mask


DAMAGES: dict[str, Damage] = {
    "is 0.1 % too large": _scaled,
    "is zero": _zeros,
    "misses its last entry": _last_forgotten,
}


def _damaged(value: Any, damage: Damage) -> Any:
    if isinstance(value, list):
        return [_damaged(one, damage) for one in value]
    if isinstance(value, RowGrad):
        return RowGrad(value.indices, _damaged(value.rows, damage), value.shape)
    wrong = damage(value)
    return wrong if isinstance(wrong, Traced) else np.asarray(wrong)  # NumPy makes plain numbers of scalar arrays


# ------------------------------------------------------------------ what is replaced, for a while
def _rule(op: Op, name: str, damage: Damage, only_with: Attr | None = None) -> Any:
    rule = op.rule
    assert rule is not None

    def broken(reached: Reached) -> Any:
        def wrong(ops: Any, x: Any, y: Any, g: Any) -> dict[str, Any]:
            pulled = dict(rule(ops, x, y, g))
            given = pulled.get(name) is not None  # an optional input may be left out
            if given and (only_with is None or getattr(x, only_with.name) != only_with.default):
                reached.count += 1
                pulled[name] = _damaged(pulled[name], damage)
            return pulled

        return mock.patch.object(op, "rule", wrong)

    return broken


def _not_linear(op: Op, name: str) -> Any:
    @contextmanager
    def broken(reached: Reached) -> Iterator[None]:
        with mock.patch.object(op, "linear", tuple(n for n in op.linear if n != name)):
            reached.count += 1
            yield

    return broken


def _push(op: Op, ignores: str | None) -> Any:
    push = OpStep.push

    def broken(reached: Reached) -> Any:
        def wrong(self: OpStep, values: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
            if self.op is not op:
                return push(self, values, outputs, tangents)
            reached.count += 1
            if ignores is not None:
                args = op.flat_inputs(len(values))
                kept = [None if a.name == ignores else t for a, t in zip(args, tangents, strict=True)]
                return push(self, values, outputs, kept)
            pushed = zip(op.outputs, push(self, values, outputs, tangents), strict=True)
            return [_damaged(t, _scaled) if a.name in op.differentiable_outputs else t for a, t in pushed]

        return mock.patch.object(OpStep, "push", wrong)

    return broken
