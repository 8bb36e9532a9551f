"""The functions of gradbag.sparse on SparseTensor, SciPy's arrays and NumPy, against dense arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import gradbag
from gradbag import SparseTensor, sparse

A = np.array([[0.0, 2.0, -1.0], [3.0, 0.0, 0.0]])
B = np.array([[1.0, -2.0, 0.0], [0.5, 0.0, 4.0]])
KINDS: dict[str, Any] = {"SparseTensor": SparseTensor.from_dense, "scipy": scipy.sparse.coo_array}


def dense(value: Any) -> Any:
    return sparse.to_dense(value)


@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_back_is_of_the_kind_that_went_in_and_right(kind: str) -> None:
    a, b = KINDS[kind](A), KINDS[kind](B)
    answers = {
        "add": (sparse.add(a, b), A + B),
        "concat": (sparse.concat(1, [a, b]), np.concatenate([A, B], 1)),
        "maximum": (sparse.maximum(a, b), np.maximum(A, B)),
        "minimum": (sparse.minimum(a, b), np.minimum(A, B)),
        "slice": (sparse.slice(a, [0, 1], [2, 2]), A[:, 1:]),
        "reshape": (sparse.reshape(a, [3, -1]), A.reshape(3, 2)),
        "transpose": (sparse.transpose(a), A.T),
        "reorder": (sparse.reorder(a), A),
        "retain": (sparse.retain(a, [True, False, True]), A * (A != -1)),
        "fill": (sparse.fill_empty_rows(a, 7.0)[0], A),
        "sums": (sparse.reduce_sum(a, 0, keepdims=True, output_is_sparse=True), A.sum(0, keepdims=True)),
        "second half": (sparse.split(a, 2, 1)[1], A[:, 2:]),
    }
    for name, (got, want) in answers.items():
        assert type(got) is type(a), name
        np.testing.assert_array_equal(dense(got), want, err_msg=name)


def test_dense_answers() -> None:
    a = SparseTensor.from_dense(A)
    np.testing.assert_array_equal(sparse.add(a, B), A + B)
    np.testing.assert_array_equal(sparse.add(B, a), A + B)
    np.testing.assert_array_equal(sparse.reduce_sum(a), A.sum())
    np.testing.assert_array_equal(sparse.reduce_max(a, 1), [2.0, 3.0])
    np.testing.assert_array_equal(sparse.sparse_dense_matmul(a, B.T), A @ B.T)
    np.testing.assert_array_equal(sparse.to_dense(a, 9.0), np.where(A == 0, 9.0, A))
    np.testing.assert_array_equal(dense(sparse.from_dense(A)), A)
    assert sparse.expand_dims(a, 1).shape == (2, 1, 3)
    assert sparse.bincount(np.array([1, 1, 3]), size=4).tolist() == [0.0, 2.0, 0.0, 1.0]
    rows = SparseTensor([[0, 0], [1, 1]], np.array([2, 0]), [2, 2])
    assert sparse.bincount(rows, weights=[0.5, 3.0], size=3).tolist() == [[0.0, 0.0, 0.5], [3.0, 0.0, 0.0]]


def test_a_largest_entry_of_negative_ones_is_not_the_zero_beside_it() -> None:
    only = SparseTensor([[0, 1]], [-2.0], [2, 3])
    assert sparse.reduce_max(only, 1).tolist() == [-2.0, 0.0]
    assert sparse.maximum(only, SparseTensor([[0, 0]], [-1.0], [2, 3])).values.tolist() == [0.0, 0.0]


def test_derivatives_go_through_the_values_to_any_order() -> None:
    a, b = SparseTensor.from_dense(A), SparseTensor.from_dense(B)

    def loss(one: Any, other: Any) -> Any:
        first = SparseTensor(a.indices, one, a.dense_shape)
        larger = sparse.maximum(first, SparseTensor(b.indices, other, b.shape))
        joined = sparse.concat(0, [sparse.softmax(first), larger])
        return (sparse.reduce_max(joined, 1) ** 3).sum()

    values = (np.array(a.values), np.array(b.values))
    steps = [np.array([0.3, -0.2, 0.5]), np.array([0.1, 0.4, -0.3, 0.2])]
    slope = sum((g * s).sum() for g, s in zip(gradbag.grad(loss, argnums=(0, 1))(*values), steps, strict=True))
    ahead, behind = (loss(*[v + h * s for v, s in zip(values, steps, strict=True)]) for h in (1e-6, -1e-6))
    assert slope == pytest.approx((ahead - behind) / 2e-6, rel=1e-6)
    _, pushed = gradbag.jvp(loss, values, steps)
    assert pushed == pytest.approx(slope, rel=1e-12)

    def first_slope(*at: Any) -> Any:
        return sum((g * s).sum() for g, s in zip(gradbag.grad(loss, argnums=(0, 1))(*at), steps, strict=True))

    second = sum((g * s).sum() for g, s in zip(gradbag.grad(first_slope, argnums=(0, 1))(*values), steps, strict=True))
    ahead, behind = (first_slope(*[v + h * s for v, s in zip(values, steps, strict=True)]) for h in (1e-6, -1e-6))
    assert second == pytest.approx((ahead - behind) / 2e-6, rel=1e-5)


def test_segments() -> None:
    data, ids = np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 0.0]]), np.array([0, 0, 2])
    powers = np.exp(data)
    shares = powers / np.array([powers[:2].sum(0), powers[:2].sum(0), powers[2]])
    np.testing.assert_allclose(sparse.segment_softmax(data, ids, 3), shares, rtol=1e-14)
    sums = sparse.segment_logsumexp(data, ids, 3)
    np.testing.assert_allclose(sums[[0, 2]], np.log([powers[:2].sum(0), powers[2]]), rtol=1e-14)
    assert np.isneginf(sums[1]).all()
    largest, positions = sparse.segment_max(data, ids, 3)
    assert largest.tolist() == [[3.0, 5.0], [0.0, 0.0], [2.0, 0.0]]
    assert positions.tolist() == [[1, 0], [-1, -1], [2, 2]]
    assert sparse.segment_softmax(np.array([1000.0, -np.inf]), [0, 0], 1).tolist() == [1.0, 0.0]


def test_what_is_wrong_is_said() -> None:
    a = SparseTensor.from_dense(A)
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"sparse\.softmax: sparse must be .*; got ndarray"):
        sparse.softmax(A)
    with pytest.raises(gradbag.InvalidArgumentError, match=r"SparseConcat: concat_dim == 2 out of range \[-2, 2\)"):
        sparse.concat(2, [a, a])
    with pytest.raises(gradbag.InvalidArgumentError, match=r"sparse\.expand_dims: axis == 4 out of range \[-3, 3\)"):
        sparse.expand_dims(a, 4)
    with pytest.raises(gradbag.InvalidArgumentError, match=r"sp_inputs must be at least one sparse array; got none"):
        sparse.concat(0, [])
