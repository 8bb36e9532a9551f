"""What can be decided from the dtypes of a call alone, once per combination of dtypes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    """The native functions of an op for given dtypes, and the forms in which they want to see the arrays.

    `names` are the dtypes of the flat inputs, None for one that is left out. With `attrs` it is the kernel behind
    TensorFlow's op, whose outputs may have dtypes that attributes tell.
    """

    def __init__(
        self, op: Op, names: Sequence[str | None], module: Any, attrs: Mapping[str, Any] | None = None
    ) -> None:
        bound = op.resolve_types(names, attrs)
        kernel = op.kernel if attrs is None else op.behind
        self.dtypes = [dtypes.numpy_dtype(bound.get(a.dtype, a.dtype)) for a in op.outputs]
        self.is_string = [dtypes.is_string(d) for d in self.dtypes]
        self.pooled = kernel is not None and kernel.copies is not None and bound[kernel.copies] == "string"
        if self.pooled:
            self.dtypes = [carriers.POSITIONS if d.kind == "O" else d for d in self.dtypes]
        self.itemsizes = [d.itemsize for d in self.dtypes]
        self.fill: Any = None
        self.plan: Any = None
        if module is None or kernel is None:
            return
        places = op.grouped(range(len(names)))
        self.passed_names = op.input_names if kernel.passes is None else kernel.passes
        groups = [places[op.input_names.index(name)] for name in self.passed_names]
        self.groups = [group if isinstance(group, list) else [group] for group in groups]
        self.is_list = [isinstance(group, list) for group in groups]
        # The flat places of the inputs that a kernel takes, and how many of them each of its arguments is.
        self.passes = [place for group in self.groups for place in group]
        self.counts = [sum(names[place] is not None for place in group) for group in self.groups]
        args = op.flat_inputs(len(names))
        passed = [args[place] for place in self.passes]
        given = {a.dtype for a in args}
        told = [a for a in op.outputs if a.dtype not in given]
        typed = (a.dtype for a in (*passed, *told) if a.dtype in op.types)
        variables = [name for name in dict.fromkeys(typed) if name != kernel.copies]
        suffix = "__" + "_".join(bound[v] for v in variables) if variables else ""
        self.fill_name, self.plan_name = kernel.name + suffix, kernel.name + "_plan" + suffix
        self.rules_name = kernel.name + "_rules" + suffix  # what the op's rules say, for callers without Python
        self.fill = module.find_kernel(self.fill_name)
        self.plan = module.find_kernel(self.plan_name)

        def views(find: Callable[[str], View | None], args: Sequence[Arg]) -> list[tuple[int, View]]:
            found = [(place, find(bound.get(a.dtype, a.dtype))) for place, a in enumerate(args)]
            return [(place, view) for place, view in found if view is not None]

        self.input_views = [] if self.pooled else views(carriers.input_view, passed)
        self.output_views = [] if self.pooled else views(carriers.output_view, op.outputs)

    def arguments(self, passed: Sequence[Array | None]) -> list[Any]:
        """The inputs as a kernel takes them: lists as lists."""
        if not any(self.is_list):
            return list(passed)
        values = iter(passed)
        taken = [[next(values) for _ in group] for group in self.groups]
        return [group if is_list else group[0] for group, is_list in zip(taken, self.is_list, strict=True)]
