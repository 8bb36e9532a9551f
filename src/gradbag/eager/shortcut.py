"""Whole calls in C++: what a route knows is told to the compiled module, and small calls need no Python any more.

A shortcut does what `call` does, with the same kernels and the same rules, or answers NotImplemented: then the call
goes the usual way, which alone has words for what is wrong.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import arguments, dtypes, errors
from ..spec import Op, registry
from . import carriers
from .layout import Layout
from .program import Program, native

Array = np.ndarray[Any, Any]


def add(op: Op, arrays: Sequence[Array], program: Program, layout: Layout) -> None:
    """Let calls with such arrays go by a shortcut, if they can.

    To be called after such a call has gone well: then the kernels are known to take these dtypes and ranks, and a
    shortcut need not ask again.
    """
    names = [dtypes.name_of(a.dtype) for a in arrays]
    if not all(map(carriers.lies_ready, names)) or not all(names[place] in dtypes.INDEX for place in layout.held):
        return
    counts = op.size_rule if program.plan is None else None
    ruled = op.check_rule is not None or counts is not None  # a rule wants to see arrays
    inputs = []
    for place, (name, array) in enumerate(zip(names, arrays, strict=True)):
        held = array.size if place in layout.held else None
        takes_int = held == 1 and not array.ndim and not ruled and arguments.dtype_of_int(op, place) == name
        dtype = dtypes.numpy_dtype(name)
        inputs.append(native.InputForm(dtype, dtype.itemsize, array.ndim, held, takes_int))
    if op.shortcuts is None:
        op.shortcuts = native.Shortcuts()
    op.shortcuts.add(
        inputs=inputs,
        outputs=[
            native.OutputForm(dtype, dtype.itemsize, slots)
            for dtype, slots in zip(program.dtypes, layout.outputs, strict=True)
        ],
        slots=native.Slots(layout.equal, layout.fixed, layout.natural, layout.constants, layout.scratch, layout.count),
        kernels=native.Kernels(program.passes, "" if program.plan is None else program.plan_name, program.fill_name),
        rules=native.Rules(op.check_rule, counts, errors.Fault, op.result),
    )


@atexit.register
def _forget() -> None:
    """Some cache may keep an op beyond the end of the interpreter, and nanobind would then complain of a leak."""
    for op in registry:
        op.shortcuts = None
