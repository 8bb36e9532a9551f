"""What `gradbag.capture` sees of functions of JAX, and that they do not notice it."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gradbag
import gradbag.jax
from gradbag.capturing.summary import largest_rows, steps_of

IDS, OFFSETS = jnp.array([3, 17, 3, 90]), jnp.array([0, 3, 3])


def tables() -> dict[str, Any]:
    keys = jax.random.split(jax.random.key(1))
    return {"items": jax.random.normal(keys[0], (100, 4)), "users": jax.random.normal(keys[1], (10, 4))}


def loss(params: dict[str, Any], ids: Any) -> Any:
    items = gradbag.jax.embedding_bag(params["items"], ids, offsets=OFFSETS, combiner="sum")
    users = gradbag.jax.embedding_bag(params["users"], jnp.array([[1], [2], [1]]), combiner="mean")
    return ((items * users).sum(1) ** 2).sum()


def train(step: Any, params: dict[str, Any]) -> dict[str, Any]:
    for _ in range(3):
        params = jax.tree.map(lambda value, grad: value - 0.01 * grad, params, step(params, IDS))
    return params


@pytest.mark.parametrize("compiled", [False, True])
def test_bags_rows_and_gradients_of_a_training(compiled: bool) -> None:
    step = jax.jit(jax.grad(loss)) if compiled else jax.grad(loss)
    params = tables()
    wanted = train(step, params)
    with gradbag.capture(params) as seen:
        got = train(step, params)
    for name in params:
        np.testing.assert_array_equal(wanted[name], got[name])
    assert [(name, table.touched) for name, table in seen.tables.items()] == [("items", 3), ("users", 2)]
    one = steps_of(seen, "items")[0]
    assert (seen.count, one.bags, one.empty, one.entries, one.repeated, one.gradient_rows) == (3, 3, 1, 4, 1, 3)
    grad = jax.grad(loss)(params, IDS)
    for name in params:
        rows = largest_rows(seen.steps[0], name, 8)
        assert {row.row for row in rows} == set(np.flatnonzero(np.asarray(grad[name]).any(1)).tolist())
        for row in rows:
            assert row.norm == pytest.approx(float(jnp.linalg.norm(grad[name][row.row])), rel=1e-6)
    train(step, params)
    assert seen.count == 3  # nothing is told any more
