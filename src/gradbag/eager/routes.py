"""Calls of native kernels: everything between the arrays and the kernel that fills the outputs.

Whatever does not depend on the values is worked out once per combination of dtypes and ranks, and kept as a route.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from .. import dtypes, errors, memory
from ..spec import Op
from . import carriers, prepared, shortcut
from .layout import Layout
from .out import Out
from .program import Program, native

Array = np.ndarray[Any, Any]
Wanted = Sequence[tuple[tuple[int, ...], Any]]
_READY = 0x101  # NumPy's flags for C-contiguous and aligned


class Route:
    """What a call needs beside its arrays: the functions for its dtypes and the slots for its ranks."""

    __slots__ = ("layout", "outputs", "program", "shortcut_keys")

    def __init__(self, op: Op, arrays: Sequence[Array | None], module: Any) -> None:
        self.program = Program(op, [None if a is None else dtypes.name_of(a.dtype) for a in arrays], module)
        _bind(op, arrays)  # an argument of a wrong rank is refused here, in words
        held = {place: arrays[place].size for place in op.flat_held(len(arrays))}  # type: ignore[union-attr]
        self.layout = Layout(op, [None if a is None else a.ndim for a in arrays], held)
        itemsizes = self.program.itemsizes
        if self.program.pooled:
            itemsizes = carriers.string_itemsizes(op, arrays, itemsizes)
        shapes = [_picker(slots) for slots in self.layout.outputs]
        self.outputs = list(zip(shapes, itemsizes, self.program.dtypes, strict=True))
        self.shortcut_keys: set[tuple[Any, ...]] = set()  # the settings for which there is a shortcut


def _bind(op: Op, arrays: Sequence[Array | None]) -> None:
    op.bind_shapes([None if a is None else a.shape for a in arrays], arrays)


def _picker(slots: Sequence[int]) -> Callable[[list[int]], tuple[int, ...]]:
    """Takes these slots out of a list of sizes, as a tuple."""
    if len(slots) > 1:
        return itemgetter(*slots)
    return (lambda sizes: (sizes[slots[0]],)) if slots else lambda sizes: ()


# The class too: only of plain arrays is it known what they do.
_KIND = attrgetter("__class__", "dtype", "ndim")


def _key(op: Op, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """What a route depends on: dtypes, ranks, what is left out, and how many sizes a vector holds."""
    if op.optional_names:
        key: tuple[Any, ...] = tuple([None if a is None else _KIND(a) for a in arrays])
    else:
        key = tuple(map(_KIND, arrays))
    if op.held_vectors:
        held = op.flat_held(len(arrays)) if op.lists else op.held_vectors
        key += tuple([arrays[place].size for place in held])
    return key


def known_route(op: Op, values: Sequence[Any]) -> Route | None:
    """The route of an earlier call with such arrays; None for anything that is not all plain arrays."""
    try:
        return prepared.of(op).routes.get(_key(op, values))
    except AttributeError:
        return None


def route_for(op: Op, arrays: Sequence[Array | None]) -> Route:
    route = known_route(op, arrays)
    if route is None:
        route = Route(op, arrays, native)
        # Fixed-width strings come in endless dtypes, and object arrays must be looked into each time.
        if not any(dtypes.is_string(a.dtype) for a in arrays if a is not None):
            kept = prepared.of(op)
            kept.keep(kept.routes, _key(op, arrays), route)
    return route


def run_native(
    op: Op, route: Route, arrays: Sequence[Array | None], attrs: dict[str, Any], out: Out | None
) -> list[Array]:
    """Run a call whose dtypes and ranks are known to fit. Arrays that the op updates lie ready."""
    program = route.program
    sizes = _sizes(op, route, arrays, attrs)
    given = arrays
    pool: Array | None = None
    if program.pooled:
        pool, arrays = carriers.pool_strings(op, arrays)
    passed = [arrays[place] for place in program.passes]
    for place, array in enumerate(passed):
        if array is not None and array.flags.num & _READY != _READY:
            passed[place] = _ready(op, program, place, array)
    for place, view in program.input_views:
        array = passed[place]
        if array is not None:
            passed[place] = array = view(array)
            if not array.flags.aligned:  # a struct may lie anywhere, the number in it may not
                passed[place] = _ready(op, program, place, array)
    taken, settings, plan = program.arguments(passed), shortcut.settings(op, attrs), None
    if program.plan is not None:
        # A plan's memory is its working memory alone, however large the outputs will be.
        if 8 * sum([sizes[slot] for slot in route.layout.scratch]) > memory.unchecked():
            memory.reserve(op.name, _scratch(op, route, sizes))
        try:
            plan = program.plan.count(taken, settings)
        except MemoryError:
            raise _no_room(op, given) from None
        if type(plan) is tuple:
            raise _fault(op, program, plan)
        sizes.extend(plan.sizes)
    elif op.size_rule is not None:
        sizes.extend(op.bound(op.size_rule, attrs)(*arrays).values())  # exact where no kernel counts
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
        fault = program.fill.fill(plan, [*taken, *filled], settings)
    except ValueError:
        raise errors.changed(op.name) from None
    if fault is not None:
        raise _fault(op, program, fault)
    if pool is not None:
        outputs = carriers.from_pool(op, pool, outputs)
    else:
        _keep_shortcut(op, route, given, attrs)
    return outputs if out is None else out.returned(outputs)


def _keep_shortcut(op: Op, route: Route, arrays: Sequence[Array | None], attrs: dict[str, Any]) -> None:
    kept = prepared.of(op)
    key = kept.key(attrs)
    if key in route.shortcut_keys:
        return
    if len(route.shortcut_keys) < 64:  # a setting may be another number in every call
        route.shortcut_keys.add(key)
        made = shortcut.made(op, arrays, route.program, route.layout, attrs, kept.shortcuts.get(key))
        if made is not None:
            kept.keep_shortcuts(key, made)


def _sizes(op: Op, route: Route, arrays: Sequence[Array | None], attrs: dict[str, Any]) -> list[int]:
    """All sizes that the shapes and the inputs that hold sizes tell."""
    sizes = route.layout.sizes(arrays)
    if sizes is None:
        _bind(op, arrays)  # says in words what does not fit
        raise errors.changed(op.name)
    if op.check_rule is not None:
        op.bound(op.check_rule, attrs)(*arrays)
    if op.shape_rule is not None:  # it refuses what does not go together, too
        names = [None if a is None else dtypes.name_of(a.dtype) for a in arrays]
        ruled = op.ruled_sizes([None if a is None else a.shape for a in arrays], names, attrs)
        sizes.extend(ruled.values() if route.program.plan is None else ())
    return sizes


def _wanted(op: Op, route: Route, sizes: list[int], out: Out | None) -> tuple[Wanted, int]:
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
        arrays = []
        for place, (arg, (shape, _), (_, itemsize, _)) in enumerate(
            zip(op.outputs, wanted, route.outputs, strict=True)
        ):
            if out is None or out.views[place] is None:
                arrays.append((f"{op.asks_for(arg.dims.words[:1])} asks for {arg.name}", shape, itemsize))
        memory.reserve(op.name, arrays + _scratch(op, route, sizes))
    return wanted, total


def _scratch(op: Op, route: Route, sizes: list[int]) -> list[tuple[str, tuple[int, ...], int]]:
    words = zip(op.kernel.scratch if op.kernel else (), route.layout.scratch, strict=True)
    return [(f"{op.asks_for([word])} asks for working memory", (sizes[slot],), 8) for word, slot in words]


def _ready(op: Op, program: Program, place: int, array: Array) -> Array:
    """A copy that is contiguous and aligned."""
    name = op.flat_names(len(program.passes))[place] if op.lists else program.passed_names[place]
    memory.reserve(op.name, [(f"a contiguous copy of {name}", array.shape, array.itemsize)])
    return np.array(array, order="C")


def _allocated(
    op: Op, program: Program, inputs: Sequence[Array | None], wanted: Wanted, out: Out | None
) -> list[Array]:
    """The arrays to fill: those that the caller brought, blocks of the cache where they are large, or new ones."""
    views: Sequence[Array | None] = [None] * len(wanted)
    if out is not None:
        out.check(op, program.is_string, wanted, inputs)
        views = out.views
    return [memory.empty(*w) if v is None else v for v, w in zip(views, wanted, strict=True)]


def _no_room(op: Op, arrays: Sequence[Array | None]) -> errors.ResourceExhaustedError:
    """What a kernel lacked memory for is a size that it counts: the input which decides it is named."""
    name = op.asks_for(op.counted_words)
    array = arrays[op.flat_names(len(arrays)).index(name)]
    value = f" == {errors.shown(array.tolist())}" if array is not None and array.size < 9 else ""
    return errors.ResourceExhaustedError(f"{op.name}: {name}{value} asks for more memory than there is")


def _fault(op: Op, program: Program, found: tuple[Any, ...]) -> errors.Fault:
    return fault_of(op, program.passed_names, found)


def fault_of(op: Op, names: Sequence[str], found: tuple[Any, ...]) -> errors.Fault:
    """What a kernel has found, of the inputs of these names; where a vector has a column, that is a feature."""
    kind, place, position, column, value, low, high = found
    of_feature = column >= 0 and len(op.inputs[op.input_names.index(names[place])].dims.terms) == 1
    where = (position,) if column < 0 or of_feature else (position, column)
    hint = f"the rows of the table of feature {column}" if of_feature else ""
    return errors.Fault(kind, names[place], where, value, low, high, hint)
