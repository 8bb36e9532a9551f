"""A call of a declared op as a step of a trace, and the namespace in which its gradient rule runs on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import arguments, raw_ops
from ..gradients import Ops, pull, push
from ..row_grad import RowGrad
from ..spec import Op
from .arithmetic import sum_to
from .trace import ReverseTrace, Traced, carries_gradient, execute, plain, pull_back, zeros_like


class ArrayOps(Ops):
    """Ops on NumPy arrays, traced or not; questions about indices are NumPy's to answer."""

    def call(self, op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
        return raw_ops.apply(op, values, attrs)

    def transposed(self, pull: Callable[..., list[Any]], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        trace = ReverseTrace()
        leaves = [trace.leaf(zeros_like(y)) if carries_gradient(y) else None for y in outputs]
        seeds = []
        for tangent, gradient in zip(tangents, pull(*leaves), strict=True):
            if isinstance(gradient, Traced) and gradient.trace is trace:
                seeds.append((gradient.node, tangent))
        found = iter(pull_back(seeds, [leaf for leaf in leaves if leaf is not None], lambda a, b: a + b))
        moved = [None if leaf is None else next(found) for leaf in leaves]
        return [zeros_like(y) if m is None else self.dense(m) for y, m in zip(outputs, moved, strict=True)]

    def range(self, count: int) -> Any:
        return np.arange(count)

    def ones(self, count: int) -> Any:
        return np.ones(count, np.int8)

    def zeros_like(self, value: Any) -> Any:
        return zeros_like(value)

    def nonzero(self, marks: Any) -> Any:
        return np.flatnonzero(marks)

    def sorted_by(self, keys: Any, values: Any) -> tuple[Any, Any]:
        if (keys[1:] >= keys[:-1]).all():
            return keys, values
        order = np.argsort(keys, kind="stable")
        return keys[order], values[order]

    def positions(self, values: Any, among: Any) -> Any:
        return np.searchsorted(among, values)

    def sum_like(self, value: Any, like: Any) -> Any:
        return sum_to(value, like)

    def row_grad(self, compact: Any, like: Any) -> RowGrad:
        return RowGrad(compact.sorted_unique_indices, compact.output, tuple(like.shape))


array_ops = RowGrad.of_arrays = ArrayOps()


class OpStep:
    """A call of an op with its attributes bound."""

    def __init__(self, op: Op, attrs: dict[str, Any]) -> None:
        self.op, self.attrs = op, attrs

    def run(self, values: Sequence[Any]) -> list[Any]:
        return self.op.flat_answer(raw_ops.apply(self.op, values, self.attrs))

    def pull(
        self, values: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any], needed: Sequence[bool]
    ) -> list[Any]:
        return pull(array_ops, self.op, values, outputs, cotangents, self.attrs)

    def push(self, values: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        return push(array_ops, self.op, values, outputs, tangents, self.attrs)


def trace_op(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Answer a raw op that was given a traced array."""
    # Lists and numbers become arrays here, once: the rules want arrays, and all dtypes are known.
    arrays = arguments.to_arrays(op, [plain(v) for v in values])
    ready = [v if isinstance(v, Traced) else a for v, a in zip(values, arrays, strict=True)]
    return op.answer(execute(OpStep(op, attrs), ready))


raw_ops.interpreters[Traced] = trace_op
