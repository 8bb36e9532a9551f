"""The NumPy interpreter: everything between a raw op's arrays and the kernel that fills its outputs.

A call of ten ids should cost little more than its kernel, so whatever does not depend on the values is worked out once
per combination of dtypes and ranks, and kept as a route.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from .. import dims, dtypes, errors, memory
from ..spec import AtLeast, Op
from . import carriers, shortcut
from .basic import run_basic
from .layout import Layout
from .out import Out
from .program import Program, native

Array = np.ndarray[Any, Any]
_MOST_ROUTES = 1024  # dtypes and ranks are few, but a caller may come with ever new ones
_READY = 0x101  # NumPy's flags for C-contiguous and aligned


class Route:
    """What a call needs beside its arrays: the functions for its dtypes and the slots for its ranks."""

    __slots__ = ("has_shortcut", "layout", "outputs", "program")

    def __init__(self, op: Op, arrays: Sequence[Array], module: Any) -> None:
        self.program = Program(op, [dtypes.name_of(a.dtype) for a in arrays], module)
        op.bind_shapes([a.shape for a in arrays], arrays)  # an argument of a wrong rank is refused here, in words
        self.layout = Layout(op, arrays)
        itemsizes = self.program.itemsizes
        if self.program.pooled:
            itemsizes = carriers.string_itemsizes(op, arrays, itemsizes)
        shapes = [_picker(slots) for slots in self.layout.outputs]
        self.outputs = list(zip(shapes, itemsizes, self.program.dtypes, strict=True))
        self.has_shortcut = False


def _picker(slots: Sequence[int]) -> Callable[[list[int]], tuple[int, ...]]:
    """Takes these slots out of a list of sizes, as a tuple."""
    if len(slots) > 1:
        return itemgetter(*slots)
    return (lambda sizes: (sizes[slots[0]],)) if slots else lambda sizes: ()


def available() -> bool:
    """Whether the native kernels are installed; without them the NumPy bodies answer."""
    return native is not None


def find(op: Op, values: Sequence[Any]) -> Route | None:
    """The route of an earlier call with such arrays; None for anything that is not all plain arrays."""
    try:
        return op.routes.get(_key(op, values))
    except AttributeError:
        return None


def run(op: Op, arrays: Sequence[Array], attrs: dict[str, Any], out: Out | None = None) -> list[Array]:
    """Check the call and compute its outputs; `arrays` are the inputs in declared order."""
    if op.basic:
        return run_basic(op, arrays, attrs)
    route = find(op, arrays)
    if route is None:
        route = Route(op, arrays, native)
        # Fixed-width strings come in endless dtypes, and object arrays must be looked into each time.
        if not any(dtypes.is_string(a.dtype) for a in arrays):
            if len(op.routes) == _MOST_ROUTES:
                op.routes.clear()
                op.shortcuts = None
            op.routes[_key(op, arrays)] = route
    return follow(op, route, arrays, attrs, out)


def run_shared(op: Op, arrays: Sequence[Array], attrs: dict[str, Any]) -> list[Array]:
    """Like `run`, for callers that never write into arrays: an output may be a view of an input."""
    if op.basic:
        return run_basic(op, arrays, attrs, share=True)
    if op.shortcuts is not None:
        answer = op.shortcuts.call(arrays)
        if answer is not NotImplemented:
            return [answer] if op.result is None else list(answer)
    return run(op, arrays, attrs)


def run_reference(op: Op, arrays: Sequence[Array], attrs: dict[str, Any], out: Out | None = None) -> list[Array]:
    """The same by the NumPy body, whatever is installed: the oracle of the tests."""
    if op.basic:
        return run_basic(op, arrays, attrs)
    return follow(op, Route(op, arrays, None), arrays, attrs, out)


def follow(op: Op, route: Route, arrays: Sequence[Array], attrs: dict[str, Any], out: Out | None = None) -> list[Array]:
    """Run a call whose dtypes and ranks are known to fit."""
    try:
        if route.program.fill is None:
            return _run_body(op, route, arrays, attrs, out)
        return _run_native(op, route, arrays, out)
    except errors.Fault as fault:
        raise _named(op, fault) from None
    except MemoryError as problem:
        if isinstance(problem, errors.Error):
            raise
        raise errors.ResourceExhaustedError(f"{op.name}: not enough memory: {problem}") from None


# The class too: only of plain arrays is it known what they do.
_KIND = attrgetter("__class__", "dtype", "ndim")


def _key(op: Op, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """What a route depends on: dtypes, ranks, and how many sizes a vector holds."""
    key: tuple[Any, ...] = tuple(map(_KIND, arrays))
    if op.held_vectors:
        key += tuple([arrays[place].size for place in op.held_vectors])
    return key


def _sizes(op: Op, route: Route, arrays: Sequence[Array]) -> list[int]:
    """All sizes that the shapes and the inputs that hold sizes tell."""
    sizes = route.layout.sizes(arrays)
    if sizes is None:
        op.bind_shapes([a.shape for a in arrays], arrays)  # says in words what does not fit
        raise errors.changed(op.name)
    if op.check_rule is not None:
        op.check_rule(*arrays)
    return sizes


def _wanted(op: Op, route: Route, sizes: list[int], out: Out | None) -> tuple[list[tuple[tuple[int, ...], Any]], int]:
    """Shape and dtype of each output, if they and the kernel's working memory fit the budget together; and how large.

    What the caller brought takes no more memory, and does not count.
    """
    total = 0
    wanted = []
    for pick, itemsize, dtype in route.outputs:
        shape = pick(sizes)
        wanted.append((shape, dtype))
        # NumPy limits the axes beside a zero too.
        total += itemsize * (prod(shape) or prod([size or 1 for size in shape]))
    for slot in route.layout.scratch:
        total += 8 * sizes[slot]
    if total > memory.unchecked():
        _reserve(op, route, sizes, wanted, out)
    return wanted, total


def _reserve(
    op: Op, route: Route, sizes: list[int], wanted: Sequence[tuple[tuple[int, ...], Any]], out: Out | None
) -> None:
    arrays = []
    for place, (arg, (shape, _), (_, itemsize, _)) in enumerate(zip(op.outputs, wanted, route.outputs, strict=True)):
        if out is None or out.views[place] is None:
            arrays.append((f"{op.asks_for(arg.dims.words[:1])} asks for {arg.name}", shape, itemsize))
    memory.reserve(op.name, arrays + _scratch(op, route, sizes))


def _scratch(op: Op, route: Route, sizes: list[int]) -> list[tuple[str, tuple[int, ...], int]]:
    words = zip(op.kernel.scratch if op.kernel else (), route.layout.scratch, strict=True)
    return [(f"{op.asks_for([word])} asks for working memory", (sizes[slot],), 8) for word, slot in words]


# ------------------------------------------------------------------ the NumPy body
def _kept(op: Op, arrays: Sequence[Array]) -> list[Array]:
    """Copies of all integers: NumPy checks indices and then reads them again, and another thread may write them."""
    kept = list(arrays)
    for place, array in enumerate(kept):
        if array.dtype.kind == "i":
            if array.nbytes > memory.SMALL:
                memory.reserve(op.name, [(f"a copy of {op.input_names[place]}", array.shape, array.itemsize)])
            kept[place] = array.copy()
    return kept


def _run_body(op: Op, route: Route, given: Sequence[Array], attrs: dict[str, Any], out: Out | None) -> list[Array]:
    arrays = _kept(op, given)
    sizes = _sizes(op, route, arrays)
    known = len(sizes)
    counted = op.size_rule(*arrays) if op.size_rule is not None else dict.fromkeys(op.counted_words, AtLeast(0))
    sizes += [size if isinstance(size, int) else size.size for size in counted.values()]
    wanted, _ = _wanted(op, route, sizes, None)  # a body always makes its own outputs
    if out is not None:
        out.check(op, route.program, wanted, given)
    with np.errstate(all="ignore"):  # an overflow to infinity is the answer, not a warning
        answer = op.body(*[carriers.clean(a) for a in arrays], **attrs)
    outputs = list(answer) if op.result is not None else [answer]
    if any(isinstance(size, AtLeast) for size in counted.values()):  # only now is it known how many there are
        found: dims.Sizes = {}
        for arg, output in zip(op.outputs, outputs, strict=True):
            arg.dims.bind(output.shape, found)
        counts: list[Any] = [found[word] for word in op.counted_words]
        _wanted(op, route, sizes[:known] + counts, None)
    if out is not None:
        for place, view in enumerate(out.views):
            if view is not None:
                view[...] = outputs[place]
        return out.returned(outputs)
    return outputs


# ------------------------------------------------------------------ the native kernel
def _run_native(op: Op, route: Route, arrays: Sequence[Array], out: Out | None) -> list[Array]:
    program = route.program
    sizes = _sizes(op, route, arrays)
    given = arrays
    pool: Array | None = None
    if program.pooled:
        pool, arrays = carriers.pool_strings(op, arrays)
    passed = [arrays[place] for place in program.passes]
    for place, array in enumerate(passed):
        if array.flags.num & _READY != _READY:
            passed[place] = _ready(op, program, place, array)
    for place, view in program.input_views:
        passed[place] = array = view(passed[place])
        if not array.flags.aligned:  # a struct may lie anywhere, the number in it may not
            passed[place] = _ready(op, program, place, array)
    if program.plan is not None:
        # A plan's memory is its working memory alone, however large the outputs will be.
        if 8 * sum([sizes[slot] for slot in route.layout.scratch]) > memory.unchecked():
            memory.reserve(op.name, _scratch(op, route, sizes))
        plan = program.plan(*passed)
        if type(plan) is tuple:
            raise _fault(op, plan)
        sizes.extend(plan.sizes)
        passed.insert(0, plan)
    elif op.size_rule is not None:
        sizes.extend(op.size_rule(*arrays).values())  # type: ignore[arg-type]  # exact where no kernel counts
    wanted, total = _wanted(op, route, sizes, out)
    if out is None and total < memory.LARGE:
        outputs = [np.empty(shape, dtype) for shape, dtype in wanted]
    else:
        outputs = _allocated(op, program, given, wanted, out)
    filled = outputs
    if program.output_views:
        filled = list(outputs)
        for place, view in program.output_views:
            filled[place] = view(outputs[place])
    try:
        fault = program.fill(*passed, *filled)  # type: ignore[misc]
    except ValueError:
        raise errors.changed(op.name) from None
    if fault is not None:
        raise _fault(op, fault)
    if pool is not None:
        outputs = carriers.from_pool(op, pool, outputs)
    elif not route.has_shortcut:
        route.has_shortcut = True
        shortcut.add(op, given, program, route.layout)
    return outputs if out is None else out.returned(outputs)


def _ready(op: Op, program: Program, place: int, array: Array) -> Array:
    """A copy that is contiguous and aligned."""
    copied = f"a contiguous copy of {op.input_names[program.passes[place]]}"
    memory.reserve(op.name, [(copied, array.shape, array.itemsize)])
    return np.array(array, order="C")


def _allocated(
    op: Op, program: Program, inputs: Sequence[Array], wanted: Sequence[tuple[tuple[int, ...], Any]], out: Out | None
) -> list[Array]:
    """The arrays to fill: those that the caller brought, blocks of the cache where they are large, or new ones."""
    views: Sequence[Array | None] = [None] * len(wanted)
    if out is not None:
        out.check(op, program, wanted, inputs)
        views = out.views
    return [memory.empty(*w) if v is None else v for v, w in zip(views, wanted, strict=True)]


def refusal(op: Op, found: tuple[Any, ...]) -> errors.InvalidArgumentError:
    """What to say of the fault that a kernel has found, for a caller that has called it without `run`."""
    return _named(op, _fault(op, found))


def _fault(op: Op, found: tuple[Any, ...]) -> errors.Fault:
    assert op.kernel is not None
    kind, place, position, column, value, low, high = found
    where = (position,) if column < 0 else (position, column)
    return errors.Fault(kind, (op.kernel.passes or op.input_names)[place], where, value, low, high)


def _named(op: Op, fault: errors.Fault) -> errors.InvalidArgumentError:
    notes = {a.name: a.note for a in op.inputs}
    fault.hint = fault.hint or (notes.get(fault.argument, "") if fault.kind == "range" else "")
    return errors.invalid(op.name, fault)
