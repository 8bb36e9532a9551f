"""Running a graph: what the fetches need, once each, and only what has changed since the last run."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .. import arguments, dtypes, errors
from ..errors import CancelledError
from .building import Built
from .cache import ResultCache, array_digest
from .compiled import Program, can_compile, shapes_of
from .graph import Graph, Node, Output, fits, shape_text
from .plan import Plan, Step
from .report import Observer, Progress, Report, Reporter
from .run import Cancel, Held, Run
from .scope import Scope

Array = np.ndarray[Any, Any]
Fetch = Output | Node | Built | str
_MOST_PROGRAMS = 16  # of a plan, for feeds of other shapes


class ClientSession:
    """Runs a scope's graph, and keeps its variables and the results that may be needed again.

    `cache` is the cache of results to use; sessions may share one, and `ResultCache(0)` keeps nothing. `variables` are
    those of a session of an earlier state of the graph: values are taken over where they fit.
    """

    def __init__(
        self,
        scope: Scope | Graph,
        cache: ResultCache | None = None,
        variables: Mapping[str, Held] | None = None,
    ) -> None:
        self.graph = scope if isinstance(scope, Graph) else scope.graph
        self.cache = ResultCache() if cache is None else cache
        self._variables: dict[Node, Held] = {}
        for name, held in (variables or {}).items():
            node = self.graph.get(name)
            if node is not None and (node.op.state == "random" or _holds(node, held[0])):
                self._variables[node] = held
        self._plans: dict[Any, Plan] = {}
        self._programs: WeakKeyDictionary[Plan, dict[Any, Program] | None] = WeakKeyDictionary()
        self._seed: int | None = None
        self._lock = threading.Lock()

    def run(
        self,
        feeds: Mapping[Any, Any] | None = None,
        fetches: Sequence[Fetch] | Fetch = (),
        run_only: Sequence[Fetch] = (),
        *,
        report: Report | None = None,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> Any:
        """Compute the fetches, given the feeds; `run_only` names nodes that shall run without giving a result.

        A fetch or a feed is an Output, a node with one output, or a name: "node", "node:1" or "node.port". A list of
        fetches gives a list of arrays, a single fetch an array. `progress(done, total, name)` is told each node.
        Variables change when the whole run has succeeded; a run that fails or is cancelled changes nothing.
        """
        start = time.perf_counter()
        wanted = [fetches] if isinstance(fetches, (Output, Node, Built, str)) else fetches
        observer = None if report is None and progress is None else Reporter(report, progress)
        if observer is None and cancel is None:
            quick = self._quick(feeds, wanted, run_only)
            if quick is not None:
                return quick if wanted is fetches else quick[0]
        run = self.prepare(feeds, wanted, run_only, observer=observer, cancel=cancel)
        self.execute(run)
        answers = run.answers()
        if report is not None:
            report.seconds = time.perf_counter() - start
        return answers if wanted is fetches else answers[0]

    def _quick(self, feeds: Any, fetches: Any, run_only: Any) -> list[Array] | None:
        """What a program answers that was made for such feeds; None where there is none, or it has given up."""
        plan, fed = self._planned(feeds, fetches, run_only, whole=False)
        programs = self._programs.get(plan)
        if programs is None:
            programs = self._programs[plan] = {} if can_compile(plan) else None
        if programs is None:
            return None
        key = shapes_of(fed)
        with self._lock:
            program = programs.get(key)
            if program is None:
                if len(programs) == _MOST_PROGRAMS:  # feeds of ever new shapes gain nothing
                    return None
                try:
                    program = programs[key] = Program(plan, fed, self._variables)
                except errors.Error:  # said by the run
                    return None
            found = program.run(fed, self._variables)
            if found is None:
                return None
            self._variables.update(found[1])
            return found[0]

    def begin_anew(self, seed: int | None) -> None:
        """What is random begins anew, with this seed where an op has none of its own; None: it goes on as before."""
        self._seed = seed
        if seed is not None:
            self._variables = {node: held for node, held in self._variables.items() if node.op.state != "random"}

    def execute(self, run: Run) -> None:
        """A run that was prepared, to its end."""
        with self._lock:
            run.execute()
            self._variables.update(run.assigned)

    def prepare(
        self,
        feeds: Mapping[Any, Any] | None = None,
        fetches: Sequence[Fetch] = (),
        run_only: Sequence[Fetch] = (),
        *,
        observer: Observer | None = None,
        cancel: Cancel | None = None,
        whole: bool = False,
    ) -> Run:
        """A run that has not begun, for an observer: to execute, or to advance step by step.

        A `whole` run tells of every node on the way; else what only a cached result needed is left out.
        """
        plan, fed = self._planned(feeds, fetches, run_only, whole)
        return Run(plan, self.cache, self._variables, fed, observer, cancel, self._seed)

    def _planned(
        self, feeds: Mapping[Any, Any] | None, fetches: Sequence[Fetch], run_only: Sequence[Fetch], whole: bool
    ) -> tuple[Plan, list[Array]]:
        wanted = [self.find(fetch) for fetch in fetches]
        nodes = [self._node(fetch) for fetch in run_only]
        values = {self.find(name): value for name, value in (feeds or {}).items()}
        plan = self._plan(wanted, nodes, list(values), whole)
        return plan, [_fed_array(output, values[output]) for output in plan.feeds]

    def find(self, name: Fetch) -> Output:
        """The output that a fetch or a feed means."""
        if isinstance(name, Output):
            return self._own(name)
        if isinstance(name, str):
            base, colon, index = name.rpartition(":")
            if colon:
                node = self.graph.node(base)
                if not (index.isdecimal() and len(index) < 10 and int(index) < len(node.dtypes)):
                    raise errors.InvalidArgumentError(f"{name!r}: {node!r} has {len(node.dtypes)} outputs")
                return Output(node, int(index))
            base, dot, port = name.rpartition(".")
            if dot and name not in self.graph:
                return self.graph.node(base).output(port)
        node = self._node(name)
        if not node.dtypes:
            raise errors.InvalidArgumentError(f"{node!r} has no output; put it into run_only")
        return Output(node, 0)

    @property
    def variables(self) -> dict[str, Held]:
        """The present values of all variables, for a session of the graph's next state."""
        with self._lock:
            return {node.name: held for node, held in self._variables.items()}

    def variable(self, name: Fetch) -> Array:
        """The present value of a variable."""
        node = self._node(name)
        with self._lock:
            if node not in self._variables:
                raise errors.InvalidArgumentError(f"the variable {node.name!r} has no value yet")
            return self._variables[node][0].copy()

    def set_variable(self, name: Fetch, value: Any) -> None:
        """Give a variable a value from outside the graph."""
        output = self.find(name)
        if output.node.op.state != "variable":
            raise errors.InvalidArgumentError(f"{output.node!r} is no variable")
        array = _fed_array(output, value)
        with self._lock:
            self._variables[output.node] = (array, array_digest(array))

    def _node(self, name: Fetch) -> Node:
        if isinstance(name, Output):
            return self._own(name).node
        if isinstance(name, str):
            return self.graph.node(name)
        node = name.node if isinstance(name, Built) else name
        if not isinstance(node, Node):
            raise errors.UnsupportedTypeError(f"a fetch is an Output, a node or a name; got {type(name).__name__}")
        return self._own(Output(node, 0)).node

    def _own(self, output: Output) -> Output:
        if output.graph is not self.graph:
            raise errors.InvalidArgumentError(f"{output.node.name!r} belongs to another graph than the session's")
        return output

    def _plan(self, fetches: list[Output], run_only: list[Node], feeds: list[Output], whole: bool) -> Plan:
        key = (tuple(fetches), tuple(run_only), frozenset(feeds), whole)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) == 64:
                self._plans.clear()
            plan = self._plans[key] = Plan(fetches, run_only, feeds, whole)
        return plan


def _fed_array(output: Output, value: Any) -> Array:
    array = arguments.constant(output.node.op, output.name, value, output.dtype)
    if not fits(array, output.shape):
        raise errors.InvalidArgumentError(
            f"{output.node.op.name}: {output.name} must have shape {shape_text(output.shape)}; got {list(array.shape)}"
        )
    return array


def _holds(variable: Node, array: Array) -> bool:
    kept = variable.op.state == "variable" and dtypes.name_of(array.dtype) == variable.dtypes[0]
    return kept and fits(array, variable.shapes[0])


__all__ = ["CancelledError", "ClientSession", "Step"]
