"""Fill and slice, then their gradients, on random sparse tensors, against plain loops and dense arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import gradbag
from gradbag import SparseTensor, raw_ops


@st.composite
def tensors(draw: Any, *, rank: int | None = None, unique: bool = False) -> SparseTensor:
    """Entries anywhere in a small shape, in any order; with `unique`, none at the same place."""
    if rank is None:
        rank = draw(st.integers(1, 3))
    shape = draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank))
    places = st.tuples(*(st.integers(0, n - 1) for n in shape))
    chosen = draw(st.lists(places, max_size=8, unique=unique))
    indices = np.array(chosen, np.int64).reshape(len(chosen), rank)
    values = draw(arrays(np.float64, len(chosen), elements=st.integers(1, 99).map(float)))
    return SparseTensor(indices, values, shape)


# ------------------------------------------------------------------ fill_empty_rows
@given(tensors())
def test_filling_is_what_a_loop_over_the_rows_does(tensor: SparseTensor) -> None:
    filled, empty = gradbag.fill_empty_rows(tensor, -1.0)
    want: list[tuple[list[int], float]] = []
    for row in range(tensor.shape[0]):
        own = [(p, v) for p, v in zip(tensor.indices.tolist(), tensor.values.tolist(), strict=True) if p[0] == row]
        assert empty[row] == (not own)
        want += own or [([row] + [0] * (tensor.rank - 1), -1.0)]
    assert list(zip(filled.indices.tolist(), filled.values.tolist(), strict=True)) == want


@given(tensors(unique=True))
def test_only_empty_rows_change_in_the_dense_array(tensor: SparseTensor) -> None:
    filled, empty = gradbag.fill_empty_rows(tensor, -1.0)
    before, after = tensor.to_dense(), filled.to_dense()
    np.testing.assert_array_equal(after[~empty], before[~empty])
    assert not before[empty].any()
    first = after[(empty, *[0] * (tensor.rank - 1))]
    np.testing.assert_array_equal(first, np.full(empty.sum(), -1.0))
    assert after[empty].sum() == first.sum()


@given(tensors())
def test_filling_twice_is_filling_once(tensor: SparseTensor) -> None:
    once, _ = gradbag.fill_empty_rows(tensor, -1.0)
    twice, empty = gradbag.fill_empty_rows(once, -2.0)
    assert not empty.any()
    np.testing.assert_array_equal(twice.indices, once.indices)
    np.testing.assert_array_equal(twice.values, once.values)


@given(tensors())
def test_the_gradient_of_filling_gives_everything_back(tensor: SparseTensor) -> None:
    places = {"indices": tensor.indices, "values": tensor.values, "dense_shape": tensor.dense_shape}
    filled = raw_ops.SparseFillEmptyRows(**places, default_value=-1.0)
    back = raw_ops.SparseFillEmptyRowsGrad(reverse_index_map=filled.reverse_index_map, grad_values=filled.output_values)
    np.testing.assert_array_equal(back.d_values, tensor.values)
    assert back.d_default_value == -filled.empty_row_indicator.sum()


@given(tensors(rank=1))
def test_the_ragged_op_is_the_sparse_one_of_rank_one(tensor: SparseTensor) -> None:
    sparse = raw_ops.SparseFillEmptyRows(
        indices=tensor.indices, values=tensor.values, dense_shape=tensor.dense_shape, default_value=-1.0
    )
    ragged = raw_ops.RaggedFillEmptyRows(
        value_rowids=tensor.indices[:, 0], values=tensor.values, nrows=tensor.dense_shape[0], default_value=-1.0
    )
    np.testing.assert_array_equal(ragged.output_value_rowids, sparse.output_indices[:, 0])
    for one, other in zip(ragged[1:], sparse[1:], strict=True):
        np.testing.assert_array_equal(one, other)


# ------------------------------------------------------------------ slice
@given(tensors(), st.data())
def test_slicing_is_slicing_the_dense_array(tensor: SparseTensor, data: Any) -> None:
    start = [data.draw(st.integers(0, n + 1)) for n in tensor.shape]
    size = [data.draw(st.integers(0, n + 2)) for n in tensor.shape]
    window = tuple(slice(a, a + n) for a, n in zip(start, size, strict=True))
    got = gradbag.slice(tensor, start, size)
    want = tensor.to_dense()[window]
    assert got.shape == want.shape
    np.testing.assert_array_equal(got.to_dense(), want)


@given(tensors(), st.data())
def test_the_gradient_of_slicing_puts_the_window_back_among_zeros(tensor: SparseTensor, data: Any) -> None:
    start = np.array([data.draw(st.integers(-1, n)) for n in tensor.shape])
    size = np.array([data.draw(st.integers(0, n + 1)) for n in tensor.shape])
    cut = gradbag.slice(tensor, start, size)
    back = raw_ops.SparseSliceGrad(
        backprop_val_grad=cut.values, input_indices=tensor.indices, input_start=start, output_indices=cut.indices
    )
    inside = ((tensor.indices >= start) & (tensor.indices < start + size)).all(1)
    np.testing.assert_array_equal(back, np.where(inside, tensor.values, 0.0))


@given(tensors(), st.data())
def test_windows_that_tile_a_tensor_hold_each_entry_once(tensor: SparseTensor, data: Any) -> None:
    cut = data.draw(st.integers(0, tensor.shape[0]))
    rest = list(tensor.shape[1:])
    top = gradbag.slice(tensor, [0] * tensor.rank, [cut, *rest])
    bottom = gradbag.slice(tensor, [cut] + [0] * len(rest), [tensor.shape[0], *rest])
    assert top.nnz + bottom.nnz == tensor.nnz
    np.testing.assert_array_equal(np.concatenate([top.to_dense(), bottom.to_dense()]), tensor.to_dense())
