"""The NumPy interpreter: everything between a raw op's arrays and the kernel that fills its outputs.

A call of ten ids should cost little more than its kernel, so whatever does not depend on the values is worked out once
per combination of dtypes and ranks, and kept as a route.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, errors, memory
from ..spec import Op
from . import carriers
from .layout import Layout
from .program import Program, native

Array = np.ndarray[Any, Any]
_MOST_ROUTES = 4096  # dtypes and ranks are few, but a caller may come with ever new ones
_READY = 0x101  # NumPy's flags for C-contiguous and aligned


class Route:
    """What a call needs beside its arrays: the functions for its dtypes and the slots for its ranks."""

    __slots__ = ("layout", "outputs", "program")

    def __init__(self, op: Op, arrays: Sequence[Array], module: Any) -> None:
        self.program = Program(op, [dtypes.name_of(a.dtype) for a in arrays], module)
        op.bind_shapes([a.shape for a in arrays], arrays)  # an argument of a wrong rank is refused here, in words
        self.layout = Layout(op, arrays)
        itemsizes = self.program.itemsizes
        if self.program.pooled:
            itemsizes = carriers.string_itemsizes(op, arrays, itemsizes)
        self.outputs = list(zip(self.layout.outputs, itemsizes, self.program.dtypes, strict=True))


def available() -> bool:
    """Whether the native kernels are installed; without them the NumPy bodies answer."""
    return native is not None


def find(op: Op, arrays: Sequence[Array]) -> Route | None:
    """The route of an earlier call with such arrays."""
    return op.routes.get(_key(op, arrays))


def run(op: Op, arrays: Sequence[Array], attrs: dict[str, Any]) -> list[Array]:
    """Check the call and compute its outputs; `arrays` are the inputs in declared order."""
    route = find(op, arrays)
    if route is None:
        route = Route(op, arrays, native)
        # Fixed-width strings come in endless dtypes, and object arrays must be looked into each time.
        if not any(dtypes.is_string(a.dtype) for a in arrays):
            if len(op.routes) == _MOST_ROUTES:
                op.routes.clear()
            op.routes[_key(op, arrays)] = route
    return follow(op, route, arrays, attrs)


def run_reference(op: Op, arrays: Sequence[Array], attrs: dict[str, Any]) -> list[Array]:
    """The same by the NumPy body, whatever is installed: the oracle of the tests."""
    return follow(op, Route(op, arrays, None), arrays, attrs)


def follow(op: Op, route: Route, arrays: Sequence[Array], attrs: dict[str, Any]) -> list[Array]:
    """Run a call whose dtypes and ranks are known to fit."""
    try:
        if op.held or route.program.fill is None:
            arrays = _kept(op, route, arrays)
        sizes = route.layout.sizes(arrays)
        if sizes is None:
            op.bind_shapes([a.shape for a in arrays], arrays)  # says in words what does not fit
            raise AssertionError(f"{op.name}: the layout refuses shapes that the declaration takes")
        known = len(sizes)
        counted = not op.counted_words
        if op.size_rule is not None:
            counted = True
            for size in op.size_rule(*arrays).values():
                if isinstance(size, int):
                    sizes.append(size)
                else:
                    counted = False
                    sizes.append(size.size)
        elif not counted:
            sizes += [0] * len(op.counted_words)
        wanted = _wanted(op, route, sizes)
        if route.program.fill is None:
            return _run_body(op, arrays, attrs, counted)
        return _run_native(op, route, wanted if counted else None, sizes[:known], arrays)
    except errors.Fault as fault:
        raise _named(op, fault) from None
    except MemoryError as problem:
        if isinstance(problem, errors.Error):
            raise
        raise errors.ResourceExhaustedError(f"{op.name}: not enough memory: {problem}") from None


def _kept(op: Op, route: Route, arrays: Sequence[Array]) -> list[Array]:
    """Copies of what must not change while the call runs, though another thread may write it.

    Sizes are read several times. A kernel reads each index once, but NumPy checks all of them and then reads again.
    """
    kept = list(arrays)
    for place in op.held if route.program.fill is not None else range(len(kept)):
        array = kept[place]
        if array.dtype.kind == "i":
            if array.nbytes > memory.SMALL:
                memory.reserve(op.name, [(f"a copy of {op.input_names[place]}", array.shape, array.itemsize)])
            kept[place] = array.copy()
    return kept


def _key(op: Op, arrays: Sequence[Array]) -> tuple[Any, ...]:
    """What a route depends on: dtypes, ranks, and how many sizes a vector holds."""
    key: list[Any] = [a.dtype for a in arrays]
    key += [a.ndim for a in arrays]
    for place in op.held_vectors:
        key.append(arrays[place].size)
    return tuple(key)


def _wanted(op: Op, route: Route, sizes: list[int]) -> list[tuple[tuple[int, ...], Any]]:
    """Shape and dtype of each output, if they and the kernel's working memory fit the budget together."""
    total = 0
    wanted = []
    for slots, itemsize, dtype in route.outputs:
        shape = tuple([sizes[slot] for slot in slots])
        wanted.append((shape, dtype))
        for size in shape:
            itemsize *= size or 1  # NumPy limits the axes beside a zero too
        total += itemsize
    for slot in route.layout.scratch:
        total += 8 * sizes[slot]
    if total > memory.unchecked():
        _reserve(op, route, sizes, wanted)
    return wanted


def _reserve(op: Op, route: Route, sizes: list[int], wanted: Sequence[tuple[tuple[int, ...], Any]]) -> None:
    arrays = []
    for arg, (shape, _), (_, itemsize, _) in zip(op.outputs, wanted, route.outputs, strict=True):
        arrays.append((f"{op.asks_for(arg.dims.words[:1])} asks for {arg.name}", shape, itemsize))
    for word, slot in zip(op.kernel.scratch if op.kernel else (), route.layout.scratch, strict=True):
        arrays.append((f"{op.asks_for([word])} asks for working memory", (sizes[slot],), 8))
    memory.reserve(op.name, arrays)


def _run_body(op: Op, arrays: Sequence[Array], attrs: dict[str, Any], counted: bool) -> list[Array]:
    with np.errstate(all="ignore"):  # an overflow to infinity is the answer, not a warning
        answer = op.body(*[carriers.clean(a) for a in arrays], **attrs)
    outputs = list(answer) if op.result is not None else [answer]
    if not counted:  # only now the sizes are known
        memory.reserve(
            op.name,
            [
                (f"{op.asks_for(a.dims.words[:1])} asks for {a.name}", o.shape, o.itemsize)
                for a, o in zip(op.outputs, outputs, strict=True)
            ],
        )
    return outputs


def _run_native(op: Op, route: Route, wanted: Any, sizes: list[int], arrays: Sequence[Array]) -> list[Array]:
    """`wanted` tells the outputs; where it is None, the kernel must count first what `sizes` does not tell."""
    program = route.program
    pool: Array | None = None
    if program.pooled:
        pool, arrays = carriers.pool_strings(op, arrays)
    passed = [arrays[place] for place in program.passes]
    for place, array in enumerate(passed):
        if array.flags.num & _READY != _READY:
            copied = f"a contiguous copy of {op.input_names[program.passes[place]]}"
            memory.reserve(op.name, [(copied, array.shape, array.itemsize)])
            passed[place] = np.array(array, order="C")
    for place, view in program.input_views:
        passed[place] = view(passed[place])
    if wanted is None:
        plan = program.plan(*passed)  # type: ignore[misc]
        if type(plan) is tuple:
            raise _fault(op, program, plan)
        wanted = _wanted(op, route, [*sizes, *plan.sizes])
        passed.insert(0, plan)
    outputs = [np.empty(shape, dtype) for shape, dtype in wanted]
    filled = outputs
    if program.output_views:
        filled = list(outputs)
        for place, view in program.output_views:
            filled[place] = view(outputs[place])
    fault = program.fill(*passed, *filled)  # type: ignore[misc]
    if fault is not None:
        raise _fault(op, program, fault)
    return outputs if pool is None else carriers.from_pool(op, pool, outputs)


def _fault(op: Op, program: Program, found: tuple[Any, ...]) -> errors.Fault:
    kind, place, position, column, value, low, high = found
    where = (position,) if column < 0 else (position, column)
    return errors.Fault(kind, op.input_names[program.passes[place]], where, value, low, high)


def _named(op: Op, fault: errors.Fault) -> errors.InvalidArgumentError:
    notes = {a.name: a.note for a in op.inputs}
    fault.hint = fault.hint or (notes.get(fault.argument, "") if fault.kind == "range" else "")
    return errors.invalid(op.name, fault)
