"""What look-ups in many tables mean, in plain NumPy: those in one table, feature after feature.

A feature looks up bags in one table, and several may share one. Its combined rows are some columns of the output, which
has one row for the bags of all features. In gradients the entries of a table are those of all its features, in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..errors import Fault
from .bags import check_offsets, dot_bags, pool_bags, scatter_bags, scatter_bags_compact
from .combiners import Combiner
from .pooling import Array

Pairs = list[tuple[int, int]]


class Feature(NamedTuple):
    """Which table it looks up, and which columns of the output are its own."""

    table: int
    begin: int
    end: int


class TableEntries(NamedTuple):
    """The entries of all features of a table, one after another, with the gradients of their bags."""

    grad: Array
    ids: Array
    offsets: Array
    weights: Array | None


def features_of(columns: Sequence[Any], feature_tables: Sequence[int]) -> list[Feature]:
    """Each feature; without a list, every table has one. Columns that are not known yet count nothing."""
    features, begin = [], 0
    for table in feature_tables or range(len(columns)):
        end = begin + (0 if columns[table] is None else columns[table])  # which may be a symbol
        features.append(Feature(table, begin, end))
        begin = end
    return features


def pairs(table_shapes: Sequence[int]) -> Pairs:
    """Rows and columns of each table, of a list that has them in turn."""
    return list(zip(table_shapes[::2], table_shapes[1::2], strict=True))


# ------------------------------------------------------------------ shapes
def checked_shapes(columns: Sequence[Any], offsets: Any, feature_tables: Sequence[int], grad: Any = None) -> Any:
    """How many columns the features have together, None where that is not known yet.

    Refuses features without a table, other features than `offsets` has rows, and a gradient of another width.
    """
    for place, table in enumerate(feature_tables):
        if not 0 <= table < len(columns):
            raise Fault("range", "feature_tables", (place,), table, 0, len(columns))
    features = features_of(columns, feature_tables)
    if offsets.shape is not None and offsets.shape[0] not in (None, len(features)):
        raise Fault("shape", "offsets", (), offsets.shape, hint=f"must have {len(features)} rows, one for each feature")
    if any(columns[feature.table] is None for feature in features):
        return None
    width = features[-1].end
    if grad is not None and grad.shape is not None and grad.shape[1] not in (None, width):
        raise Fault("shape", "grad", (), grad.shape, hint=f"must have the {width} columns of all features")
    return width


def checked_pairs(table_shapes: Sequence[int]) -> Pairs:
    if not table_shapes or len(table_shapes) % 2:
        raise Fault("rule", "table_shapes", (), table_shapes, hint="must hold rows and columns of each table, in turn")
    for place, size in enumerate(table_shapes):
        if size < 0:
            raise Fault("negative", "table_shapes", (place,), size)
    return pairs(table_shapes)


# ------------------------------------------------------------------ values
def check_entries(ids: Array, offsets: Array, features: Sequence[Feature], rows: Sequence[int], by_table: bool) -> None:
    """Raise the fault of the first bad offset, or else of the first bad id: by table, or by feature."""
    bags = offsets.shape[1]
    try:
        check_offsets(offsets.reshape(-1), len(ids), "ids")
    except Fault as fault:
        if fault.argument == "offsets":
            fault.position = divmod(fault.position[0], bags)
        raise
    parts = list(zip(range(len(features)), features, _bounds(ids, offsets), strict=True))
    for number, feature, (begin, end) in sorted(parts, key=lambda part: part[1].table) if by_table else parts:
        part = ids[begin:end]
        bad = (part < 0) | (part >= rows[feature.table])
        if bad.any():
            place = int(bad.argmax())
            hint = f"the rows of the table of feature {number}"
            raise Fault("range", "ids", (begin + place,), int(part[place]), 0, rows[feature.table], hint)


def _bounds(ids: Array, offsets: Array) -> list[tuple[int, int]]:
    """Where the entries of each feature begin and end."""
    if not offsets.shape[1]:
        return [(0, 0)] * len(offsets)
    begins = [*offsets[:, 0].tolist(), len(ids)]
    return list(pairwise(begins))


def pool_tables(
    tables: Sequence[Array],
    ids: Array,
    offsets: Array,
    weights: Array | None,
    combiner: Combiner,
    feature_tables: Sequence[int],
) -> Array:
    features = features_of([table.shape[1] for table in tables], feature_tables)
    check_entries(ids, offsets, features, [len(table) for table in tables], by_table=False)
    found = []
    for feature, begins, (begin, end) in zip(features, offsets, _bounds(ids, offsets), strict=True):
        of_feature = None if weights is None else weights[begin:end]
        found.append(pool_bags(tables[feature.table], ids[begin:end], begins - begin, of_feature, combiner))
    return np.concatenate(found, 1)


def entries_of_tables(
    grad: Array,
    ids: Array,
    offsets: Array,
    weights: Array | None,
    shapes: Pairs,
    feature_tables: Sequence[int],
) -> Iterator[TableEntries]:
    """The entries of each table, after all were checked."""
    features = features_of([columns for _, columns in shapes], feature_tables)
    check_entries(ids, offsets, features, [rows for rows, _ in shapes], by_table=True)
    bounds = _bounds(ids, offsets)
    for table, (_, columns) in enumerate(shapes):
        places = [number for number, feature in enumerate(features) if feature.table == table]
        grads = [grad[:, features[number].begin : features[number].end] for number in places]
        parts = [slice(*bounds[number]) for number in places]
        lengths = np.concatenate([np.diff(offsets[n], append=bounds[n][1]) for n in places] or [offsets[0, :0]])
        yield TableEntries(
            np.concatenate(grads) if grads else grad[:0, :columns],
            np.concatenate([ids[part] for part in parts] or [ids[:0]]),
            np.cumsum(lengths) - lengths,
            None if weights is None else np.concatenate([weights[part] for part in parts] or [weights[:0]]),
        )


def scatter_tables(shapes: Pairs, entries: Iterator[TableEntries], combiner: Combiner) -> Array:
    """The gradients of all tables, one after another."""
    rows = [scatter_bags(*one, shape[0], combiner) for one, shape in zip(entries, shapes, strict=True)]
    return np.concatenate([part.reshape(-1) for part in rows])


def scatter_tables_compact(
    shapes: Pairs, entries: Iterator[TableEntries], combiner: Combiner
) -> tuple[Array, Array, Array]:
    """The rows that were picked, of all tables one after another; which those are, and how many of each table."""
    found = [scatter_bags_compact(*one, shape[0], combiner) for one, shape in zip(entries, shapes, strict=True)]
    counts = np.array([len(touched) for _, touched in found], np.int64)
    return np.concatenate([g.reshape(-1) for g, _ in found]), np.concatenate([t for _, t in found]), counts


def dot_tables(
    grad: Array, tables: Sequence[Array], ids: Array, offsets: Array, feature_tables: Sequence[int]
) -> Array:
    features = features_of([table.shape[1] for table in tables], feature_tables)
    check_entries(ids, offsets, features, [len(table) for table in tables], by_table=False)
    parts = zip(features, offsets, _bounds(ids, offsets), strict=True)
    return np.concatenate(
        [dot_bags(grad[:, f.begin : f.end], tables[f.table], ids[b:e], starts - b) for f, starts, (b, e) in parts]
    )
