"""Operands for the derived tests of arithmetic, away from the points where a derivative jumps or has a pole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .samples import Rng, pairs

_SHAPES = [(3, 4), (2, 1, 3), (5,), (0, 2), ()]
Samples = Callable[[Rng], Iterator[dict[str, Any]]]


def nonzero(rng: Rng, shape: tuple[int, ...]) -> Any:
    """Numbers of both signs between 0.5 and 2 in size."""
    return rng.uniform(0.5, 2.0, shape) * rng.choice([-1.0, 1.0], shape)


def signed(*names: str) -> Samples:
    """As many operands of one shape, of both signs."""

    def samples(rng: Rng) -> Iterator[dict[str, Any]]:
        for shape in _SHAPES:
            yield {name: nonzero(rng, shape) for name in names}

    return samples


def positive(*names: str) -> Samples:
    """As many operands of one shape, all of them positive."""

    def samples(rng: Rng) -> Iterator[dict[str, Any]]:
        for shape in _SHAPES:
            yield {name: rng.uniform(0.5, 2.0, shape) for name in names}

    return samples


def signed_pairs(rng: Rng) -> Iterator[dict[str, Any]]:
    """Two operands of both signs whose shapes are stretched to each other."""
    for pair in pairs(rng):
        yield {name: value * rng.choice([-1.0, 1.0], np.shape(value)) for name, value in pair.items()}


def pairs_with_ties(rng: Rng) -> Iterator[dict[str, Any]]:
    """Two operands that are equal at some places, for comparisons."""
    for pair in pairs(rng):
        yield {name: np.rint(value) for name, value in pair.items()}
