"""Python numbers and lists take the dtype that the other arguments need, if it can hold them."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradbag
from gradbag import raw_ops

PLACES = {"indices": [[0, 0], [2, 1]], "dense_shape": [3, 2]}


def pooled(data: Any, indices: Any = (0, 1), segment_ids: Any = (0, 0)) -> Any:
    return raw_ops.SparseSegmentSum(data=data, indices=indices, segment_ids=segment_ids)


def scattered(output_dim0: Any) -> Any:
    return raw_ops.SparseSegmentSumGrad(grad=[[1.0]], indices=[0], segment_ids=[0], output_dim0=output_dim0)


def filled(values: Any, default_value: Any) -> Any:
    return raw_ops.SparseFillEmptyRows(**PLACES, values=values, default_value=default_value).output_values


# ------------------------------------------------------------------ which dtype
def test_lists_take_tensorflows_dtypes() -> None:
    assert pooled([[1.0], [2.0]]).dtype == np.float32
    assert pooled([[1], [2]]).dtype == np.int32
    assert pooled([[1.0], [2j]]).dtype == np.complex128
    assert filled([True, False], True).dtype == np.bool_


def test_an_integer_list_becomes_float_where_only_floats_are_taken() -> None:
    mean = raw_ops.SparseSegmentMean(data=[[1], [2]], indices=[0, 1], segment_ids=[0, 0])
    assert (mean.dtype, mean.tolist()) == (np.float32, [[1.5]])


def test_integers_too_large_for_int32_are_int64() -> None:
    assert pooled([[2**40], [1]]).tolist() == [[2**40 + 1]]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.complex64], ids=np.dtype)
def test_a_python_number_follows_the_array_beside_it(dtype: Any) -> None:
    answer = filled(np.array([1, 2], dtype), 7)
    assert (answer.dtype, answer.tolist()) == (dtype, [1, 7, 2])


def test_a_list_follows_the_numpy_scalar_beside_it() -> None:
    answer = filled([1, 2], np.float64(0.5))
    assert (answer.dtype, answer.tolist()) == (np.float64, [1.0, 0.5, 2.0])


def test_a_list_of_numpy_values_keeps_their_dtype() -> None:
    rows = np.array([[0.1], [0.2]])
    assert pooled(list(rows)).dtype == np.float64
    assert pooled([[x] for x in rows[:, 0]]).dtype == np.float64
    assert pooled(list(rows.astype(np.float16))).dtype == np.float16
    assert pooled([[ml_dtypes.bfloat16(1)], [ml_dtypes.bfloat16(2)]]).dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize(("default", "dtype"), [(1.5, np.float32), ("x", object), (True, np.bool_), (1, np.int32)])
def test_an_empty_list_is_of_whatever_type_is_beside_it(default: Any, dtype: Any) -> None:
    places = {"indices": np.zeros((0, 1), np.int64), "dense_shape": [2]}
    answer = raw_ops.SparseFillEmptyRows(**places, values=[], default_value=default)
    assert (answer.output_values.dtype, answer.output_values.tolist()) == (dtype, [default, default])


def test_an_empty_list_is_a_vector_and_no_matrix_without_rows() -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=r"indices must have shape \[nnz rank\]; got \[0\]"):
        raw_ops.SparseFillEmptyRows(indices=[], values=[], dense_shape=[1, 4], default_value=1)


def test_empty_lists_pool_to_nothing() -> None:
    assert pooled([[1.0, 2.0]], [], []).shape == (0, 2)
    assert pooled([], [], []).shape == (0,)


# ------------------------------------------------------------------ what does not fit
@pytest.mark.parametrize("value", [2.0, True, "2", b"2", 2j, None], ids=repr)
def test_what_is_no_integer_is_no_size(value: Any) -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^SparseSegmentSumGrad: output_dim0 must be int32; got "):
        scattered(value)


@pytest.mark.parametrize("value", [2**31, 2**63, 2**64, 2**70, -(2**31) - 1, -(2**70)])
def test_an_integer_out_of_range_is_told_with_the_dtype_it_does_not_fit(value: int) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=rf"output_dim0 == {value} does not fit int32$"):
        scattered(value)


@pytest.mark.parametrize("indices", [[0.0, 1.0], [0, 1.0], [False, True], ["0", "1"], [0, None]], ids=repr)
def test_what_is_no_list_of_integers_is_no_list_of_ids(indices: Any) -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^SparseSegmentSum: indices must be one of int32, int64"):
        pooled([[1.0], [2.0]], indices)


def test_true_among_integers_is_not_one() -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match="indices must be one of int32, int64"):
        pooled([[1.0], [2.0]], [0, True])


@pytest.mark.parametrize("value", [2**63, 2**64, -(2**63) - 1])
def test_a_list_with_an_integer_beyond_int64_is_not_taken_for_floats(value: int) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=rf"indices\[1\] == {value} does not fit int64$"):
        pooled([[1.0], [2.0]], [0, value])


def test_large_unsigned_integers_beside_small_ones_stay_exact() -> None:
    assert filled([2**64 - 1, 1], np.uint64(0)).tolist() == [2**64 - 1, 0, 1]
    assert pooled([[2**63], [1]]).tolist() == [[2**63 + 1]]


@pytest.mark.parametrize(("dtype", "value"), [(np.int8, 300), (np.uint8, -1), (np.int32, 2**31), (np.uint64, -1)])
def test_a_default_that_would_wrap_is_refused(dtype: Any, value: int) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=rf"default_value == {value} does not fit {dtype.__name__}$"):
        filled(np.array([1, 2], dtype), value)


@pytest.mark.parametrize(("dtype", "value"), [(np.float32, 1e300), (np.float16, 70000), (np.float16, 1e5)])
def test_a_default_that_would_become_infinite_is_refused(dtype: Any, value: float) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=rf"default_value == .* does not fit {dtype.__name__}$"):
        filled(np.array([1, 2], dtype), value)


def test_infinity_itself_fits_every_float() -> None:
    assert filled(np.array([1, 2], np.float16), float("-inf")).tolist() == [1.0, float("-inf"), 2.0]


@pytest.mark.parametrize(("values", "default"), [(np.arange(2), 7.0), ([1, 2], 7.5), ([1.0, 2.0], 1j), ([1, 2], True)])
def test_a_default_of_a_wider_kind_than_the_values_is_refused(values: Any, default: Any) -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"default_value must be \w+( like values)?; got a Python"):
        filled(values, default)


# ------------------------------------------------------------------ what is no array
@pytest.mark.parametrize("data", [[[1.0, 2.0], [3.0]], [[1.0], 2.0], [[], [1.0]]], ids=repr)
def test_a_ragged_list_is_refused_by_name(data: Any) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^SparseSegmentSum: data is not a rectangular array"):
        pooled(data)


def test_a_list_nested_too_deep_for_numpy_is_refused() -> None:
    data: Any = 1.0
    for _ in range(70):
        data = [data]
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^SparseSegmentSum: data "):
        pooled(data)


def test_one_bracket_too_many_is_a_wrong_shape() -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=r"indices must have shape \[n\]; got \[1, 2\]"):
        pooled([[1.0], [2.0]], [[0, 1]])


@pytest.mark.parametrize("value", [None, {0, 1}, {0: 1}, iter([0, 1]), object()], ids=lambda v: type(v).__name__)
def test_what_has_no_order_or_no_length_is_refused(value: Any) -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=rf"indices must be .*; got {type(value).__name__}$"):
        pooled([[1.0], [2.0]], value)


@pytest.mark.parametrize("data", [[np.datetime64("2020")], [np.timedelta64(1, "s")], [np.void(b"ab")]], ids=repr)
def test_a_list_of_things_that_are_no_numbers_is_refused(data: Any) -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^SparseSegmentSum: data must be one of float16"):
        pooled(data)
