"""What can be decided from the dtypes of a call alone, once per combination of dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from .. import dtypes, memory
from ..spec import Arg, Op
from . import carriers

try:
    native: Any = import_module(f"{__package__}._kernels")
except ModuleNotFoundError as problem:  # installed without a compiler; a module that is there but broken must not pass
    if problem.name != f"{__package__}._kernels":
        raise
    native = None
memory.keep_blocks_in(native)

Array = np.ndarray[Any, Any]
View = Callable[[Array], Array]


class Program:
    """The native functions of an op for given dtypes, and the forms in which they want to see the arrays."""

    def __init__(self, op: Op, names: Sequence[str], module: Any) -> None:
        bound = op.resolve_types(names)
        kernel = op.kernel
        self.dtypes = [dtypes.numpy_dtype(bound.get(a.dtype, a.dtype)) for a in op.outputs]
        self.is_string = [dtypes.is_string(d) for d in self.dtypes]
        self.pooled = kernel is not None and kernel.copies is not None and bound[kernel.copies] == "string"
        if self.pooled:
            self.dtypes = [carriers.POSITIONS if d.kind == "O" else d for d in self.dtypes]
        self.itemsizes = [d.itemsize for d in self.dtypes]
        self.fill: Callable[..., Any] | None = None
        self.plan: Callable[..., Any] | None = None
        if module is None or kernel is None:
            return
        names_passed = op.input_names if kernel.passes is None else kernel.passes
        self.passes = tuple(op.input_names.index(name) for name in names_passed)
        passed = [op.inputs[place] for place in self.passes]
        variables = dict.fromkeys(a.dtype for a in passed if a.dtype in op.types and a.dtype != kernel.copies)
        suffix = "__" + "_".join(bound[v] for v in variables) if variables else ""
        self.fill_name, self.plan_name = kernel.name + suffix, kernel.name + "_plan" + suffix
        self.fill = getattr(module, self.fill_name, None)
        self.plan = getattr(module, self.plan_name, None)

        def views(find: Callable[[str], View | None], args: Sequence[Arg]) -> list[tuple[int, View]]:
            found = [(place, find(bound.get(a.dtype, a.dtype))) for place, a in enumerate(args)]
            return [(place, view) for place, view in found if view is not None]

        self.input_views = [] if self.pooled else views(carriers.input_view, passed)
        self.output_views = [] if self.pooled else views(carriers.output_view, op.outputs)
