"""The comparison itself: it notices what differs, and excuses only what really differs."""

import numpy as np
import pytest

from . import differences
from .both import Refused, call, ours, theirs
from .differences import DIFFERENCES, compare

PLAIN = call("SparseSegmentSum", data=[[1, 2], [3, 4]], indices=[0, 1], segment_ids=[0, 0])
# For each difference, a call in which it shows.
SHOWN = {
    differences.no_rows_and_yet_entries: call(
        "SparseSegmentSumGrad", grad=[[1]], indices=[0], segment_ids=[0], output_dim0=0
    ),
    differences.size_is_negative: call("SparseSlice", indices=[[0]], values=[1], shape=[4], start=[5], size=[-1]),
    differences.number_of_segments_beyond_int32: call(
        "SparseSegmentSumWithNumSegments",
        {"Tnumsegments": "int64"},
        data=[[1]],
        indices=[],
        segment_ids=[],
        num_segments=-(2**32),
    ),
    differences.dtype_that_tensorflow_lacks: call(
        "SparseSegmentSum", {"T": "complex64"}, data=[[1]], indices=[0], segment_ids=[0]
    ),
    differences.no_entries_in_a_dense_gradient: call(
        "SparseSegmentSumGrad", grad=[[1, 2, 3]], indices=[], segment_ids=[], output_dim0=6
    ),
    differences.ragged_without_rows: call("RaggedFillEmptyRows", value_rowids=[], values=[], nrows=0, default_value=1),
    differences.window_ends_beyond_int64: call(
        "SparseSlice", indices=[[2]], values=[1], shape=[4], start=[1], size=[2**63 - 1]
    ),
    differences.default_gradient_of_floats: call(
        "SparseFillEmptyRowsGrad", {"T": "float16"}, reverse_index_map=[], grad_values=[1] * 5000
    ),
}


def test_a_single_bit_is_noticed():
    answer = ours(PLAIN)
    compare(PLAIN, answer, theirs(PLAIN))
    wrong = {"output": np.nextafter(answer["output"], np.float32(0))}
    with pytest.raises(AssertionError, match="2 of 2 values differ"):
        compare(PLAIN, wrong, theirs(PLAIN))


def test_a_refusal_of_one_side_is_noticed():
    with pytest.raises(AssertionError, match="TensorFlow refused: no"):
        compare(PLAIN, ours(PLAIN), Refused("no"))
    with pytest.raises(AssertionError, match="gradbag refused: no"):
        compare(PLAIN, Refused("no"), theirs(PLAIN))


@pytest.mark.parametrize("differs", DIFFERENCES, ids=lambda differs: differs.__name__)
def test_tensorflow_really_differs(differs):
    made = SHOWN[differs]
    assert [other for other in DIFFERENCES if other(made)] == [differs]
    compare(made, ours(made), theirs(made))
    assert any(not same(made) for _ in range(100))  # memory that nobody wrote may be zero by chance


def same(made):
    try:
        differences.assert_no_difference(made, ours(made), theirs(made))
    except AssertionError:
        return False
    return True


def test_a_default_gradient_that_is_off_is_noticed():
    made = SHOWN[differences.default_gradient_of_floats]
    with pytest.raises(AssertionError, match=r"d_default_value is 2048\.0, not 5000\.0"):
        compare(made, theirs(made), theirs(made))
