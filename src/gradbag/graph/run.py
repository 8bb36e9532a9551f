"""One run of a plan."""

from __future__ import annotations

import time
from collections import ChainMap, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Protocol
from zlib import crc32

import numpy as np

from .. import eager, errors, philox, threads
from ..dtypes import numpy_dtype
from . import lists
from .cache import ResultCache, array_digest, new_token, output_digest, step_digest
from .graph import Node
from .plan import Change, Plan, Step
from .report import Observer

Array = np.ndarray[Any, Any]
Held = tuple[Array, bytes]  # a variable's value, and a token that stands for it in keys
# Handing a node to another thread costs about 50 µs; a node that reads this many bytes takes longer.
_WORTH_A_THREAD = 1 << 20
DEAD: Any = object()  # in place of a value that is in a branch which is not taken


class Cancel(Protocol):
    """What tells a run to stop: a `threading.Event`, for example."""

    def is_set(self) -> bool: ...


class Run:
    """Values by slot while a plan is executed. A value is dropped when its last reader is done."""

    def __init__(
        self,
        plan: Plan,
        cache: ResultCache,
        variables: Mapping[Node, Held],
        fed: Sequence[Array],
        observer: Observer | None,
        cancel: Cancel | None,
        seed: int | None = None,
    ) -> None:
        self.seed = seed  # of random ops that have none of their own
        self.plan, self.cache, self.variables = plan, cache, variables
        self.fed, self.observer, self.cancel = fed, observer, cancel
        self.values: list[Any] = [None] * plan.size
        self.shared = [False] * plan.size  # whether something else holds the value too
        self.left = [0] * plan.size  # readers that are still to come
        self.step_keys: list[bytes | None] = [None] * len(plan.steps)
        self.assigned: dict[Node, Held] = {}
        self.dead: set[int] = set()  # the steps in branches that are not taken
        self.done = self.total = 0

    def begin(self) -> list[int]:
        """Take up what is fed and what the cache has; gives the numbers of the steps that must run, in order."""
        for slot, array in enumerate(self.fed):
            self.values[slot], self.shared[slot] = array, True
            if self.observer is not None:
                self.observer.fed(self.plan.feeds[slot], array)
        if self.cache.limit:
            self._find_keys()
        todo = self._todo()
        self.total = len(todo)
        for number in todo:
            for slot in self.plan.steps[number].reads:
                self.left[slot] += 1
        return todo

    def execute(self) -> None:
        """All of it."""
        rest = self._in_order(self.begin())
        if rest:
            self._side_by_side(rest)

    def advance(self, number: int) -> Sequence[Array]:
        """Run one step, whose inputs are there."""
        self._check_cancelled()
        outputs, seconds = self._compute(number)
        self._finish(number, outputs, seconds)
        return outputs

    def supply(self, number: int, outputs: Sequence[Array]) -> None:
        """The results of a step that ran before."""
        for slot, value in zip(self.plan.steps[number].outputs, outputs, strict=False):
            self.values[slot], self.shared[slot] = value, True

    def answers(self) -> list[Array]:
        """What was fetched, as arrays of the caller's own."""
        return [self._answer(slot) for slot in self.plan.fetched]

    def _answer(self, slot: int) -> Array:
        value: Array = self.values[slot]
        if value is DEAD:
            node = self.plan.steps[self.plan.maker[slot]].node
            text = f"{node.op.name}: there is no value, for it stands in a branch that is not taken"
            raise errors.at_node(errors.InvalidArgumentError(text), node.name)
        # What the cache, the graph or a variable keeps must not change when a caller writes into it.
        if self.shared[slot] or value.base is not None:
            return value.copy()
        self.shared[slot] = True  # a second fetch of it is an array of its own
        return value

    # ------------------------------------------------------------------ what must run
    def _find_keys(self) -> None:
        """The key of each step's result; None for steps that change something."""
        plan = self.plan
        plan.add_digests()
        keys: list[bytes | None] = [None] * plan.size
        for slot, array in enumerate(self.fed):
            # Results of what is larger than the cache will hardly stay there.
            keys[slot] = array_digest(array) if array.nbytes <= self.cache.limit else new_token()
        for number, step in enumerate(plan.steps):
            key = step.digest
            if key is None:
                if step.state == "variable":
                    held = self.variables.get(step.node)
                    key = None if held is None else held[1]
                elif not step.state and not step.acts:
                    inputs = [keys[slot] for slot in step.sources]
                    if None not in inputs:
                        key = step_digest(step.call, inputs)  # type: ignore[arg-type]
                if key is None:
                    continue
            self.step_keys[number] = key
            for index, slot in enumerate(step.outputs):
                keys[slot] = output_digest(key, index)

    def _todo(self) -> list[int]:
        """The steps that must run; the results of others come from the cache, and need not what they came from."""
        plan = self.plan
        needed = [False] * len(plan.steps)
        waiting = list(plan.ends)
        todo, known = [], []
        while waiting:
            number = waiting.pop()
            if needed[number]:
                continue
            needed[number] = True
            step, key = plan.steps[number], self.step_keys[number]
            kept = self.cache.get(key) if key is not None and step.cacheable else None
            if kept is None:
                todo.append(number)
                waiting += step.before
            else:
                self.supply(number, kept)
                known.append((number, kept))
        if self.observer is not None:
            for number, kept in sorted(known, key=lambda found: found[0]):
                self.observer.done(plan.steps[number].node, kept, 0.0, True)
        todo.sort()
        return todo

    # ------------------------------------------------------------------ the order
    def _in_order(self, todo: Sequence[int]) -> Sequence[int]:
        """Run steps one after the other; gives the rest when there is one that is worth another thread."""
        steps = self.plan.steps
        parallel = len(todo) > 1 and threads.get_num_threads() > 1
        for place, number in enumerate(todo):
            step = steps[number]
            if parallel and self._is_large(step):
                return todo[place:]
            self._check_cancelled()
            self._finish(number, *self._compute(number))
        return ()

    def _side_by_side(self, todo: Sequence[int]) -> None:
        """Run the steps in the caller's thread, and large ones beside it while there is other work."""
        steps = self.plan.steps
        waits = dict.fromkeys(todo, 0)
        followers: dict[int, list[int]] = {number: [] for number in todo}
        for number in todo:
            for before in steps[number].before:
                if before in waits:
                    waits[number] += 1
                    followers[before].append(number)
        ready = deque(number for number in todo if not waits[number])
        finished: SimpleQueue[tuple[int, Future[Any]]] = SimpleQueue()
        running = 0
        pool: ThreadPoolExecutor | None = None
        try:
            while ready or running:
                self._check_cancelled()
                if ready and (not running or finished.empty()):
                    number = ready.popleft()
                    if (ready or running) and self._is_large(steps[number]):
                        pool = pool or ThreadPoolExecutor(threads.get_num_threads(), "gradbag-node")
                        future = pool.submit(self._compute, number)
                        future.add_done_callback(lambda f, n=number: finished.put((n, f)))  # type: ignore[misc]
                        running += 1
                        continue
                    outputs, seconds = self._compute(number)
                else:
                    number, future = finished.get()
                    running -= 1
                    outputs, seconds = future.result()
                self._finish(number, outputs, seconds)
                for follower in followers[number]:
                    waits[follower] -= 1
                    if not waits[follower]:
                        ready.append(follower)
        finally:
            if pool is not None:
                pool.shutdown(wait=True, cancel_futures=True)

    def _is_large(self, step: Step) -> bool:
        size = 0
        for slot in step.reads:
            value = self.values[slot]
            size += 0 if value is DEAD or value is None else value.nbytes
        return size >= _WORTH_A_THREAD

    def _check_cancelled(self) -> None:
        if self.cancel is not None and self.cancel.is_set():
            raise errors.CancelledError(f"the run was cancelled after {self.done} of {self.total} nodes")

    # ------------------------------------------------------------------ one step
    def _compute(self, number: int) -> tuple[Sequence[Array], float]:
        step, values = self.plan.steps[number], self.values
        node = step.node
        if self.plan.branches and self._is_dead(number):
            return self._skipped(number), 0.0
        if self.plan.branches:
            for slot in step.reads:
                if values[slot] is None:
                    self._variable(self.plan.steps[self.plan.maker[slot]].node)
        if self.observer is not None:
            self.observer.running(node)
        start = time.perf_counter()
        try:
            if step.known:
                outputs: Sequence[Array] = step.known
            elif node.op.updates:
                outputs = self._updated(step)
            elif not step.state:
                arrays = node.flat([values[slot] for slot in step.sources])
                outputs = eager.quick_run(node.op, arrays, node.attrs, share=True)
            else:
                outputs = self._stateful(step)
        except errors.Error as problem:
            raise errors.at_node(problem, node.name) from None
        except MemoryError:
            text = f"{node.op.name}: there is not enough memory for this"
            raise errors.at_node(errors.ResourceExhaustedError(text), node.name) from None
        return outputs, time.perf_counter() - start

    def _finish(self, number: int, outputs: Sequence[Array], seconds: float) -> None:
        plan, step, values = self.plan, self.plan.steps[number], self.values
        key = self.step_keys[number]
        if outputs and outputs[0] is DEAD and number in self.dead:
            for slot in step.outputs:
                values[slot] = DEAD
            outputs = []
        shared = not step.cacheable or (key is not None and self.cache.put(key, outputs))
        for slot, value in zip(step.outputs, outputs, strict=bool(outputs)):
            if self.left[slot] or slot in plan.kept:
                values[slot] = value
                # An op may hand on its input as it is.
                self.shared[slot] = shared or any(value is values[source] for source in step.reads)
        for slot in step.reads:
            self.left[slot] -= 1
            if self.left[slot] <= 0 and slot not in plan.kept:
                values[slot] = None
        self.done += 1
        if self.observer is not None:
            self.observer.done(step.node, [o for o in outputs if o is not DEAD], seconds, False)
            self.observer.progress(self.done, self.total, step.node)

    # ------------------------------------------------------------------ variables
    def _stateful(self, step: Step) -> Sequence[Array]:
        node = step.node
        if step.state == "variable":
            slot = step.outputs.start
            # What reads it may be in a branch that is not taken, and says otherwise what is missing.
            read = self.left[slot] and not self.plan.branches
            needed = node in self.variables or read or slot in self.plan.kept
            return [self._variable(node)] if needed else []
        if step.state == "initialized":
            variable = self.plan.steps[self.plan.maker[step.sources[0]]].node
            return [np.array(variable.op.state != "variable" or variable in self.variables)]
        arrays: Any = [self.values[slot] for slot in step.sources]
        if step.state == "assign":
            arrays[0] = self._before(node, arrays[1])
        elif step.state == "switch":
            taken = bool(arrays[1])
            return [DEAD if taken else arrays[0], arrays[0] if taken else DEAD]
        elif step.state == "merge":
            alive = next(place for place, value in enumerate(arrays) if value is not DEAD)
            return [arrays[alive], np.int32(alive).reshape(())]
        elif step.state == "random":
            return self._drawn(node, arrays)
        elif step.state == "loop":
            return self._looped(step, arrays)
        elif step.state == "list":
            return lists.run(node.op, arrays, node.attrs)
        outputs = eager.quick_run(node.op, arrays, node.attrs, share=True)
        if step.state in ("assign", "update"):
            value = outputs[0] if outputs else node.op.body(*arrays, **node.attrs)
            self._assign(step.changes[0], value.copy())
        return outputs

    def _before(self, node: Node, new: Array) -> Array:
        """What a variable is before it is assigned, for the checks: it may have no value yet, and has some shape."""
        variable = node.inputs[0]
        if variable.shape is None or None in variable.shape[1:]:
            return new
        return np.broadcast_to(np.zeros((), numpy_dtype(variable.dtype)), [n or 0 for n in variable.shape])

    def _drawn(self, node: Node, arrays: Sequence[Array]) -> Sequence[Array]:
        """Random numbers, from where the last run of this node stopped."""
        held = self.variables.get(node)
        # Two nodes draw different numbers, and the same ones after a node beside them came or went.
        otherwise = None if self.seed is None else (self.seed, crc32(node.name.encode()) + 1)
        stream = philox.Stream(0 if held is None else int(held[0]), otherwise)
        token = philox.current.set(stream)
        try:
            outputs = eager.quick_run(node.op, arrays, node.attrs, share=True)
        finally:
            philox.current.reset(token)
        self.assigned[node] = (np.array(stream.position), new_token())
        return outputs

    def _looped(self, step: Step, arrays: Sequence[Array]) -> Sequence[Array]:
        """What a loop gives, and the variables that it changes."""
        loop: Any = step.node.op
        around = ChainMap(self.assigned, self.variables)  # type: ignore[arg-type]
        outputs, drawn = loop.execute(arrays, around, self.cancel)
        self.assigned.update(drawn)
        for change in step.changes:
            self._assign(change, outputs[change.place])
        return outputs  # type: ignore[no-any-return]

    def _updated(self, step: Step) -> Sequence[Array]:
        """Assign what an op makes of the variables that it updates, and give its outputs."""
        node = step.node
        arrays = node.flat([self.values[slot] for slot in step.sources])
        changed = eager.functional(node.op, arrays, node.attrs)
        for change, value in zip(step.changes, changed, strict=False):
            self._assign(change, value)
        return changed[len(step.changes) :]

    def _variable(self, node: Node) -> Array:
        held = self.variables.get(node)
        if held is None:
            raise errors.InvalidArgumentError(
                f"{node.op.name}: the variable has no value yet; run an Assign to it first"
            )
        return held[0]

    def _assign(self, change: Change, value: Array) -> None:
        """Remember a variable's new value; for other runs it counts when this one is over."""
        self.assigned[change.variable] = (value, new_token())
        self.values[change.slot], self.shared[change.slot] = value, True

    # ------------------------------------------------------------------ branches
    def _is_dead(self, number: int) -> bool:
        """Whether a step reads, or waits for, something in a branch that is not taken."""
        step = self.plan.steps[number]
        unread = [self.values[slot] is DEAD for slot in step.reads]
        if step.state == "merge":
            return all(unread)
        return any(unread) or not self.dead.isdisjoint(step.before)

    def _skipped(self, number: int) -> Sequence[Array]:
        """What a step gives that does not run: nothing, and the variables that it would change stay as they are."""
        step = self.plan.steps[number]
        self.dead.add(number)
        for change in step.changes:
            held = self.assigned.get(change.variable) or self.variables.get(change.variable)
            self.values[change.slot], self.shared[change.slot] = None if held is None else held[0], True
        return [DEAD] * len(step.outputs)
