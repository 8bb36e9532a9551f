"""Optimizers as pure functions of JAX arrays: the bits of NumPy, under jit, with memory given away."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gradbag
import gradbag.jax
from gradbag import optim
from gradbag.testing import assert_same

ROWS, COLUMNS, RATE = 12, 4, 0.05
OPTIMIZERS = [
    optim.SGD(lambda step: RATE / step, weight_decay=0.1),
    optim.Momentum(RATE, nesterov=True),
    optim.Adagrad(RATE),
    optim.RowAdagrad(RATE),
    optim.Adam(RATE),
    optim.Adam(RATE, bias_correction="row"),
    optim.AdamW(RATE, weight_decay=0.1, decay="lazy"),
    optim.RowAdam(RATE),
    optim.RMSProp(RATE, momentum=0.5),
    optim.Ftrl(RATE, l1=0.01),
]
every = pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda o: f"{o.rule_name}-{o.decay}")


def gradient(seed: int, count: int = 9) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, ROWS, count).astype(np.int32), rng.standard_normal((count, COLUMNS)).astype(np.float32)


def table_of() -> Any:
    return np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)


@every
@pytest.mark.parametrize("jitted", [False, True])
def test_steps_are_those_of_arrays(optimizer: optim.Optimizer, jitted: bool) -> None:
    row_step: Any = gradbag.jax.row_step
    bag_step: Any = gradbag.jax.bag_step
    if jitted:
        row_step = jax.jit(row_step, static_argnums=0, donate_argnums=(1, 2))
        bag_step = jax.jit(bag_step, static_argnums=0, donate_argnums=(1, 2), static_argnames="combiner")
    array, table = table_of(), jnp.asarray(table_of())
    kept, state = optimizer.init(array), optimizer.init(table)
    offsets = np.array([0, 4, 4], np.int32)
    for seed in range(5):
        indices, rows = gradient(seed)
        optimizer.apply(array, kept, (indices, rows))
        optimizer.step(array, kept, (indices, offsets), rows[:3], combiner="sqrtn")
        table, state = row_step(optimizer, table, state, (jnp.asarray(indices), jnp.asarray(rows)))
        bags = (jnp.asarray(indices), jnp.asarray(offsets))
        table, state = bag_step(optimizer, table, state, bags, jnp.asarray(rows[:3]), combiner="sqrtn")
    assert int(state.pop("step")) == kept.pop("step") == 10
    # The numbers of Adam are computed in 32 bits here; everything else is the same function.
    same = partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-7) if "Adam" in optimizer.rule_name else assert_same
    same(np.asarray(table), array)
    for name, value in state.items():
        np.testing.assert_allclose(value, kept[name], rtol=1e-5, atol=1e-7)


def test_a_row_gradient_that_is_filled_up_moves_no_other_row() -> None:
    def loss(table: Any, ids: Any) -> Any:
        return (gradbag.jax.embedding_bag(table, ids, combiner="sum") ** 2).sum()

    optimizer = optim.Adam(RATE)  # which would move rows even if their gradient is zero, after the first step
    ids = jnp.array([[7, 3], [7, 7]])

    @jax.jit
    def train(table: Any, state: Any) -> Any:
        _, grad = gradbag.jax.value_and_row_grad(loss, size=6)(table, ids)
        return gradbag.jax.row_step(optimizer, table, state, grad)

    array, table = table_of(), jnp.asarray(table_of())
    kept, state = optimizer.init(array), optimizer.init(table)
    for _ in range(3):
        dense = np.asarray(jax.grad(loss)(jnp.asarray(array), ids))
        optimizer.apply(array, kept, (np.array([3, 7]), dense[[3, 7]]))
        table, state = train(table, state)
    np.testing.assert_allclose(np.asarray(table), array, rtol=1e-5, atol=1e-6)
    others = [row for row in range(ROWS) if row not in (3, 7)]
    assert_same(np.asarray(table)[others], table_of()[others])


def test_the_memory_of_a_table_that_is_given_away_is_used_again() -> None:
    optimizer, table = optim.RowAdagrad(RATE), jnp.ones((100, 8))
    state = optimizer.init(table)
    step = jax.jit(gradbag.jax.row_step, static_argnums=0, donate_argnums=(1, 2))
    moved, _ = step(optimizer, table, state, (jnp.array([3]), jnp.ones((1, 8))))
    assert table.is_deleted()
    assert float(moved[3, 0]) < 1
    kept, _ = jax.jit(gradbag.jax.row_step, static_argnums=0)(
        optimizer, moved, optimizer.init(moved), (jnp.array([3]), jnp.ones((1, 8)))
    )
    assert not moved.is_deleted()
    assert float(kept[3, 0]) < float(moved[3, 0])


def test_a_bad_index_is_refused() -> None:
    optimizer, table = optim.SGD(RATE), jnp.ones((3, 2))
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^RowSgd: indices\[0\] == 3 out of range \[0, 3\)"):
        gradbag.jax.row_step(optimizer, table, optimizer.init(table), (jnp.array([3]), jnp.ones((1, 2))))


def test_an_array_of_jax_does_not_change_in_place() -> None:
    optimizer, table = optim.SGD(RATE), jnp.ones((3, 2))
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^SGD: table must be .* see gradbag.jax.row_step"):
        optimizer.apply(table, optimizer.init(table), (jnp.array([1]), jnp.ones((1, 2))))
