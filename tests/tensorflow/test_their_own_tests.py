"""What TensorFlow's own tests check of these ops, replayed on gradbag; their files stand above each part.

Where they compare with a loop, so do we (`pooled`, `scattered`), and with TensorFlow's bits beside it.
"""

import numpy as np
import pytest
import tensorflow as tf

from gradbag import RowGrad, raw_ops, vjp
from gradbag.testing.oracle import assert_same

from .both import Refused, assert_both, assert_both_refuse, call, ours, theirs
from .differences import compare

POOLING = ["SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"]
COUNTED = [op + "WithNumSegments" for op in POOLING]
DENSE = [op + "Grad" for op in POOLING]
COMPACT = [op + "GradV2" for op in POOLING]
INDEX_TYPES = [(a, b) for a in ("int32", "int64") for b in ("int32", "int64")]


def checked(made):
    """gradbag's answer, after TensorFlow has given the same bits."""
    answer = ours(made)
    assert not isinstance(answer, Refused), answer
    compare(made, answer, theirs(made))
    return answer


def counting(*shape):
    """1, 2, 3, ..."""
    return np.arange(1.0, 1.0 + np.prod(shape, dtype=int)).reshape(shape)


def scale(op, segment_ids):
    """What each entry's row is multiplied by."""
    counts = np.bincount(segment_ids)[segment_ids]
    return 1 / counts if "Mean" in op else 1 / np.sqrt(counts) if "SqrtN" in op else np.ones(len(counts))


def pooled(op, data, indices, segment_ids, segments):
    out = np.zeros((segments, *data.shape[1:]))
    for index, segment, factor in zip(indices, segment_ids, scale(op, segment_ids), strict=True):
        out[segment] += data[index] * factor
    return out


def scattered(op, grad, indices, segment_ids, rows):
    out = np.zeros((rows, *grad.shape[1:]))
    for index, segment, factor in zip(indices, segment_ids, scale(op, segment_ids), strict=True):
        out[index] += grad[segment] * factor
    return out


# ------------------------------------------------------------------ segment_reduction_ops_test.py: values
@pytest.mark.parametrize("columns", [1, 2, 3, 32])
@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        *((op, dtype) for op in POOLING for dtype in ("float32", "float64", "bfloat16")),
        *(("SparseSegmentSum", dtype) for dtype in ("int32", "int64")),
    ],
)
def test_segment_number_i_has_i_plus_one_rows(op, dtype, columns):
    segment_ids = np.repeat(np.arange(20), np.arange(1, 21))
    indices = np.random.default_rng(columns).integers(0, 400, len(segment_ids))
    data = counting(400, columns)
    want = pooled(op, data, indices, segment_ids, 20)
    for index_type, segment_type in INDEX_TYPES:
        types = {"T": dtype, "Tidx": index_type, "Tsegmentids": segment_type}
        output = checked(call(op, types, data=data, indices=indices, segment_ids=segment_ids))["output"]
        np.testing.assert_allclose(output.astype(float), want, rtol=2e-2 if dtype == "bfloat16" else 1e-6)


@pytest.mark.parametrize("op", POOLING)
@pytest.mark.parametrize(
    "segment_ids", [[0, 2, 2, 2], [1, 2, 2, 2], [0, 1, 2, 2]], ids=["hole", "starts at 1", "valid"]
)
def test_segment_ids_may_leave_holes(op, segment_ids):
    made = call(op, data=counting(10, 4), indices=[8, 3, 0, 9], segment_ids=segment_ids)
    want = pooled(op, counting(10, 4), [8, 3, 0, 9], segment_ids, 3)
    np.testing.assert_allclose(checked(made)["output"], want, rtol=1e-6)


@pytest.mark.parametrize("op", COUNTED)
@pytest.mark.parametrize("segment_ids", [[0, 2, 2, 2], [0, 1, 3, 3]])
def test_a_given_number_of_segments(op, segment_ids):
    made = call(op, data=counting(10, 4), indices=[8, 3, 0, 9], segment_ids=segment_ids, num_segments=5)
    want = pooled(op, counting(10, 4), [8, 3, 0, 9], segment_ids, 5)
    np.testing.assert_allclose(checked(made)["output"], want, rtol=1e-6)


@pytest.mark.parametrize("op", POOLING)
def test_no_entries(op):
    assert_both(call(op, data=np.zeros((0, 4)), indices=[], segment_ids=[]), output=np.zeros((0, 4), np.float32))


@pytest.mark.parametrize("op", COUNTED)
def test_no_entries_in_five_segments(op):
    made = call(op, data=np.zeros((0, 4)), indices=[], segment_ids=[], num_segments=5)
    assert_both(made, output=np.zeros((5, 4), np.float32))


# ------------------------------------------------------------------ segment_reduction_ops_test.py: faults
@pytest.mark.parametrize("op", POOLING)
def test_scalar_data(op):
    made = call(op, data=1.0, indices=[0], segment_ids=[3])
    assert_both_refuse(made, r"data must have shape \[rows \*inner\]; got \[\]", "Shape must be at least rank 1")


@pytest.mark.parametrize("op", POOLING)
@pytest.mark.parametrize(
    ("indices", "fault"), [([8, -1, 0, 9], r"indices\[1\] == -1"), ([8, 3, 0, 10], r"indices\[3\] == 10")]
)
def test_a_bad_index(op, indices, fault):
    """The message is TensorFlow's."""
    made = call(op, data=counting(10, 4), indices=indices, segment_ids=[0, 1, 2, 2])
    assert_both_refuse(made, fault + r" out of range \[0, 10\)", fault + r" out of range \[0, 10\)")


@pytest.mark.parametrize("op", POOLING)
@pytest.mark.parametrize(
    ("segment_ids", "gradbag_says", "tensorflow_says"),
    [
        ([0, 1, 0, 1], r"segment_ids\[2\] == 0 follows 1", "segment ids are not increasing"),
        ([0, 1, 2, 0], r"segment_ids\[1\] == 1 out of range \[0, 1\)", r"Segment id 1 out of range \[0, 1\)"),
        ([-1, 0, 1, 1], r"segment_ids\[0\] == -1 out of range \[0, 2\)", r"Segment id -1 out of range \[0, 2\)"),
        ([0, 0, 0, -1], r"segment_ids\[3\] == -1 must not be negative", "segment ids must be >= 0"),
        ([0, 0, 0, -2], r"segment_ids\[3\] == -2 must not be negative", "segment ids must be >= 0"),
    ],
)
def test_bad_segment_ids(op, segment_ids, gradbag_says, tensorflow_says):
    made = call(op, data=counting(10, 4), indices=[8, 3, 0, 9], segment_ids=segment_ids)
    assert_both_refuse(made, gradbag_says, tensorflow_says)


@pytest.mark.parametrize("op", POOLING)
def test_more_segments_than_can_be_counted(op):
    types = {"Tidx": "int64", "Tsegmentids": "int64"}
    made = call(op, types, data=counting(10, 4), indices=[2**62 - 1], segment_ids=[2**62 - 1])
    assert_both_refuse(made, "output of shape", "Encountered overflow when multiplying")


@pytest.mark.parametrize("op", COUNTED)
@pytest.mark.parametrize(
    ("segment_ids", "num_segments", "gradbag_says"),
    [
        ([0, 1, 3, 5], 5, r"segment_ids\[3\] == 5 out of range \[0, 5\)"),
        ([0, 1, 3, 3], -2, "num_segments == -2 must not be negative"),
    ],
)
def test_a_bad_number_of_segments(op, segment_ids, num_segments, gradbag_says):
    made = call(op, data=counting(10, 4), indices=[8, 3, 0, 9], segment_ids=segment_ids, num_segments=num_segments)
    assert_both_refuse(made, gradbag_says, "segment ids must be")


# ------------------------------------------------------------------ segment_reduction_ops_test.py: gradients
@pytest.mark.parametrize("columns", [1, 2, 3, 32])
@pytest.mark.parametrize(("indices", "rows"), [([8, 3, 0, 9, 3], 10), ([0] * 5, 1)], ids=["several rows", "one row"])
@pytest.mark.parametrize("op", DENSE)
def test_dense_gradient(op, indices, rows, columns):
    grad, segment_ids = counting(3, columns), [0, 1, 2, 2, 2]
    made = call(op, grad=grad, indices=indices, segment_ids=segment_ids, output_dim0=rows)
    want = scattered(op, grad, indices, segment_ids, rows)
    np.testing.assert_allclose(checked(made)["output"], want, rtol=1e-6)


@pytest.mark.parametrize("columns", [1, 2, 3, 32])
@pytest.mark.parametrize(
    ("indices", "rows", "unique"),
    [([8, 3, 0, 9, 3], 10, [0, 3, 8, 9]), ([0] * 5, 1, [0])],
    ids=["several rows", "one row"],
)
@pytest.mark.parametrize("op", COMPACT)
def test_compact_gradient(op, indices, rows, unique, columns):
    grad, segment_ids = counting(3, columns), [0, 1, 2, 2, 2]
    answer = checked(call(op, grad=grad, indices=indices, segment_ids=segment_ids, dense_output_dim0=rows))
    want = scattered(op, grad, indices, segment_ids, rows)[unique]
    np.testing.assert_allclose(answer["output"], want, rtol=1e-6)
    assert answer["sorted_unique_indices"].tolist() == unique


@pytest.mark.parametrize("op", [*DENSE, *COMPACT])
@pytest.mark.parametrize(
    ("segments", "indices", "segment_ids", "gradbag_says", "tensorflow_says"),
    [
        (3, [8, 3, 0, 10], [0, 1, 2, 2], r"indices\[3\] == 10 out of range \[0, 10\)", "Index 10 out of range"),
        (3, [8, 3, -1, 9], [0, 1, 2, 2], r"indices\[2\] == -1 out of range \[0, 10\)", "Index -1 out of range"),
        (3, [8, 3, 0, 9], [0, 1, 1, 4], r"segment_ids\[3\] == 4 out of range \[0, 3\)", "Invalid number of segments"),
        (1, [8, 3, 0, 9], [0, 1, 2, 0], r"segment_ids\[1\] == 1 out of range \[0, 1\)", "Segment id 1 out of range"),
        (2, [8, 3, 0, 9], [-1, 0, 1, 1], r"segment_ids\[0\] == -1 out of range \[0, 2\)", "Segment id -1 out of range"),
        (0, [8, 3, 0, 9], [0, 1, 2, -1], r"segment_ids\[0\] == 0 out of range \[0, 0\)", "Segment id 0 out of range"),
    ],
)
def test_a_gradient_of_bad_entries(op, segments, indices, segment_ids, gradbag_says, tensorflow_says):
    rows = {"dense_output_dim0" if op in COMPACT else "output_dim0": 10}
    made = call(op, grad=counting(segments, 4), indices=indices, segment_ids=segment_ids, **rows)
    assert_both_refuse(made, gradbag_says, tensorflow_says)


# ------------------------------------------------------------------ segment_reduction_ops_test.py: derivatives
def assert_derivative(function, primal, delta):
    """The Jacobian by pulling back unit vectors equals the one by central differences."""
    value, pullback = vjp(function, primal)
    for place in np.ndindex(value.shape):
        unit = np.zeros_like(value)
        unit[place] = 1
        row = np.zeros_like(primal)
        for other in np.ndindex(primal.shape):
            step = np.zeros_like(primal)
            step[other] = delta
            row[other] = (function(primal + step)[place] - function(primal - step)[place]) / (2 * delta)
        np.testing.assert_allclose(pullback(unit)[0], row, atol=1e-7)


@pytest.mark.parametrize("op", [*POOLING, *COUNTED])
def test_the_derivative_of_pooling(op):
    entries = {"indices": np.array([7, 0, 3, 7]), "segment_ids": np.array([0, 1, 2, 2])}
    counted = {"num_segments": np.array(5)} if op in COUNTED else {}
    assert_derivative(lambda data: getattr(raw_ops, op)(data=data, **entries, **counted), counting(10, 4), delta=1)


@pytest.mark.parametrize("op", POOLING)
def test_a_sparse_gradient_is_compact_and_has_tensorflows_bits(op):
    data, entries = (counting(10, 4), {"indices": np.array([7, 0, 3, 7]), "segment_ids": np.array([0, 1, 2, 2])})
    weights = counting(3, 4) / 7
    with tf.GradientTape() as tape:
        table = tf.constant(data)
        tape.watch(table)
        ids = {name: tf.constant(array) for name, array in entries.items()}
        pooled_rows = getattr(tf.raw_ops, op)(data=table, **ids, sparse_gradient=True)
    want = tape.gradient(pooled_rows, table, output_gradients=tf.constant(weights))
    _, pullback = vjp(lambda table: getattr(raw_ops, op)(data=table, **entries, sparse_gradient=True), data)
    got = pullback(weights)[0]
    assert isinstance(want, tf.IndexedSlices)
    assert isinstance(got, RowGrad)
    assert_same(got.indices, want.indices.numpy())
    assert_same(got.rows, want.values.numpy())


# ------------------------------------------------------------------ sparse_ops_test.py: filling
FIVE_BY_SIX = {"indices": [[0, 0], [1, 0], [1, 3], [1, 4], [3, 2], [3, 3]], "dense_shape": [5, 6]}
FILLED = [[0, 0], [1, 0], [1, 3], [1, 4], [2, 0], [3, 2], [3, 3], [4, 0]]
EMPTY = [False, False, True, False, True]


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_fill_numbers(dtype):
    made = call("SparseFillEmptyRows", {"T": dtype}, **FIVE_BY_SIX, values=[0, 10, 13, 14, 32, 33], default_value=-1)
    values = [0, 10, 13, 14, -1, 32, 33, -1]
    assert_both(made, output_indices=FILLED, output_values=values, empty_row_indicator=EMPTY)


def test_fill_strings():
    inputs = {name: np.array(value) for name, value in FIVE_BY_SIX.items()}
    texts = {"values": np.array(list("abcdef"), object), "default_value": np.array("", object)}
    made = call("SparseFillEmptyRows", **inputs, values=[0] * 6, default_value=0)
    made.inputs.update(texts)
    values = np.array(["a", "b", "c", "d", "", "e", "f", ""], object)
    assert_both(made, output_indices=FILLED, output_values=values, empty_row_indicator=EMPTY)


@pytest.mark.parametrize(
    ("indices", "values", "rows", "output_indices", "output_values", "empty"),
    [
        (
            [[0, 0], [1, 0], [1, 3], [1, 4]],
            [0, 10, 13, 14],
            2,
            [[0, 0], [1, 0], [1, 3], [1, 4]],
            [0, 10, 13, 14],
            [0, 0],
        ),
        ([[1, 2], [1, 3], [0, 1], [0, 3]], [1, 3, 2, 4], 2, [[0, 1], [0, 3], [1, 2], [1, 3]], [2, 4, 1, 3], [0, 0]),
        (
            [[2, 3], [2, 2], [0, 1], [0, 3]],
            [1, 3, 2, 4],
            3,
            [[0, 1], [0, 3], [1, 0], [2, 3], [2, 2]],
            [2, 4, -1, 1, 3],
            [0, 1, 0],
        ),
        (np.ones((0, 2)), [], 2, [[0, 0], [1, 0]], [-1, -1], [1, 1]),
        (np.ones((0, 2)), [], 0, np.ones((0, 2), np.int64), [], []),
    ],
    ids=["none empty", "none empty, unordered", "unordered with a gap", "no entries", "no rows"],
)
def test_fill(indices, values, rows, output_indices, output_values, empty):
    made = call("SparseFillEmptyRows", indices=indices, values=values, dense_shape=[rows, 5], default_value=-1)
    indicator = np.array(empty, bool)
    assert_both(made, output_indices=output_indices, output_values=output_values, empty_row_indicator=indicator)


def test_fill_a_row_that_is_not_there():
    indices = [[1, 2], [1, 3], [99, 1], [99, 3]]
    made = call("SparseFillEmptyRows", indices=indices, values=[1, 3, 2, 4], dense_shape=[2, 5], default_value=-1)
    assert_both_refuse(made, r"indices\[2, 0\] == 99 out of range \[0, 2\)", r"indices\(2, 0\) is invalid")


def test_the_gradient_of_filling_nothing():
    assert_both(call("SparseFillEmptyRowsGrad", reverse_index_map=[], grad_values=[]), d_values=[], d_default_value=0)


def test_the_gradient_of_filling_with_a_bad_map():
    made = call("SparseFillEmptyRowsGrad", reverse_index_map=[-1, 3], grad_values=[])
    assert_both_refuse(
        made, r"reverse_index_map\[0\] == -1 out of range \[0, 0\)", "Elements in reverse index must be in"
    )


def test_the_derivative_of_filling():
    places = {"indices": np.array(FIVE_BY_SIX["indices"]), "dense_shape": np.array([5, 6])}
    values, default = np.array([0.0, 10, 13, 14, 32, 33]), np.array(-1.0)

    def fill(values, default):
        return raw_ops.SparseFillEmptyRows(**places, values=values, default_value=default).output_values

    assert_derivative(lambda v: fill(v, default), values, delta=1)
    assert_derivative(lambda d: fill(values, d), default, delta=1)


# ------------------------------------------------------------------ sparse_fill_empty_rows_op_test.cc
def test_all_four_outputs_of_filling():
    made = call(
        "SparseFillEmptyRows",
        indices=[[0, 1], [0, 3], [2, 0], [3, 1]],
        values=[0, 3, 1, 2],
        dense_shape=[5, 6],
        default_value=4,
    )
    assert_both(
        made,
        output_indices=[[0, 1], [0, 3], [1, 0], [2, 0], [3, 1], [4, 0]],
        output_values=[0, 3, 4, 1, 2, 4],
        empty_row_indicator=[False, True, False, False, True],
        reverse_index_map=[0, 1, 3, 4],
    )


@pytest.mark.parametrize(
    ("indices", "values", "gradbag_says", "tensorflow_says"),
    [
        (
            [[0, 1], [0, 3], [2, 0], [3, 1]],
            [0, 3, 1],
            r"values must have shape \[nnz\] with nnz=4",
            "must match the first",
        ),
        (np.zeros((4, 0)), [0, 3, 1, 2], r"dense_shape must have shape \[rank\] with rank=0", "must match the second"),
    ],
)
def test_parts_of_a_sparse_tensor_that_do_not_fit_together(indices, values, gradbag_says, tensorflow_says):
    made = call("SparseFillEmptyRows", indices=indices, values=values, dense_shape=[5, 6], default_value=4)
    assert_both_refuse(made, gradbag_says, tensorflow_says)


# ------------------------------------------------------------------ ragged_fill_empty_rows_op_test.py and .cc
LENGTHS = np.array([0, 4, 0, 4, 0])
ROWIDS = np.repeat(np.arange(5), LENGTHS)


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_fill_ragged_numbers(dtype):
    made = call(
        "RaggedFillEmptyRows",
        {"T": dtype},
        value_rowids=ROWIDS,
        values=[1, 3, 5, 7, 2, 4, 6, 8],
        nrows=5,
        default_value=-1,
    )
    assert_both(
        made,
        output_value_rowids=np.repeat(np.arange(5), [1, 4, 1, 4, 1]),
        output_values=[-1, 1, 3, 5, 7, -1, 2, 4, 6, 8, -1],
        empty_row_indicator=LENGTHS == 0,
    )


def test_fill_ragged_strings():
    made = call("RaggedFillEmptyRows", value_rowids=ROWIDS, values=[0] * 8, nrows=5, default_value=0)
    made.inputs.update(values=np.array(list("acegbdfh"), object), default_value=np.array("x", object))
    assert_both(made, output_values=np.array(list("xacegxbdfhx"), object), empty_row_indicator=LENGTHS == 0)


def test_fill_ragged_without_empty_rows():
    made = call("RaggedFillEmptyRows", value_rowids=[0] * 4 + [1] * 4, values=range(8), nrows=2, default_value=-1)
    assert_both(made, output_value_rowids=[0] * 4 + [1] * 4, output_values=range(8), empty_row_indicator=[False, False])


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_fill_ragged_gaps_at_both_ends(dtype):
    made = call(
        "RaggedFillEmptyRows", {"T": dtype}, value_rowids=[1, 2, 2, 5], values=[2, 4, 6, 8], nrows=7, default_value=-1
    )
    assert_both(made, output_value_rowids=[0, 1, 2, 2, 3, 4, 5, 6], output_values=[-1, 2, 4, 6, -1, -1, 8, -1])


def test_the_derivative_of_ragged_filling():
    values, default = np.array([1.0, 3, 5, 7, 2, 4, 6, 8]), np.array(-1.0)

    def fill(values, default):
        return raw_ops.RaggedFillEmptyRows(
            value_rowids=ROWIDS, values=values, nrows=np.array(5), default_value=default
        ).output_values

    assert_derivative(lambda v: fill(v, default), values, delta=1)
    assert_derivative(lambda d: fill(values, d), default, delta=1)


# ------------------------------------------------------------------ sparse_slice_op_test.py
# The entry at row r and column c is 10 r + c, so the values tell the places.
FOUR_BY_SIX = """
     0  .  2  .  4  5
     . 11  . 13 14  .
    20  .  . 23  . 25
    30  . 32 33  . 35
"""
FIVE_BY_SEVEN = """
     0  .  2  .  4  5  .
     . 11  . 13 14  . 16
    20  .  . 23  . 25  .
    30  . 32 33  . 35  .
     . 41  .  . 44  . 46
"""


def sparse(picture):
    """Entries and shape of a drawn matrix."""
    rows = [line.split() for line in picture.strip().splitlines()]
    places = [(r, c) for r, row in enumerate(rows) for c, text in enumerate(row) if text != "."]
    shape = np.array([len(rows), len(rows[0])])
    return {"indices": np.array(places), "values": np.array([int(rows[r][c]) for r, c in places]), "shape": shape}


@pytest.mark.parametrize(
    ("rows", "start", "size", "values", "shape"),
    [
        (4, [0, 0], [2, 6], [0, 2, 4, 5, 11, 13, 14], [2, 6]),
        (4, [2, 0], [3, 7], [20, 23, 25, 30, 32, 33, 35], [2, 6]),
        (5, [0, 0], [5, 3], [0, 2, 11, 20, 30, 32, 41], [5, 3]),
        (5, [0, 3], [5, 2], [4, 13, 14, 23, 33, 44], [5, 2]),
        (5, [0, 5], [5, 2], [5, 16, 25, 35, 46], [5, 2]),
        (5, [0, 0], [5, 2], [0, 11, 20, 30, 41], [5, 2]),
        (5, [0, 2], [5, 2], [2, 13, 23, 32, 33], [5, 2]),
        (5, [0, 4], [5, 2], [4, 5, 14, 25, 35, 44], [5, 2]),
        (5, [0, 6], [5, 2], [16, 46], [5, 1]),
        (5, [0, 0], [3, 7], [0, 2, 4, 5, 11, 13, 14, 16, 20, 23, 25], [3, 7]),
        (5, [3, 0], [3, 7], [30, 32, 33, 35, 41, 44, 46], [2, 7]),
        (5, [0, 0], [2, 7], [0, 2, 4, 5, 11, 13, 14, 16], [2, 7]),
        (5, [2, 0], [2, 7], [20, 23, 25, 30, 32, 33, 35], [2, 7]),
        (5, [4, 0], [2, 7], [41, 44, 46], [1, 7]),
        (4, [0, 0], [1, 6], [0, 2, 4, 5], [1, 6]),
        (4, [1, 0], [1, 6], [11, 13, 14], [1, 6]),
        (4, [2, 0], [1, 7], [20, 23, 25], [1, 6]),
        (4, [3, 0], [2, 7], [30, 32, 33, 35], [1, 6]),
        (4, [0, 0], [4, 2], [0, 11, 20, 30], [4, 2]),
        (4, [0, 2], [5, 2], [2, 13, 23, 32, 33], [4, 2]),
        (4, [0, 4], [5, 3], [4, 5, 14, 25, 35], [4, 2]),
        (4, [0, 0], [4, 1], [0, 20, 30], [4, 1]),
        (4, [0, 1], [4, 1], [11], [4, 1]),
        (4, [0, 2], [4, 1], [2, 32], [4, 1]),
        (4, [0, 3], [4, 1], [13, 23, 33], [4, 1]),
        (4, [0, 4], [5, 1], [4, 14], [4, 1]),
        (4, [0, 5], [6, 3], [5, 25, 35], [4, 1]),
        (4, [1, 1], [0, 0], [], [0, 0]),
        (4, [2, 1], [2, 1], [], [2, 1]),
    ],
)
def test_a_window_of_a_matrix(rows, start, size, values, shape):
    places = np.array([divmod(value, 10) for value in values], np.int64).reshape(-1, 2) - start
    tensor = sparse(FOUR_BY_SIX if rows == 4 else FIVE_BY_SEVEN)
    made = call("SparseSlice", {"T": "int64"}, **tensor, start=start, size=size)
    assert_both(made, output_indices=places, output_values=np.array(values, np.int64), output_shape=shape)


def test_a_window_of_nothing():
    made = call("SparseSlice", indices=np.zeros((0, 2)), values=[], shape=[4, 6], start=[0, 0], size=[4, 1])
    assert_both(made, output_indices=np.zeros((0, 2), np.int64), output_values=[], output_shape=[4, 1])


def test_a_window_of_strings_in_three_dimensions():
    places = [[0, 0, 0], [0, 2, 0], [1, 1, 0], [1, 3, 0], [2, 2, 0]]
    indices = np.array([[r, c, k] for r, c, _ in places for k in (0, 1)])
    made = call("SparseSlice", indices=indices, values=[0] * 10, shape=[3, 4, 2], start=[0, 1, 1], size=[2, 3, 1])
    made.inputs.update(values=np.array(["a0", "a1", "b0", "b1", "c0", "c1", "d0", "d1", "e0", "e1"], object))
    texts = np.array(["b1", "c1", "d1"], object)
    assert_both(made, output_indices=[[0, 1, 0], [1, 0, 0], [1, 2, 0]], output_values=texts, output_shape=[2, 3, 1])


@pytest.mark.parametrize(
    ("start", "size", "kept"),
    [([0, 0], [4, 1], [0, 20, 30]), ([0, 1], [4, 1], [11]), ([1, 3], [3, 1], [13, 23, 33]), ([2, 1], [2, 1], [])],
)
def test_the_gradient_of_a_window_puts_values_back(start, size, kept):
    tensor = sparse(FOUR_BY_SIX)
    cut = ours(call("SparseSlice", {"T": "int64"}, **tensor, start=start, size=size))
    places = {"input_indices": tensor["indices"], "input_start": start, "output_indices": cut["output_indices"]}
    made = call("SparseSliceGrad", {"T": "int64"}, backprop_val_grad=cut["output_values"], **places)
    assert_both(made, val_grad=np.where(np.isin(tensor["values"], kept), tensor["values"], 0))


def test_the_gradient_of_a_window_of_nothing():
    none = np.zeros((0, 2))
    made = call("SparseSliceGrad", backprop_val_grad=[], input_indices=none, input_start=[0, 0], output_indices=none)
    assert_both(made, val_grad=[])


@pytest.mark.parametrize(("start", "size"), [([0, 0], [4, 2]), ([0, 2], [5, 2]), ([0, 4], [5, 3])])
def test_the_derivative_of_a_window(start, size):
    tensor = sparse(FOUR_BY_SIX)
    window = {"shape": tensor["shape"], "start": np.array(start), "size": np.array(size)}

    def cut(values):
        return raw_ops.SparseSlice(indices=tensor["indices"], values=values, **window).output_values

    assert_derivative(cut, tensor["values"].astype(float), delta=1)


def test_a_negative_size():
    made = call("SparseSlice", indices=[[0, 0]], values=[0], shape=[1, 1], start=[10, 10], size=[-100, 100])
    assert_both_refuse(made, r"size\[0\] == -100 must not be negative", "Expected a non-negative size, got -100")


def test_a_window_whose_end_overflows():
    made = call("SparseSlice", indices=[[0, 0]], values=[0], shape=[1, 1], start=[2**62, -1], size=[2**62, 2**62])
    assert_both(made, output_indices=np.zeros((0, 2), np.int64), output_values=[], output_shape=[0, 2])


def test_more_values_than_places():
    made = call("SparseSlice", indices=[[0, 0, 0]], values=[0, 1, 2], shape=[3, 3], start=[0, 0], size=[1, 1])
    assert_both_refuse(
        made, r"values must have shape \[nnz\] with nnz=1; got \[3\]", "Number of elements .* do not match"
    )
