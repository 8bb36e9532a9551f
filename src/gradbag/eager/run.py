"""An op on arrays: by a shortcut, by its kernel, or by its NumPy body.

An op that updates inputs writes them in place, after everything is checked; what it was given for them must be arrays
that can be written and that overlap nothing else in the call. `functional` leaves them alone and gives new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import arguments, errors, memory
from ..spec import Op
from . import compiled, prepared
from .body import run_body
from .out import Out, overlap
from .program import native
from .routes import Route, fault_of, known_route, route_for, run_native

Array = np.ndarray[Any, Any]
_WRITEABLE = 0x501  # NumPy's flags for C-contiguous, aligned and writeable


def available() -> bool:
    """Whether the native kernels are installed; without them the NumPy bodies answer."""
    return native is not None


def shortcut(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """What a raw op answers, where C++ can do the whole call; else NotImplemented."""
    if op.compiled_rule is not None:
        arrays = compiled.plain(op, values)
        found = NotImplemented if arrays is None else compiled.outputs(op, arrays, attrs)
        return found if found is NotImplemented or op.result is None else op.result._make(found)
    kept = prepared.of(op)
    shortcuts = kept.shortcuts.get(kept.key(attrs)) if kept.settings else kept.usual
    return NotImplemented if shortcuts is None else shortcuts.call(values)


def answer(op: Op, values: Sequence[Any], attrs: dict[str, Any], out: Out | None = None) -> Any:
    """What a raw op answers on arrays and Python values: an output, a named tuple of several, or None."""
    return op.answer(run(op, values, attrs, out))


def quick_run(op: Op, values: Sequence[Any], attrs: dict[str, Any], share: bool = False) -> list[Array]:
    """The outputs, by a shortcut where there is one. With `share`, an output may be a view of an input."""
    if op.kernel is not None or op.compiled_rule is not None:
        found = shortcut(op, values, attrs)
        if found is not NotImplemented:
            return op.flat_answer(found)
    return run(op, values, attrs, share=share)


def run(
    op: Op, values: Sequence[Any], attrs: dict[str, Any], out: Out | None = None, share: bool = False
) -> list[Array]:
    """Check the call and compute its outputs; `values` are flat, arrays or Python values."""
    if int in map(type, values):
        values = arguments.with_sizes(op, values)
    route = None
    if op.kernel is not None:
        # Another thread may give an array another shape during the call; that of a view stays.
        values = [value.view() if type(value) is np.ndarray else value for value in values]
        route = known_route(op, values)
    arrays: Sequence[Any] = values if route is not None else arguments.to_arrays(op, values)
    if op.updates:
        return _in_place(op, values, arrays, attrs, out)
    if op.compiled_rule is not None and out is None:
        found = compiled.outputs(op, arrays, attrs)
        if found is not NotImplemented:
            return op.flat_answer(found)
    if op.kernel is None or native is None:
        return _by_body(op, arrays, attrs, out, share)
    return _told(op, _by_kernel, route, arrays, attrs, out)


def run_reference(op: Op, values: Sequence[Any], attrs: dict[str, Any], out: Out | None = None) -> list[Array]:
    """The same by the NumPy body, whatever is installed: the oracle of the tests."""
    return _by_body(op, arguments.to_arrays(op, values), attrs, out)


def functional(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Array]:
    """Run an op that updates inputs on copies of them; gives those, and then the outputs."""
    arrays = list(arguments.to_arrays(op, values))
    places = op.flat_updates(len(arrays))
    for place in places:
        _reserve_copy(op, op.flat_names(len(arrays))[place], arrays[place])
        if op.kernel is not None:
            arrays[place] = np.array(arrays[place])
    if op.kernel is None or native is None:
        return _by_body(op, arrays, attrs)  # a body makes them anew
    outputs = run(op, arrays, attrs)
    return [*[arrays[place] for place in places], *outputs]


def refusal(op: Op, found: tuple[Any, ...]) -> errors.InvalidArgumentError:
    """What to say of the fault that a kernel has found, for a caller that has called it without `run`."""
    assert op.kernel is not None
    return _named(op, fault_of(op, op.kernel.passes or op.input_names, found))


def _by_kernel(
    op: Op, route: Route | None, arrays: Sequence[Any], attrs: dict[str, Any], out: Out | None
) -> list[Array]:
    route = route or route_for(op, arrays)
    if route.program.fill is None:  # not for these dtypes
        return run_body(op, arrays, attrs, out)
    return run_native(op, route, arrays, attrs, out)


def _by_body(
    op: Op, arrays: Sequence[Any], attrs: dict[str, Any], out: Out | None = None, share: bool = False
) -> list[Array]:
    return _told(op, run_body, arrays, attrs, out, share)


def _told(op: Op, run: Callable[..., list[Array]], *given: Any) -> list[Array]:
    """Run a call; what its kernel, its body or its rules find is said in words."""
    try:
        return run(op, *given)
    except errors.Fault as fault:
        raise _named(op, fault) from None
    except MemoryError as problem:
        if isinstance(problem, errors.Error):
            raise
        raise errors.ResourceExhaustedError(f"{op.name}: not enough memory: {problem}") from None


def _named(op: Op, fault: errors.Fault) -> errors.InvalidArgumentError:
    notes = {a.name: a.note for a in op.inputs}
    fault.hint = fault.hint or (notes.get(fault.argument, "") if fault.kind == "range" else "")
    return errors.invalid(op.name, fault)


# ------------------------------------------------------------------ updates
def _in_place(
    op: Op, values: Sequence[Any], arrays: Sequence[Any], attrs: dict[str, Any], out: Out | None
) -> list[Array]:
    names, places = op.flat_names(len(values)), op.flat_updates(len(values))
    # Of many tables each would have to be compared with each: where none reaches into another it is seen at once.
    apart = native is not None and not native.spans_meet(list(arrays))
    for place in places:
        _check_updated(op, names, place, values, arrays)
        if not apart:
            _check_apart(op, names, place, arrays)
    route = None if native is None or op.kernel is None else route_for(op, arrays)
    if route is None or route.program.fill is None:
        for place in places:  # a body makes them anew
            _reserve_copy(op, names[place], arrays[place])
        found = _by_body(op, arrays, attrs, out)
        copied, changed, outputs = places, found[: len(places)], found[len(places) :]
    else:
        given = list(arrays)
        copied = [place for place in places if given[place].flags.num & _WRITEABLE != _WRITEABLE]
        for place in copied:  # a kernel wants contiguous memory
            _reserve_copy(op, names[place], given[place])
            given[place] = np.array(given[place], order="C")
        outputs = _told(op, run_native, route, given, attrs, out)
        changed = [given[place] for place in copied]
    for place, new in zip(copied, changed, strict=True):
        arrays[place][...] = new
    return outputs


def _reserve_copy(op: Op, name: str, array: Array) -> None:
    memory.reserve(op.name, [(f"a copy of {name}", array.shape, array.itemsize)])


def _check_updated(op: Op, names: Sequence[str], place: int, values: Sequence[Any], arrays: Sequence[Any]) -> None:
    """Refuse what cannot be updated: anything that is no array, or cannot be written."""
    value, array = values[place], arrays[place]  # of a subclass, say a file in memory, the second is a view
    if not isinstance(value, np.ndarray):
        raise errors.wrong_type(op.name, names[place], ["a NumPy array, which is changed"], type(value).__name__)
    if not value.dtype.isnative:
        raise errors.unfit(op.name, names[place], "in the byte order of this machine", value.dtype.str)
    if not array.flags.writeable:
        raise errors.unfit(op.name, names[place], "writeable", "a read-only array")


def _check_apart(op: Op, names: Sequence[str], place: int, arrays: Sequence[Any]) -> None:
    array = arrays[place]
    for name, other, beside in zip(names, range(len(arrays)), arrays, strict=True):
        if other != place and beside is not None and overlap(array, beside):
            raise errors.unfit(op.name, names[place], "memory of its own", f"an array that overlaps {name}")
