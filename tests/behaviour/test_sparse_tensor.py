"""SparseTensor: three arrays that fit together, and the ways in and out."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.sparse

import gradbag
from gradbag import SparseTensor

DENSE = np.array([[0.0, 5.0], [0.0, 0.0], [7.0, 0.0]])


# ------------------------------------------------------------------ construction
def test_lists_and_int32_places_become_int64() -> None:
    tensor = SparseTensor(np.array([[2, 0]], np.int32), [1.5], (3, 2))
    assert (tensor.indices.dtype, tensor.dense_shape.dtype) == (np.int64, np.int64)
    assert (tensor.nnz, tensor.rank, tensor.shape, tensor.dtype) == (1, 2, (3, 2), np.float64)
    assert repr(tensor) == "SparseTensor(1 entries, shape=[3, 2], dtype=float64)"


def test_values_keep_their_dtype() -> None:
    for dtype in (np.float16, ml_dtypes.bfloat16, np.int8, np.complex64, bool, object):
        values = np.array(["x"] if dtype is object else [1], dtype)
        assert SparseTensor([[0]], values, [1]).dtype == dtype


def test_no_entries_need_no_empty_matrix() -> None:
    tensor = SparseTensor([], [], [3, 2])
    assert tensor.indices.shape == (0, 2)
    assert tensor.to_dense().tolist() == np.zeros((3, 2)).tolist()


@pytest.mark.parametrize("places", [[[0.0, 0.0]], np.array([[True, False]]), None, [["0", "1"]]], ids=repr)
def test_places_are_integers(places: Any) -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^SparseTensor: indices must be int64; got "):
        SparseTensor(places, [1.0], [2, 2])


def test_a_place_beyond_int64_does_not_wrap() -> None:
    with pytest.raises(gradbag.Error, match=r"^SparseTensor: indices"):
        SparseTensor(np.array([[2**63, 0]], np.uint64), [1.0], [2, 2])


@pytest.mark.parametrize(
    ("indices", "values", "shape", "message"),
    [
        ([[0, 1, 2]], [1.0], [2, 2], r"indices must have shape \[nnz rank\] with rank=2; got \[1, 3\]"),
        ([0, 1], [1.0], [2, 2], r"indices must have shape \[nnz rank\] with rank=2; got \[2\]"),
        ([[0, 1]], [1.0, 2.0], [2, 2], r"values must have shape \[nnz\] with nnz=1; got \[2\]"),
        ([[0, 1]], 1.0, [2, 2], r"values must have shape \[nnz\] with nnz=1; got \[\]"),
        ([[0, 1]], [1.0], 4, r"dense_shape must have shape \[rank\]; got \[\]"),
        ([[0, 1]], [1.0], [[2, 2]], r"dense_shape must have shape \[rank\]; got \[1, 2\]"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(indices: Any, values: Any, shape: Any, message: str) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=f"^SparseTensor: {message}$"):
        SparseTensor(indices, values, shape)


@pytest.mark.parametrize(("indices", "values"), [([[0], [0, 1]], [1.0, 2.0]), ([[0, 0], [0, 1]], [[1], [1, 2]])])
def test_a_ragged_list_is_refused_by_name(indices: Any, values: Any) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^SparseTensor: (indices|values) "):
        SparseTensor(indices, values, [2, 2])


def test_it_cannot_be_changed_and_equals_only_itself() -> None:
    tensor = SparseTensor([[0]], [1.0], [1])
    with pytest.raises(AttributeError):
        tensor.values = np.zeros(1)  # type: ignore[misc]
    assert tensor == tensor
    assert tensor != SparseTensor([[0]], [1.0], [1])


# ------------------------------------------------------------------ dense
def test_from_dense_and_back() -> None:
    tensor = SparseTensor.from_dense(DENSE)
    assert (tensor.indices.tolist(), tensor.values.tolist()) == ([[0, 1], [2, 0]], [5.0, 7.0])
    assert tensor.to_dense().tolist() == DENSE.tolist()


@pytest.mark.parametrize("shape", [(), (0,), (4,), (0, 3), (2, 3, 2)])
def test_any_number_of_dimensions_goes_to_dense_and_back(shape: tuple[int, ...]) -> None:
    dense = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
    again = SparseTensor.from_dense(dense).to_dense()
    assert again.shape == shape
    assert again.tolist() == dense.tolist()


def test_nan_is_an_entry_and_minus_zero_is_none() -> None:
    assert SparseTensor.from_dense([np.nan, -0.0, 0.0, 1.0]).indices.tolist() == [[0], [3]]


def test_entries_at_the_same_place_add_up() -> None:
    assert SparseTensor([[1], [1]], [2.0, 3.0], [2]).to_dense().tolist() == [0.0, 5.0]


@pytest.mark.parametrize("place", [-1, 2])
def test_an_entry_outside_has_no_place_in_a_dense_array(place: int) -> None:
    tensor = SparseTensor([[0, 0], [place, 1]], [1.0, 2.0], [2, 2])
    with pytest.raises(gradbag.InvalidArgumentError, match=rf"indices\[1, 0\] == {place} out of range \[0, 2\)"):
        tensor.to_dense()


# ------------------------------------------------------------------ SciPy
@pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_every_format_of_scipy_comes_in(form: str, kind: str) -> None:
    given = getattr(scipy.sparse, f"{form}_{kind}")(DENSE)
    tensor = SparseTensor.from_scipy(given)
    assert tensor.to_dense().tolist() == DENSE.tolist()
    assert tensor.indices.dtype == np.int64


def test_a_csr_array_comes_row_by_row_and_a_csc_array_column_by_column() -> None:
    assert SparseTensor.from_scipy(scipy.sparse.csr_array(DENSE)).indices.tolist() == [[0, 1], [2, 0]]
    assert SparseTensor.from_scipy(scipy.sparse.csc_array(DENSE)).indices.tolist() == [[2, 0], [0, 1]]


def test_duplicates_of_a_coo_array_stay_apart() -> None:
    given = scipy.sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    assert SparseTensor.from_scipy(given).values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("shape", [(4,), (2, 3, 2)])
def test_scipy_arrays_with_other_than_two_dimensions_come_in_and_go_out(shape: tuple[int, ...]) -> None:
    dense = np.arange(float(np.prod(shape))).reshape(shape)
    try:
        given = scipy.sparse.coo_array(dense)
    except ValueError:
        pytest.skip(f"SciPy {scipy.__version__} has no sparse arrays of {len(shape)} dimensions")
    tensor = SparseTensor.from_scipy(given)
    assert tensor.to_dense().tolist() == dense.tolist()
    assert tensor.to_scipy().toarray().tolist() == dense.tolist()


@pytest.mark.parametrize("shape", [(3, 2), (0, 2)])
def test_an_empty_scipy_array_comes_in_and_goes_out(shape: tuple[int, int]) -> None:
    tensor = SparseTensor.from_scipy(scipy.sparse.csr_array(shape))
    assert (tensor.nnz, tensor.shape) == (0, shape)
    assert tensor.to_scipy().shape == shape


def test_what_comes_from_scipy_does_not_share_its_memory() -> None:
    given = scipy.sparse.coo_array(DENSE)
    tensor = SparseTensor.from_scipy(given)
    given.data[:] = 0
    assert tensor.to_dense().tolist() == DENSE.tolist()


def test_what_is_not_from_scipy_is_refused() -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^from_scipy: array must be a SciPy .*; got ndarray$"):
        SparseTensor.from_scipy(DENSE)
