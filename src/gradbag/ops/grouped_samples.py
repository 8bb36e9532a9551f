"""Inputs of look-ups in many tables: features that share one, tables that nobody looks up, empty bags and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .samples import Inputs, Rng, values

COMBINERS = ("sum", "mean", "sqrtn")


class Group(NamedTuple):
    shapes: list[tuple[int, int]]
    ids: Any
    offsets: Any
    weights: Any
    settings: Inputs

    @property
    def width(self) -> int:
        tables = self.settings.get("feature_tables", range(len(self.shapes)))
        return sum(self.shapes[table][1] for table in tables)

    @property
    def flat_shapes(self) -> list[int]:
        return [size for shape in self.shapes for size in shape]

    def tables(self, rng: Rng) -> list[Any]:
        return [values(rng, *shape) for shape in self.shapes]

    def entries(self) -> Inputs:
        return {"ids": self.ids, "offsets": self.offsets}


def groups(rng: Rng) -> Iterator[Group]:
    made: list[tuple[list[tuple[int, int]], list[list[int]], list[int] | None]] = [
        ([(5, 3), (4, 2)], [[1, 2, 3], [0, 3, 0]], None),
        ([(6, 4)], [[2, 0, 1]], None),
        ([(3, 2), (7, 5), (2, 1)], [[1, 2], [3, 0], [4, 1], [2, 2]], [1, 0, 2, 1]),  # two features of one table
        ([(3, 2), (7, 5)], [[9, 10, 2], [0, 0, 1]], [1, 1]),  # a table that nobody looks up
        ([(30, 17), (40, 3)], [[7, 8, 16, 17], [130, 1, 300, 0]], None),  # more rows than a batch
        ([(4, 0), (4, 70)], [[1, 2], [2, 5]], None),
        ([(4, 3), (0, 2)], [[0, 0], [0, 0]], None),
        ([(4, 3), (2, 2)], [[], []], None),
        ([(900, 2), (70, 3), (6, 8)], [[60] * 20, [1] * 20, [0, 3] * 10], [2, 0, 1]),
    ]
    for number, (shapes, lengths, features) in enumerate(made):
        tables = features or range(len(shapes))
        parts = [rng.integers(0, max(shapes[t][0], 1), sum(some)) for t, some in zip(tables, lengths, strict=True)]
        flat = np.array([length for some in lengths for length in some], np.int64)
        starts = (np.cumsum(flat) - flat).reshape(len(lengths), -1)
        ids = np.concatenate(parts)
        weights = None if number % 2 else rng.uniform(0.5, 2.0, len(ids))
        settings: Inputs = {"combiner": COMBINERS[number % 3], **({"feature_tables": features} if features else {})}
        yield Group(shapes, ids, starts, weights, settings)


def grouped_lookups(rng: Rng) -> Iterator[Inputs]:
    for group in groups(rng):
        yield {"tables": group.tables(rng), **group.entries(), "weights": group.weights, **group.settings}


def grouped_scatters(rng: Rng) -> Iterator[Inputs]:
    for group in groups(rng):
        entries = {"grad": values(rng, group.offsets.shape[1], group.width), **group.entries()}
        yield {**entries, "weights": group.weights, "table_shapes": group.flat_shapes, **group.settings}


def grouped_weight_gradients(rng: Rng) -> Iterator[Inputs]:
    for group in groups(rng):
        settings = {name: value for name, value in group.settings.items() if name != "combiner"}
        grad = values(rng, group.offsets.shape[1], group.width)
        yield {"grad": grad, "tables": group.tables(rng), **group.entries(), **settings}
