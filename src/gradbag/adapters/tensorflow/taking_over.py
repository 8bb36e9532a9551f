"""Kernels behind TensorFlow's own ops: all that C++ must know to answer them, read off the declarations.

Once registered, TensorFlow calls a kernel without Python: in eager calls, functions, tapes, sessions, datasets and
models that were saved. Whatever a kernel refuses goes to TensorFlow's own, which was kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import tensorflow as tf

from ... import dtypes
from ...dims import Dims
from ...eager.layout import Layout
from ...eager.program import Program, native
from ...spec import Op, registry
from ...testing.cases import case_of
from . import compat

Types = dict[str, str]
# The dtypes of the inputs of every op that TensorFlow has our kernels for; empty before they are installed.
taken: dict[str, set[tuple[str, ...]]] = {}
_MOST_STARRED = 6  # axes that a starred word stands for; calls with more are TensorFlow's


def candidates() -> list[Op]:
    """The ops of TensorFlow whose place a kernel can take."""
    return [op for op in registry if _can_take_over(op)]


def _can_take_over(op: Op) -> bool:
    if op.behind is None or not hasattr(tf.raw_ops, op.name):
        return False
    # These would take more than arrays in and arrays out.
    return not (op.lists or op.optional_names or op.updates or op.state or op.behind.settings)


class Registered:
    """The kernels that TensorFlow has for an op."""

    def __init__(self, op: Op) -> None:
        kernels = compat.KernelList.FromString(native.tensorflow.kernels_of(op.name)).kernel
        self.has_gpu = any(kernel.device_type == "GPU" for kernel in kernels)
        self.has_ours = any(kernel.priority == native.tensorflow.PRIORITY for kernel in kernels)
        # For each that runs on the CPU: the types that it allows, by the variables that it restricts.
        self._allowed = [
            {c.name: frozenset(c.allowed_values.list.type) for c in kernel.constraint}
            for kernel in kernels
            if kernel.device_type == "CPU" and not kernel.label
        ]

    def has(self, types: Types) -> bool:
        """Whether one of them runs on the CPU for these types."""
        enums = {variable: enum_of(name) for variable, name in types.items()}
        return any(all(enums.get(v) in allowed for v, allowed in kernel.items()) for kernel in self._allowed)


@cache
def enum_of(name: str) -> int:
    return int(tf.as_dtype(name).as_datatype_enum)


def served(op: Op, kernels: Registered) -> Iterator[Types]:
    """The types for which TensorFlow has a kernel, and so have we."""
    for names in product(*op.types.values()):
        types = dict(zip(op.types, names, strict=True))
        if op.category == "segment_grad" and types["T"] in ("float16", "bfloat16") and adds_in_16_bits():
            continue
        if "string" not in names and kernels.has(types) and _program(op, types).fill is not None:
            yield types


@cache
def adds_in_16_bits() -> bool:
    """Whether TensorFlow adds up gradients of 16 bits in 16 bits: other bits than ours, so they stay its own.

    Its version is asked: to try it would initialize TensorFlow's devices, which a program may want to set up first.
    """
    return tuple(map(int, tf.version.VERSION.split(".")[:2])) < (2, 18)


def _program(op: Op, types: Types) -> Program:
    return Program(op, [types.get(arg.dtype, arg.dtype) for arg in op.inputs], native, types)


def free_variables(op: Op, all_types: Sequence[Types]) -> list[str]:
    """The type variables that may be any of their types in TensorFlow, whatever the others are."""
    known = {tuple(types.items()) for types in all_types}
    asked = {**op.types, **compat.allowed_types(op.name)}

    def is_free(variable: str) -> bool:
        return all(tuple({**t, variable: name}.items()) in known for t in all_types for name in asked[variable])

    return list(filter(is_free, op.types))


def add(op: Op, types: Types, free: Sequence[str]) -> tuple[str, ...]:
    """Tell C++ about a kernel that is to be registered, and give the dtypes of its inputs.

    TensorFlow is not asked for the types of `free` variables before it takes the kernel.
    """
    names = [types.get(arg.dtype, arg.dtype) for arg in op.inputs]
    program = _program(op, types)
    assert op.behind is not None
    has_rules = op.check_rule is not None or (op.size_rule is not None and program.plan is None)
    outputs = [types.get(arg.dtype, arg.dtype) for arg in op.outputs]
    native.tensorflow.add(
        op=op.name,
        types=[(variable, enum_of(name)) for variable, name in types.items()],
        choices=[],
        free=list(free),
        example=_example(op, types, names),
        item_sizes=list(map(item_size, names)),
        outputs=[native.tensorflow.OutputType(enum_of(name), item_size(name)) for name in outputs],
        kernels=native.tensorflow.Kernels(
            program.passes,
            program.counts,
            "" if program.plan is None else program.plan_name,
            program.fill_name,
            op.behind.fixed,
        ),
        rules=program.rules_name if has_rules else "",
        forms=forms_of(op, (True,) * len(op.inputs)),
        fallback=None,
    )
    return tuple(names)


def item_size(name: str) -> int:
    return dtypes.numpy_dtype(name).itemsize


def _example(op: Op, types: Mapping[str, str], names: Sequence[str]) -> list[Any]:
    arrays = case_of(op, types, op.example.inputs, "example").arrays
    return [native.tensorflow.Value(enum_of(n), a.shape, a.tobytes()) for n, a in zip(names, arrays, strict=True)]


@cache
def forms_of(op: Op, present: tuple[bool, ...]) -> list[Any]:
    """What calls with these inputs look like, for every number of axes that starred words stand for."""
    described = [dims for arg in op.inputs for dims in (arg.dims, arg.contents) if dims is not None]
    most = _MOST_STARRED if any(dims.star >= 0 for dims in described) else 0
    return [_form(op, starred, present) for starred in range(most + 1)]


def _form(op: Op, starred: int, present: Sequence[bool]) -> Any:
    def count(dims: Dims) -> int:
        return len(dims.terms) + (starred - 1 if dims.star >= 0 else 0)

    axes = [count(arg.dims) if there else None for arg, there in zip(op.inputs, present, strict=True)]
    held = {place: count(arg.contents) for place, arg in enumerate(op.inputs) if arg.contents is not None}
    layout = Layout(op, axes, held)
    of_outputs = {slot for slots in layout.outputs for slot in slots}
    slots = native.tensorflow.Slots(
        layout.equal, layout.fixed, layout.natural, layout.constants, layout.scratch, layout.count
    )
    return native.tensorflow.Form(
        [rank for rank in axes if rank is not None],
        [held.get(place, -1) for place, there in enumerate(present) if there],
        slots,
        list(map(list, layout.outputs)),
        [slot for slot in layout.natural if slot in of_outputs] if hasattr(tf.raw_ops, op.name) else [],
    )
