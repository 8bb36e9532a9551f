"""Running the op of a call on other inputs than those it had."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, raw_ops
from ..graph.graph import Node
from ..spec import Arg
from .declared import FOLLOWED, PROBLEMS, Declared
from .masks import Array


class Point(NamedTuple):
    """Inputs that the op takes, and its outputs, of the same shapes as those of the call."""

    inputs: list[Array]
    outputs: list[Array]


class Trials:
    """The values that went into a call and came out, and points near to them that tell more."""

    def __init__(self, node: Node, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        self.node, self.op, self.inputs, self.outputs = node, node.op, inputs, outputs
        self.declared = declared = Declared(node, inputs)
        self.rng = np.random.default_rng(node.number)
        self.attrs = {name: FOLLOWED if name in declared.carried else value for name, value in node.attrs.items()}
        self.numbers = [self._as_numbers(v) if place in declared.followed else v for place, v in enumerate(inputs)]

    def run(self, values: Sequence[Array]) -> list[Array] | None:
        """The outputs for some inputs; None where the op does not take them."""
        try:
            with np.errstate(all="ignore"):
                answer = raw_ops.apply(self.op, self.node.flat(values), self.attrs)
        except PROBLEMS:
            return None
        return [np.asarray(one) for one in self.op.flat_answer(answer)]

    @property
    def output_args(self) -> Sequence[Arg]:
        """The declaration of each output."""
        return self.op.flat_outputs(len(self.outputs))

    # ------------------------------------------------------------------ points
    @cached_property
    def plain(self) -> Point | None:
        """The values themselves."""
        return self._point(self.numbers)

    @cached_property
    def smooth(self) -> list[Point]:
        """Where derivatives are taken.

        First the values themselves. Then smaller ones of the same order without zeros: a zero factor and a saturated
        function hide what depends on what.
        """
        followed = self.declared.followed
        near = [self._without_zeros(v) if place in followed else v for place, v in enumerate(self.numbers)]
        return [point for point in (self.plain, self._point(near)) if point is not None]

    @cached_property
    def shaken(self) -> Point | None:
        """What gradients follow becomes random, so that no two rows are equal by chance."""
        random = self.declared.followed & self.declared.differentiable
        shaken = [self._random(v.shape) if place in random else v for place, v in enumerate(self.numbers)]
        return self._point(shaken) or self.plain

    @property
    def carrying(self) -> list[bool]:
        """The outputs about which derivatives speak; the places of a maximum, for example, are none."""
        return [dtypes.is_differentiable(o.dtype) for o in (self.smooth[0].outputs if self.smooth else self.outputs)]

    def _point(self, values: list[Array]) -> Point | None:
        outputs = self.run(values)
        if outputs is None or [o.shape for o in outputs] != [o.shape for o in self.outputs]:
            return None
        return Point(values, outputs)

    # ------------------------------------------------------------------ values
    def _as_numbers(self, value: Array) -> Array:
        if dtypes.is_string(value.dtype):
            words: dict[Any, float] = {}
            flat = [words.setdefault(word, float(self.rng.uniform(1, 2))) for word in value.reshape(-1).tolist()]
            return np.array(flat, np.float64).reshape(value.shape)
        if value.dtype.names:
            value = value.view(value.dtype[0])
        numbers: Array = value.astype(np.float64)
        return np.where(np.isfinite(numbers), numbers, 1.5)

    def _without_zeros(self, value: Array) -> Array:
        tiny = self.rng.uniform(1e-6, 2e-6, value.shape)
        return np.asarray(np.where(value == 0, tiny, value) / 128)

    def _random(self, shape: tuple[int, ...]) -> Array:
        return np.sign(self.rng.standard_normal(shape)) * self.rng.uniform(0.5, 4.0, shape)
