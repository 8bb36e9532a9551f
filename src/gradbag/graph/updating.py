"""How a program changes variables: rows where they lie, if nobody else holds them, else new values in their place."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence, Set
from sys import getrefcount
from typing import Any

import numpy as np

from .. import dtypes, eager, memory
from ..ops.array.row_steps import DISTINCT, SUMMED, RowStep, row_step
from ..spec import Op, registry
from .cache import new_token
from .graph import Node
from .plan import Change, Plan, Step
from .run import Held

Array = np.ndarray[Any, Any]


class Context:
    """What one run of a program changes: new values of variables, and rows that must be put back if it fails."""

    __slots__ = ("assigned", "undo", "variables")

    def __init__(self, variables: Mapping[Node, Held]) -> None:
        self.variables = variables
        self.assigned: dict[Node, Held] = {}
        self.undo: list[tuple[Array, Array, Array]] = []

    def held(self, node: Node) -> Held | None:
        return self.assigned.get(node) or self.variables.get(node)

    def put_back(self) -> None:
        for array, rows, before in reversed(self.undo):
            array[rows] = before


Call = Callable[[list[Any], Context], None]


def assigned(context: Context, values: list[Any], change: Change, value: Array) -> None:
    context.assigned[change.variable] = value, new_token()
    values[change.slot] = value


def updating(step: Step, plan: Plan, known: Sequence[Any], small: bool, seen: Set[Step]) -> tuple[Call, Sequence[int]]:
    """The call of a step that updates variables, and the slots that it reads.

    `small` says that shapes are known to fit, and that new values may be made without asking for memory. `seen` are the
    steps after which something still reads what their variables were before.
    """
    node, op = step.node, step.node.op
    anew = _anew(step, small)
    told = _told(op)
    if told is None or step.outputs:
        return anew, step.sources
    names = dict(zip(op.input_names, step.sources, strict=True))
    form = row_step(op.name, node.attrs, {"lr_power": known[names["lr_power"]]} if "lr_power" in names else {})
    added = None if form is None else _added_up(step, plan, names)
    if form is None or added is None:
        return _by_rows(step, told, anew, seen), step.sources
    used = [names[n] for n in form.numbers if isinstance(n, str)]
    tables = [step.sources[change.place] for change in step.changes]
    return _by_kernel(step, form, names, added, seen), [*tables, *used, *added]


def _anew(step: Step, small: bool) -> Call:
    """The variables are not touched, and get new values."""
    node, op, sources, outputs = step.node, step.node.op, step.sources, step.outputs
    check = None if op.check_rule is None else op.bound(op.check_rule, node.attrs)
    body = functools.partial(op.body, **node.attrs)

    def call(values: list[Any], context: Context) -> None:
        given = node.flat([values[slot] for slot in sources])
        if small:
            if check is not None:
                check(*given)
            changed = list(body(*op.grouped(given)))
        else:
            changed = eager.functional(op, given, node.attrs)
        for change, value in zip(step.changes, changed, strict=False):
            assigned(context, values, change, value)
        for slot, value in zip(outputs, changed[len(step.changes) :], strict=True):
            values[slot] = value

    return call


def _told(op: Op) -> int | None:
    """Of an op that changes only the rows that it is told, which input tells them."""
    by_rows = all([*arg.dims.words[:1]] == ["rows"] for arg in op.inputs if arg.updates)
    told = by_rows and "indices" in op.input_names and not op.lists and op.kernel is None
    return op.input_names.index("indices") if told else None


def _by_rows(step: Step, told: int, anew: Call, seen: Set[Step]) -> Call:
    """The body of the op on the rows alone, which are then put in their places."""
    node, op, sources = step.node, step.node.op, step.sources
    check = None if op.check_rule is None else op.bound(op.check_rule, node.attrs)
    body = functools.partial(op.body, **node.attrs)
    places = [change.place for change in step.changes]

    def call(values: list[Any], context: Context) -> None:
        if step in seen or not _alone(step, values, context):
            return anew(values, context)
        given = [values[slot] for slot in sources]
        op.bind_shapes([array.shape for array in given], given)
        if check is not None:
            check(*given)
        rows, inverse = np.unique(given[told], return_inverse=True)
        tables = [given[place] for place in places]
        before = [table[rows] for table in tables]
        for place, some in zip(places, before, strict=True):
            given[place] = some
        given[told] = inverse.reshape(given[told].shape)
        for table, old, new in zip(tables, before, body(*given), strict=False):
            context.undo.append((table, rows, old))
            table[rows] = new
        for change, table in zip(step.changes, tables, strict=True):
            values[sources[change.place]] = None
            assigned(context, values, change, table)
        return None

    return call


def _added_up(step: Step, plan: Plan, names: Mapping[str, int]) -> tuple[int, int] | None:
    """The slots of the indices and rows of a gradient, before TensorFlow has made the indices distinct."""
    rows, summed = names["indices"], names["grad"]
    makers = [plan.steps[plan.maker[slot]] if plan.maker[slot] >= 0 else None for slot in (rows, summed)]
    distinct, adding = makers
    if distinct is None or distinct.node.op.name != DISTINCT or rows != distinct.outputs.start:
        return None
    if adding is None or adding.node.op.name != SUMMED or adding.sources[1] != distinct.outputs.start + 1:
        return None
    return distinct.sources[0], adding.sources[0]


def _by_kernel(step: Step, form: RowStep, names: dict[str, int], added: tuple[int, int], seen: Set[Step]) -> Call:
    """One call that adds up the rows of a gradient and moves those of the variable."""
    op, (indices, rows) = registry[form.op], added
    tables = [step.sources[change.place] for change in step.changes]
    dtype = dtypes.numpy_dtype(step.node.inputs[0].dtype)
    numbers = [names[n] if isinstance(n, str) else np.array(n, dtype) for n in form.numbers]
    absent = [None] * form.decays

    def call(values: list[Any], context: Context) -> None:
        alone = step not in seen and _alone(step, values, context)
        held, ids = [values[slot] for slot in tables], values[indices]
        if alone:
            before = [table[ids] for table in held]
        else:
            memory.reserve(op.name, [("a copy", table.shape, table.itemsize) for table in held])
            held = [table.copy() for table in held]
        given = [values[n] if isinstance(n, int) else n for n in numbers]
        eager.quick_run(op, [*held, ids, np.ascontiguousarray(values[rows]), *given, *absent], form.settings)
        if alone:
            context.undo += [(table, ids, old) for table, old in zip(held, before, strict=True)]
        for change, table in zip(step.changes, held, strict=True):
            if alone:
                values[step.sources[change.place]] = None
            assigned(context, values, change, table)

    return call


def _alone(step: Step, values: list[Any], context: Context) -> bool:
    """Whether this step alone still sees the variables that it changes, and nobody has a view of one."""
    for change in step.changes:
        held = context.held(change.variable)
        if held is None or held[0] is not values[step.sources[change.place]]:
            return False
        if held[0].base is not None or not held[0].flags.writeable:
            return False
        # The session's dictionary, this name and the argument; the pair, the values and the argument.
        if getrefcount(held) > 3 or getrefcount(held[0]) > 3:
            return False
    return True
