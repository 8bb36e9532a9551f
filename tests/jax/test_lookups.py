"""The look-ups of embeddings on arrays of JAX: at once, inside jit, and their derivatives of both modes."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.sparse import BCOO

import gradbag
from gradbag.testing import assert_same

PLACES, SHAPE = np.array([[2, 0], [0, 0], [0, 1], [3, 1], [3, 0]], np.int32), (5, 2)
IDS = np.array([0, 1, -1, 3, 2], np.int32)
TABLE = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
WEIGHTS = np.array([0.5, 2.0, 1.0, 0.25, 3.0], np.float32)
SETTINGS: list[dict[str, Any]] = [
    {"combiner": "sum"},
    {"combiner": "mean", "default_id": 1},
    {"combiner": "sqrtn"},
    {"max_norm": 1.0, "default_id": 2},
]


def wanted(weights: Any, **settings: Any) -> Any:
    given = None if weights is None else gradbag.SparseTensor(PLACES, weights, SHAPE)
    return gradbag.safe_embedding_lookup_sparse(TABLE, gradbag.SparseTensor(PLACES, IDS, SHAPE), given, **settings)


def look_up(table: Any, ids: Any, places: Any, weights: Any, **settings: Any) -> Any:
    return gradbag.safe_embedding_lookup_sparse(table, BCOO((ids, places), shape=SHAPE), weights, **settings)


def given(weighted: bool) -> tuple[Any, ...]:
    return jnp.asarray(TABLE), jnp.asarray(IDS), jnp.asarray(PLACES), jnp.asarray(WEIGHTS) if weighted else None


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_same_at_once_and_inside_jit(weighted: bool, settings: dict[str, Any]) -> None:
    expected = wanted(WEIGHTS if weighted else None, **settings)
    function = lambda *x: look_up(*x, **settings)  # noqa: E731
    for call in (function, jax.jit(function)):
        got = np.asarray(call(*given(weighted)))
        if "max_norm" in settings:
            np.testing.assert_allclose(got, expected, rtol=1e-6)
        else:
            assert_same(got, expected)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_derivatives_inside_jit_are_those_outside(settings: dict[str, Any]) -> None:
    table, ids, places, weights = given(True)

    def loss(table: Any, weights: Any, ids: Any) -> Any:
        return (look_up(table, ids, places, weights, **settings) ** 3).sum()

    gradient = jax.grad(loss, (0, 1))
    for mine, other in zip(jax.jit(gradient)(table, weights, ids), gradient(table, weights, ids), strict=True):
        np.testing.assert_allclose(mine, other, rtol=2e-5, atol=1e-5)
        assert np.abs(np.asarray(other)).max() > 0
    direction = (jnp.ones_like(table), jnp.ones_like(weights))
    _, forward = jax.jvp(lambda t, w: loss(t, w, ids), (table, weights), direction)
    slope = sum(float(g.sum()) for g in gradient(table, weights, ids))
    assert float(forward) == pytest.approx(slope, rel=1e-4)
    along = lambda t, w, i: sum(g.sum() for g in gradient(t, w, i))  # noqa: E731
    second = jax.grad(along, (0, 1))
    for mine, other in zip(jax.jit(second)(table, weights, ids), second(table, weights, ids), strict=True):
        np.testing.assert_allclose(mine, other, rtol=2e-4, atol=2e-4)
        assert np.abs(np.asarray(other)).max() > 0


def test_bags_and_shards_inside_jit() -> None:
    offsets = np.array([0, 2, 2, 3], np.int32)
    ids = np.array([1, -1, 0, 3, 2], np.int32)
    bags = SimpleNamespace(ids=ids, offsets=offsets)
    expected = gradbag.safe_embedding_lookup_sparse([TABLE[:2], TABLE[2:]], bags, default_id=3)

    @jax.jit
    def call(first: Any, second: Any, ids: Any, offsets: Any) -> Any:
        bags = SimpleNamespace(ids=ids, offsets=offsets)
        return gradbag.safe_embedding_lookup_sparse([first, second], bags, default_id=3)

    assert_same(np.asarray(call(TABLE[:2], TABLE[2:], ids, offsets)), expected)


def test_strict_look_ups_inside_jit_give_all_rows() -> None:
    order = np.argsort(PLACES[:, 0], kind="stable")
    places, ids = PLACES[order], np.maximum(IDS[order], 0)

    @jax.jit
    def call(ids: Any, places: Any) -> Any:
        return gradbag.embedding_lookup_sparse(TABLE, BCOO((ids, places), shape=SHAPE), None)

    whole = gradbag.embedding_lookup_sparse(TABLE, gradbag.SparseTensor(places, ids, SHAPE))
    assert_same(np.asarray(call(ids, places)), np.append(whole, np.zeros((1, 3), np.float32), 0))
    with pytest.raises(Exception, match=r"ids\[1\] == -1 out of range \[0, 4\)"):
        jax.block_until_ready(call(IDS[order], places))


def test_a_room_that_is_too_small_is_refused() -> None:
    function = jax.jit(lambda *x: look_up(*x, None, size=4))
    assert_same(np.asarray(function(TABLE, IDS, PLACES)), wanted(None))
    with pytest.raises(Exception, match="size must be at least 4"):
        jax.block_until_ready(jax.jit(lambda *x: look_up(*x, None, size=3))(TABLE, IDS, PLACES))
