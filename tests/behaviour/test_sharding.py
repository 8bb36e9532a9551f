"""Tables in pieces: every number of ranks gives the bits of one process on the batches of all, one after another."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import gradbag
from gradbag import Bags, raw_ops
from gradbag.dtypes import numpy_dtype
from gradbag.sharding import Feature, Prepared, ShardPlan, look_up, send_back, traffic, zipf_ids
from gradbag.sharding.moves import Moves
from gradbag.sharding.tree import forest_of
from gradbag.testing.ranks import run_ranks

STRATEGIES = ("div", "mod", "hash")
COMBINERS = ("sum", "mean", "sqrtn")


def batches(rng, ranks, rows, weighted, empty=()):
    made = []
    for rank in range(ranks):
        lengths = rng.integers(0, 12, 0 if rank in empty else 9)
        ids = rng.integers(0, rows, lengths.sum())
        weights = rng.uniform(-1, 2, len(ids)).astype(np.float32) if weighted else None
        made.append(Bags.from_lengths(ids, lengths, weights))
    return made


def one_process(table, bags, combiner, grad):
    weights = None if bags.weights is None else bags.weights.astype(table.dtype)
    entries = {"ids": bags.ids, "offsets": bags.offsets, "weights": weights, "combiner": combiner}
    pooled = raw_ops.EmbeddingBag(table=table, **entries)
    gradient, touched = raw_ops.EmbeddingBagGrad(grad=grad, num_rows=len(table), **entries)
    return pooled, touched, gradient


def split_over(parts, table, plan, combiner, grads, way="exact"):
    """What all ranks make of it: combined rows, and the whole gradient of the table."""

    def rank_of(wire):
        feature = Feature(plan, parts[wire.rank], combiner, table.shape[1], table.dtype, way)
        prepared = Prepared(wire, [feature])
        own = plan.ids(wire.rank)
        ((pooled, _),) = look_up(wire, prepared, [table[own]])
        (entries,) = send_back(wire, prepared, [grads[wire.rank]])
        touched, gradient = entries.gradient(len(own))
        return pooled, own[touched], gradient, wire.sent

    answers = run_ranks(plan.num_shards, rank_of)
    touched = np.concatenate([answer[1] for answer in answers])
    order = np.argsort(touched)
    gradient = np.concatenate([answer[2] for answer in answers])[order]
    return np.concatenate([answer[0] for answer in answers]), touched[order], gradient, sum(a[3] for a in answers)


def assert_bits(got, want):
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("rows", "shards", "pieces"), [(0, 2, 0), (1, 3, 0), (10, 3, 0), (1000, 7, 16), (97, 4, 64)])
def test_a_plan_gives_every_row_one_place(strategy, rows, shards, pieces):
    plan = ShardPlan(rows, shards, strategy, pieces)
    keys = plan.keys(np.arange(rows))
    np.testing.assert_array_equal(np.sort(keys), np.arange(rows))
    np.testing.assert_array_equal(plan.ids_of(keys), np.arange(rows))
    np.testing.assert_array_equal(np.concatenate([plan.ids(shard) for shard in range(shards)])[keys], np.arange(rows))
    assert sum(plan.size(shard) for shard in range(shards)) == rows
    assert ShardPlan(**plan.described()) == plan


def test_hashed_rows_are_spread_where_ids_are_not():
    plan = ShardPlan(1 << 20, 8, "hash")
    owners = np.searchsorted(plan.starts, plan.keys(np.arange(0, 1 << 20, 1024)), side="right") - 1
    assert np.bincount(owners, minlength=8).min() > 90  # of 128; "mod" and "div" would give one or the other nothing


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_ranks_have_the_bits_of_one_process(ranks, dtype):
    rng = np.random.default_rng(ranks)
    for strategy, combiner, weighted in product(STRATEGIES, COMBINERS, (False, True)):
        table = rng.standard_normal((50, 5)).astype(numpy_dtype(dtype))
        parts = batches(rng, ranks, 50, weighted, empty={1} if ranks > 2 else set())
        if weighted:
            parts = [Bags(p.ids, p.offsets, p.weights.astype(table.dtype)) for p in parts]
        grads = [rng.standard_normal((len(part), 5)).astype(table.dtype) for part in parts]
        pooled, touched, gradient = one_process(table, Bags.concatenate(parts), combiner, np.concatenate(grads))
        got = split_over(parts, table, ShardPlan(50, ranks, strategy), combiner, grads)
        assert_bits(got[0], pooled)
        np.testing.assert_array_equal(got[1], touched)
        assert_bits(got[2].astype(table.dtype), gradient)


@pytest.mark.parametrize("combiner", COMBINERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_partial_sums_are_the_same_on_every_number_of_ranks(combiner, weighted):
    rng = np.random.default_rng(3)
    table = rng.standard_normal((200, 4)).astype(np.float32)
    whole = batches(rng, 12, 200, weighted)
    whole = [Bags(b.ids, b.offsets, None if b.weights is None else np.abs(b.weights)) for b in whole]
    grad = rng.standard_normal((12 * 9, 4)).astype(np.float32)
    pooled, touched, gradient = one_process(table, Bags.concatenate(whole), combiner, grad)
    seen = set()
    for ranks, strategy, way in product((1, 2, 3, 4, 6), STRATEGIES, ("rows", "partial", "auto", "hybrid")):
        share = 12 // ranks
        parts = [Bags.concatenate(whole[share * r : share * (r + 1)]) for r in range(ranks)]
        grads = np.split(grad, ranks)
        got = split_over(parts, table, ShardPlan(200, ranks, strategy, 16), combiner, grads, way)
        np.testing.assert_allclose(got[0], pooled, rtol=2e-5, atol=2e-5)
        np.testing.assert_array_equal(got[1], touched)
        np.testing.assert_allclose(got[2], gradient, rtol=2e-5, atol=2e-5)
        if way != "hybrid":
            seen.add((strategy, got[0].tobytes(), got[2].tobytes()))
    assert len(seen) == len(STRATEGIES)


def test_subtrees_cover_every_piece_once():
    for shards, pieces in product(range(1, 17), (16, 23, 64)):
        forest = forest_of(ShardPlan(1000, shards, "mod", pieces))
        leaves = [
            leaf for node in forest.nodes for leaf in range(node.number << node.level, (node.number + 1) << node.level)
        ]
        assert leaves == list(range(pieces))
    assert len(forest_of(ShardPlan(1000, 4, "mod", 16)).nodes) == 4


@pytest.mark.parametrize("way", ["exact", "rows", "partial", "hybrid"])
def test_traffic_is_what_is_sent(way):
    rng = np.random.default_rng(0)
    table = rng.standard_normal((300, 8)).astype(np.float32)
    for ranks, weighted in product((1, 2, 3), (False, True)):
        parts = [Bags(zipf_ids(rng, 90, 300, 1.1), np.arange(0, 90, 9), None) for _ in range(ranks)]
        if weighted:
            parts = [Bags(p.ids, p.offsets, rng.random(90).astype(np.float32)) for p in parts]
        grads = [rng.standard_normal((10, 8)).astype(np.float32) for _ in range(ranks)]
        plan = ShardPlan(300, ranks, "hash", 0 if way == "exact" else 8)
        told = [traffic(plan, part, 8, way=way, rank=rank) for rank, part in enumerate(parts)]
        assert split_over(parts, table, plan, "mean", grads, way)[3] == sum(one.total for one in told)


def test_every_rank_tells_of_the_bad_id_of_one():
    told = []

    def rank_of(wire):
        bags = Bags([1, 99 if wire.rank == 1 else 2], [0, 1])
        with pytest.raises(gradbag.InvalidArgumentError) as caught:
            Prepared(wire, [Feature(ShardPlan(9, 3), bags, "mean", 2, np.dtype(np.float32))])
        told.append(str(caught.value))

    run_ranks(3, rank_of)
    assert told == ["rank 1: ShardKeys: ids[1] == 99 out of range [0, 9)"] * 3


def test_weights_are_given_by_all_or_by_none():
    def rank_of(wire):
        weights = np.ones(2, np.float32) if wire.rank else None
        with pytest.raises(gradbag.InvalidArgumentError, match=r"weights must be given on all ranks or on none"):
            Prepared(wire, [Feature(ShardPlan(9, 2), Bags([1, 2], [0, 1], weights), "sum", 2, np.dtype("f4"))])

    run_ranks(2, rank_of)


@pytest.mark.parametrize("threads", [1, 3])
def test_many_entries_are_found_by_many_threads(threads):
    rng = np.random.default_rng(1)
    before = gradbag.get_num_threads()
    gradbag.set_num_threads(threads)
    try:
        for ids in (rng.integers(-(2**62), 2**62, 100_000), rng.zipf(1.2, 100_000) % 10**6, np.arange(100_000) // 7):
            for got, want in zip(
                raw_ops.SortedUnique(ids=ids), np.unique(ids, return_inverse=True, return_counts=True), strict=True
            ):
                np.testing.assert_array_equal(got, want)
    finally:
        gradbag.set_num_threads(before)


def test_rows_that_have_moved_are_the_same_with_a_number_for_each():
    rng = np.random.default_rng(3)
    sorted_in, of_each = Moves(), Moves(size=50)
    for _ in range(12):
        rows = rng.integers(0, 50, 6)
        assert sorted_in.note(rows) == of_each.note(rows)
    for count in range(13):
        assert sorted_in.since(count).tolist() == of_each.since(count).tolist()
    assert of_each.again(12).since(0).tolist() == []
