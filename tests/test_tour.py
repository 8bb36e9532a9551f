"""A tour of gradbag: every part of its public face once, in the order in which one meets it."""

import numpy as np
import pytest
import scipy.sparse

import gradbag
from gradbag import raw_ops

# Four films with two numbers each, and what three people have seen: Ann films 0, 2 and 3, Ben none, Cem film 1.
FILMS = np.array([[1.0, 0.0], [0.0, 2.0], [4.0, 1.0], [1.0, 2.0]], np.float32)
SEEN = np.array([0, 2, 3, 1])
BY = np.array([0, 0, 0, 2])


def test_1_a_raw_op_is_called_as_in_tensorflow() -> None:
    taste = raw_ops.SparseSegmentMean(data=FILMS, indices=SEEN, segment_ids=BY)
    assert taste.tolist() == [[2.0, 1.0], [0.0, 0.0], [0.0, 2.0]]
    assert taste.dtype == np.float32


def test_2_its_gradient_is_an_op_too() -> None:
    given = np.array([[3.0, 6.0], [9.0, 9.0], [5.0, 0.0]], np.float32)
    films = raw_ops.SparseSegmentMeanGrad(grad=given, indices=SEEN, segment_ids=BY, output_dim0=4)
    assert films.tolist() == [[1.0, 2.0], [5.0, 0.0], [1.0, 2.0], [1.0, 2.0]]


def test_3_an_op_with_several_outputs_gives_a_named_tuple() -> None:
    entries = {"indices": [3, 1, 3], "segment_ids": [0, 0, 0]}
    compact = raw_ops.SparseSegmentSumGradV2(grad=[[1.0, 1.0]], **entries, dense_output_dim0=10**6)
    assert compact.output.tolist() == [[1.0, 1.0], [2.0, 2.0]]
    assert compact.sorted_unique_indices.tolist() == [1, 3]


def test_4_the_friendly_functions_take_arguments_by_position() -> None:
    assert gradbag.segment_sum(FILMS, SEEN, BY, 4).tolist() == [[6.0, 3.0], [0.0, 0.0], [0.0, 2.0], [0.0, 0.0]]
    assert gradbag.segment_sqrt_n([[3.0], [1.0]], [0, 1, 1, 1], [0, 0, 0, 0]).tolist() == [[3.0]]


def test_5_a_sparse_tensor_is_filled_and_sliced() -> None:
    tensor = gradbag.SparseTensor([[0, 1], [2, 0]], [5.0, 7.0], [3, 2])
    filled, empty = gradbag.fill_empty_rows(tensor, -1.0)
    assert filled.to_dense().tolist() == [[0.0, 5.0], [-1.0, 0.0], [7.0, 0.0]]
    assert empty.tolist() == [False, True, False]
    assert gradbag.slice(filled, start=[1, 0], size=[2, 1]).to_dense().tolist() == [[-1.0], [7.0]]


def test_6_scipy_arrays_go_in_and_come_out() -> None:
    seen = scipy.sparse.csr_array(([1.0, 2.0], ([0, 2], [3, 1])), shape=(3, 4))
    filled, _ = gradbag.fill_empty_rows(seen, 0.5)
    assert filled.to_scipy().tocsr()[[1], [0]].tolist() == [0.5]


def loss(films: np.ndarray) -> np.ndarray:
    """Ordinary arithmetic around an op."""
    return (gradbag.segment_mean(films, SEEN, BY) ** 2).sum()


def test_7_a_function_of_ops_and_arithmetic_has_a_gradient() -> None:
    value, gradient = gradbag.value_and_grad(loss)(FILMS)
    assert value == 9.0
    np.testing.assert_allclose(gradient, [[4 / 3, 2 / 3], [0, 4], [4 / 3, 2 / 3], [4 / 3, 2 / 3]], rtol=1e-6)
    assert gradient.dtype == np.float32


def test_8_the_gradient_of_a_large_table_can_stay_compact() -> None:
    table = np.zeros((100_000, 2))
    gradient = gradbag.grad(lambda t: gradbag.segment_sum(t, [7, 7, 9], [0, 1, 1], sparse_gradient=True).sum())(table)
    assert repr(gradient) == "RowGrad(2 of 100000 rows, shape=(100000, 2), dtype=float64)"
    table[gradient.indices] -= 0.1 * gradient.rows
    assert table[[7, 8, 9], 0].tolist() == [-0.2, 0.0, -0.1]


def test_9_gradients_have_gradients() -> None:
    def steepness(films: np.ndarray) -> np.ndarray:
        return (gradbag.grad(loss)(films) ** 2).sum()

    def along(films: np.ndarray) -> np.ndarray:
        return gradbag.jvp(loss, [films], [gradbag.grad(loss)(FILMS)])[1]

    twice = gradbag.grad(steepness)(FILMS)
    np.testing.assert_allclose(twice, 2 * gradbag.grad(along)(FILMS), rtol=1e-5)  # 2 H g, in two ways
    assert twice.any()


def test_10_vjp_and_jvp_take_any_number_of_inputs_and_outputs() -> None:
    def both(values: np.ndarray, default: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        filled, _ = gradbag.fill_empty_rows(gradbag.SparseTensor([[0, 0], [2, 0]], values, [5, 1]), default)
        return filled.values, default * 2

    primals = np.array([5.0, 7.0]), np.array(0.5)
    (filled, doubled), pullback = gradbag.vjp(both, *primals)
    assert (filled.tolist(), doubled) == ([5.0, 0.5, 7.0, 0.5, 0.5], 1.0)
    d_values, d_default = pullback((np.array([1.0, 10.0, 2.0, 20.0, 30.0]), np.array(100.0)))
    assert (d_values.tolist(), d_default) == ([1.0, 2.0], 260.0)
    _, (moved, _) = gradbag.jvp(both, primals, [np.zeros(2), np.array(1.0)])
    assert moved.tolist() == [0.0, 1.0, 0.0, 1.0, 1.0]


def test_11_bad_input_is_told_where_it_is_bad() -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^SparseSegmentSum: indices\[1\] == 4 out of range"):
        gradbag.segment_sum(FILMS, [0, 4, 9], [0, 0, 1])
    with pytest.raises(gradbag.UnsupportedTypeError, match="indices must be one of int32, int64; got float64"):
        gradbag.segment_sum(FILMS, np.array([0.0]), [0])
    with pytest.raises(gradbag.ResourceExhaustedError, match=r"needs 8\.0 TiB"):
        gradbag.segment_sum(FILMS, SEEN, BY, num_segments=2**40)
