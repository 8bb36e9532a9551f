"""A plan made ready for feeds of some shapes: what a training loop runs a thousand times.

Whatever follows from shapes is worked out once: constants, sizes, dtypes, memory. What is left is a list of calls of
bodies and kernels, without a check of what was checked. Rows of a variable that nobody else holds are changed where
they lie. A program that meets anything unusual puts everything back and gives up; then `Run` does it all, with words.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from .. import dtypes, eager, errors, memory, philox
from ..dims import AnyShape
from ..spec import Known
from .cache import new_token
from .graph import Node
from .plan import Plan, Step
from .run import Held
from .updating import Call, Context, assigned, updating

Array = np.ndarray[Any, Any]
Made = tuple[Call, Sequence[int]]  # and the slots that it reads
_STATES = ("", "variable", "assign", "update", "random")
_MOST_FOLDED = 1 << 16  # bytes of a result that is worked out once and kept


def shapes_of(fed: Sequence[Array]) -> tuple[Any, ...]:
    """What a program depends on."""
    return tuple([array.shape for array in fed])


def can_compile(plan: Plan) -> bool:
    """Whether a plan changes variables, so that no cache would help, and has nothing that takes decisions."""
    return any(step.changes for step in plan.steps) and all(step.state in _STATES for step in plan.steps)


class Program:
    """The calls that a plan comes down to for feeds of some shapes."""

    def __init__(self, plan: Plan, fed: Sequence[Array], variables: Mapping[Node, Held]) -> None:
        self.plan = plan
        self.values: list[Any] = [None] * plan.size  # what every run begins with
        self.loaded: list[tuple[int, Node]] = []
        self._shapes: list[AnyShape] = [None] * plan.size
        self._dtypes: list[Any] = [None] * plan.size
        for slot, array in enumerate(fed):
            self._shapes[slot], self._dtypes[slot] = array.shape, dtypes.name_of(array.dtype)
        self._seen: set[Step] = set()  # after them something reads what their variables were before
        kept: list[tuple[Step, Made]] = []
        for step in plan.steps:
            made = self._made(step, variables)
            if made is not None:
                kept.append((step, made))
        self._link(kept)

    def run(self, fed: Sequence[Array], variables: Mapping[Node, Held]) -> tuple[list[Array], dict[Node, Held]] | None:
        """The fetches and the new values of variables; None if it is for `Run` to say what is wrong."""
        context, values = Context(variables), self.values.copy()
        values[: len(fed)] = fed
        for slot, node in self.loaded:
            held = variables.get(node)
            if held is None or held[0].shape != self._shapes[slot]:
                return None
            values[slot] = held[0]
        held = None  # a variable that is held elsewhere is not changed in place
        try:
            with np.errstate(all="ignore"):
                for call, free in self.calls:
                    call(values, context)
                    for slot in free:
                        values[slot] = None
        except (errors.Error, errors.Fault, MemoryError, ValueError, IndexError, TypeError, ArithmeticError):
            context.put_back()
            return None
        except BaseException:
            context.put_back()
            raise
        return [values[slot].copy() for slot in self.plan.fetched], context.assigned

    # ------------------------------------------------------------------ making it
    def _made(self, step: Step, variables: Mapping[Node, Held]) -> Made | None:
        """The call of a step; None where its results are known, or it has none."""
        node = step.node
        if step.state == "variable":
            slot = step.outputs.start
            self._dtypes[slot] = node.dtypes[0]
            if node in variables:
                self.loaded.append((slot, node))
                self._shapes[slot] = variables[node][0].shape
            return None
        given = [self.values[slot] for slot in step.sources]
        shapes = node.flat([self._shapes[slot] for slot in step.sources])
        names = node.flat([self._dtypes[slot] for slot in step.sources])
        if step.state == "assign" and shapes[0] is None:
            shapes[0] = node.inputs[0].shape
        inferred = node.op.infer(shapes, names, node.flat(given), node.attrs)
        for slot, (shape, dtype) in zip(step.outputs, inferred, strict=True):
            self._shapes[slot], self._dtypes[slot] = shape, dtype
        for change in step.changes:
            like = step.sources[change.place]
            self._shapes[change.slot], self._dtypes[change.slot] = self._shapes[like], self._dtypes[like]
        if step.state == "assign":
            self._shapes[step.changes[0].slot] = None
        if not step.state and not node.op.updates:
            found = step.known or self._folded(step, shapes, names, given)
            if found is not None:
                for slot, value in zip(step.outputs, found, strict=True):
                    self.values[slot], self._shapes[slot] = value, value.shape
                return None
            if not step.outputs and not step.sources:
                return None
        return self._call(step, inferred)

    def _folded(self, step: Step, shapes: Any, names: Any, given: Sequence[Any]) -> Sequence[Array] | None:
        """The results, if they follow from shapes and from what is known."""
        node, op = step.node, step.node.op
        if not step.outputs:
            return None
        if op.value_rule is not None:
            known = [
                None if n is None else Known(n, s, v) for n, s, v in zip(names, shapes, node.flat(given), strict=True)
            ]
            found = list(op.value_rule(*op.grouped(known), **node.attrs))
            flat = op.flat_answer(found if op.result is not None else found[0])
            return flat if all(value is not None for value in flat) else None
        if any(value is None for value in given):
            return None
        size = [prod(n or 0 for n in self._shapes[slot] or ()) for slot in step.outputs]
        if sum(size) > _MOST_FOLDED:
            return None
        return eager.quick_run(op, node.flat(given), node.attrs)

    def _call(self, step: Step, inferred: Sequence[tuple[AnyShape, str]]) -> Made:
        op = step.node.op
        if step.state == "random":
            return _drawing(step), step.reads
        if op.updates:
            fixed = [self._shapes[slot] for slot in step.sources]
            small = self._is_small([(shape, "float64") for shape in fixed])
            return updating(step, self.plan, self.values, small and op.kernel is None, self._seen)
        call = _body(step) if self._is_small(inferred) and op.kernel is None else _checked(step)
        return (_assigning(step, call) if step.changes else call), step.reads

    def _is_small(self, inferred: Sequence[tuple[AnyShape, str]]) -> bool:
        """Whether the results have sizes that need not be asked for each time."""
        size = 0
        for shape, dtype in inferred:
            if shape is None or None in shape or dtype == "string":
                return False
            size += prod(n or 0 for n in shape) * dtypes.numpy_dtype(dtype).itemsize
        return size < memory.unchecked()

    def _link(self, kept: Sequence[tuple[Step, Made]]) -> None:
        """Leave out what nothing needs, and say after which call a value is not needed any more."""
        needed, used = set(self.plan.fetched), []
        for step, (call, reads) in reversed(kept):
            acts = step.changes or step.state or not step.outputs
            if acts or not needed.isdisjoint(step.outputs):
                needed.update(reads)
                used.append((step, call, reads))
        last: dict[int, int] = {}
        used.reverse()
        for number, (step, _, reads) in enumerate(used):
            last |= dict.fromkeys((*reads, *step.outputs), number)
        for number, (step, _, _) in enumerate(used):
            before = [step.sources[change.place] for change in step.changes]
            if any(last.get(slot) != number or slot in self.plan.kept for slot in before):
                self._seen.add(step)
        frees: list[list[int]] = [[] for _ in used]
        for slot, number in last.items():
            if slot not in self.plan.kept:
                frees[number].append(slot)
        self.calls = [(call, tuple(free)) for (_, call, _), free in zip(used, frees, strict=True)]


# ------------------------------------------------------------------ calls
def _body(step: Step) -> Call:
    """The body of an op whose sizes and dtypes are known to fit."""
    node, op = step.node, step.node.op
    sources, outputs = step.sources, step.outputs
    body = functools.partial(op.body, **node.attrs) if node.attrs else op.body
    check = None if op.check_rule is None else op.bound(op.check_rule, node.attrs)
    plain = not op.lists and not node.absent and not op.output_lists and len(op.outputs) == 1
    names = [dtypes.numpy_dtype(name) for name in node.dtypes]
    if plain and check is None and len(sources) <= 2:
        target = outputs.start
        if len(sources) == 1:
            (one,) = sources

            def call_one(values: list[Any], _: Context) -> None:
                found = body(values[one])
                values[target] = found if type(found) is np.ndarray else np.asarray(found)

            return call_one
        if len(sources) == 2:
            left, right = sources

            def call_two(values: list[Any], _: Context) -> None:
                found = body(values[left], values[right])
                values[target] = found if type(found) is np.ndarray else np.asarray(found)

            return call_two

    def call(values: list[Any], _: Context) -> None:
        given = node.flat([values[slot] for slot in sources])
        if check is not None:
            check(*given)
        for slot, found, dtype in zip(outputs, op.flat_answer(body(*op.grouped(given))), names, strict=True):
            array = np.asarray(found)
            if array.dtype != dtype:
                raise TypeError(dtype)
            values[slot] = array

    return call


def _checked(step: Step) -> Call:
    """An op whose sizes depend on values, or that has a kernel."""
    node, sources, outputs = step.node, step.sources, step.outputs

    def call(values: list[Any], _: Context) -> None:
        found = eager.quick_run(node.op, node.flat([values[slot] for slot in sources]), node.attrs, share=True)
        for slot, value in zip(outputs, found, strict=True):
            values[slot] = value

    return call


def _assigning(step: Step, call: Call) -> Call:
    """An op whose output, or whose answer without one, is a variable's new value."""
    node, change = step.node, step.changes[0]

    def assign(values: list[Any], context: Context) -> None:
        if step.outputs:
            call(values, context)
            value = values[step.outputs.start]
        else:
            value = values[step.sources[1]]
            if node.op.state != "assign" or len(step.sources) != 2 or node.op.check_rule is not None:
                raise TypeError(node.op.name)
        before = values[step.sources[0]]
        if before is not None and before.shape != value.shape:
            raise ValueError(value.shape)  # whether it may be of another shape
        assigned(context, values, change, value.copy())

    return assign


def _drawing(step: Step) -> Call:
    node, sources, outputs = step.node, step.sources, step.outputs

    def call(values: list[Any], context: Context) -> None:
        held = context.held(node)
        stream = philox.Stream(0 if held is None else int(held[0]))
        token = philox.current.set(stream)
        try:
            found = eager.quick_run(node.op, [values[slot] for slot in sources], node.attrs, share=True)
        finally:
            philox.current.reset(token)
        context.assigned[node] = (np.array(stream.position), new_token())
        for slot, value in zip(outputs, found, strict=True):
            values[slot] = value

    return call
