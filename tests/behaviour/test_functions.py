"""The friendly functions."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import gradbag
from gradbag import SparseTensor, raw_ops

TABLE = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
SPARSE = SparseTensor([[0, 1], [2, 0]], [5.0, 7.0], [4, 2])


# ------------------------------------------------------------------ pooling
@pytest.mark.parametrize(("name", "combiner"), [("sum", "Sum"), ("mean", "Mean"), ("sqrt_n", "SqrtN")])
def test_a_pooling_function_is_its_raw_op(name: str, combiner: str) -> None:
    function = getattr(gradbag, f"segment_{name}")
    entries = {"data": TABLE, "indices": [2, 0, 1], "segment_ids": [0, 0, 2]}
    plain = getattr(raw_ops, f"SparseSegment{combiner}")(**entries)
    counted = getattr(raw_ops, f"SparseSegment{combiner}WithNumSegments")(**entries, num_segments=5)
    assert function(*entries.values()).tolist() == plain.tolist()
    assert function(*entries.values(), 5).tolist() == counted.tolist()
    assert function(*entries.values(), num_segments=5).shape == (5, 2)


def test_zero_segments_are_not_the_same_as_none_given() -> None:
    assert gradbag.segment_sum(TABLE, [], [], 0).shape == (0, 2)
    with pytest.raises(gradbag.InvalidArgumentError, match=r"segment_ids\[0\] == 0 out of range \[0, 0\)"):
        gradbag.segment_sum(TABLE, [0], [0], 0)


def test_a_setting_is_not_taken_by_position() -> None:
    with pytest.raises(TypeError, match="positional"):
        gradbag.segment_sum(TABLE, [0], [0], 1, True)  # type: ignore[misc]


def test_a_sparse_table_is_refused_and_not_densified() -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^SparseSegmentSum: data must be .*; got csr_array$"):
        gradbag.segment_sum(scipy.sparse.csr_array(TABLE), [0], [0])


# ------------------------------------------------------------------ sparse tensors
def test_fill_empty_rows_gives_a_tensor_and_says_which_rows_were_empty() -> None:
    filled, empty = gradbag.fill_empty_rows(SPARSE, -1.0)
    assert isinstance(filled, SparseTensor)
    assert filled.indices.tolist() == [[0, 1], [1, 0], [2, 0], [3, 0]]
    assert filled.values.tolist() == [5.0, -1.0, 7.0, -1.0]
    assert (filled.shape, empty.tolist()) == ((4, 2), [False, True, False, True])


def test_fill_empty_rows_knows_strings() -> None:
    filled, _ = gradbag.fill_empty_rows(SparseTensor([[1]], np.array(["a"]), [2]), "nothing here")
    assert filled.values.tolist() == ["nothing here", "a"]


def test_slice_cuts_a_window_off_at_the_border() -> None:
    window = gradbag.slice(SPARSE, [2, 0], [9, 9])
    assert (window.shape, window.to_dense().tolist()) == ((2, 2), [[7.0, 0.0], [0.0, 0.0]])


def test_a_window_beyond_the_tensor_is_empty() -> None:
    window = gradbag.slice(SPARSE, [4, 0], [1, 2])
    assert (window.nnz, window.shape) == (0, (0, 2))


def test_a_window_that_starts_before_the_tensor_moves_the_entries_on() -> None:
    assert gradbag.slice(SPARSE, [-1, 0], [3, 2]).indices.tolist() == [[1, 1]]


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_scipy_arrays_are_taken_as_they_are(form: str) -> None:
    given = scipy.sparse.coo_array(SPARSE.to_dense()).asformat(form)
    filled, empty = gradbag.fill_empty_rows(given, -1.0)
    assert filled.to_scipy().toarray()[:, 0].tolist() == [0.0, -1.0, 7.0, -1.0]
    assert empty.tolist() == [False, True, False, True]
    assert gradbag.slice(given, [0, 1], [4, 1]).to_dense().tolist() == [[5.0], [0.0], [0.0], [0.0]]


def test_an_empty_scipy_array_is_filled_in_every_row() -> None:
    filled, empty = gradbag.fill_empty_rows(scipy.sparse.csr_array((3, 2)), 1.0)
    assert filled.to_dense().tolist() == [[1.0, 0.0]] * 3
    assert empty.all()


@pytest.mark.parametrize("value", [TABLE, [[1.0]], None, ([[0]], [1.0], [1])], ids=["array", "list", "None", "tuple"])
def test_what_is_not_sparse_is_refused(value: Any) -> None:
    wanted = f"sparse must be one of SparseTensor, a SciPy sparse array; got {type(value).__name__}$"
    with pytest.raises(gradbag.UnsupportedTypeError, match=f"^slice: {wanted}"):
        gradbag.slice(value, [0], [1])
    with pytest.raises(gradbag.UnsupportedTypeError, match=f"^fill_empty_rows: {wanted}"):
        gradbag.fill_empty_rows(value, 0.0)


def test_a_window_of_a_wrong_rank_is_refused() -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^SparseSlice: start must have shape \[rank\] with rank=2"):
        gradbag.slice(SPARSE, [0], [1, 1])


def test_a_tensor_without_dimensions_has_no_rows_to_fill() -> None:
    scalar = SparseTensor(np.zeros((1, 0), np.int64), [5.0], [])
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^SparseFillEmptyRows: dense_shape "):
        gradbag.fill_empty_rows(scalar, 0.0)
    assert gradbag.slice(scalar, [], []).values.tolist() == [5.0]


# ------------------------------------------------------------------ gradients
def test_a_function_of_scipy_values_has_a_gradient() -> None:
    given = scipy.sparse.csr_array(SPARSE.to_dense())

    def loss(values: Any, default: Any) -> Any:
        tensor = SparseTensor.from_scipy(given)
        filled, _ = gradbag.fill_empty_rows(SparseTensor(tensor.indices, values, tensor.dense_shape), default)
        return (gradbag.slice(filled, [1, 0], [2, 2]).values ** 2).sum()

    d_values, d_default = gradbag.grad(loss, (0, 1))(given.data, np.array(-1.0))
    assert (d_values.tolist(), d_default) == ([0.0, 14.0], -2.0)


def test_a_python_default_is_a_constant() -> None:
    def filled(values: Any) -> Any:
        return gradbag.fill_empty_rows(SparseTensor([[1]], values, [3]), 9)[0].values

    value, pullback = gradbag.vjp(filled, np.array([5.0], np.float32))
    assert (value.dtype, value.tolist()) == (np.float32, [9.0, 5.0, 9.0])
    assert pullback(np.array([1.0, 2.0, 3.0], np.float32))[0].tolist() == [2.0]


def test_gradbags_slice_does_not_hide_pythons() -> None:
    assert slice(1, 2) == slice(1, 2)
    assert "slice" in gradbag.__all__
