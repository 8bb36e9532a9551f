"""Basic ops that are asked for sizes: what cannot be is refused, and what is empty costs nothing."""

import tracemalloc

import numpy as np
import pytest

import gradbag
from gradbag import raw_ops

ONE = np.ones((1, 1), np.float32)
ASKS = {
    "Fill": lambda sizes: raw_ops.Fill(dims=sizes, value=np.float32(1)),
    "Tile": lambda sizes: raw_ops.Tile(input=ONE, multiples=sizes),
    "BroadcastTo": lambda sizes: raw_ops.BroadcastTo(input=ONE, shape=sizes),
    "Reshape": lambda sizes: raw_ops.Reshape(tensor=ONE[:0], shape=sizes),
    "SparseToDense": lambda sizes: raw_ops.SparseToDense(
        sparse_indices=np.zeros((0, 2), np.int64),
        output_shape=sizes,
        sparse_values=np.zeros(0, np.float32),
        default_value=np.float32(0),
    ),
}
every_op = pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)


@every_op
def test_a_zero_beside_a_huge_size_costs_nothing(ask):
    tracemalloc.start()
    assert ask(np.array([2**40, 0])).shape == (2**40, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**24


@every_op
@pytest.mark.parametrize("sizes", [[2**62, 2**62], [-1, -(2**63)], [2**40, -2]], ids=str)
def test_impossible_sizes_are_refused(ask, sizes):
    with pytest.raises(gradbag.InvalidArgumentError):
        ask(np.array(sizes))


@pytest.mark.parametrize("ask", [ASKS["Fill"], ASKS["Tile"], ASKS["BroadcastTo"], ASKS["SparseToDense"]])
def test_more_than_there_is_memory_is_refused_before_it_is_asked_for(ask):
    with pytest.raises(gradbag.ResourceExhaustedError):
        ask(np.array([2**30, 2**25]))


def test_no_result_has_more_axes_than_an_array_can_have():
    deep = np.ones((1,) * 64, np.float32)
    for call in (
        lambda: raw_ops.ExpandDims(input=deep, axis=0),
        lambda: raw_ops.Pack(values=[deep, deep]),
        lambda: raw_ops.Reshape(tensor=deep, shape=[1] * 65),
        lambda: raw_ops.GatherV2(params=deep, indices=[[0]], axis=0),
        lambda: raw_ops.StridedSlice(input=deep, begin=[0], end=[0], strides=[1], new_axis_mask=1),
    ):
        with pytest.raises(gradbag.InvalidArgumentError, match="an array has at most 64"):
            call()


def test_strings_of_a_sparse_array_keep_their_letters():
    """The default is shorter than what stands beside it."""
    dense = raw_ops.SparseToDense(
        sparse_indices=[1], output_shape=[2], sparse_values=np.array(["long"]), default_value=np.array("-")
    )
    assert dense.tolist() == ["-", "long"]
