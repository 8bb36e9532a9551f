"""What a plain implementation gets wrong: gradbag's literal answer beside TensorFlow's own."""

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import gradbag
from gradbag.testing.oracle import assert_same

from .both import assert_answer, assert_both, assert_both_refuse, assert_refusal, call, ours, theirs

INT64 = {"Tidx": "int64", "Tsegmentids": "int64", "Tnumsegments": "int64"}
LARGEST = 2**63 - 1


# ------------------------------------------------------------------ pooling
def test_the_mean_of_seven_threes_is_not_three():
    """Below ten rows the sum is multiplied by the rounded reciprocal."""
    assert_both(call("SparseSegmentMean", data=[[3]], indices=[0] * 7, segment_ids=[0] * 7), output=[[3.0000002]])


def test_rows_are_added_in_blocks_of_eight_after_a_head():
    """One by one, every 1 would be lost beside 1e8."""
    entries = {"indices": [0] + [1] * 16, "segment_ids": [0] * 17}
    assert_both(call("SparseSegmentSum", data=[[1e8], [1]], **entries), output=[[100000008]])


def test_the_last_segment_id_gives_the_number_of_rows_not_the_largest():
    made = call("SparseSegmentSum", data=np.ones((10, 4)), indices=[8, 3, 0, 9], segment_ids=[0, 1, 2, 0])
    assert_both_refuse(made, r"segment_ids\[1\] == 1 out of range \[0, 1\)", r"Segment id 1 out of range \[0, 1\)")


def test_a_segment_of_one_row_is_a_copy_and_keeps_minus_zero():
    made = call("SparseSegmentMean", data=[[np.nan, np.inf, -0.0]], indices=[0], segment_ids=[0])
    assert_both(made, output=[[np.nan, np.inf, -0.0]])


def test_tensorflow_flushes_subnormal_sums_and_gradbag_keeps_them():
    made = call("SparseSegmentSum", data=[[1e-40], [1e-40]], indices=[0, 1], segment_ids=[0, 0])
    assert_answer(theirs(made), output=[[0]])
    assert_answer(ours(made), output=np.array([[1e-40]], np.float32) * 2)


def test_a_subnormal_copy_survives_on_both_sides():
    assert_both(call("SparseSegmentSum", data=[[1e-40]], indices=[0], segment_ids=[0]), output=[[1e-40]])


def test_subnormal_halves_survive_because_they_are_added_in_float32():
    made = call("SparseSegmentSum", {"T": "float16"}, data=[[1e-7], [1e-7]], indices=[0, 1], segment_ids=[0, 0])
    assert_both(made, output=[[2.4e-07]])


def test_halves_are_added_in_float32_so_60000_twice_does_not_overflow_on_the_way():
    entries = {"indices": [0, 1, 2], "segment_ids": [0, 0, 0]}
    made = call("SparseSegmentSum", {"T": "float16"}, data=[[60000], [60000], [-60000]], **entries)
    assert_both(made, output=[[60000]])


@pytest.mark.parametrize(("dtype", "terms", "total"), [("uint8", [200, 100], 44), ("int64", [LARGEST, 1], -(2**63))])
def test_integers_wrap(dtype, terms, total):
    data = np.array(terms, dtype).reshape(2, 1)
    assert_both(call("SparseSegmentSum", {"T": dtype}, data=data, indices=[0, 1], segment_ids=[0, 0]), output=[[total]])


def test_tensorflow_reads_the_low_half_of_num_segments_and_gradbag_all_of_it():
    """No columns, so that four billion rows need no memory."""
    entries = {"indices": [0, 1], "segment_ids": [0, 0], "num_segments": 2**32 + 3}
    made = call("SparseSegmentSumWithNumSegments", INT64, data=np.zeros((2, 0)), **entries)
    assert theirs(made)["output"].shape == (3, 0)
    assert ours(made)["output"].shape == (2**32 + 3, 0)


@pytest.mark.parametrize(
    ("indices", "segment_ids", "last", "accepted"),
    [
        ("int32", "int32", 2**31 - 1, False),
        ("int32", "int64", 2**31 - 1, False),
        ("int64", "int32", 2**31 - 1, False),
        ("int64", "int64", 2**31 - 1, True),
        ("int32", "int64", 2**31 - 2, True),
        ("int64", "int64", LARGEST, False),
    ],
)
def test_the_last_segment_id_must_be_below_the_largest_index_and_the_largest_id(indices, segment_ids, last, accepted):
    types = {"Tidx": indices, "Tsegmentids": segment_ids}
    made = call("SparseSegmentSum", types, data=np.zeros((1, 0)), indices=[0], segment_ids=[last])
    if accepted:
        assert theirs(made)["output"].shape == ours(made)["output"].shape == (last + 1, 0)
    else:
        tensorflow_says = "Last segment id must be < kintmax|segment ids must be >= 0"  # the second where the sum wraps
        assert_both_refuse(made, r"segment_ids\[0\] == \d+ must be below", tensorflow_says)


# ------------------------------------------------------------------ gradients of pooling
def test_the_mean_gradient_multiplies_by_the_rounded_reciprocal():
    """3 / 7 would be 0.42857143."""
    entries = {"indices": range(7), "segment_ids": [0] * 7, "output_dim0": 7}
    assert_both(call("SparseSegmentMeanGrad", grad=[[3]], **entries), output=[[0.42857146]] * 7)


@pytest.mark.parametrize("op", ["SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"])
def test_an_empty_batch_has_gradient_zero_but_tensorflow_returns_whatever_was_in_memory(op):
    made = call(op, grad=np.zeros((0, 3)), indices=[], segment_ids=[], output_dim0=6)
    assert_answer(ours(made), output=np.zeros((6, 3), np.float32))
    assert theirs(made)["output"].shape == (6, 3)

    def leftovers():
        tf.ones((6, 3)).numpy()  # leaves ones in the memory that the next output gets
        return theirs(made)["output"]

    assert any(leftovers().any() for _ in range(100))


@pytest.mark.parametrize("op", ["SparseSegmentSumGradV2", "SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2"])
def test_the_compact_gradient_of_an_empty_batch_has_no_rows(op):
    made = call(op, grad=np.zeros((0, 3)), indices=[], segment_ids=[], dense_output_dim0=6)
    assert_both(made, output=np.zeros((0, 3), np.float32), sorted_unique_indices=np.zeros(0, np.int32))


def test_without_rows_tensorflow_checks_nothing_and_gradbag_checks_as_always():
    made = call(
        "SparseSegmentSumGrad", grad=[[1, 10], [2, 20], [3, 30]], indices=[0, 99], segment_ids=[0, -7], output_dim0=0
    )
    assert theirs(made)["output"].shape == (0, 2)
    assert_refusal(ours(made), r"indices\[0\] == 0 out of range \[0, 0\)")


def test_a_gradient_takes_segment_ids_in_any_order_and_the_forward_op_does_not():
    entries = {"indices": [0, 1, 2, 2], "segment_ids": [2, 0, 1, 2]}
    table = [[1, 10], [2, 20], [3, 30]]
    gradient = call("SparseSegmentMeanGrad", grad=table, **entries, output_dim0=3)
    assert_both(gradient, output=[[1.5, 15], [1, 10], [3.5, 35]])
    # The second run (id 0) comes after id 2: TensorFlow and gradbag both stop there.
    forward = call("SparseSegmentMean", data=table, **entries)
    assert_both_refuse(forward, r"segment_ids\[1\] == 0 follows 2", "segment ids are not increasing")


@pytest.mark.parametrize(
    ("op", "rows", "tensorflow_says"),
    [
        ("SparseSegmentSumGrad", "output_dim0", "Index 9 out of range"),
        ("SparseSegmentMeanGrad", "output_dim0", "Segment id 9 out of range"),
        ("SparseSegmentMeanGradV2", "dense_output_dim0", "Index 9 out of range"),
    ],
)
def test_tensorflow_reports_one_of_two_faults_depending_on_the_op_and_gradbag_always_the_index(
    op, rows, tensorflow_says
):
    entries = {"indices": [0, 9, 1], "segment_ids": [0, 9, 0], rows: 3}
    made = call(op, grad=[[1], [2], [3]], **entries)
    assert_both_refuse(made, r"indices\[1\] == 9 out of range \[0, 3\)", tensorflow_says)


def test_a_lone_minus_zero_gradient_becomes_plus_zero():
    """It is added to zero, where the forward op copies."""
    assert_both(
        call("SparseSegmentSumGrad", grad=[[-0.0]], indices=[0], segment_ids=[0], output_dim0=1), output=[[0.0]]
    )


def test_half_gradients_are_added_in_float32():
    """In half, 2048 + 1 is 2048."""
    entries = {"indices": [0] * 5, "segment_ids": [0, 1, 1, 1, 1], "output_dim0": 1}
    assert_both(call("SparseSegmentSumGrad", {"T": "float16"}, grad=[[2048], [1]], **entries), output=[[2052]])


def test_the_compact_gradient_comes_sorted_by_index_in_the_dtype_of_the_indices():
    entries = {"indices": [5, 1, 5, 1], "segment_ids": [0, 0, 1, 1], "dense_output_dim0": 9}
    made = call("SparseSegmentMeanGradV2", INT64, grad=[[2], [4]], **entries)
    assert_both(made, output=[[3], [3]], sorted_unique_indices=np.array([1, 5], np.int64))


@pytest.mark.parametrize(
    ("indices", "tensorflow_takes_them_as"),
    [(np.array([2**40]), [0]), (np.array([0.7, 1.9], np.float32), [0, 1])],
    ids=["int64 that does not fit", "float32"],
)
def test_tensorflow_casts_numpy_indices_to_int32_and_gradbag_casts_nothing(indices, tensorflow_takes_them_as):
    entries = {"indices": indices, "segment_ids": np.zeros(len(indices), np.int32), "dense_output_dim0": 3}
    grad = np.ones((1, 1), np.float32)
    for _ in range(2):  # the first call of a process may go another way, and not cast
        answer = tf.raw_ops.SparseSegmentSumGradV2(grad=grad, **entries)
    assert_same(answer.sorted_unique_indices.numpy(), np.array(tensorflow_takes_them_as, np.int32))
    with pytest.raises(gradbag.Error, match=r"indices\[0\] == 1099511627776|indices must be one of int32, int64"):
        gradbag.raw_ops.SparseSegmentSumGradV2(grad=grad, **entries)


# ------------------------------------------------------------------ filling empty rows
def test_filling_groups_entries_by_row_but_leaves_columns_unsorted():
    made = call(
        "SparseFillEmptyRows",
        indices=[[3, 2], [1, 0], [3, 0], [0, 5], [1, 4]],
        values=[1, 2, 3, 4, 5],
        dense_shape=[5, 6],
        default_value=-1,
    )
    assert_both(
        made,
        output_indices=[[0, 5], [1, 0], [1, 4], [2, 0], [3, 2], [3, 0], [4, 0]],
        output_values=[4, 2, 5, -1, 1, 3, -1],
        empty_row_indicator=[False, False, True, False, True],
        reverse_index_map=[4, 1, 5, 0, 2],
    )


def test_full_rows_in_order_pass_through_though_their_columns_are_not_sorted():
    indices = [[0, 3], [0, 1], [1, 0]]
    made = call("SparseFillEmptyRows", indices=indices, values=[1, 2, 3], dense_shape=[2, 4], default_value=9)
    assert_both(made, output_indices=indices, output_values=[1, 2, 3], reverse_index_map=[0, 1, 2])


def test_columns_outside_the_shape_are_not_looked_at():
    made = call("SparseFillEmptyRows", indices=[[0, 77], [1, -3]], values=[1, 2], dense_shape=[3, 2], default_value=9)
    assert_both(made, output_indices=[[0, 77], [1, -3], [2, 0]], output_values=[1, 2, 9])


def test_tensorflow_says_that_a_negative_row_is_too_large():
    made = call("SparseFillEmptyRows", indices=[[0, 0], [-1, 0]], values=[1, 2], dense_shape=[5, 2], default_value=9)
    assert_both_refuse(made, r"indices\[1, 0\] == -1 out of range \[0, 5\)", r"indices\(1, 0\) is invalid: -1 >= 5")


def test_a_ragged_tensor_without_rows_has_row_ids_of_shape_0_but_tensorflow_says_0_by_1():
    made = call("RaggedFillEmptyRows", value_rowids=[], values=[], nrows=0, default_value=1)
    others = {"output_values": [], "empty_row_indicator": [], "reverse_index_map": []}
    assert_answer(theirs(made), output_value_rowids=np.zeros((0, 1), np.int64), **others)
    assert_answer(ours(made), output_value_rowids=np.zeros(0, np.int64), **others)


@pytest.mark.parametrize("op", ["SparseFillEmptyRowsGrad", "RaggedFillEmptyRowsGrad"])
def test_a_place_named_twice_gives_its_gradient_twice(op):
    made = call(op, reverse_index_map=[2, 2], grad_values=[1, 2, 3, 4])
    assert_both(made, d_values=[3, 3], d_default_value=7)
    made = call(op, reverse_index_map=[0, 0, 0], grad_values=[5])
    assert_both(made, d_values=[5, 5, 5], d_default_value=0)


@pytest.mark.parametrize("op", ["SparseFillEmptyRowsGrad", "RaggedFillEmptyRowsGrad"])
@pytest.mark.parametrize(
    ("dtype", "terms", "one_by_one", "rounded_once"),
    [
        (np.float16, [2048, 1, 1, 1, 1], 2048, 2052),
        (ml_dtypes.bfloat16, [256, 1, 1, 1, 1], 256, 260),
        (np.float16, [1] * 5000, 2048, 5000),
    ],
)
def test_tensorflow_loses_small_terms_of_the_default_gradient_and_gradbag_does_not(
    op, dtype, terms, one_by_one, rounded_once
):
    made = call(op, {"T": np.dtype(dtype).name}, reverse_index_map=[], grad_values=terms)
    assert_answer(theirs(made), d_default_value=np.array(one_by_one, dtype))
    assert_answer(ours(made), d_default_value=np.array(rounded_once, dtype))


def test_the_default_gradient_of_integers_wraps():
    assert_both(
        call("SparseFillEmptyRowsGrad", {"T": "int8"}, reverse_index_map=[], grad_values=[100, 100]),
        d_default_value=-56,
    )


# ------------------------------------------------------------------ slicing
def window(start, size, shape=(4, 6), indices=((0, 1), (2, 3))):
    indices = np.array(indices, np.int64).reshape(-1, len(shape))
    values = range(1, len(indices) + 1)
    return call("SparseSlice", indices=indices, values=values, shape=shape, start=start, size=size)


def test_a_negative_start_moves_entries_and_may_make_the_window_larger_than_the_tensor():
    made = window(shape=[4, 1], indices=[[0, 0], [3, 0]], start=[-2, 0], size=[10, 1])
    assert_both(made, output_indices=[[2, 0], [5, 0]], output_values=[1, 2], output_shape=[6, 1])


def test_size_minus_one_is_refused_but_tensorflow_takes_it_beyond_the_end():
    assert_both_refuse(
        window(start=[4, 0], size=[-1, 6]), r"size\[0\] == -1 must not be negative", "non-negative size, got -1"
    )
    beyond = window(start=[5, 0], size=[-1, 6])
    assert_answer(theirs(beyond), output_values=[], output_shape=[0, 6])
    assert_refusal(ours(beyond), r"size\[0\] == -1 must not be negative")


def test_tensorflow_takes_the_most_negative_size_because_its_arithmetic_wraps():
    made = window(start=[0, 0], size=[-(2**63), 6])
    assert_answer(theirs(made), output_values=[], output_shape=[4, 6])
    assert_refusal(ours(made), r"size\[0\] == -9223372036854775808 must not be negative")


def test_a_window_to_the_end_of_the_world_keeps_everything_but_tensorflow_wraps_and_drops_it():
    made = window(start=[1, 1], size=[LARGEST, LARGEST])
    assert_answer(theirs(made), output_values=[], output_shape=[3, 5])
    assert_answer(ours(made), output_indices=[[1, 2]], output_values=[2], output_shape=[3, 5])


def test_the_same_window_from_the_origin_is_kept_by_both():
    assert_both(
        window(start=[0, 0], size=[LARGEST, 6]),
        output_indices=[[0, 1], [2, 3]],
        output_values=[1, 2],
        output_shape=[4, 6],
    )


def test_entries_outside_the_shape_are_kept_if_they_are_in_the_window():
    made = window(shape=[4, 4], indices=[[5, 5], [0, 1]], start=[0, 0], size=[9, 9])
    assert_both(made, output_indices=[[5, 5], [0, 1]], output_values=[1, 2], output_shape=[4, 4])


@pytest.mark.parametrize(
    ("shape", "accepted"),
    [([2**62, 4, 0], False), ([0, 2**62, 4], True), ([2**62, 0, 4], True), ([2**62, 4, 1], False)],
)
def test_a_shape_has_too_many_places_unless_a_zero_comes_before_they_overflow(shape, accepted):
    made = window(shape=shape, indices=[], start=[0, 0, 0], size=[1, 1, 1])
    if accepted:
        assert_both(made, output_shape=np.minimum(shape, 1))
    else:
        assert_both_refuse(made, "a tensor of more than", "Encountered overflow")


@pytest.mark.parametrize(
    ("start", "size"),
    [
        ([-(2**62), -(2**62)], [2**62, 2**62]),
        ([-(2**40), -(2**40)], [2**40, 2**40]),
        (
            [-(2**62), 0],
            [2**62, 1],
        ),  # in the end 2**62 places; but the sizes change one by one, and 2**62 * 6 is too many
    ],
)
def test_a_window_before_the_origin_may_have_too_many_places_too(start, size):
    assert_both_refuse(window(start=start, size=size), r"size|shape|start", "overflow")


def test_the_slice_gradient_matches_in_order_and_needs_no_sorting():
    made = call(
        "SparseSliceGrad",
        backprop_val_grad=[1, 2],
        input_indices=[[1, 1], [0, 0], [2, 2]],
        input_start=[0, 0],
        output_indices=[[1, 1], [2, 2]],
    )
    assert_both(made, val_grad=[1, 0, 2])


def test_the_slice_gradient_refuses_another_order_and_names_the_row_that_it_did_not_find():
    made = call(
        "SparseSliceGrad",
        backprop_val_grad=[1, 2],
        input_indices=[[1, 1], [0, 0], [2, 2]],
        input_start=[0, 0],
        output_indices=[[0, 0], [1, 1]],
    )
    assert_both_refuse(made, r"output_indices\[1\] is not found", "aren't all propagated. Num elements:2, used: 1")


def test_the_first_of_two_equal_entries_gets_the_slice_gradient():
    places = {"input_indices": [[0, 0], [0, 0]], "input_start": [0, 0], "output_indices": [[0, 0]]}
    assert_both(call("SparseSliceGrad", backprop_val_grad=[1], **places), val_grad=[1, 0])
