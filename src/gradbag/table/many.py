"""Many tables in one call: all threads share the work on all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np

from .. import errors, raw_ops
from ..ops.combiners import combiner_named
from .base import Lookup, Trained
from .batches import Array, Batch, Block, usable


def lookup_many(
    tables: Sequence[Lookup], features: Any, combiner: str = "mean", feature_tables: Sequence[int] = ()
) -> Array:
    """The combined rows of each bag of each feature, feature beside feature: what `lookup` of its table gives.

        >>> import numpy as np
        >>> import gradbag
        >>> tables = [gradbag.Table.of(np.eye(3)), gradbag.Table.of(np.array([[5.0], [7.0]]))]
        >>> gradbag.lookup_many(tables, [[[2, 0], []], [[1], [0, 1]]], combiner="sum").tolist()
        [[1.0, 0.0, 1.0, 7.0], [0.0, 0.0, 0.0, 12.0]]

    `features` is a list or a dict of what `Bags.of` takes, as many bags in each. Each is looked up in the table of the
    same place, or in the one that `feature_tables` tells: several may share one.
    """
    function = "lookup_many"
    combiner = combiner_named(function, combiner).name
    with ExitStack() as turns:
        group = _grouped(function, tables, features, combiner, feature_tables, turns, with_state=False)
        found: Array = raw_ops.GroupedEmbeddingBag(
            tables=[block.values for block in group.blocks],
            ids=group.ids,
            offsets=group.offsets,
            weights=group.weights,
            combiner=combiner,
            feature_tables=group.feature_tables,
        )
    return found


def step_many(
    tables: Sequence[Trained], features: Any, grad: Any, combiner: str = "mean", feature_tables: Sequence[int] = ()
) -> None:
    """Move the rows that bags have picked, given the gradient of what `lookup_many` has made of them.

    The tables have equal optimizers, and have made equally many steps.
    """
    function = "step_many"
    combiner = combiner_named(function, combiner).name
    optimizers = [table._moving(function) for table in tables]
    for place, optimizer in enumerate(optimizers):
        if optimizer != optimizers[0]:
            raise errors.unfit(function, f"tables[{place}]", "a table with the optimizer of tables[0]", "another")
    with ExitStack() as turns:
        group = _grouped(function, tables, features, combiner, feature_tables, turns, with_state=True)
        blocks = group.blocks
        entries = (group.ids, group.offsets, group.weights)
        values, states = [block.values for block in blocks], [block.state for block in blocks]
        optimizers[0].step_many(values, states, entries, np.asarray(grad), combiner, group.feature_tables)
        for table, block in zip(tables, blocks, strict=True):
            table._keep(block)


class _Group(NamedTuple):
    blocks: list[Block]
    ids: Array
    offsets: Array
    weights: Array | None
    feature_tables: tuple[int, ...]


def _grouped(
    function: str,
    tables: Sequence[Lookup],
    features: Any,
    combiner: str,
    feature_tables: Sequence[int],
    turns: ExitStack,
    with_state: bool,
) -> _Group:
    given = list(features.values()) if isinstance(features, Mapping) else list(features)
    places = tuple(feature_tables) or tuple(range(len(tables)))
    if not tables or len(given) != len(places):
        wanted = f"one for each of the {len(places)} features of {len(tables)} tables"
        raise errors.unfit(function, "features", wanted, str(len(given)))
    for place, table in enumerate(places):
        if not 0 <= table < len(tables):
            raise errors.invalid(function, errors.Fault("range", "feature_tables", (place,), table, 0, len(tables)))
    kinds = {table.computing for table in tables}
    if len(kinds) > 1:
        raise errors.unfit(function, "tables", "of one dtype", errors.shown(sorted(map(str, kinds))))
    batches = []
    for number, (bags, table) in enumerate(zip(given, places, strict=True)):
        try:
            batches.append(usable(function, bags, tables[table].rows, combiner, None, tables[table].computing))
        except errors.InvalidArgumentError as problem:
            raise errors.about(problem.argument, type(problem)(f"{problem}; in feature {number}")) from None
    sizes = [len(batch.offsets) for batch in batches]
    if len(set(sizes)) > 1:
        raise errors.unfit(function, "features", "of one number of bags", errors.shown(sizes))
    turn_of = {id(table): table for table in tables}
    for one in turn_of.values():
        turns.enter_context(one._turn())
    blocks, ids = [], [batch.ids for batch in batches]
    for number, one in enumerate(tables):
        own = [feature for feature, place in enumerate(places) if place == number]
        picked = np.concatenate([batches[f].ids for f in own]) if own else np.zeros(0, np.int64)
        block = one._block(function, picked, with_state)
        blocks.append(block)
        ends = np.cumsum([len(batches[f].ids) for f in own])
        for feature, part in zip(own, np.split(block.ids, ends[:-1]), strict=True):
            ids[feature] = part
    begins = np.cumsum([0, *[len(batch.ids) for batch in batches]])
    offsets = np.stack([batch.offsets + begin for batch, begin in zip(batches, begins, strict=False)])
    return _Group(blocks, _joined(ids), offsets, _weights(batches), tuple(feature_tables))


def _joined(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _weights(batches: Sequence[Batch]) -> Array | None:
    """Those of all features; ones where a feature has none and another has."""
    known = next((batch.weights for batch in batches if batch.weights is not None), None)
    if known is None:
        return None
    return _joined([np.ones(len(b.ids), known.dtype) if b.weights is None else b.weights for b in batches])
