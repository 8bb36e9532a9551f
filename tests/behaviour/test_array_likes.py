"""What is nearly a NumPy array: taken where nothing is lost, refused where something would be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import raw_ops

TABLE = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
ENTRIES = {"indices": [0, 1], "segment_ids": [0, 0]}


class Series:
    """Like a column of pandas: an index beside an array."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values


class Metres(np.ndarray):
    """A subclass, as unit libraries have."""


def assert_pools(data: Any) -> None:
    answer = raw_ops.SparseSegmentSum(data=data, **ENTRIES)
    assert type(answer) is np.ndarray
    assert (answer.dtype, answer.tolist()) == (np.float32, [[4.0, 6.0]])


def test_a_subclass_is_taken_and_a_plain_array_given_back() -> None:
    assert_pools(TABLE.view(Metres))
    assert_pools(TABLE.view(np.recarray))


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_matrix_is_taken_although_it_indexes_differently() -> None:
    assert_pools(np.matrix(TABLE))


def test_a_memory_map_is_taken(tmp_path: Path) -> None:
    TABLE.tofile(tmp_path / "table")
    assert_pools(np.memmap(tmp_path / "table", np.float32, "r", shape=(2, 2)))


def test_whatever_turns_into_an_array_is_taken() -> None:
    assert_pools(Series(TABLE))
    answer = raw_ops.SparseSegmentSum(
        data=TABLE, indices=Series(np.array([0, 1])), segment_ids=Series(np.array([0, 0], np.int32))
    )
    assert answer.tolist() == [[4.0, 6.0]]


def test_whatever_turns_into_an_array_of_a_wrong_dtype_is_refused() -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match="indices must be one of int32, int64; got float64"):
        raw_ops.SparseSegmentSum(data=TABLE, indices=Series(np.array([0.0])), segment_ids=[0])


@pytest.mark.parametrize("swap", [">", "<"])
def test_either_byte_order_is_taken_and_the_native_one_given_back(swap: str) -> None:
    ids = {"indices": np.array([0, 1], f"{swap}i8"), "segment_ids": np.array([0, 0], f"{swap}i4")}
    answer = raw_ops.SparseSegmentSum(data=TABLE.astype(f"{swap}f4"), **ids)
    assert answer.dtype.isnative
    assert answer.tolist() == [[4.0, 6.0]]


@pytest.mark.parametrize("mask", [False, [[0, 0], [0, 1]]], ids=["nothing masked", "one masked"])
def test_a_masked_array_is_refused_for_nobody_would_look_at_the_mask(mask: Any) -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^SparseSegmentSum: data is a masked array; fill it first"):
        raw_ops.SparseSegmentSum(data=np.ma.array(TABLE, mask=mask), **ENTRIES)


def test_a_masked_default_is_refused() -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match="default_value is a masked array"):
        raw_ops.RaggedFillEmptyRows(value_rowids=[0], values=[1.0], nrows=2, default_value=np.ma.masked)


def test_a_broadcast_view_is_as_good_as_its_copy() -> None:
    assert_pools(np.broadcast_to(np.array([2.0, 3.0], np.float32), (2, 2)))


# ------------------------------------------------------------------ bool
def test_a_bool_buffer_of_other_bytes_comes_out_as_zeros_and_ones() -> None:
    foreign = np.array([0, 1, 2, 255], np.uint8).view(bool)
    indices = [[0, 0], [0, 1], [0, 2], [2, 0]]
    default = np.array(7, np.uint8).view(bool)
    filled = raw_ops.SparseFillEmptyRows(indices=indices, values=foreign, dense_shape=[3, 3], default_value=default)
    assert filled.output_values.view(np.uint8).tolist() == [0, 1, 1, 1, 1]
    kept = raw_ops.SparseSlice(indices=indices, values=foreign, shape=[3, 3], start=[0, 1], size=[3, 2])
    assert kept.output_values.view(np.uint8).tolist() == [1, 1]


def test_a_strided_bool_buffer_is_cleaned_too() -> None:
    foreign = np.array([2, 9, 0, 9], np.uint8).view(bool)[::2]
    kept = raw_ops.SparseSlice(indices=[[0], [1]], values=foreign, shape=[2], start=[0], size=[2])
    assert kept.output_values.view(np.uint8).tolist() == [1, 0]
