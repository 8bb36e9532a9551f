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

    joined: list[tuple[list[tuple[int, ...]], int]] = [
        ([(2, 3), (1, 3)], 0),
        ([(2, 3), (2, 0), (2, 2)], 1),
        ([(2, 1, 3), (2, 4, 3)], -2),
        ([(2,), (3,), (1,)], -1),
        ([(0, 2), (0, 2)], 0),
    ]

    def samples(rng: Rng) -> Drawn:
        for shapes, axis in joined:
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


def slices(rng: Rng) -> Drawn:
    for shape, begin, size in [
        ((3, 4), (1, 0), (2, 3)),
        ((3, 4), (1, 2), (-1, -1)),
        ((2, 1, 3), (0, 0, 1), (2, 1, 1)),
        ((3, 4), (3, 0), (0, 4)),
        ((), (), ()),
    ]:
        yield {"input": rng.uniform(0.5, 9.0, shape), "begin": np.array(begin, int), "size": np.array(size, int)}


# Shape, begin, end, strides, masks and the shape of the window.
WINDOWS: list[tuple[Any, ...]] = [
    ((3, 4), [1, 0], [3, 4], [1, 2], {}, (2, 2)),
    ((3, 4), [-1, 9], [-9, -9], [-1, -3], {}, (3, 2)),
    ((3, 4), [1, 1], [0, 0], [1, -1], {"begin_mask": 3, "end_mask": 3}, (3, 4)),
    ((3, 4), [1, 0], [0, 0], [1, 1], {"shrink_axis_mask": 1, "end_mask": 2}, (4,)),
    ((3, 4), [-1, 2], [0, 0], [1, 1], {"shrink_axis_mask": 3, "begin_mask": 1}, ()),
    ((2, 3, 4), [0, 0, 1], [1, 0, 3], [1, 1, 1], {"ellipsis_mask": 2}, (1, 3, 2)),
    ((2, 3, 4), [0, 0, 0, 1], [0, 0, 0, 3], [1, 1, 1, 1], {"ellipsis_mask": 2, "new_axis_mask": 5}, (1, 2, 3, 1, 2)),
    ((2, 3), [0, 0, 0], [0, 1, 2], [1, 1, 1], {"new_axis_mask": 1, "shrink_axis_mask": 1}, (1, 1, 2)),
    ((2, 3), [2, 0], [1, 3], [1, 1], {}, (0, 3)),
    ((), [0], [0], [1], {"new_axis_mask": 1}, (1,)),
    ((3,), [], [], [], {}, (3,)),
]


def strided_slices(rng: Rng) -> Drawn:
    for shape, begin, end, strides, masks, _ in WINDOWS:
        entries = {"begin": np.array(begin, int), "end": np.array(end, int), "strides": np.array(strides, int)}
        yield {"input": rng.uniform(0.5, 9.0, shape), **entries, **masks}


def strided_gradients(rng: Rng) -> Drawn:
    for shape, begin, end, strides, masks, window in WINDOWS:
        entries = {"begin": np.array(begin, int), "end": np.array(end, int), "strides": np.array(strides, int)}
        yield {"shape": np.array(shape, int), **entries, "dy": rng.uniform(0.5, 9.0, window), **masks}


def paddings(rng: Rng) -> Drawn:
    for shape, around in [((3, 4), [[1, 2], [0, 1]]), ((2,), [[0, 0]]), ((0, 2), [[1, 0], [0, 3]]), ((), [])]:
        yield {"input": rng.uniform(0.5, 9.0, shape), "paddings": np.array(around, int).reshape(-1, 2)}


def segments(rng: Rng) -> Drawn:
    for shape, ids in [
        ((5, 3), [0, 0, 1, 3, 3]),
        ((4,), [0, 1, 2, 3]),
        ((3, 0), [0, 0, 2]),
        ((0, 2), []),
        ((2, 2, 2), [1, 1]),
    ]:
        yield {"data": rng.uniform(0.5, 9.0, shape), "segment_ids": np.array(ids, int)}


def unsorted_segments(rng: Rng) -> Drawn:
    for shape, ids, count in [
        ((5, 3), [2, 0, 2, -1, 0], 4),
        ((2, 3, 2), [[0, 1, 1], [2, 0, -7]], 3),
        ((4,), [0, 0, 0, 0], 1),
        ((2, 3), 1, 2),
        ((0, 2), [], 3),
        ((2, 2), [-1, -1], 0),
    ]:
        yield {"data": rng.uniform(0.5, 9.0, shape), "segment_ids": np.array(ids, int), "num_segments": count}


def orderings(rng: Rng) -> Drawn:
    for shape, count in [((3, 5), 2), ((7,), 7), ((2, 2, 4), 1), ((4,), 0), ((0, 3), 2)]:
        values = rng.permutation(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape)
        yield {"input": values, "k": count}


def bounds(rng: Rng) -> Drawn:
    for rows, inputs, values in [(2, 5, 4), (1, 1, 3), (3, 0, 2), (0, 2, 2), (2, 6, 0)]:
        given = np.sort(rng.integers(0, 6, (rows, inputs)), 1)
        yield {"sorted_inputs": given, "values": rng.integers(-1 if inputs > 5 else 0, 8, (rows, values))}


def repeated(rng: Rng) -> Drawn:
    for values in ([3, 1, 3, 3, 2, 1], [5], [], [0, 0, 0]):
        yield {"x": np.array(values, float)}


def marks(rng: Rng) -> Drawn:
    for shape in [(3, 4), (2, 1, 3), (5,), (0, 2)]:
        yield {"condition": rng.integers(0, 2, shape)}


def scatterings(rng: Rng) -> Drawn:
    for indices, shape, count in [
        ([[0, 1], [1, 0], [1, 2]], [2, 3], 3),
        ([1, 3], [5], 2),
        ([1, 3], [5], None),
        (2, [4], None),
        (np.zeros((0, 2)), [2, 2], 0),
    ]:
        values = rng.uniform(0.5, 9.0, () if count is None else count)
        places = np.array(indices, int)
        yield {
            "sparse_indices": places,
            "output_shape": shape,
            "sparse_values": values,
            "default_value": rng.uniform(1, 9),
        }
    # Not in order, one place twice: the later value stays.
    yield {
        "sparse_indices": np.array([3, 1, 3]),
        "output_shape": [4],
        "sparse_values": rng.uniform(0.5, 9.0, 3),
        "default_value": 7.0,
        "validate_indices": False,
    }


def products(rng: Rng) -> Drawn:
    for (rows, columns), inner, nnz in [((3, 4), 2, 5), ((2, 2), 1, 6), ((4, 1), 3, 0), ((2, 3), 0, 2), ((1, 5), 4, 9)]:
        indices = np.stack([rng.integers(0, rows, nnz), rng.integers(0, columns, nnz)], 1)
        for adjoint_a in (False, True):
            for adjoint_b in (False, True):
                b = rng.uniform(0.5, 2.0, (rows if adjoint_a else columns, inner))
                yield {
                    "a_indices": indices,
                    "a_values": rng.uniform(0.5, 2.0, nnz),
                    "a_shape": [rows, columns],
                    "b": b.T if adjoint_b else b,
                    "adjoint_a": adjoint_a,
                    "adjoint_b": adjoint_b,
                }


def running_sums(rng: Rng) -> Drawn:
    for shape, axis in [((3, 4), 0), ((3, 4), -1), ((2, 1, 3), 1), ((0, 2), 0), ((5,), 0)]:
        for exclusive in (False, True):
            for reverse in (False, True):
                x = rng.uniform(0.5, 2.0, shape)
                yield {"x": x, "axis": axis, "exclusive": exclusive, "reverse": reverse}


def assignments(rng: Rng) -> Drawn:
    for shape in SHAPES:
        yield {"ref": rng.uniform(4.5, 9.0, shape), "value": rng.uniform(0.5, 4.0, shape)}


def placeholders(rng: Rng) -> Drawn:
    yield {"input": rng.uniform(0.5, 9.0, (2, 3)), "shape": [None, 3]}
    yield {"input": rng.uniform(0.5, 9.0, ()), "shape": None}
    yield {"input": rng.uniform(0.5, 9.0, (0,)), "shape": [0]}
