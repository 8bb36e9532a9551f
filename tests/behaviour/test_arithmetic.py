"""The order of every addition is fixed, and so are the bits."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from gradbag import raw_ops
from gradbag.testing import assert_same

BFLOAT16 = ml_dtypes.bfloat16


def pool(combiner: str, column: Any, picks: Any, dtype: Any = np.float32) -> Any:
    """All entries in one segment of a table with one column."""
    data = np.array(column, dtype).reshape(-1, 1)
    op = getattr(raw_ops, f"SparseSegment{combiner}")
    return op(data=data, indices=np.array(picks), segment_ids=np.zeros(len(picks), np.int32))[0, 0]


def scatter(combiner: str, column: Any, segment_ids: Any, dtype: Any = np.float32) -> Any:
    """All entries to one row."""
    grad = np.array(column, dtype).reshape(-1, 1)
    op = getattr(raw_ops, f"SparseSegment{combiner}Grad")
    picks = np.zeros(len(segment_ids), np.int64)
    return op(grad=grad, indices=picks, segment_ids=np.array(segment_ids), output_dim0=1)[0, 0]


def default_gradient(values: Any, dtype: Any = np.float32, named: Any = ()) -> Any:
    reverse_index_map = np.array(named, np.int64)
    values = np.array(values, dtype)
    return raw_ops.SparseFillEmptyRowsGrad(reverse_index_map=reverse_index_map, grad_values=values).d_default_value


# ------------------------------------------------------------------ pooling
def test_the_mean_of_seven_threes_is_not_three() -> None:
    assert_same(pool("Mean", [3], [0] * 7), np.float32(3.0000002))  # times the rounded reciprocal


def test_the_mean_of_ten_threes_is_three_for_it_divides() -> None:
    assert_same(pool("Mean", [3], [0] * 10), np.float32(3))


def test_sqrt_n_of_seven_multiplies_and_of_eleven_divides() -> None:
    few = np.float32(21) * (np.float32(1) / np.float32(np.sqrt(7.0)))
    assert_same(pool("SqrtN", [3], [0] * 7), few)
    assert_same(pool("SqrtN", [3], [0] * 11), np.float32(33) / np.float32(np.sqrt(11.0)))


def test_sixteen_ones_are_not_lost_beside_a_hundred_million_but_half_of_them_are() -> None:
    # A head of nine, then eight at once: 1e8 swallows eight ones one by one, then takes the block.
    assert_same(pool("Sum", [1e8, 1], [0] + [1] * 16), np.float32(100_000_008))


@pytest.mark.parametrize("combiner", ["Sum", "Mean", "SqrtN"])
def test_a_single_row_is_copied_bit_by_bit(combiner: str) -> None:
    bits = np.array([0x80000000, 0x7FC12345, 0x00000001, 0xFF800000], np.uint32)  # -0.0, a NaN, a subnormal, -inf
    op = getattr(raw_ops, f"SparseSegment{combiner}")
    answer = op(data=bits.view(np.float32).reshape(1, 4), indices=[0], segment_ids=[0])
    assert answer.view(np.uint32).tolist() == [bits.tolist()]


def test_a_row_that_nobody_picked_is_plus_zero() -> None:
    answer = raw_ops.SparseSegmentSum(data=np.full((1, 1), np.nan), indices=[0], segment_ids=[1])
    assert_same(answer[0], np.array([0.0]))


def test_a_nan_in_a_row_that_is_not_picked_stays_there() -> None:
    assert_same(pool("Mean", [np.nan, 2, 4], [1, 2]), np.float32(3))


def test_halves_add_up_in_float32_and_may_pass_beyond_their_range() -> None:
    assert_same(pool("Sum", [60000, -60000], [0, 0, 1], np.float16), np.float16(60000))
    assert_same(pool("Mean", [60000], [0, 0], np.float16), np.float16(60000))


def test_an_overflow_is_an_infinity_and_no_warning() -> None:
    assert_same(pool("Sum", [60000], [0, 0], np.float16), np.float16(np.inf))
    assert_same(pool("Sum", [3e38], [0, 0], np.float32), np.float32(np.inf))
    assert_same(pool("Sum", [np.inf, -np.inf], [0, 1], np.float64), np.float64(np.nan))


@pytest.mark.parametrize(
    ("dtype", "column", "total"),
    [
        (np.uint8, [200, 100], 44),
        (np.int8, [100, 100], -56),
        (np.int64, [2**63 - 1, 1], -(2**63)),
        (np.uint64, [2**64 - 1, 2], 1),
    ],
)
def test_integers_wrap(dtype: Any, column: list[int], total: int) -> None:
    assert_same(pool("Sum", column, [0, 1], dtype), dtype(total))
    assert_same(scatter("Sum", column, [0, 1], dtype), dtype(total))
    assert_same(default_gradient(column, dtype), np.array(total, dtype))


def test_subnormals_are_kept_where_tensorflow_flushes_them() -> None:
    tiny = np.float32(1e-40)
    assert_same(pool("Sum", [tiny], [0, 0]), 2 * tiny)
    assert_same(pool("Mean", [2e-38, -1.9e-38], [0, 1]), (np.float32(2e-38) - np.float32(1.9e-38)) / 2)
    assert_same(scatter("Mean", [tiny], [0, 0]), tiny)
    assert_same(default_gradient([5e-324, 5e-324], np.float64), np.array(1e-323))


def test_scaling_a_complex_number_never_mixes_its_parts() -> None:
    data = np.array([[complex(np.inf, 1)], [complex(1, 1)]])
    mean = raw_ops.SparseSegmentMean(data=data, indices=[0, 1], segment_ids=[0, 0])
    assert_same(mean, np.array([[complex(np.inf, 1)]]))


# ------------------------------------------------------------------ gradients of pooling
def test_a_seventh_of_three_is_three_times_the_rounded_seventh() -> None:
    grad = np.array([[3]], np.float32)
    answer = raw_ops.SparseSegmentMeanGrad(grad=grad, indices=np.arange(7), segment_ids=[0] * 7, output_dim0=7)
    assert_same(answer, np.full((7, 1), 0.42857146, np.float32))  # 3 / 7 is 0.42857143


@pytest.mark.parametrize("combiner", ["Sum", "Mean", "SqrtN"])
def test_a_lone_negative_zero_becomes_plus_zero_for_it_is_added_to_zero(combiner: str) -> None:
    assert_same(scatter(combiner, [-0.0], [0]), np.float32(0.0))
    compact = getattr(raw_ops, f"SparseSegment{combiner}GradV2")(
        grad=np.array([[-0.0]]), indices=[4], segment_ids=[0], dense_output_dim0=5
    )
    assert_same(compact.output, np.array([[0.0]]))


@pytest.mark.parametrize(("dtype", "large"), [(np.float16, 2048), (BFLOAT16, 256)], ids=["float16", "bfloat16"])
def test_small_gradients_add_up_beside_a_large_one(dtype: Any, large: int) -> None:
    assert_same(scatter("Sum", [large, 1], [0, 1, 1, 1, 1], dtype), dtype(large + 4))


def test_contributions_to_a_row_come_in_the_order_of_the_entries() -> None:
    assert_same(scatter("Sum", [1e8, 1, -1e8], [0, 1, 2]), np.float32(0))
    assert_same(scatter("Sum", [1e8, 1, -1e8], [0, 2, 1]), np.float32(1))
    entries = {"indices": [5, 1, 5, 1, 5], "segment_ids": [0, 1, 1, 0, 2]}
    grad = np.array([[1e8], [1], [-1e8]], np.float32)
    compact = raw_ops.SparseSegmentSumGradV2(grad=grad, **entries, dense_output_dim0=9)
    assert_same(compact.output, np.array([[1e8], [0]], np.float32))


def test_an_empty_batch_has_a_gradient_of_zeros() -> None:
    nothing = np.array([], np.int32)
    for name in ("Sum", "Mean", "SqrtN"):
        op = getattr(raw_ops, f"SparseSegment{name}Grad")
        answer = op(grad=np.zeros((0, 300), np.float32), indices=nothing, segment_ids=nothing, output_dim0=200)
        assert_same(answer, np.zeros((200, 300), np.float32))


# ------------------------------------------------------------------ the gradient of a default
def test_five_thousand_ones_are_five_thousand_also_in_sixteen_bits() -> None:
    assert_same(default_gradient(np.ones(5000), np.float16), np.array(5000, np.float16))  # one by one: 2048
    assert_same(default_gradient(np.ones(5000), BFLOAT16), np.array(4992, BFLOAT16))  # the nearest; one by one: 256


def test_float32_ones_are_not_lost_beside_a_large_number() -> None:
    assert_same(default_gradient([2**24, *[1] * 1000]), np.array(2**24 + 1000, np.float32))  # one by one: 2**24


def test_float64_adds_up_in_eight_lanes() -> None:
    # Lane 0 loses its second one, the other seven lanes hold two each; one by one, all fifteen would be lost.
    assert_same(default_gradient([1e16, *[1.0] * 15], np.float64), np.array(1e16 + 14))


def test_blocks_of_1024_add_up_in_pairs() -> None:
    values = np.zeros(3 * 1024)
    values[[0, 1024, 2048]] = [1.0, 1e16, -1e16]
    assert_same(default_gradient(values, np.float64), np.array(0.0))  # (1 + 1e16) - 1e16
    values[[0, 1024, 2048]] = [1e16, -1e16, 1.0]
    assert_same(default_gradient(values, np.float64), np.array(1.0))


@pytest.mark.parametrize(
    ("dtype", "parts", "total"),
    [(BFLOAT16, [1, 2**-8, 2**-40], 1 + 2**-7), (np.float16, [1, 2**-11, 2**-24], 1 + 2**-10)],
    ids=["bfloat16", "float16"],
)
def test_a_sum_is_rounded_once_where_rounding_twice_would_differ(dtype: Any, parts: list[float], total: float) -> None:
    exact = np.float64(sum(parts))
    assert exact.astype(np.float32).astype(dtype) == 1  # by way of float32 it becomes a tie, and goes to even
    assert_same(default_gradient(parts, dtype), np.array(total, dtype))
    assert_same(default_gradient([-p for p in parts], dtype), np.array(-total, dtype))


def test_what_an_entry_gets_back_does_not_reach_the_default() -> None:
    assert_same(default_gradient([np.nan, np.inf, 3.0], named=[0, 1]), np.array(3, np.float32))
    assert_same(default_gradient([complex(np.nan, 1), 3j], np.complex64, named=[0]), np.array(3j, np.complex64))


def test_no_default_was_used_so_its_gradient_is_plus_zero() -> None:
    assert_same(default_gradient([-1.0, -0.0], named=[0, 1]), np.array(0, np.float32))
