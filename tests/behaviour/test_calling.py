"""How a raw op is called, and what it gives back."""

import copy
import pickle
import pydoc
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import raw_ops
from gradbag.spec import registry
from gradbag.testing import array_ops, native_ops

BAGS = {"data": [[1.0], [2.0]], "indices": [0, 1], "segment_ids": [0, 0]}
COMPACT = {"grad": [[1.0]], "indices": [3, 1], "segment_ids": [0, 0], "dense_output_dim0": 5}


def test_positional_arguments_are_refused_and_the_names_told() -> None:
    with pytest.raises(TypeError, match=r"^SparseSegmentSum takes keyword arguments only: data, indices, "):
        raw_ops.SparseSegmentSum(*BAGS.values())


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(TypeError, match=r"^SparseSegmentSum misses the required argument 'segment_ids'$"):
        raw_ops.SparseSegmentSum(data=[[1.0]], indices=[0])


def test_an_unknown_argument_is_named_beside_the_known_ones() -> None:
    known = "it takes data, indices, segment_ids, sparse_gradient, name, out"
    with pytest.raises(TypeError, match=rf"^SparseSegmentSum got an unexpected argument 'axis'; {known}$"):
        raw_ops.SparseSegmentSum(**BAGS, axis=0)


def test_a_name_is_taken_and_changes_nothing() -> None:
    named = raw_ops.SparseSegmentSum(**BAGS, name="pooled")
    assert named.tolist() == raw_ops.SparseSegmentSum(**BAGS, name=None).tolist() == [[3.0]]


@pytest.mark.parametrize("value", [1, 0.0, "True", None, [True], np.array(True)], ids=repr)
def test_a_setting_takes_true_or_false_and_nothing_like_it(value: Any) -> None:
    wanted = rf"^SparseSegmentSum: sparse_gradient must be a bool; got (\w+\.)*{type(value).__name__}$"
    with pytest.raises(TypeError, match=wanted):
        raw_ops.SparseSegmentSum(**BAGS, sparse_gradient=value)


def test_a_bool_that_is_refused_as_no_bool_is_told_apart() -> None:
    with pytest.raises(TypeError, match=r"^SparseSegmentSum: sparse_gradient must be a bool; got (np|numpy)\.bool"):
        raw_ops.SparseSegmentSum(**BAGS, sparse_gradient=np.True_)


def test_one_output_comes_bare() -> None:
    assert type(raw_ops.SparseSegmentSum(**BAGS)) is np.ndarray


def test_several_outputs_come_as_a_tuple_with_the_names_of_op_and_outputs() -> None:
    answer = raw_ops.SparseSegmentSumGradV2(**COMPACT)
    assert isinstance(answer, tuple)
    assert type(answer).__name__ == "SparseSegmentSumGradV2"
    assert answer._fields == ("output", "sorted_unique_indices")
    output, rows = answer
    assert output is answer.output
    assert rows is answer.sorted_unique_indices


def test_a_scalar_output_is_an_array_without_axes() -> None:
    answer = raw_ops.SparseFillEmptyRowsGrad(reverse_index_map=[0], grad_values=[1.0, 2.0])
    assert type(answer.d_default_value) is np.ndarray
    assert answer.d_default_value.shape == ()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_named_tuple_survives_pickling(protocol: int) -> None:
    answer = raw_ops.SparseSegmentSumGradV2(**COMPACT)
    again = pickle.loads(pickle.dumps(answer, protocol))  # noqa: S301
    assert type(again) is type(answer)
    assert again.sorted_unique_indices.tolist() == [1, 3]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy], ids=lambda f: f.__name__)
def test_a_named_tuple_can_be_copied(again: Any) -> None:
    answer = again(raw_ops.SparseSegmentSumGradV2(**COMPACT))
    assert type(answer).__name__ == "SparseSegmentSumGradV2"
    assert answer.output.tolist() == [[1.0], [1.0]]


def test_ops_tensors_compact_gradients_and_errors_reach_another_process() -> None:
    def travelled(value: Any) -> Any:
        return pickle.loads(pickle.dumps(value))  # noqa: S301

    assert travelled(raw_ops.SparseSegmentSum) is raw_ops.SparseSegmentSum
    assert travelled(gradbag.SparseTensor([[0, 1]], [5.0], [1, 2])).to_dense().tolist() == [[0.0, 5.0]]
    assert travelled(gradbag.RowGrad(np.array([1]), np.ones((1, 2)), (3, 2))).dense().sum() == 2.0
    with pytest.raises(gradbag.InvalidArgumentError) as refusal:
        raw_ops.SparseSegmentSum(**{**BAGS, "indices": [0, 9]})
    assert str(travelled(refusal.value)) == str(refusal.value)


def test_dir_lists_the_ops_and_nothing_else() -> None:
    assert sorted(dir(raw_ops)) == sorted(op.name for op in registry)
    assert len(native_ops()) >= 18
    assert len(array_ops()) >= 50


@pytest.mark.parametrize("name", ["SparseSegmentMax", "sparse_segment_sum", "SparseSegmentSumgrad"])
def test_an_op_that_is_not_there_says_where_the_list_is(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"^gradbag\.raw_ops has no op '{name}'; `gradbag ops` lists them$"):
        getattr(raw_ops, name)


def test_help_tells_dtypes_shapes_defaults_and_gradients() -> None:
    text = pydoc.render_doc(raw_ops.SparseSegmentMean, renderer=pydoc.plaintext)
    assert "SparseSegmentMean(*, data, indices, segment_ids, sparse_gradient=False, name=None, out=None)" in text
    for part in (
        "data: T: float16, bfloat16, float32, float64, complex64, complex128; shape [rows *inner].",
        "indices: Tidx: int32, int64; shape [n].",
        "sparse_gradient: bool, default False.",
        "output: T; shape [segments *inner].",
        "Gradients: data, in reverse and forward mode, to any order.",
        ">>> gradbag.raw_ops.SparseSegmentMean(",
    ):
        assert part in text


def test_an_answer_that_only_copies_shares_no_memory_with_its_arguments() -> None:
    indices, values = np.array([[0, 3], [1, 0]]), np.array([1.0, 2.0])
    filled = raw_ops.SparseFillEmptyRows(indices=indices, values=values, dense_shape=[2, 4], default_value=0.0)
    assert filled.output_indices.tolist() == indices.tolist()  # nothing was empty or out of order
    whole = raw_ops.SparseSlice(indices=indices, values=values, shape=[2, 4], start=[0, 0], size=[2, 4])
    for answer in (*filled[:2], *whole[:2]):
        assert not np.shares_memory(answer, indices)
        assert not np.shares_memory(answer, values)


def test_errors_belong_to_gradbag_and_to_the_familiar_families() -> None:
    assert issubclass(gradbag.InvalidArgumentError, ValueError)
    assert issubclass(gradbag.UnsupportedTypeError, TypeError)
    assert issubclass(gradbag.ResourceExhaustedError, MemoryError)
    for error in (gradbag.InvalidArgumentError, gradbag.UnsupportedTypeError, gradbag.ResourceExhaustedError):
        assert issubclass(error, gradbag.Error)
