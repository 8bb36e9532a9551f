"""Which entries of a node's inputs decide which entries of its outputs: by gradients, and by trying where they end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..autodiff import RowGrad
from ..autodiff.op_step import OpStep
from ..graph.graph import Node
from .declared import PROBLEMS
from .masks import Array, Masks, either
from .probing import Budget, Probe
from .trials import Point, Trials


class Call:
    """A node with the values that went in and came out, ready to be asked which entries belong together."""

    def __init__(self, node: Node, inputs: Sequence[Array], outputs: Sequence[Array], budget: Budget) -> None:
        self.node, self.inputs, self.outputs, self.budget = node, list(inputs), list(outputs), budget
        self.trials = Trials(node, self.inputs, self.outputs)
        self.declared = self.trials.declared
        self.step = OpStep(node.op, self.trials.attrs)

    def back(self, lit: Masks) -> Masks:
        """The entries of the inputs that decide any of some entries of the outputs."""
        told = self._nonzero(lambda point: self._pulled(point, lit), self.inputs, self.declared.differentiable)
        found: Masks = told or [None] * len(self.inputs)
        rest = [None if carries else mask for mask, carries in zip(lit, self.trials.carrying, strict=True)]
        for place in range(len(self.inputs)):
            if place not in self.declared.settings:
                follows = told is not None and place in self.declared.differentiable
                probed = Probe(self.trials, place, self.budget).back(rest if follows else lit)
                found[place] = either(found[place], probed)
        return found

    def forth(self, lit: Masks) -> Masks:
        """The entries of the outputs that any of some entries of the inputs decide."""
        carrying = {index for index, carries in enumerate(self.trials.carrying) if carries}
        told = self._nonzero(lambda point: self._pushed(point, lit), self.outputs, carrying)
        found: Masks = told or [None] * len(self.outputs)
        for place, mask in enumerate(lit):
            follows = told is not None and place in self.declared.differentiable
            rest = set(range(len(self.outputs))) - (carrying if follows else set())
            if mask is not None and place not in self.declared.settings and rest:
                probed = Probe(self.trials, place, self.budget).forth(mask)
                found = [either(f, p) if k in rest else f for k, (f, p) in enumerate(zip(found, probed, strict=True))]
        return found

    # ------------------------------------------------------------------ by gradients
    def _nonzero(
        self, move: Callable[[Point], list[Any]], like: Sequence[Array], places: Collection[int]
    ) -> Masks | None:
        """Where what is moved through the rule is not zero at some point; None where no rule tells."""
        found: Masks = [None] * len(like)
        told = False
        for point in self.trials.smooth if self.declared.differentiable else []:
            try:
                with np.errstate(all="ignore"):
                    moved = move(point)
            except PROBLEMS:
                continue
            told = True
            for place in places if moved else ():
                value = moved[place].dense() if isinstance(moved[place], RowGrad) else moved[place]
                if value is not None:
                    found[place] = either(found[place], np.asarray(np.asarray(value) != 0).reshape(like[place].shape))
        return found if told else None

    def _pulled(self, point: Point, lit: Masks) -> list[Any]:
        seeds = self._seeds(point.outputs, lit)
        if not seeds:
            return []
        flat = self.node.flat(point.inputs)
        pulled = self.step.pull(flat, point.outputs, seeds, [True] * len(flat))
        return [moved for place, moved in enumerate(pulled) if place not in self.node.absent]

    def _pushed(self, point: Point, lit: Masks) -> list[Any]:
        able = self.declared.differentiable
        seeds = self._seeds(point.inputs, [mask if place in able else None for place, mask in enumerate(lit)])
        return seeds and self.step.push(self.node.flat(point.inputs), point.outputs, self.node.flat(seeds))

    def _seeds(self, values: Sequence[Array], lit: Masks) -> list[Array | None]:
        """Random numbers where lit, so that nothing cancels, and zeros elsewhere; an empty list if nothing is lit."""
        seeds: list[Array | None] = [None] * len(values)
        for place, (value, mask) in enumerate(zip(values, lit, strict=True)):
            if mask is not None and mask.any() and dtypes.is_differentiable(value.dtype):
                seeds[place] = np.where(mask, self.trials.rng.uniform(0.5, 1.5, value.shape), 0).astype(value.dtype)
        return seeds if any(seed is not None for seed in seeds) else []
