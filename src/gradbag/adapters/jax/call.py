"""What of a call is fixed while it is traced: the op, its sizes, its attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ... import dtypes, errors
from ...spec import Arg, Op
from . import arrays, compat

Contents = int | tuple[int, ...]


class SizeNotKnownError(errors.InvalidArgumentError):
    """How long an output is depends on values that are traced."""


def size_not_known(op: Op) -> SizeNotKnownError:
    word = op.counted_words[0]
    output = next(a for a in op.outputs if word in a.dims.words)
    return SizeNotKnownError(
        f"{op.name}: how many rows {output.name} has depends on values that JAX traces, and its shapes are fixed; "
        f"give the most there can be: gradbag.jax.sized(gradbag.raw_ops.{op.name}, size=..., fill_value=...)"
    )


@dataclass(frozen=True)
class Call:
    """A call of an op without its arrays. Inputs that hold sizes are no arrays: JAX must know them while it traces."""

    op: Op
    inputs: int  # how many flat inputs there are
    absent: tuple[int, ...]  # the places of optional ones that are left out
    held: tuple[Contents, ...]  # of the inputs that hold sizes
    counted: tuple[int, ...]  # the sizes that depend on values
    fill_value: int | None  # what fills the places that are too many; None: there are none
    attrs: tuple[tuple[str, Any], ...]
    checked: bool  # whether the op's check of its values is done
    ruled: tuple[tuple[tuple[int, ...], str], ...] | None = None  # the outputs, where a rule gives their shapes

    def __repr__(self) -> str:
        names = [*[self.op.flat_names(self.inputs)[place] for place in self.held_places], *self.op.counted_words]
        sizes = zip(names, (*self.held, *self.counted), strict=False)
        return f"{self.op.name}({', '.join(f'{name}={size}' for name, size in sizes)})"

    @cached_property
    def args(self) -> tuple[Arg, ...]:
        return self.op.flat_inputs(self.inputs)

    @cached_property
    def held_places(self) -> tuple[int, ...]:
        return tuple(self.op.flat_held(self.inputs))

    @cached_property
    def free(self) -> tuple[int, ...]:
        """The places of the inputs that are arrays."""
        return tuple(p for p in range(self.inputs) if p not in self.held_places and p not in self.absent)

    @cached_property
    def linear(self) -> tuple[int, ...]:
        """Which of the arrays the op is linear in, all of them together."""
        return tuple(k for k, place in enumerate(self.free) if self.args[place].name in self.op.linear)

    @cached_property
    def is_linear(self) -> bool:
        return self.op.is_linear_without(self.absent, self.inputs)

    @cached_property
    def output_args(self) -> tuple[Arg, ...]:
        """The declaration of each output."""
        return self.op.flat_outputs(self.op.output_count(self.inputs, dict(self.attrs)))

    @cached_property
    def moving(self) -> tuple[int, ...]:
        """The outputs that move with them."""
        return tuple(p for p, a in enumerate(self.output_args) if a.name in self.op.differentiable_outputs)

    @cached_property
    def resting(self) -> tuple[int, ...]:
        """The other outputs, with the count of a call that is filled up, which comes last."""
        outputs = len(self.output_args) + (self.fill_value is not None)
        return tuple(p for p in range(outputs) if p not in self.moving)

    @cached_property
    def updated(self) -> tuple[int, ...]:
        """The places of the inputs that the op updates: their new values come before the outputs."""
        return tuple(self.op.flat_updates(self.inputs))

    def held_arrays(self) -> dict[int, Any]:
        """The inputs that hold sizes as NumPy arrays, by their places."""
        return {
            place: np.array(value, dtypes.numpy_dtype(_integer(self.op, self.args[place])))
            for place, value in zip(self.held_places, self.held, strict=True)
        }

    def complete(self, free: Sequence[Any]) -> list[Any]:
        """All flat inputs in declared order."""
        values: list[Any] = [None] * self.inputs
        for place, value in (*self.held_arrays().items(), *zip(self.free, free, strict=True)):
            values[place] = value
        return values

    def names(self, free: Sequence[Any]) -> list[str | None]:
        """The names of the declared dtypes of all inputs."""
        values = zip(self.args, self.complete(free), strict=True)
        return [None if value is None else arrays.name_of(self.op, arg, value.dtype) for arg, value in values]

    def outputs(self, free: Sequence[Any]) -> list[tuple[tuple[int, ...], str]]:
        """Shapes and declared dtypes of what the call gives."""
        values, names = self.complete(free), self.names(free)
        changed: list[Any] = [(tuple(values[place].shape), names[place]) for place in self.updated]
        if self.ruled is not None:
            return [*changed, *self.ruled]
        held = self.held_arrays()
        sizes = self.op.bind_shapes(
            [None if v is None else v.shape for v in values], [held.get(p) for p in range(len(values))]
        )
        sizes.update(zip(self.op.counted_words, self.counted, strict=True))
        bound = self.op.resolve_types(names)
        shapes: list[Any] = [arg.dims.shape(sizes) for arg in self.output_args]
        found = list(zip(shapes, self.op.output_types(self.output_args, bound, names), strict=True))
        return [*changed, *found] if self.fill_value is None else [*found, ((), "int32")]

    def outlines(self, free: Sequence[Any]) -> list[Any]:
        """The same as JAX shows them."""
        return [compat.ShapedArray(shape, arrays.shown_dtype(name)) for shape, name in self.outputs(free)]

    def padding(self) -> list[int]:
        """What fills each output up: zeros where the op is linear, else the caller's value."""
        fill = self.fill_value or 0
        return [0 if place in self.moving else fill for place in range(len(self.output_args))]


def _integer(op: Op, arg: Arg) -> str:
    """The dtype of an input that holds sizes: any size fits where there is a choice."""
    return "int64" if "int64" in op.allowed(arg) else op.allowed(arg)[0]
