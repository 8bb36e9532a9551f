"""A call of a declared op as a step of a trace, and the namespace in which its gradient rule runs."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import arguments, errors, raw_ops
from ..spec import Op
from .arithmetic import sum_to
from .row_grad import RowGrad
from .trace import ReverseTrace, Traced, carries_gradient, execute, plain, pull_back, zeros_like


class ArrayOps:
    """What a gradient rule may call: every op by its name, and a few questions about indices."""

    def __getattr__(self, name: str) -> Any:
        return getattr(raw_ops, name)

    @staticmethod
    def rows(value: Any) -> int:
        """The length of the first axis."""
        return int(value.shape[0])

    @staticmethod
    def range(count: int) -> Any:
        return np.arange(count)

    @staticmethod
    def ones(count: int) -> Any:
        return np.ones(count, np.int8)

    @staticmethod
    def nonzero(marks: Any) -> Any:
        return np.flatnonzero(marks)

    @staticmethod
    def sorted_by(keys: Any, values: Any) -> tuple[Any, Any]:
        """Both in ascending order of the keys; equal keys keep their order."""
        if (keys[1:] >= keys[:-1]).all():
            return keys, values
        order = np.argsort(keys, kind="stable")
        return keys[order], values[order]

    @staticmethod
    def positions(values: Any, among: Any) -> Any:
        """Where each value stands in a sorted array that has it."""
        return np.searchsorted(among, values)

    @staticmethod
    def sum_like(value: Any, like: Any) -> Any:
        """Undo broadcasting: add along the axes in which `like` was stretched to the shape of `value`."""
        return sum_to(value, like)

    @staticmethod
    def row_grad(compact: Any, like: Any) -> RowGrad:
        """The outputs of a compact gradient op, as the gradient of `like`."""
        return RowGrad(compact.sorted_unique_indices, compact.output, tuple(like.shape))


_array_ops = ArrayOps()


class OpStep:
    """A call of an op with its attributes bound."""

    def __init__(self, op: Op, attrs: dict[str, Any]) -> None:
        self.op, self.attrs = op, attrs

    def run(self, values: Sequence[Any]) -> list[Any]:
        answer = raw_ops.apply(self.op, values, self.attrs)
        return list(answer) if self.op.result is not None else [answer]

    def pull(
        self, values: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any], needed: Sequence[bool]
    ) -> list[Any]:
        op = self.op
        if op.rule is None:
            raise errors.UnsupportedTypeError(f"{op.name} has no gradient")
        names = [a.name for a in op.outputs]
        given = {
            name: (_dense(c) if c is not None else zeros_like(y)) if name in op.differentiable_outputs else None
            for name, y, c in zip(names, outputs, cotangents, strict=True)
        }
        x = SimpleNamespace(**dict(zip(op.input_names, op.grouped(values), strict=True)), **self.attrs)
        y = SimpleNamespace(**dict(zip(names, outputs, strict=True)))
        pulled = op.rule(_array_ops, x, y, SimpleNamespace(**given))
        missing = [name for name in op.differentiable if name not in pulled]
        if missing:
            raise errors.UnsupportedTypeError(f"{op.name}: the gradient rule says nothing about {', '.join(missing)}")
        unknown = [name for name in pulled if name not in op.input_names]
        if unknown:
            wrong = ", ".join(unknown)
            raise errors.UnsupportedTypeError(f"{op.name}: the gradient rule names {wrong}, which is no input")
        gradients = [pulled.get(name) for name in op.input_names]
        if op.many is not None and gradients[op.many] is None:
            gradients[op.many] = [None] * (len(values) - len(op.inputs) + 1)
        return op.flat(gradients)

    def push(self, values: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        op = self.op
        names = [a.name for a in op.flat_inputs(len(values))]
        if any(t is not None and name not in op.linear for name, t in zip(names, tangents, strict=True)):
            return self._push_by_pulling(values, outputs, tangents)
        # Linear in these inputs together: the tangents go through the same op, with the same indices.
        moved = [
            v if name not in op.linear else zeros_like(v) if t is None else t
            for name, v, t in zip(names, values, tangents, strict=True)
        ]
        return self.run(moved)

    def _push_by_pulling(self, values: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """The reverse rule is linear in its cotangents, and its transpose is the derivative in a direction."""
        trace = ReverseTrace()
        leaves = [trace.leaf(zeros_like(y)) if carries_gradient(y) else None for y in outputs]
        pulled = self.pull(values, outputs, leaves, [t is not None for t in tangents])
        seeds = []
        for tangent, gradient in zip(tangents, map(_dense, pulled), strict=True):
            if tangent is not None and isinstance(gradient, Traced) and gradient.trace is trace:
                seeds.append((gradient.node, tangent))
        found = iter(pull_back(seeds, [leaf for leaf in leaves if leaf is not None], lambda a, b: a + b))
        moved = [None if leaf is None else next(found) for leaf in leaves]
        return [zeros_like(y) if m is None else _dense(m) for y, m in zip(outputs, moved, strict=True)]


def _dense(cotangent: Any) -> Any:
    return cotangent.dense() if isinstance(cotangent, RowGrad) else cotangent


def trace_op(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Answer a raw op that was given a traced array."""
    # Lists and numbers become arrays here, once: the rules want arrays, and all dtypes are known.
    arrays = arguments.to_arrays(op, [plain(v) for v in values])
    ready = [v if isinstance(v, Traced) else a for v, a in zip(values, arrays, strict=True)]
    outputs = execute(OpStep(op, attrs), ready)
    return outputs[0] if op.result is None else op.result._make(outputs)


raw_ops.interpreters[Traced] = trace_op
