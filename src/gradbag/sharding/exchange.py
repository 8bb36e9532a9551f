"""One batch through all ranks: ask, answer, and send gradients back; on whatever carries arrays between them.

Every rank makes the same calls in the same order. Nothing here knows an engine: a `Wire` carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import errors
from ..bags import Bags
from ..ops.combiners import COMBINERS
from ..ops.pooling import accumulator
from ..table.batches import Block
from . import pooling
from .plan import Array, ShardPlan
from .routes import BagRoute, RowRoute, no_rows, route_bags, route_rows, without
from .traffic import choose
from .tree import forest_of

HEADER = 4  # numbers for each rank and feature: rows asked for, entries, pairs, and the way (odd: with weights)
EXACT, ROWS, PARTIAL, HYBRID = "exact", "rows", "partial", "hybrid"
WAYS = (EXACT, ROWS, PARTIAL, HYBRID)


class Part(NamedTuple):
    """An array of which each rank gets some rows, rank after rank, and what comes of the like from each."""

    array: Array
    give: Array
    take: Array


class Wire(Protocol):
    """What carries arrays between ranks."""

    rank: int
    size: int

    def swap(self, parts: Sequence[Part]) -> list[Array]:
        """What all ranks have given this one, for each part, rank after rank; in one message to each."""
        ...


class Feature(NamedTuple):
    """Bags that are looked up in one table."""

    plan: ShardPlan
    bags: Bags
    combiner: str
    columns: int
    dtype: np.dtype[Any]  # of the rows, as they travel
    way: str = EXACT  # or one of the others, or "auto"
    computing: np.dtype[Any] | None = None  # of what comes out, if it is another


class Routes(NamedTuple):
    """What this rank asks for."""

    way: str
    keys: Array
    rows: RowRoute
    bags: BagRoute
    hot: Array  # entries that go as rows in the hybrid way, and elsewhere none
    factors: Array | None  # of the entries of `bags`, in its order


class Asked(NamedTuple):
    """What the others, and this rank itself, ask of this one; everything rank after rank."""

    rows: Array
    row_counts: Array
    entries: Array
    entry_counts: Array
    lengths: Array
    pair_counts: Array
    factors: Array | None
    ways: Array  # of each rank

    def pooled(self) -> Array:
        """The ranks that want sums of pairs."""
        return self.ways >= WAYS.index(PARTIAL)


class Prepared:
    """A batch whose routes both sides know. It depends on no row, and may be made before the batch before has ended.

    With `training` False nothing that only a gradient needs is sent.
    """

    def __init__(self, wire: Wire, features: Sequence[Feature | errors.Error], training: bool = True) -> None:
        self.features: list[Feature] = []
        self.routes: list[Routes] = []
        self.training = training
        problem = None
        try:
            for feature in features:
                if isinstance(feature, errors.Error):  # what came in its place, which the other ranks do not know yet
                    raise feature
                self.routes.append(_routes(feature))
                self.features.append(feature)
        except errors.Error as found:
            problem = found
        self._agree(wire, problem, len(features))
        self.asked = self._ask(wire)

    # ------------------------------------------------------------------ both sides learn
    def _agree(self, wire: Wire, problem: errors.Error | None, features: int) -> None:
        """Tell the others how much will come. If a batch is bad on one rank, all raise its error, and none waits."""
        header = np.zeros((wire.size, 1 + HEADER * features), np.int64)
        words = b""
        if problem is not None:
            words = f"{type(problem).__name__}\n{problem.argument or ''}\nrank {wire.rank}: {problem}".encode()
            header[:, 0] = len(words)
        else:
            for place, route in enumerate(self.routes):
                sends_entries = self.training or route.way in (PARTIAL, HYBRID)
                header[:, 1 + HEADER * place] = route.rows.splits
                header[:, 2 + HEADER * place] = route.bags.splits * sends_entries
                header[:, 3 + HEADER * place] = route.bags.pairs * sends_entries
                header[:, 4 + HEADER * place] = 2 * WAYS.index(route.way) + (route.factors is not None)
        ones = np.ones(wire.size, np.int64)
        self.given, (self.taken,) = header, wire.swap([Part(header, ones, ones)])
        if self.taken[:, 0].any():
            all_words = np.frombuffer(words * wire.size, np.uint8)
            (told,) = wire.swap([Part(all_words, header[:, 0], self.taken[:, 0])])
            first = int(np.flatnonzero(self.taken[:, 0])[0])
            kind, argument, text = bytes(told[: self.taken[first, 0]]).decode().split("\n", 2)
            problem = getattr(errors, kind, errors.Error)(text)
            raise errors.about(argument, problem) if argument else problem
        weighted = self.taken[:, HEADER::HEADER] % 2
        if (weighted != weighted[0]).any():
            ranks = np.flatnonzero(weighted.any(1))
            raise errors.unfit("Prepared", "weights", "given on all ranks or on none", f"some on {ranks.tolist()}")

    def pairs_of_routes(self) -> list[tuple[Feature, Routes]]:
        return list(zip(self.features, self.routes, strict=True))

    def _counts(self, place: int, column: int) -> tuple[Array, Array]:
        where = 1 + HEADER * place + column
        return self.given[:, where], self.taken[:, where]

    def _ask(self, wire: Wire) -> list[Asked]:
        parts: list[Part] = []
        for place, (feature, route) in enumerate(zip(self.features, self.routes, strict=True)):
            asking, entries, pairs = (self._counts(place, column) for column in range(3))
            dtype = feature.plan.row_dtype
            parts.append(Part(route.rows.rows.astype(dtype), *asking))
            parts.append(Part(route.bags.rows.astype(dtype)[: int(entries[0].sum())], *entries))
            parts.append(Part(route.bags.lengths.astype(np.int32)[: int(pairs[0].sum())], *pairs))
            if route.factors is not None:
                parts.append(Part(route.factors[: int(entries[0].sum())], *entries))
        came = iter(wire.swap(parts))
        asked = []
        for place, route in enumerate(self.routes):
            *counts, ways = (self._counts(place, column)[1] for column in range(HEADER))
            rows, entries_of, lengths = next(came), next(came), next(came)
            factors = None if route.factors is None else next(came)
            asked.append(Asked(rows, counts[0], entries_of, counts[1], lengths, counts[2], factors, ways // 2))
        return asked


def _routes(feature: Feature) -> Routes:
    plan, bags = feature.plan, feature.bags
    wide = accumulator(feature.dtype)
    _check_weights(feature)
    keys = plan.keys(bags.ids)
    offsets = np.asarray(bags.offsets)
    none = np.zeros(len(keys), bool)
    # To find the distinct rows takes as long as the rest, and partial sums need none.
    rows = no_rows(plan) if feature.way == PARTIAL else route_rows(plan, keys)
    if feature.way == EXACT:
        route = route_bags(plan, keys, offsets)
        factors = pooling.shares(bags, feature.combiner, wide)
        return Routes(EXACT, keys, rows, route, none, None if factors is None else factors[route.order])
    starts = forest_of(plan).starts
    route = route_bags(plan, keys, offsets, starts)
    way, threshold = feature.way, 2
    if way == "auto":
        way = choose(rows, route, feature)
    elif way == HYBRID:
        threshold = max(2, plan.num_shards)
    weights = None if bags.weights is None else bags.weights.astype(wide)
    if way == HYBRID:
        none = rows.counts[rows.places] >= threshold
        cold_keys, cold_offsets, stays = without(bags, keys, none)
        cold = route_bags(plan, cold_keys, cold_offsets, starts)
        cold = cold._replace(order=stays[cold.order])
        rows = route_rows(plan, keys[none])
        return Routes(way, keys, rows, cold, none, None if weights is None else weights[cold.order])
    if way == PARTIAL:
        rows = no_rows(plan)
    return Routes(way, keys, rows, route, none, None if weights is None else weights[route.order])


def _check_weights(feature: Feature) -> None:
    if feature.combiner not in COMBINERS:
        allowed = "one of " + ", ".join(map(repr, COMBINERS))
        raise errors.unfit("ShardPlan", "combiner", allowed, repr(feature.combiner))


# ------------------------------------------------------------------ forward
def block_of(source: Any, rows: Array) -> Block:
    """Rows of an array, or of a table wherever it lies."""
    if isinstance(source, np.ndarray):
        return Block(source, {}, rows, None)
    return source._block(f"{type(source).__name__}.lookup", rows.astype(np.int64), False)  # type: ignore[no-any-return]


def look_up(wire: Wire, prepared: Prepared, sources: Sequence[Any]) -> list[tuple[Array, Array]]:
    """The combined rows of each feature, in the dtype of the accumulator where they were sums, and the rows that came.

    `sources` are the rows of this rank, of the table of each feature: arrays or tables.
    """
    parts: list[Part] = []
    for place, (feature, asked, source) in enumerate(zip(prepared.features, prepared.asked, sources, strict=True)):
        given, taken = prepared._counts(place, 0)
        block = block_of(source, asked.rows)
        parts.append(Part(pooling.taken(block.values, block.ids).astype(feature.dtype, copy=False), taken, given))
        sums, counts = _answers(feature, asked, source, wire.rank)
        pairs = prepared._counts(place, 2)[0] * (prepared.routes[place].way in (PARTIAL, HYBRID))
        parts.append(Part(sums, counts, pairs))
    came = iter(wire.swap(parts))
    return [_combined(feature, route, next(came), next(came)) for feature, route in prepared.pairs_of_routes()]


def _answers(feature: Feature, asked: Asked, source: Any, rank: int) -> tuple[Array, Array]:
    """The sums of the pairs of ranks that want them."""
    wanted = asked.pooled()
    counts = asked.pair_counts * wanted
    if not counts.any():
        return np.zeros((0, feature.columns), accumulator(feature.dtype)), counts
    entries, lengths, factors = asked.entries, asked.lengths, asked.factors
    if not wanted.all():
        of_entries = np.repeat(wanted, asked.entry_counts)
        entries, lengths = entries[of_entries], lengths[np.repeat(wanted, asked.pair_counts)]
        factors = None if factors is None else factors[of_entries]
    return pooling.partial_sums(block_of(source, entries), feature.plan, rank, lengths, factors), counts


def _combined(feature: Feature, route: Routes, rows: Array, sums: Array) -> tuple[Array, Array]:
    plan, bags, combiner = feature.plan, feature.bags, feature.combiner
    rows = rows.astype(feature.computing or feature.dtype, copy=False)
    if route.way == EXACT:
        return pooling.pool(rows, route.rows, bags, combiner), rows
    wide = accumulator(feature.dtype)
    if route.way == ROWS:
        numerators = pooling.pool_by_tree(rows.astype(wide), route.rows, plan, route.keys, bags)
    else:
        numerators = pooling.finish(sums, route.bags, bags, plan)
    if route.way == HYBRID:
        hot = np.flatnonzero(route.hot)
        before = np.concatenate([[0], np.cumsum(route.hot)])[np.asarray(bags.offsets)]
        chosen = Bags(route.rows.places, before, None if bags.weights is None else bags.weights[hot])
        numerators += pooling.pool(rows.astype(wide), route.rows, chosen, "sum")
    return pooling.divided(numerators, bags, combiner), rows


# ------------------------------------------------------------------ backward
class Entries(NamedTuple):
    """What a step or a gradient of this rank's rows takes: bags of its rows, and the gradient of each."""

    rows: Array
    lengths: Array
    factors: Array | None
    grads: Array

    def gradient(self, num_rows: int) -> tuple[Array, Array]:
        """The rows that have a gradient, ascending, and it."""
        return pooling.owner_gradient(self.grads, self.rows, self.lengths, self.factors, num_rows)

    def bags(self) -> Bags:
        return Bags(self.rows.astype(np.int64), pooling.starts_of(self.lengths), self.factors)


def send_back(wire: Wire, prepared: Prepared, grads: Sequence[Array]) -> list[Entries]:
    """The gradients of combined rows to the owners of their rows: for each feature, what this rank's rows get."""
    parts: list[Part] = []
    for place, ((feature, route), grad) in enumerate(zip(prepared.pairs_of_routes(), grads, strict=True)):
        exact = route.way == EXACT
        of_pairs = pooling.bag_gradient(grad, route.bags, feature.bags, feature.combiner, exact)
        parts.append(Part(of_pairs, *prepared._counts(place, 2)))
        given, taken = prepared._counts(place, 0)
        hybrid = route.way == HYBRID
        theirs = taken * (prepared.asked[place].ways == WAYS.index(HYBRID))
        parts.append(Part(_hot_gradient(feature, route, grad) if hybrid else of_pairs[:0], given * hybrid, theirs))
    came = iter(wire.swap(parts))
    found = []
    for asked in prepared.asked:
        grad, hot = next(came), next(came)
        entries = Entries(asked.entries, asked.lengths, asked.factors, grad)
        found.append(entries if not len(hot) else _with_rows(entries, asked, hot))
    return found


def _hot_gradient(feature: Feature, route: Routes, grad: Array) -> Array:
    bags = feature.bags
    hot = np.flatnonzero(route.hot)
    wide = grad.astype(accumulator(grad.dtype), copy=False)
    factors = pooling.shares(bags, feature.combiner, wide.dtype)
    if factors is None and (divisors := pooling.denominators(bags, feature.combiner, wide.dtype)) is not None:
        wide = wide / np.maximum(divisors, 1)[:, None]
    own = np.repeat(np.arange(len(bags)), bags.lengths)[hot]
    rows = pooling.taken(wide, own)
    weights = None if factors is None else factors[hot]
    _, gradient = pooling.owner_gradient(
        rows, route.rows.places, np.ones(len(hot), np.int64), weights, len(route.rows.rows)
    )
    return gradient


def _with_rows(entries: Entries, asked: Asked, hot: Array) -> Entries:
    """Gradients of rows, as bags of one entry behind the others."""
    rows = asked.rows[np.repeat(asked.ways == WAYS.index(HYBRID), asked.row_counts)]
    one = np.ones(len(rows), np.int32)
    factors = None if entries.factors is None else np.concatenate([entries.factors, one.astype(hot.dtype)])
    return Entries(
        np.concatenate([entries.rows, rows]),
        np.concatenate([entries.lengths, one]),
        factors,
        np.concatenate([entries.grads, hot]),
    )
