"""Compact gradients: only the rows in use, wherever they flow."""

from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import RowGrad, grad, jvp, vjp

TABLE = np.arange(1.0, 11.0).reshape(5, 2)
FIRST = RowGrad(np.array([0, 3]), np.array([[1.0, 2.0], [3.0, 4.0]]), (5, 2))
SECOND = RowGrad(np.array([3, 4]), np.array([[10.0, 20.0], [30.0, 40.0]]), (5, 2))


def bags(table: Any) -> Any:
    return gradbag.segment_sum(table, [3, 0, 3], [0, 0, 1], sparse_gradient=True)


def dense_bags(table: Any) -> Any:
    return gradbag.segment_sum(table, [3, 0, 3], [0, 0, 1])


# ------------------------------------------------------------------ the object
def test_it_shows_how_few_rows_it_has() -> None:
    assert repr(FIRST) == "RowGrad(2 of 5 rows, shape=(5, 2), dtype=float64)"


def test_dense_is_the_whole_gradient() -> None:
    assert FIRST.dense().tolist() == [[1.0, 2.0], [0.0, 0.0], [0.0, 0.0], [3.0, 4.0], [0.0, 0.0]]


def test_no_rows_at_all_are_zeros() -> None:
    nothing = RowGrad(np.array([], np.int64), np.zeros((0, 2)), (5, 2))
    assert not nothing.dense().any()
    assert (nothing + FIRST).indices.tolist() == [0, 3]
    assert (nothing + nothing).rows.shape == (0, 2)


def test_two_add_up_to_one_that_is_sorted_and_has_each_row_once() -> None:
    both = FIRST + SECOND
    assert isinstance(both, RowGrad)
    assert both.indices.tolist() == [0, 3, 4]
    assert both.rows.tolist() == [[1.0, 2.0], [13.0, 24.0], [30.0, 40.0]]


def test_with_a_dense_gradient_it_is_dense_on_either_side() -> None:
    want = FIRST.dense() + TABLE
    for got in (FIRST + TABLE, TABLE + FIRST):
        assert type(got) is np.ndarray
        assert got.dtype == np.float64
        assert got.tolist() == want.tolist()


def test_gradients_of_a_batch_can_be_summed() -> None:
    total = sum([SECOND, SECOND], start=FIRST)
    assert total.rows.tolist() == [[1.0, 2.0], [23.0, 44.0], [60.0, 80.0]]


@pytest.mark.parametrize("shape", [(9, 2), (5, 3)])
def test_gradients_of_different_tables_do_not_add_up(shape: tuple[int, int]) -> None:
    other = RowGrad(np.array([1]), np.ones((1, shape[1])), shape)
    with pytest.raises(ValueError, match="shape"):
        FIRST + other


def test_a_row_beyond_the_table_is_refused_when_it_is_used() -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=r"indices\[0\] == 5 out of range \[0, 5\)"):
        RowGrad(np.array([5]), np.ones((1, 2)), (5, 2)).dense()


# ------------------------------------------------------------------ where it comes from
def test_a_table_that_only_compact_pooling_uses_gets_one() -> None:
    (compact,) = vjp(bags, TABLE)[1](np.ones((2, 2)))
    assert isinstance(compact, RowGrad)
    assert (compact.indices.tolist(), compact.rows.tolist()) == ([0, 3], [[1.0, 1.0], [2.0, 2.0]])
    assert compact.shape == TABLE.shape


def test_a_table_used_twice_gets_the_sum_of_two() -> None:
    gradient = grad(lambda t: (bags(t) * bags(t)).sum())(TABLE)
    assert isinstance(gradient, RowGrad)
    np.testing.assert_allclose(gradient.dense(), grad(lambda t: (dense_bags(t) ** 2).sum())(TABLE))


@pytest.mark.parametrize("order", [1, -1])
def test_a_table_used_in_another_way_too_gets_a_dense_gradient(order: int) -> None:
    def loss(table: Any) -> Any:
        first, second = [bags(table).sum(), (table * table).sum()][::order]
        return first + second

    gradient = grad(loss)(TABLE)
    assert type(gradient) is np.ndarray
    np.testing.assert_allclose(gradient, 2 * TABLE + vjp(dense_bags, TABLE)[1](np.ones((2, 2)))[0])


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        (lambda t: t * 3, np.ndarray),
        (lambda t: gradbag.segment_mean(t, [0, 1, 2, 3, 4], [0, 1, 2, 3, 3]), np.ndarray),
        (lambda t: gradbag.segment_sum(t, [0, 1, 2, 4], [0, 1, 2, 3], sparse_gradient=True), RowGrad),
    ],
    ids=["arithmetic", "an op", "a compact op"],
)
def test_it_flows_back_through_whatever_made_the_table(before: Any, kind: type) -> None:
    (gradient,) = vjp(lambda t: bags(before(t)), TABLE)[1](np.ones((2, 2)))
    (want,) = vjp(lambda t: dense_bags(before(t)), TABLE)[1](np.ones((2, 2)))
    assert type(gradient) is kind
    dense = [g.dense() if isinstance(g, RowGrad) else g for g in (gradient, want)]
    np.testing.assert_allclose(*dense)


def test_it_may_be_a_cotangent_itself() -> None:
    (gradient,) = vjp(lambda t: t * t, TABLE)[1](FIRST)
    assert gradient.tolist() == (2 * TABLE * FIRST.dense()).tolist()


def test_integer_tables_have_no_gradient_but_int32_ids_stay_int32() -> None:
    ids = np.array([3, 0], np.int32)
    (gradient,) = vjp(lambda t: gradbag.segment_sum(t, ids, [0, 1], sparse_gradient=True), TABLE)[1](np.ones((2, 2)))
    assert gradient.indices.dtype == np.int32
    assert (gradient + gradient).indices.dtype == np.int32


# ------------------------------------------------------------------ higher orders
def loss(table: Any) -> Any:
    return (bags(table) ** 3).sum()


def test_its_rows_can_be_differentiated_again_and_stay_compact() -> None:
    second = grad(lambda t: (grad(loss)(t).rows ** 2).sum())(TABLE)
    want = grad(lambda t: (grad(lambda u: (dense_bags(u) ** 3).sum())(t) ** 2).sum())(TABLE)
    assert isinstance(second, RowGrad)
    np.testing.assert_allclose(second.dense(), want)


def test_a_sum_of_two_and_the_dense_form_can_be_differentiated_again() -> None:
    def dense_loss(t: Any) -> Any:
        return (dense_bags(t) ** 3).sum() + (dense_bags(t) ** 2).sum()

    def compact_loss(t: Any) -> Any:
        return loss(t) + (bags(t) ** 2).sum()

    want = grad(lambda t: (grad(dense_loss)(t) ** 2).sum())(TABLE)
    by_rows = grad(lambda t: (grad(compact_loss)(t).rows ** 2).sum())(TABLE)
    by_dense = grad(lambda t: (grad(compact_loss)(t).dense() ** 2).sum())(TABLE)
    np.testing.assert_allclose(by_rows.dense(), want)
    np.testing.assert_allclose(by_dense.dense(), want)


def test_forward_mode_over_it_gives_its_change_as_another() -> None:
    value, change = jvp(grad(loss), [TABLE], [np.ones_like(TABLE)])
    assert isinstance(value, RowGrad)
    assert isinstance(change, RowGrad)
    step = 1e-6
    numeric = (grad(loss)(TABLE + step).dense() - grad(loss)(TABLE - step).dense()) / (2 * step)
    np.testing.assert_allclose(change.dense(), numeric, rtol=1e-6)
