"""One run of a plan."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import numpy as np

from .. import errors, kernels, threads
from .cache import ResultCache, array_digest, new_token, step_digest
from .graph import Node
from .plan import Plan, Step
from .report import NodeReport, Report

Array = np.ndarray[Any, Any]
# Handing a node to another thread costs about 50 µs; a node that reads this many bytes takes longer.
_WORTH_A_THREAD = 1 << 20


class Run:
    """Values by slot while a plan is executed. A value is dropped when its last reader is done."""

    def __init__(
        self,
        plan: Plan,
        cache: ResultCache,
        variables: dict[Node, tuple[Array, bytes]],
        report: Report | None,
        progress: Callable[[int, int, str], None] | None,
        cancel: Any,
    ) -> None:
        self.plan, self.cache, self.variables = plan, cache, variables
        self.report, self.progress, self.cancel = report, progress, cancel
        self.values: list[Array | None] = [None] * plan.size
        self.shared = [False] * plan.size  # whether something else holds the value too
        self.keys: list[bytes | None] = [None] * plan.size
        self.assigned: dict[Node, tuple[Array, bytes]] = {}
        self.done = self.total = 0
        self.left: list[int] = []

    def execute(self, fed: Sequence[Array]) -> list[Array]:
        plan = self.plan
        for slot, array in enumerate(fed):
            self.values[slot], self.shared[slot] = array, True
        caching = self.cache.limit > 0
        if caching:
            plan.add_digests()
            for slot, array in enumerate(fed):
                # Results of what is larger than the cache will hardly stay there.
                self.keys[slot] = array_digest(array) if array.nbytes <= self.cache.limit else new_token()
        step_keys = self._step_keys() if caching else [None] * len(plan.steps)
        todo = self._todo(step_keys)
        self.total = len(todo)
        self._schedule(todo, step_keys)
        return [self._answer(slot) for slot in plan.fetched]

    def _answer(self, slot: int) -> Array:
        value = self.values[slot]
        assert value is not None
        # What the cache, the graph or a variable keeps must not change when a caller writes into it.
        if self.shared[slot] or value.base is not None:
            return value.copy()
        self.shared[slot] = True  # a second fetch of it is an array of its own
        return value

    # ------------------------------------------------------------------ what must run
    def _step_keys(self) -> list[bytes | None]:
        """The key of each step's result; None for steps that change something."""
        found: list[bytes | None] = []
        for step in self.plan.steps:
            key = step.digest
            if key is None and step.state == "variable":
                held = self.variables.get(step.node)
                key = None if held is None else held[1]
            elif key is None and step.state != "assign":
                inputs = [self.keys[slot] for slot in step.sources]
                key = step_digest(step.call, inputs) if None not in inputs else None  # type: ignore[arg-type]
            found.append(key)
            if key is not None:
                for index, slot in enumerate(step.outputs):
                    self.keys[slot] = key + bytes([index])
        return found

    def _todo(self, keys: Sequence[bytes | None]) -> list[int]:
        """The steps that must run; the results of others come from the cache, and need not what they came from."""
        plan = self.plan
        needed = [False] * len(plan.steps)
        wanted = [plan.maker[slot] for slot in plan.fetched if plan.maker[slot] >= 0]
        ends = {plan.maker[slot] for slot in plan.kept}
        wanted += [n for n, step in enumerate(plan.steps) if not step.followers and n not in ends]  # run_only
        todo = []
        while wanted:
            number = wanted.pop()
            if needed[number]:
                continue
            needed[number] = True
            step, key = plan.steps[number], keys[number]
            kept = self.cache.get(key) if key is not None and not step.state and not step.known else None
            if kept is not None:
                for slot, value in zip(step.outputs, kept, strict=True):
                    self.values[slot], self.shared[slot] = value, True
                self._tell(step, 0.0, kept, "cached")
            else:
                todo.append(number)
                wanted += [plan.maker[slot] for slot in step.sources if plan.maker[slot] >= 0]
            wanted += [n for n in self._controls(step) if not needed[n]]
        return sorted(todo)

    def _controls(self, step: Step) -> list[int]:
        if not step.node.control:
            return []
        numbers = {s.node: n for n, s in enumerate(self.plan.steps)}
        return [numbers[node] for node in step.node.control]

    # ------------------------------------------------------------------ the order
    def _schedule(self, todo: Sequence[int], keys: Sequence[bytes | None]) -> None:
        """Run the steps in the caller's thread, and large ones beside it while there is other work."""
        steps = self.plan.steps
        chosen = set(todo)
        self.left = [0] * self.plan.size
        waits = dict.fromkeys(todo, 0)
        for number in todo:
            for slot in steps[number].sources:
                self.left[slot] += 1
            for follower in steps[number].followers:
                if follower in chosen:
                    waits[follower] += 1
        ready = deque(number for number in todo if not waits[number])
        finished: SimpleQueue[tuple[int, Future[Any]]] = SimpleQueue()
        running = 0
        pool: ThreadPoolExecutor | None = None
        parallel = threads.get_num_threads() > 1
        try:
            while ready or running:
                if self.cancel is not None and self.cancel.is_set():
                    raise errors.CancelledError(f"the run was cancelled after {self.done} of {self.total} nodes")
                if ready and (not running or finished.empty()):
                    number = ready.popleft()
                    if parallel and (ready or running) and self._is_large(steps[number]):
                        pool = pool or ThreadPoolExecutor(threads.get_num_threads(), "gradbag-node")
                        future = pool.submit(self._compute, steps[number])
                        future.add_done_callback(lambda f, n=number: finished.put((n, f)))  # type: ignore[misc]
                        running += 1
                        continue
                    outputs, seconds = self._compute(steps[number])
                else:
                    number, future = finished.get()
                    running -= 1
                    outputs, seconds = future.result()
                self._finish(number, outputs, seconds, keys[number])
                for follower in steps[number].followers:
                    if follower in waits:
                        waits[follower] -= 1
                        if not waits[follower]:
                            ready.append(follower)
        finally:
            if pool is not None:
                pool.shutdown(wait=True, cancel_futures=True)

    def _is_large(self, step: Step) -> bool:
        return (
            sum([value.nbytes for slot in step.sources if (value := self.values[slot]) is not None]) >= _WORTH_A_THREAD
        )

    # ------------------------------------------------------------------ one step
    def _compute(self, step: Step) -> tuple[list[Array], float]:
        start = time.perf_counter()
        node = step.node
        try:
            if step.state == "variable":
                outputs = [self._variable(node)]
            elif step.known:
                outputs = step.known
            else:
                arrays: Any = [self.values[slot] for slot in step.sources]
                outputs = kernels.run_shared(node.op, arrays, node.attrs)
        except errors.Error as problem:
            raise errors.at_node(problem, node.name) from None
        return outputs, time.perf_counter() - start

    def _finish(self, number: int, outputs: list[Array], seconds: float, key: bytes | None) -> None:
        plan, step = self.plan, self.plan.steps[number]
        shared = bool(step.state) or bool(step.known)
        if step.state == "assign":
            self._assign(step, outputs[0])
        elif key is not None and not shared:
            shared = self.cache.put(key, outputs)
        for slot, value in zip(step.outputs, outputs, strict=True):
            if self.left[slot] or slot in plan.kept:
                self.values[slot], self.shared[slot] = (
                    value,
                    shared or any(value is self.values[s] for s in step.sources),
                )
        for slot in step.sources:
            self.left[slot] -= 1
            if not self.left[slot] and slot not in plan.kept:
                self.values[slot] = None
        self.done += 1
        self._tell(step, seconds, outputs, "ran")

    def _tell(self, step: Step, seconds: float, outputs: Sequence[Array], source: Any) -> None:
        if self.report is not None:
            size = sum(output.nbytes for output in outputs)
            self.report.nodes.append(NodeReport(step.node.name, step.node.op.name, seconds, size, source))
        if self.progress is not None and source == "ran":
            self.progress(self.done, self.total, step.node.name)

    # ------------------------------------------------------------------ variables
    def _variable(self, node: Node) -> Array:
        held = self.variables.get(node)
        if held is None:
            raise errors.InvalidArgumentError(
                f"{node.op.name}: the variable has no value yet; run an Assign to it first"
            )
        return held[0]

    def _assign(self, step: Step, value: Array) -> None:
        """Remember a variable's new value; it counts when the run is over, so that all nodes read the same one."""
        variable = step.node.inputs[0].node
        if variable.op.state != "variable":
            problem = errors.InvalidArgumentError(
                f"{step.node.op.name}: ref comes from {variable!r}, which is no variable"
            )
            raise errors.at_node(problem, step.node.name)
        if variable in self.assigned:
            problem = errors.InvalidArgumentError(
                f"{step.node.op.name}: the variable {variable.name!r} is assigned twice in one run"
            )
            raise errors.at_node(problem, step.node.name)
        self.assigned[variable] = (value.copy() if value.base is not None else value, new_token())
