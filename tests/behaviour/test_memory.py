"""Sizes are decided before memory is touched."""

import tracemalloc
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import eager, raw_ops
from gradbag.spec import registry

NOTHING = np.array([], np.int64)


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    gradbag.set_memory_limit(None)


def spread(segments: Any, columns: int = 1) -> Any:
    """One entry, and as many rows as one asks for."""
    data = np.ones((1, columns), np.float32)
    return raw_ops.SparseSegmentSumWithNumSegments(data=data, indices=[0], segment_ids=[0], num_segments=segments)


# ------------------------------------------------------------------ the limit
def test_the_limit_is_what_the_machine_has_until_one_is_set() -> None:
    available = gradbag.get_memory_limit()
    assert available > 2**20
    gradbag.set_memory_limit(1000)
    assert gradbag.get_memory_limit() == 1000
    gradbag.set_memory_limit(None)
    assert gradbag.get_memory_limit() == pytest.approx(available, rel=0.5)


@pytest.mark.parametrize("limit", [1.5, "1 GiB", True, [1], np.float64(1)], ids=repr)
def test_a_limit_is_a_whole_number_of_bytes(limit: Any) -> None:
    wanted = rf"^set_memory_limit: limit must be an int or None; got {type(limit).__name__}$"
    gradbag.set_memory_limit(1000)
    with pytest.raises(gradbag.UnsupportedTypeError, match=wanted):
        gradbag.set_memory_limit(limit)
    assert gradbag.get_memory_limit() == 1000


def test_a_limit_is_not_negative() -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^set_memory_limit: limit == -1 must not be negative$"):
        gradbag.set_memory_limit(-1)


def test_a_limit_of_nothing_still_lets_nothing_through() -> None:
    gradbag.set_memory_limit(0)
    assert spread(5, columns=0).shape == (5, 0)
    with pytest.raises(gradbag.ResourceExhaustedError, match="needs 4 bytes, but only 0 bytes may be used"):
        spread(1)


def test_a_result_may_fill_the_limit_exactly() -> None:
    gradbag.set_memory_limit(400)
    assert spread(100).shape == (100, 1)
    with pytest.raises(gradbag.ResourceExhaustedError):
        spread(101)


# ------------------------------------------------------------------ refusals
def test_a_refusal_names_op_argument_output_shape_need_limit_and_the_way_out() -> None:
    gradbag.set_memory_limit(2**20)
    with pytest.raises(gradbag.ResourceExhaustedError) as refusal:
        spread(1_000_000, columns=64)
    assert str(refusal.value) == (
        "SparseSegmentSumWithNumSegments: num_segments asks for output of shape [1000000, 64]; "
        "the call needs 244.1 MiB, but only 1.0 MiB may be used (gradbag.set_memory_limit)"
    )
    assert isinstance(refusal.value, MemoryError)


def test_a_refusal_costs_no_memory_and_the_next_call_is_answered() -> None:
    spread(10)
    tracemalloc.start()
    try:
        with pytest.raises(gradbag.ResourceExhaustedError, match=r"needs 32\.0 TiB"):
            spread(2**43)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20
    assert spread(10).shape == (10, 1)


def test_one_large_id_is_a_large_answer() -> None:
    with pytest.raises(
        gradbag.ResourceExhaustedError, match=r"segment_ids asks for output of shape \[1099511627777, 1\]"
    ):
        raw_ops.SparseSegmentSum(data=np.ones((1, 1), np.float32), indices=np.array([0]), segment_ids=[2**40])


@pytest.mark.parametrize("rows", [2**33, 2**62, 2**63 - 1])
def test_a_row_count_that_no_memory_holds_is_refused(rows: int) -> None:
    with pytest.raises(
        gradbag.ResourceExhaustedError, match=r"^SparseFillEmptyRows: dense_shape asks for output_indices"
    ):
        raw_ops.SparseFillEmptyRows(
            indices=np.zeros((0, 2), np.int64), values=np.zeros(0), dense_shape=[rows, 2], default_value=1.0
        )
    with pytest.raises(
        gradbag.ResourceExhaustedError, match=r"^RaggedFillEmptyRows: nrows asks for output_value_rowids"
    ):
        raw_ops.RaggedFillEmptyRows(value_rowids=NOTHING, values=np.zeros(0), nrows=rows, default_value=1.0)


def test_all_outputs_of_a_call_count_together() -> None:
    gradbag.set_memory_limit(16_500)  # 8,000 for the row ids and 8,000 for the values alone would fit
    with pytest.raises(gradbag.ResourceExhaustedError, match="may be used"):
        raw_ops.RaggedFillEmptyRows(value_rowids=NOTHING, values=np.zeros(0), nrows=1000, default_value=1.0)


def test_an_output_whose_size_must_be_counted_first_is_refused_too() -> None:
    gradbag.set_memory_limit(1000)
    with pytest.raises(
        gradbag.ResourceExhaustedError, match=r"^SparseSegmentSumGradV2: .* output of shape \[1, 1000\]"
    ):
        raw_ops.SparseSegmentSumGradV2(grad=np.ones((1, 1000)), indices=[7], segment_ids=[0], dense_output_dim0=9)
    with pytest.raises(gradbag.ResourceExhaustedError, match=r"^SparseSlice: .* output_indices of shape \[100, 2\]"):
        raw_ops.SparseSlice(
            indices=np.zeros((100, 2), np.int64), values=np.zeros(100), shape=[9, 9], start=[0, 0], size=[9, 9]
        )


def test_the_compact_gradient_fits_where_the_dense_one_does_not() -> None:
    table = np.ones((1000, 2))
    gradbag.set_memory_limit(1000)
    _, dense = gradbag.vjp(lambda t: gradbag.segment_sum(t, [7], [0]), table)
    with pytest.raises(gradbag.ResourceExhaustedError, match=r"^SparseSegmentSumGrad: output_dim0 asks for output"):
        dense(np.ones((1, 2)))
    _, compact = gradbag.vjp(lambda t: gradbag.segment_sum(t, [7], [0], sparse_gradient=True), table)
    assert compact(np.ones((1, 2)))[0].rows.tolist() == [[1.0, 1.0]]


def test_a_dense_array_of_a_sparse_tensor_keeps_to_the_limit() -> None:
    tensor = gradbag.SparseTensor([[0, 0]], [1.0], [1000, 1000])
    gradbag.set_memory_limit(1000)
    with pytest.raises(gradbag.ResourceExhaustedError, match=r"of shape \[1000, 1000\].* needs 7\.6 MiB"):
        tensor.to_dense()


# ------------------------------------------------------------------ giants without columns
@pytest.mark.parametrize("combiner", ["Sum", "Mean", "SqrtN"])
def test_a_giant_without_columns_costs_nothing(combiner: str) -> None:
    rows = 2**40
    ids = {"indices": np.array([rows - 1]), "segment_ids": np.array([rows - 1])}
    tracemalloc.start()
    try:
        forward = getattr(raw_ops, f"SparseSegment{combiner}")
        assert forward(data=np.zeros((rows, 0)), **ids).shape == (rows, 0)
        entries = {"grad": np.zeros((rows, 0)), **ids, "indices": np.array([2])}
        assert getattr(raw_ops, f"SparseSegment{combiner}Grad")(**entries, output_dim0=3).shape == (3, 0)
        compact = getattr(raw_ops, f"SparseSegment{combiner}GradV2")(**entries, dense_output_dim0=3)
        assert (compact.output.shape, compact.sorted_unique_indices.tolist()) == ((1, 0), [2])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20


def test_a_giant_that_numpy_cannot_even_describe_is_refused() -> None:
    with pytest.raises(gradbag.ResourceExhaustedError, match=r"output of shape \[4611686018427387904, 0\]"):
        spread(2**62, columns=0)


@pytest.mark.parametrize("rows", [4_000_000, 7_000_000, 12_000_000, 16_000_000])
def test_a_numpy_body_stays_within_the_limit_with_all_its_arrays(rows: int) -> None:
    limit = 256 << 20
    gradbag.set_memory_limit(limit)
    op = registry["RaggedFillEmptyRows"]
    values = [np.array([1]), np.ones(1, np.int8), np.array(rows), np.array(0, np.int8)]
    tracemalloc.start()
    try:
        with pytest.raises(gradbag.ResourceExhaustedError) if rows > 8_000_000 else nullcontext():
            eager.run_reference(op, values, {})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= limit


@pytest.mark.skipif(not eager.available(), reason="a body counts otherwise")
def test_a_kernel_without_memory_names_what_asks_for_it() -> None:
    wanted = "RaggedFillEmptyRows: nrows == 9223372036854775807 asks for more memory than there is"
    with pytest.raises(gradbag.ResourceExhaustedError) as refused:
        gradbag.raw_ops.RaggedFillEmptyRows(
            value_rowids=np.array([0, 0]), values=np.ones(2), nrows=np.int64(2**63 - 1), default_value=np.float64(0)
        )
    assert str(refused.value) == wanted
