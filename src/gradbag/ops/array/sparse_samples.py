"""Sparse arrays for the samples of ops: empty ones, one axis and several, entries in order and not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..samples import Inputs, Rng, values

SHAPES = [((4, 5), 8), ((3, 2, 4), 9), ((6,), 3), ((4, 5), 0), ((1, 1), 1), ((3, 0), 0)]


def places(rng: Rng, shape: Sequence[int], count: int) -> Any:
    """Distinct places in row-major order."""
    cells = int(np.prod(shape))
    flat = np.sort(rng.permutation(cells)[:count])
    return np.stack(np.unravel_index(flat, shape), 1).astype(np.int64) if cells else np.zeros((0, len(shape)), np.int64)


def sparse(rng: Rng, shape: Sequence[int], count: int) -> tuple[Any, Any, Any]:
    """Places, values that are all different, and the shape."""
    indices = places(rng, shape, count)
    return indices, distinct(rng, len(indices)), np.array(shape, np.int64)


def distinct(rng: Rng, *shape: int) -> Any:
    """Numbers so far apart that no two are equal, nor one zero: where the largest changes there is no derivative."""
    count = int(np.prod(shape))
    signs = np.where(rng.random(count) < 0.5, -1.0, 1.0)
    return (signs * (rng.permutation(count) + 1.25)).reshape(shape)


def reductions(rng: Rng) -> Iterator[Inputs]:
    for number, (shape, count) in enumerate(SHAPES):
        indices, entries, sizes = sparse(rng, shape, count)
        for axes in ([0], [len(shape) - 1], list(range(-len(shape), 0)), []):
            order = rng.permutation(len(indices)) if number == 1 else np.arange(len(indices))
            given = {"input_indices": indices[order], "input_values": entries, "input_shape": sizes}
            yield {**given, "reduction_axes": np.array(axes, np.int32), "keep_dims": bool(number % 2)}
    indices, entries, sizes = sparse(rng, (4, 5), 8)
    given = {"input_indices": indices, "input_values": entries, "input_shape": sizes}
    yield {**given, "reduction_axes": np.array(1, np.int32), "keep_dims": False}


def concatenations(rng: Rng) -> Iterator[Inputs]:
    for shape, count in SHAPES:
        for dim, parts in ((0, 2), (-1, 3)):
            shapes = [list(shape) for _ in range(parts)]
            shapes[-1][dim] += 2
            made = [sparse(rng, s, max(count - k, 0)) for k, s in enumerate(shapes)]
            indices, entries, sizes = (list(column) for column in zip(*made, strict=True))
            yield {"indices": indices, "values": entries, "shapes": sizes, "concat_dim": dim}


def splits(rng: Rng) -> Iterator[Inputs]:
    for shape, count, dim, parts in [
        ((4, 5), 9, 1, 2),
        ((4, 5), 9, 0, 4),
        ((3, 2, 4), 9, -1, 3),
        ((7,), 4, 0, 3),
        ((4, 5), 0, 1, 5),
        ((4, 5), 6, 1, 1),
    ]:
        indices, entries, sizes = sparse(rng, shape, count)
        yield {"split_dim": np.array(dim), "indices": indices, "values": entries, "shape": sizes, "num_split": parts}


def pairs(rng: Rng) -> Iterator[Inputs]:
    """Two sparse arrays of one shape that share some places."""
    for shape, count in SHAPES:
        every = distinct(rng, 2 * max(count, 1))
        a, b = places(rng, shape, count), places(rng, shape, max(count - 1, 0))
        yield {
            "a_indices": a,
            "a_values": every[: len(a)],
            "a_shape": np.array(shape, np.int64),
            "b_indices": b,
            "b_values": every[len(a) : len(a) + len(b)],
            "b_shape": np.array(shape, np.int64),
        }


def sums(rng: Rng) -> Iterator[Inputs]:
    for number, pair in enumerate(pairs(rng)):
        yield {**pair, "thresh": np.array(3.0 * (number % 2))}


def sum_gradients(rng: Rng) -> Iterator[Inputs]:
    for number, pair in enumerate(pairs(rng)):
        both = np.concatenate([pair["a_indices"], pair["b_indices"]])
        union = np.unique(both, axis=0)[number % 3 == 2 :]
        grad = values(rng, len(union))
        given = {"a_indices": pair["a_indices"], "b_indices": pair["b_indices"]}
        yield {"backprop_val_grad": grad, **given, "sum_indices": union}


def rows_of_entries(rng: Rng) -> Iterator[Inputs]:
    for shape, count in [((4, 5), 8), ((2, 3, 4), 11), ((4, 5), 0), ((1, 3), 3)]:
        indices, _, sizes = sparse(rng, shape, count)
        yield {"sp_indices": indices, "sp_values": values(rng, len(indices)), "sp_shape": sizes}


def sparse_values(rng: Rng) -> Iterator[Inputs]:
    """Entries in any order."""
    for shape, count in SHAPES:
        indices, entries, sizes = sparse(rng, shape, count)
        order = rng.permutation(len(indices))
        yield {"input_indices": indices[order], "input_values": entries, "input_shape": sizes}
