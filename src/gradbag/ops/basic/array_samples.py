"""Inputs for the derived tests of the ops on whole arrays: ordinary ones, and the corners that shapes have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Rng = np.random.Generator
Drawn = Iterator[dict[str, Any]]
SHAPES = [(3, 4), (2, 1, 3), (5,), (), (0, 2)]


def arrays(name: str) -> Callable[[Rng], Drawn]:
    """One input of this name, in shapes of every rank, some empty."""

    def samples(rng: Rng) -> Drawn:
        for shape in SHAPES:
            yield {name: rng.uniform(0.5, 9.0, shape)}

    return samples


def nothing(rng: Rng) -> Drawn:
    """For an op without inputs, of which the example says all."""
    yield from ()


def constants(rng: Rng) -> Drawn:
    for shape in SHAPES:
        yield {"value": rng.uniform(0.5, 9.0, shape), "dtype": "float64"}


def fills(rng: Rng) -> Drawn:
    for dims in ([2, 3], [], [0, 4], [1]):
        yield {"dims": np.array(dims, int), "value": rng.uniform(0.5, 9.0)}


def ranges(rng: Rng) -> Drawn:
    for start, limit, delta in [(0, 5, 1), (3, 3, 1), (2, 17, 4), (7, 0, -2), (1, 2, 9)]:
        yield {"start": start, "limit": limit, "delta": delta}


def reshapings(rng: Rng) -> Drawn:
    for before, after in [
        ((3, 4), (2, 6)),
        ((3, 4), (-1,)),
        ((2, 1, 3), (3, -1, 1)),
        ((1,), ()),
        ((), (1, 1)),
        ((0, 2), (4, 0)),
        ((0, 2), (-1, 3)),
    ]:
        yield {"tensor": rng.uniform(0.5, 9.0, before), "shape": np.array(after, int)}


def transpositions(rng: Rng) -> Drawn:
    for shape, perm in [((3, 4), (1, 0)), ((2, 1, 3), (2, 0, 1)), ((2, 1, 3), (0, 1, 2)), ((), ()), ((0, 2), (1, 0))]:
        yield {"x": rng.uniform(0.5, 9.0, shape), "perm": np.array(perm, int)}


def permutations(rng: Rng) -> Drawn:
    for count in (5, 1, 0):
        yield {"x": rng.permutation(count)}


def expansions(rng: Rng) -> Drawn:
    for shape, axis in [((3, 4), 0), ((3, 4), 2), ((3, 4), -1), ((3, 4), -3), ((), 0), ((0, 2), 1)]:
        yield {"input": rng.uniform(0.5, 9.0, shape), "axis": axis}


def squeezings(rng: Rng) -> Drawn:
    for shape, dims in [
        ((1, 3, 1), []),
        ((1, 3, 1), [0]),
        ((1, 3, 1), [-1]),
        ((1, 1), [0, -1]),
        ((), []),
        ((0, 1), []),
    ]:
        yield {"input": rng.uniform(0.5, 9.0, shape), "squeeze_dims": dims}


def joinings(axis_name: str) -> Callable[[Rng], Drawn]:
    """Arrays that differ along one axis only."""

    def samples(rng: Rng) -> Drawn:
        for shapes, axis in [
            ([(2, 3), (1, 3)], 0),
            ([(2, 3), (2, 0), (2, 2)], 1),
            ([(2, 1, 3), (2, 4, 3)], -2),
            ([(2,), (3,), (1,)], -1),
            ([(0, 2), (0, 2)], 0),
        ]:
            yield {"values": [rng.uniform(0.5, 9.0, shape) for shape in shapes], axis_name: axis}

    return samples


def packings(rng: Rng) -> Drawn:
    for count, shape, axis in [
        (2, (2, 3), 0),
        (3, (2, 3), 1),
        (2, (2, 3), -1),
        (1, (4,), 0),
        (3, (), 0),
        (2, (0,), -2),
    ]:
        yield {"values": [rng.uniform(0.5, 9.0, shape) for _ in range(count)], "axis": axis}


def tilings(rng: Rng) -> Drawn:
    for shape, multiples in [((2, 3), (2, 1)), ((2, 3), (0, 2)), ((2, 1, 3), (1, 3, 2)), ((), ()), ((0, 2), (3, 2))]:
        yield {"input": rng.uniform(0.5, 9.0, shape), "multiples": np.array(multiples, int)}


def stretchings(rng: Rng) -> Drawn:
    for before, after in [
        ((3, 1), (3, 4)),
        ((4,), (2, 3, 4)),
        ((), (2, 2)),
        ((), ()),
        ((1, 2), (0, 2)),
        ((2, 3), (2, 3)),
    ]:
        yield {"input": rng.uniform(0.5, 9.0, before), "shape": np.array(after, int)}


def gatherings(rng: Rng) -> Drawn:
    for shape, indices, axis, batch_dims in [
        ((5, 3), (4,), 0, 0),
        ((2, 5, 3), (2, 2), 1, 0),
        ((2, 5, 3), (), -1, 0),
        ((2, 5, 3), (2, 4), 1, 1),
        ((2, 3, 5), (2, 4), 2, 1),
        ((2, 3, 4), (2, 3), 2, 2),
        ((2, 3, 4), (2, 3, 2), -1, -1),
        ((4,), (0,), 0, 0),
        ((0, 3), (2, 2), 1, 0),
    ]:
        params, picked = rng.uniform(0.5, 9.0, shape), rng.integers(0, shape[axis], indices)
        yield {"params": params, "indices": picked, "axis": axis, "batch_dims": batch_dims}


def row_gatherings(rng: Rng) -> Drawn:
    for shape, indices in [((5, 3), (4,)), ((5, 3), (2, 2)), ((4,), ()), ((0, 3), (0,)), ((3, 0), (2,))]:
        yield {"params": rng.uniform(0.5, 9.0, shape), "indices": rng.integers(0, max(shape[0], 1), indices)}
