"""Hostile calls beside the corpus: inputs that a file of numbers cannot say, and pairs of faults."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import raw_ops

TABLE = np.ones((3, 2))
ONE = np.array([0])
NONE = np.array([], np.int64)


@pytest.fixture(autouse=True)
def memory_limit() -> Iterator[None]:
    gradbag.set_memory_limit(1 << 28)
    yield
    gradbag.set_memory_limit(None)


# ------------------------------------------------------------------ Python values
@pytest.mark.parametrize(
    "value",
    [2**64, -(2**63) - 1, 10**400, 10**5000, -(10**5000)],
    ids=["2**64", "below int64", "10**400", "10**5000", "-10**5000"],
)
@pytest.mark.parametrize("listed", [False, True])
def test_an_integer_of_any_length_is_refused_in_few_words(value: int, listed: bool) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=r"indices.* does not fit") as refusal:
        raw_ops.SparseSegmentSum(data=TABLE, indices=[0, value] if listed else value, segment_ids=[0, 0])
    assert len(str(refusal.value)) < 500


def test_large_integers_never_become_floats_unasked() -> None:
    kept = raw_ops.SparseSegmentSum(data=[[2**63, 1]], indices=[0], segment_ids=[0])
    assert kept.dtype == np.uint64
    assert kept.tolist() == [[2**63, 1]]
    with pytest.raises(gradbag.Error, match="data"):
        raw_ops.SparseSegmentSum(data=[[2**63, -1]], indices=[0], segment_ids=[0])


def test_a_large_integer_for_a_float_op_becomes_float32() -> None:
    mean = raw_ops.SparseSegmentMean(data=[[2**63]], indices=[0], segment_ids=[0])
    assert (mean.dtype, mean.tolist()) == (np.float32, [[2.0**63]])


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_finite_number_never_becomes_infinite(dtype: str) -> None:
    entries = {"indices": np.zeros((1, 1), np.int64), "values": np.ones(1, dtype), "dense_shape": np.array([2])}
    with pytest.raises(gradbag.InvalidArgumentError, match=f"default_value == 1e.300 does not fit {dtype}"):
        raw_ops.SparseFillEmptyRows(**entries, default_value=1e300)
    filled = raw_ops.SparseFillEmptyRows(**entries, default_value=float("inf"))
    assert filled.output_values.tolist() == [1.0, np.inf]


class NotAnArray:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return [0, 1]


@pytest.mark.parametrize("value", [NotAnArray(), NotAnArray, np.array([0, 1], object)], ids=["list", "class", "object"])
def test_what_only_looks_like_an_array_is_refused(value: Any) -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match="indices must be one of int32, int64; got") as refusal:
        raw_ops.SparseSegmentSum(data=TABLE, indices=value, segment_ids=[0, 0])
    assert "got string" not in str(refusal.value)


# ------------------------------------------------------------------ sizes
@pytest.mark.parametrize("rows", [2**60, 2**61, 2**62, 2**63 - 2])
def test_rows_without_columns_beyond_what_numpy_holds(rows: int) -> None:
    empty = np.zeros((1, 0))
    with pytest.raises(gradbag.ResourceExhaustedError):
        raw_ops.SparseSegmentSumWithNumSegments(data=empty, indices=NONE, segment_ids=NONE, num_segments=np.array(rows))
    with pytest.raises(gradbag.ResourceExhaustedError):
        raw_ops.SparseSegmentMean(data=empty, indices=ONE, segment_ids=np.array([rows - 1]))


def test_axes_beside_a_zero_multiply_too() -> None:
    with pytest.raises(gradbag.ResourceExhaustedError):
        raw_ops.SparseSegmentSqrtNGrad(
            grad=np.zeros((0, 2**40, 0)), indices=NONE, segment_ids=NONE, output_dim0=np.array(2**30, np.int32)
        )


def test_the_width_of_fixed_width_strings_counts() -> None:
    gradbag.set_memory_limit(1 << 20)
    with pytest.raises(gradbag.ResourceExhaustedError):
        raw_ops.RaggedFillEmptyRows(
            value_rowids=NONE, values=np.array([], "S1"), nrows=np.array(1000), default_value=np.zeros((), "S10000")
        )


@pytest.mark.parametrize("dtype", [">i8", ">f8", object])
def test_a_wrong_shape_is_refused_before_its_values_are_read(dtype: Any) -> None:
    endless = np.broadcast_to(np.zeros(1, dtype), (2**45,))
    start = time.perf_counter()
    with pytest.raises(gradbag.Error, match="values"):
        raw_ops.SparseSlice(indices=np.zeros((3, 1), np.int64), values=endless, shape=[3], start=[0], size=[3])
    assert time.perf_counter() - start < 1.0


def test_a_long_shape_does_not_make_a_long_message() -> None:
    rank = 100_000
    sizes = dict.fromkeys(("start", "size"), np.zeros(rank, np.int64))
    with pytest.raises(gradbag.InvalidArgumentError, match="shape") as refusal:
        raw_ops.SparseSlice(indices=np.zeros((0, rank), np.int64), values=np.zeros(0), shape=np.full(rank, 3), **sizes)
    assert len(str(refusal.value)) < 1000


# ------------------------------------------------------------------ values
def test_bytes_of_a_bool_are_normalised() -> None:
    odd = np.array([2, 255, 0], np.uint8).view(np.bool_)
    filled = raw_ops.RaggedFillEmptyRows(
        value_rowids=np.arange(3), values=odd, nrows=np.array(4), default_value=odd[1:2].reshape(())
    )
    assert filled.output_values.view(np.uint8).tolist() == [1, 1, 0, 1]
    cut = raw_ops.SparseSlice(indices=np.arange(3)[:, None], values=odd, shape=[3], start=[0], size=[3])
    assert cut.output_values.view(np.uint8).tolist() == [1, 1, 0]


def test_a_window_reaches_exactly_as_far_as_it_says() -> None:
    ends = np.array([[2**63 - 1], [2**63 - 2], [-(2**63)], [-2], [-1]])
    for start, size, kept in [(-2, 2**63 - 1, [3, 4]), (-(2**63), 2**63 - 1, [2, 3]), (1, 2**63 - 1, [0, 1])]:
        cut = raw_ops.SparseSlice(indices=ends, values=np.arange(5), shape=[2**63 - 1], start=[start], size=[size])
        assert cut.output_values.tolist() == kept
        assert cut.output_indices[:, 0].tolist() == [int(ends[k, 0]) - start for k in kept]
