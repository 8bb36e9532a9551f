"""Whole calls in C++: what a route knows is told to the compiled module, and small calls need no Python any more.

A shortcut does what `routes` does, with the same kernels and the same rules, or answers NotImplemented: then the call
goes the usual way, which alone has words for what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    ruled = check is not None or counts is not None  # a rule wants to see arrays
    inputs = []
    args = op.flat_inputs(len(arrays))
    for place, (arg, name, array) in enumerate(zip(args, names, arrays, strict=True)):
        if array is None or name is None:
            inputs.append(native.InputForm(None, 0, 0, None, False, False))
            continue
        held = array.size if place in layout.held else None
        takes_int = held == 1 and not array.ndim and not ruled and arguments.dtype_of_int(op, arg) == name
        dtype = dtypes.numpy_dtype(name)
        inputs.append(native.InputForm(dtype, dtype.itemsize, array.ndim, held, takes_int, arg.updates))
    shortcuts = before or native.Shortcuts()
    shortcuts.add(
        inputs=inputs,
        outputs=[
            native.OutputForm(dtype, dtype.itemsize, slots)
            for dtype, slots in zip(program.dtypes, layout.outputs, strict=True)
        ],
        slots=native.Slots(layout.equal, layout.fixed, layout.natural, layout.constants, layout.scratch, layout.count),
        kernels=native.Kernels(
            program.passes,
            program.counts,
            "" if program.plan is None else program.plan_name,
            program.fill_name,
            settings(op, attrs),
        ),
        rules=native.Rules(check, counts, errors.Fault, op.result),
    )
    return shortcuts


def settings(op: Op, attrs: dict[str, Any]) -> tuple[Any, ...]:
    """The settings of an op's kernel in a call."""
    assert op.kernel is not None
    return (*op.kernel.fixed, *[attrs[name] for name in op.kernel.settings])
