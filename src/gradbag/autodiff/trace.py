"""Values that remember how they were computed.

A transform makes a trace and wraps its arguments in it; an operation on wrapped values is done on what they wrap and
recorded in the innermost trace. What they wrap may be wrapped again by an outer transform, so orders nest.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from .. import dtypes, errors

_levels = itertools.count(1)


class Step(Protocol):
    """An operation as a trace sees it, with its index arguments and settings already bound."""

    def run(self, values: Sequence[Any]) -> list[Any]: ...

    def pull(
        self, values: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any], needed: Sequence[bool]
    ) -> list[Any]: ...

    def push(self, values: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]: ...


class Trace:
    """One run of a function under a transform; a later one is further inside."""

    def __init__(self) -> None:
        self.level = next(_levels)

    def record(
        self, step: Step, inputs: Sequence[Traced | None], values: Sequence[Any], outputs: list[Any]
    ) -> list[Any]:
        raise NotImplementedError


class Traced:
    """An array under a transform: it can be used like a NumPy array in arithmetic and in gradbag's ops."""

    __slots__ = ("node", "tangent", "trace", "value")
    __array_priority__ = 1000

    def __init__(self, trace: Trace, value: Any, node: Any = None, tangent: Any = None) -> None:
        self.trace, self.value, self.node, self.tangent = trace, value, node, tangent

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.value.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar under a transform has no length")
        return self.shape[0]

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise errors.UnsupportedTypeError(
            "an array under gradbag.vjp, jvp or grad cannot become a plain NumPy array, for its derivative would be "
            "lost; use gradbag's ops, arithmetic, sum, mean, reshape, indexing or @"
        )

    def __bool__(self) -> bool:
        return bool(plain(self))

    def __float__(self) -> float:
        return float(self.__array__())

    def __eq__(self, other: object) -> bool:
        raise TypeError("an array under a transform cannot be compared with ==; compare what it is made of")

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Traced({plain(self)!r})"


def plain(value: Any) -> Any:
    """What is inside all wrappings."""
    while isinstance(value, Traced):
        value = value.value
    return value


def execute(step: Step, values: Sequence[Any]) -> list[Any]:
    """Run a step on values of which some may be traced, and record it where that is so."""
    traces = [v.trace for v in values if isinstance(v, Traced)]
    if not traces:
        return step.run(values)
    trace = max(traces, key=lambda t: t.level)
    inputs = [v if isinstance(v, Traced) and v.trace is trace else None for v in values]
    inner = [v.value if own is not None else v for v, own in zip(values, inputs, strict=True)]
    return trace.record(step, inputs, inner, execute(step, inner))


def carries_gradient(value: Any) -> bool:
    return dtypes.is_differentiable(value.dtype)


def zeros_like(value: Any) -> Any:
    return np.zeros(value.shape, value.dtype)


class ForwardTrace(Trace):
    """Carries a tangent beside each value."""

    def record(
        self, step: Step, inputs: Sequence[Traced | None], values: Sequence[Any], outputs: list[Any]
    ) -> list[Any]:
        tangents = [None if i is None else i.tangent for i in inputs]
        pushed = step.push(values, outputs, tangents)
        return [
            Traced(self, output, tangent=tangent) if carries_gradient(output) else output
            for output, tangent in zip(outputs, pushed, strict=True)
        ]


class ReverseTrace(Trace):
    """Keeps each step, so that cotangents can be pulled back through it."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count()

    def leaf(self, value: Any) -> Traced:
        return Traced(self, value, node=(Node(next(self._numbers), None, (), (), ()), 0))

    def record(
        self, step: Step, inputs: Sequence[Traced | None], values: Sequence[Any], outputs: list[Any]
    ) -> list[Any]:
        sources = tuple(None if i is None else i.node for i in inputs)
        node = Node(next(self._numbers), step, sources, tuple(values), tuple(outputs))
        return [
            Traced(self, output, node=(node, place)) if carries_gradient(output) else output
            for place, output in enumerate(outputs)
        ]


class Node:
    """A recorded step; `sources` names the node and the output number that each input came from."""

    __slots__ = ("number", "outputs", "sources", "step", "values")

    def __init__(self, number: int, step: Step | None, sources: Any, values: Any, outputs: Any) -> None:
        self.number, self.step, self.sources, self.values, self.outputs = (
            number,
            step,
            sources,
            values,
            outputs,
        )


def pull_back(
    seeds: Sequence[tuple[Any, Any]], leaves: Sequence[Traced], add: Callable[[Any, Any], Any]
) -> list[Any | None]:
    """Cotangents of the leaves, given (node, cotangent) of the outputs; None where nothing depends on a leaf."""
    found: dict[tuple[Node, int], Any] = {}
    for source, cotangent in seeds:
        found[source] = cotangent if source not in found else add(found[source], cotangent)
    for node in sorted(_reachable([s for s, _ in seeds]), key=lambda n: -n.number):
        if node.step is None:
            continue
        cotangents = [found.pop((node, place), None) for place in range(len(node.outputs))]
        if all(c is None for c in cotangents):
            continue
        needed = [source is not None for source in node.sources]
        pulled = node.step.pull(node.values, node.outputs, cotangents, needed)
        for source, cotangent in zip(node.sources, pulled, strict=True):
            if source is not None and cotangent is not None:
                found[source] = cotangent if source not in found else add(found[source], cotangent)
    return [found.get(leaf.node) for leaf in leaves]


def _reachable(sources: Sequence[Any]) -> set[Node]:
    seen: set[Node] = set()
    waiting = [node for node, _ in sources]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting.extend(source[0] for source in node.sources if source is not None)
    return seen
