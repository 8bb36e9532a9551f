"""NumPy arrays keep their dtype: nothing is ever cast silently."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradbag
from gradbag import raw_ops

POOLED = {"data": np.array([[1.0], [2.0]]), "indices": np.array([0, 1]), "segment_ids": np.array([0, 0])}
SCATTERED = {"grad": np.array([[1.0]]), "indices": [0], "segment_ids": [0], "output_dim0": 1}
FILLED = {
    "indices": np.array([[0, 0], [2, 1]]),
    "values": np.array([1, 2], np.float32),
    "dense_shape": np.array([3, 2]),
    "default_value": np.float32(7),
}


# ------------------------------------------------------------------ wrong dtypes
@pytest.mark.parametrize("rows", [np.int64(1), np.array(1), np.uint32(1), np.int16(1)], ids=repr)
def test_output_dim0_is_int32_and_no_other_integer(rows: Any) -> None:
    wanted = rf"^SparseSegmentSumGrad: output_dim0 must be int32; got {rows.dtype}$"
    with pytest.raises(gradbag.UnsupportedTypeError, match=wanted):
        raw_ops.SparseSegmentSumGrad(**{**SCATTERED, "output_dim0": rows})


@pytest.mark.parametrize("dtype", ["float64", "float32", "bool", "int8", "int16", "uint32", "uint64", "complex64"])
@pytest.mark.parametrize("name", ["indices", "segment_ids"])
def test_ids_are_int32_or_int64_also_where_the_values_would_fit(name: str, dtype: str) -> None:
    wanted = rf"^SparseSegmentSum: {name} must be one of int32, int64; got {dtype}$"
    with pytest.raises(gradbag.UnsupportedTypeError, match=wanted):
        raw_ops.SparseSegmentSum(**{**POOLED, name: np.array([0, 1], dtype)})


def test_an_empty_float_array_is_no_list_of_ids() -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match="indices must be one of int32, int64; got float64"):
        raw_ops.SparseSegmentSum(data=POOLED["data"], indices=np.array([]), segment_ids=[])


def test_int32_places_are_no_int64_places() -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^SparseFillEmptyRows: indices must be int64; got int32$"):
        raw_ops.SparseFillEmptyRows(**{**FILLED, "indices": np.array([[0, 0], [2, 1]], np.int32)})


@pytest.mark.parametrize("default", [np.float64(7), np.float16(7), np.int64(7), np.True_, np.array(7.0)], ids=repr)
def test_a_numpy_scalar_has_a_dtype_even_if_python_takes_it_for_a_float(default: Any) -> None:
    wanted = rf"^SparseFillEmptyRows: default_value must be float32 like values; got {default.dtype}$"
    with pytest.raises(gradbag.UnsupportedTypeError, match=wanted):
        raw_ops.SparseFillEmptyRows(**{**FILLED, "default_value": default})


def test_a_numpy_complex_scalar_has_a_dtype_too() -> None:
    values = np.array([1, 2], np.complex64)
    with pytest.raises(gradbag.UnsupportedTypeError, match="must be complex64 like values; got complex128"):
        raw_ops.SparseFillEmptyRows(**{**FILLED, "values": values, "default_value": np.complex128(7)})


@pytest.mark.parametrize(
    "dtype",
    [np.longdouble, np.clongdouble, "M8[s]", "m8[s]", "V4", ml_dtypes.float8_e4m3fn, ml_dtypes.int4, [("a", "i1")]],
    ids=str,
)
def test_a_dtype_of_no_op_is_called_by_its_numpy_name(dtype: Any) -> None:
    with pytest.raises(gradbag.UnsupportedTypeError) as refusal:
        raw_ops.SparseSliceGrad(
            backprop_val_grad=np.zeros(1, dtype), input_indices=[[0]], input_start=[0], output_indices=[[0]]
        )
    assert str(refusal.value).endswith(f"; got {np.dtype(dtype)}")


def test_an_object_array_of_numbers_is_called_object() -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"data must be one of float16, .*; got object"):
        raw_ops.SparseSegmentSum(**{**POOLED, "data": np.array([[1.0], [2.0]], object)})


def test_integers_have_no_mean() -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^SparseSegmentMean: data must be one of .*; got int64$"):
        raw_ops.SparseSegmentMean(**{**POOLED, "data": np.array([[1], [2]])})


# ------------------------------------------------------------------ unusual dtypes
def test_int64_ids_come_back_as_int64_and_int32_as_int32() -> None:
    for dtype in (np.int32, np.int64):
        indices = np.array([2, 0], dtype)
        answer = raw_ops.SparseSegmentSumGradV2(
            grad=np.ones((1, 1)), indices=indices, segment_ids=[0, 0], dense_output_dim0=3
        )
        assert answer.sorted_unique_indices.dtype == dtype


def test_an_int64_index_is_never_cut_to_int32() -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=r"indices\[1\] == 1099511627776 out of range \[0, 2\)"):
        raw_ops.SparseSegmentSum(**{**POOLED, "indices": np.array([0, 2**40])})


def test_an_int64_num_segments_is_never_cut_to_int32() -> None:
    table = np.zeros((2, 0))
    pooled = raw_ops.SparseSegmentSumWithNumSegments(**{**POOLED, "data": table}, num_segments=np.int64(2**32 + 3))
    assert pooled.shape == (2**32 + 3, 0)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, np.complex64, np.complex128], ids=np.dtype)
def test_narrow_and_complex_numbers_stay_what_they_are(dtype: Any) -> None:
    data = np.array([[1.5], [2.5]], dtype)
    mean = raw_ops.SparseSegmentMean(**{**POOLED, "data": data})
    assert mean.dtype == dtype
    assert mean.tolist() == [[2.0]]


def test_every_c_name_of_an_integer_is_the_integer_of_its_size() -> None:
    ids = {"indices": np.array([0, 1], np.longlong), "segment_ids": np.array([0, 0], np.intc)}
    assert raw_ops.SparseSegmentSum(data=np.array([[1], [2]], np.ulonglong), **ids).dtype == np.uint64


@pytest.mark.parametrize(("name", "kind"), [("qint8", "i1"), ("quint8", "u1"), ("qint32", "i4"), ("qint32", ">i4")])
def test_quantized_gradients_are_tensorflows_structured_dtypes(name: str, kind: str) -> None:
    grad = np.array([(7,)], [(name, kind)])
    answer = raw_ops.SparseSliceGrad(
        backprop_val_grad=grad, input_indices=[[0], [4]], input_start=[3], output_indices=[[1]]
    )
    assert answer.dtype == np.dtype([(name, np.dtype(kind).newbyteorder("="))])
    assert answer[name].tolist() == [0, 7]


@pytest.mark.parametrize("dtype", [[("qint16", "i2")], [("qint8", "u1")], [("qint8", "i1"), ("qint8_", "i1")]], ids=str)
def test_a_structured_dtype_that_only_looks_quantized_is_refused(dtype: Any) -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"qint8, quint8, qint32; got \[\('qint"):
        raw_ops.SparseSliceGrad(
            backprop_val_grad=np.zeros(1, dtype), input_indices=[[0]], input_start=[0], output_indices=[[0]]
        )
