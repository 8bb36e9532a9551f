"""A run that tells of each node as it goes, and keeps what every node gave."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from .. import errors
from ..graph.cache import ResultCache
from ..graph.graph import Node, Output
from ..graph.plan import Plan, Step
from ..graph.run import Run
from ..graph.session import Cancel

Array = np.ndarray[Any, Any]
Variables = dict[Node, tuple[Array, bytes]]


class Watcher(Protocol):
    """Who is told."""

    def running(self, node: Node) -> None: ...

    def done(self, node: Node, outputs: Sequence[Array], seconds: float, cached: bool) -> None: ...

    def progress(self, done: int, total: int) -> None: ...


class WatchedRun(Run):
    """All outputs of its plan are fetched, so that nothing is dropped on the way."""

    def __init__(
        self, plan: Plan, cache: ResultCache, variables: Variables, watcher: Watcher, cancel: Cancel | None
    ) -> None:
        super().__init__(plan, cache, variables, None, watcher_progress(watcher), cancel)
        self.watcher = watcher

    def go(self, fed: Sequence[Array]) -> None:
        """Run all of it."""
        todo = self.prepare(fed)
        rest = self._in_order(todo)
        if rest:
            self._side_by_side(rest)

    def prepare(self, fed: Sequence[Array]) -> list[int]:
        """Find what is known already, tell it, and give the steps that must run."""
        for slot, array in enumerate(fed):
            self.values[slot], self.shared[slot] = array, True
            self.watcher.done(self.plan.feeds[slot].node, [array], 0.0, False)
        self._find_keys(fed)
        todo = self._todo()
        self.total = len(todo)
        waiting = set(todo)
        for number, step in enumerate(self.plan.steps):
            if number in waiting:
                for slot in step.reads:
                    self.left[slot] += 1
            elif step.outputs and self.values[step.outputs.start] is not None:
                self.watcher.done(step.node, [self.values[slot] for slot in step.outputs], 0.0, True)
        return todo

    def advance(self, number: int) -> Sequence[Array]:
        """Run one step, whose inputs are there."""
        self._check_cancelled()
        outputs, seconds = self._compute(self.plan.steps[number])
        self._finish(number, outputs, seconds)
        return outputs

    def _compute(self, step: Step) -> tuple[Sequence[Array], float]:
        node = step.node
        self.watcher.running(node)
        start = time.perf_counter()
        try:
            outputs, _ = super()._compute(step)
        except errors.Error:
            raise
        except MemoryError:
            text = f"{node.op.name}: there is not enough memory for this"
            raise errors.at_node(errors.ResourceExhaustedError(text), node.name) from None
        return outputs, time.perf_counter() - start

    def _finish(self, number: int, outputs: Sequence[Array], seconds: float) -> None:
        node = self.plan.steps[number].node
        if not outputs and node in self.variables:  # a variable that nobody reads in this run
            outputs = [self.variables[node][0]]
        super()._finish(number, outputs, seconds)
        self.watcher.done(node, outputs, seconds, False)


def watcher_progress(watcher: Watcher) -> Any:
    return lambda done, total, _: watcher.progress(done, total)


def whole_plan(fetches: Sequence[Output], only: Sequence[Node], feeds: Sequence[Output]) -> Plan:
    """The plan of some fetches in which every value on the way is kept.

    A variable is not fetched for that: it may have no value yet, and where nothing reads it that does no harm.
    """
    needed = Plan(list(fetches), only, feeds)
    fed = set(feeds)
    outputs = [output for step in needed.steps if step.state != "variable" for output in step.node.outputs]
    return Plan([*fetches, *(output for output in outputs if output not in fed)], only, feeds)
