"""The look-ups of embeddings on NumPy arrays: every form of ids, and derivatives of both modes and orders."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import raw_ops
from gradbag.testing import assert_same

RNG = np.random.default_rng(0)
TABLE = RNG.standard_normal((6, 3))
PLACES, SHAPE = np.array([[2, 0], [0, 0], [0, 1], [3, 1], [3, 0]]), [5, 2]
IDS = np.array([0, 1, -1, 5, 2])
WEIGHTS = np.array([0.5, 2.0, 1.0, 0.25, 3.0])
SETTINGS: list[dict[str, Any]] = [
    {},
    {"combiner": "sum"},
    {"combiner": "sqrtn", "default_id": 4},
    {"max_norm": 1.0},
    {"max_norm": 1.0, "default_id": 4, "combiner": "sum"},
]


def sparse(values: Any) -> Any:
    return gradbag.SparseTensor(PLACES, values, SHAPE)


def look_up(table: Any, weights: Any, **settings: Any) -> Any:
    given = None if weights is None else sparse(weights)
    return gradbag.safe_embedding_lookup_sparse(table, sparse(IDS), given, **settings)


# ------------------------------------------------------------------ forms of ids and of tables
def test_ids_in_every_form_give_the_same() -> None:
    order = np.argsort(PLACES[:, 0], kind="stable")
    ids, weights = IDS[order], WEIGHTS[order]
    offsets = np.searchsorted(PLACES[order, 0], np.arange(5))
    wanted = look_up(TABLE, WEIGHTS)
    scipy = pytest.importorskip("scipy.sparse")
    matrix = scipy.coo_array((IDS, PLACES.T), SHAPE)
    for given in (
        (sparse(IDS.astype(np.int32)), WEIGHTS),
        (sparse(IDS.astype(np.int8)), sparse(WEIGHTS)),
        (SimpleNamespace(ids=ids, offsets=offsets, weights=weights), None),
        (SimpleNamespace(ids=ids, offsets=offsets), weights),
        (matrix, scipy.coo_array((WEIGHTS, PLACES.T), SHAPE)),
    ):
        assert_same(gradbag.safe_embedding_lookup_sparse(TABLE, *given), wanted)
    valid = np.maximum(ids, 0)
    bags = gradbag.Bags.from_offsets(valid, offsets, weights)
    whole = gradbag.embedding_lookup_sparse(TABLE, gradbag.SparseTensor(PLACES[order], valid, SHAPE), weights)
    assert_same(gradbag.embedding_lookup_sparse(TABLE, bags), np.append(whole, np.zeros((1, 3)), 0))


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("strategy", ["div", "mod"])
def test_shards_are_a_table_in_parts(strategy: str, settings: dict[str, Any]) -> None:
    for count in (1, 2, 4, 6):
        sizes = np.full(count, 6 // count) + (np.arange(count) < 6 % count)
        cut = np.split(TABLE, np.cumsum(sizes)[:-1]) if strategy == "div" else [TABLE[k::count] for k in range(count)]
        assert_same(look_up(cut, WEIGHTS, partition_strategy=strategy, **settings), look_up(TABLE, WEIGHTS, **settings))


def test_more_axes_make_more_rows() -> None:
    deep = np.array([[1, 0, 2], [0, 1, 0], [1, 0, 0]])
    got = gradbag.safe_embedding_lookup_sparse(TABLE, gradbag.SparseTensor(deep, [3, 1, 5], [2, 2, 3]))
    assert_same(got, np.array([[[0.0] * 3, TABLE[1]], [(TABLE[3] + TABLE[5]) * 0.5, [0.0] * 3]]))
    outside = np.array([[1, 0, 2], [0, 2, 0]])
    with pytest.raises(ValueError, match=r"indices\[1, 1\] == 2 out of range \[0, 2\)"):
        gradbag.safe_embedding_lookup_sparse(TABLE, gradbag.SparseTensor(outside, [3, 1], [2, 2, 3]))


def test_a_table_with_more_axes() -> None:
    cube = RNG.standard_normal((6, 2, 2))
    assert_same(look_up(cube, None), look_up(cube.reshape(6, 4), None).reshape(5, 2, 2))
    norms = np.sqrt((cube**2).sum((1, 2)))
    clipped = cube * np.minimum(1, 0.5 / norms)[:, None, None]
    np.testing.assert_allclose(look_up(cube, None, max_norm=0.5), look_up(clipped, None), rtol=1e-12)


def test_no_array_has_a_row_for_each_entry() -> None:
    count = 4000
    ids = gradbag.SparseTensor(np.stack([np.zeros(count, int), np.arange(count)], 1), np.arange(count) % 6, [1, count])
    wide = np.ones((6, 1000))
    before = gradbag.get_memory_limit()
    gradbag.set_memory_limit(2_000_000)  # a sixteenth of one that has
    try:
        for settings in SETTINGS:
            gradbag.safe_embedding_lookup_sparse(wide, ids, np.ones(count), **settings)
    finally:
        gradbag.set_memory_limit(before)


# ------------------------------------------------------------------ derivatives
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("parts", [1, 2])
def test_derivatives_of_both_modes_and_orders(parts: int, settings: dict[str, Any]) -> None:
    def loss(table: Any, weights: Any) -> Any:
        tables = table if parts == 1 else [table[:3], table[3:]]
        found = look_up(tables, weights, **settings)
        return (found * found * found).sum()

    step = 1e-6
    there = [RNG.standard_normal(TABLE.shape), RNG.standard_normal(WEIGHTS.shape)]
    gradient = gradbag.grad(loss, argnums=(0, 1))

    def moved(distance: float) -> tuple[Any, Any]:
        return TABLE + distance * there[0], WEIGHTS + distance * there[1]

    slope = (loss(*moved(step)) - loss(*moved(-step))) / (2 * step)
    assert sum((g * t).sum() for g, t in zip(gradient(TABLE, WEIGHTS), there, strict=True)) == pytest.approx(
        slope, rel=1e-5
    )
    _, forward = gradbag.jvp(loss, (TABLE, WEIGHTS), tuple(there))
    assert forward == pytest.approx(slope, rel=1e-5)
    second = gradbag.grad(
        lambda t, w: sum((g * a).sum() for g, a in zip(gradient(t, w), there, strict=True)), argnums=(0, 1)
    )(TABLE, WEIGHTS)
    for mine, plus, minus in zip(second, gradient(*moved(step)), gradient(*moved(-step)), strict=True):
        np.testing.assert_allclose(mine, (plus - minus) / (2 * step), rtol=1e-4, atol=1e-5)


def test_a_compact_gradient_has_the_rows_that_were_used() -> None:
    for settings in ({}, {"max_norm": 1.0}):
        dense = gradbag.grad(lambda t, s=settings: (look_up(t, None, **s) ** 2).sum())(TABLE)
        compact = gradbag.grad(lambda t, s=settings: (look_up(t, None, sparse_gradient=True, **s) ** 2).sum())(TABLE)
        assert compact.indices.tolist() == [0, 1, 2, 5]
        np.testing.assert_allclose(compact.dense(), dense, rtol=1e-12)


# ------------------------------------------------------------------ packing
def test_bits_do_not_depend_on_threads() -> None:
    own = np.sort(RNG.integers(0, 3000, 50_000))
    ids = RNG.integers(-1, 9, 50_000)
    before = gradbag.get_num_threads()
    try:
        for rows in (own, RNG.permutation(own)):
            found = []
            for threads in (1, 2, 5):
                gradbag.set_num_threads(threads)
                given = {"indices": rows[:, None], "ids": ids, "dense_shape": [3001], "default_id": 7}
                found.append(raw_ops.PackBags(**given))
            for other in found[1:]:
                for mine, theirs in zip(found[0], other, strict=True):
                    assert_same(mine, theirs)
    finally:
        gradbag.set_num_threads(before)


def test_the_first_fault_is_told_whatever_the_threads() -> None:
    rows, ids = RNG.permutation(20_000) % 50, np.zeros(20_000, np.int64)
    ids[4500], ids[9000] = 8, 9
    for threads in (1, 4):
        gradbag.set_num_threads(threads)
        with pytest.raises(ValueError, match=r"ids\[4500\] == 8 out of range \[0, 7\)"):
            raw_ops.PackBags(indices=rows[:, None], ids=ids, dense_shape=[50], num_rows=7)
    gradbag.set_num_threads(1)
