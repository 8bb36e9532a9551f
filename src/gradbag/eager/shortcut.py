"""Whole calls in C++: what a route knows is told to the compiled module, and small calls need no Python any more.

A shortcut does what `routes` does, with the same kernels and the same rules, or answers NotImplemented: then the call
goes the usual way, which alone has words for what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .. import arguments, dtypes, errors
from ..spec import Op
from . import carriers
from .layout import Layout
from .program import Program, native

Array = np.ndarray[Any, Any]


def made(
    op: Op, arrays: Sequence[Array | None], program: Program, layout: Layout, attrs: dict[str, Any], before: Any
) -> Any:
    """The shortcuts of an op for some settings, with one for calls with such arrays if they can have one.

    To be called after such a call has gone well: then the kernels are known to take these dtypes and ranks, and a
    shortcut need not ask again.
    """
    assert op.kernel is not None
    names = [None if a is None else dtypes.name_of(a.dtype) for a in arrays]
    if not all(carriers.lies_ready(name) for name in names if name is not None):
        return before
    if not all(names[place] in dtypes.INDEX for place in layout.held):
        return before
    check = None if op.check_rule is None else op.bound(op.check_rule, attrs)
    counts = None if op.size_rule is None or program.plan is not None else op.bound(op.size_rule, attrs)
    if op.shape_rule is not None and program.plan is None:
        counts = _ruled(op, names, attrs)
    elif op.shape_rule is not None:
        check = _ruled(op, names, attrs)
    ruled = check is not None or counts is not None  # a rule wants to see arrays
    inputs: list[tuple[Any, ...]] = []
    args = op.flat_inputs(len(arrays))
    for place, (arg, name, array) in enumerate(zip(args, names, arrays, strict=True)):
        if array is None or name is None:
            inputs.append((None, 0, 0, None, False, False))
            continue
        held = array.size if place in layout.held else None
        takes_int = held == 1 and not array.ndim and not ruled and arguments.dtype_of_int(op, arg) == name
        dtype = dtypes.numpy_dtype(name)
        inputs.append((dtype, dtype.itemsize, array.ndim, held, takes_int, arg.updates))
    shortcuts = before or native.Shortcuts()
    shortcuts.add(
        inputs=inputs,
        outputs=[(dtype, dtype.itemsize, slots) for dtype, slots in zip(program.dtypes, layout.outputs, strict=True)],
        slots=(layout.equal, layout.fixed, layout.natural, layout.constants, layout.scratch, layout.count),
        kernels=(
            program.passes,
            program.counts,
            "" if program.plan is None else program.plan_name,
            program.fill_name,
            settings(op, attrs),
        ),
        rules=(check, counts, errors.Fault, op.result),
    )
    return shortcuts


def _ruled(op: Op, names: Sequence[str | None], attrs: dict[str, Any]) -> Callable[..., dict[str, Any]]:
    """The rule about shapes as one that counts, of arrays; what it says of some shapes it need not say again."""

    @lru_cache(maxsize=64)
    def sizes(*shapes: Any) -> dict[str, Any]:
        try:
            return op.ruled_sizes(shapes, names, attrs)
        except errors.Error:  # told in words by the usual way
            raise errors.Fault("shape", op.input_names[0]) from None

    return lambda *arrays: sizes(*[None if a is None else a.shape for a in arrays])


def settings(op: Op, attrs: dict[str, Any]) -> tuple[Any, ...]:
    """The settings of an op's kernel in a call; lists of numbers are a text, with a space behind each."""
    assert op.kernel is not None
    given = [attrs[name] for name in op.kernel.settings]
    return (*op.kernel.fixed, *[_text(value) if isinstance(value, tuple) else value for value in given])


@lru_cache(maxsize=1024)
def _text(numbers: tuple[int, ...]) -> str:
    return "".join(f"{number} " for number in numbers)
