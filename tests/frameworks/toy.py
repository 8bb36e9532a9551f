"""A framework as small as can be: arrays that remember how they were made. The second half makes gradbag run in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from gradbag import arguments, raw_ops
from gradbag.eager import quick_run
from gradbag.gradients import Ops, pull
from gradbag.spec import Op

# ------------------------------------------------------------------ the framework
_numbers = count()


class Node:
    """A call on the tape: its inputs, and the way from cotangents of its outputs to those of its inputs."""

    def __init__(self, inputs: Sequence[Any], backward: Callable[..., Sequence[Any]]) -> None:
        self.number, self.inputs, self.backward = next(_numbers), inputs, backward
        self.outputs: list[ToyArray] = []


class ToyArray:
    """Numbers, and the call that has computed them."""

    def __init__(self, numbers: Any, node: Node | None = None) -> None:
        self.numbers, self.node = np.asarray(numbers), node

    @property
    def shape(self) -> tuple[int, ...]:
        return self.numbers.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.numbers.dtype

    def __mul__(self, other: Any) -> Any:
        return raw_ops.Mul(x=self, y=other)

    def __add__(self, other: Any) -> Any:
        return raw_ops.AddV2(x=self, y=other)

    __radd__ = __add__


def gradients(
    outputs: Sequence[ToyArray], cotangents: Sequence[Any], leaves: Sequence[ToyArray], add: Callable[..., Any]
) -> list[Any]:
    """Walk the tape backwards, latest call first."""
    found: dict[ToyArray, list[Any]] = {}
    for output, cotangent in zip(outputs, cotangents, strict=True):
        found.setdefault(output, []).append(cotangent)
    waiting = {output.node for output in outputs if output.node is not None}
    while waiting:
        node = max(waiting, key=lambda n: n.number)
        waiting.remove(node)
        whole = [add(found[output]) if output in found else None for output in node.outputs]
        for source, gradient in zip(node.inputs, node.backward(whole), strict=True):
            if isinstance(source, ToyArray) and gradient is not None:
                found.setdefault(source, []).append(gradient)
                if source.node is not None:
                    waiting.add(source.node)
    return [add(found[leaf]) if leaf in found else None for leaf in leaves]


# ------------------------------------------------------------------ the adapter
def interpret(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Answer a raw op that was given a toy array."""
    arrays = arguments.to_arrays(op, [v.numbers if isinstance(v, ToyArray) else v for v in values])
    kept = [v if isinstance(v, ToyArray) else a for v, a in zip(values, arrays, strict=True)]
    node = Node(kept, lambda cotangents: pull(toy_ops, op, kept, node.outputs, cotangents, attrs))
    node.outputs = [ToyArray(array, node) for array in quick_run(op, arrays, attrs)]
    return op.answer(node.outputs)


class ToyOps(Ops):
    """What a gradient rule may call: ops alone."""

    def call(self, op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
        return interpret(op, values, attrs)


toy_ops = ToyOps()
raw_ops.interpreters[ToyArray] = interpret
