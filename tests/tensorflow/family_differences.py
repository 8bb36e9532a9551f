"""Where the ops around look-ups differ from TensorFlow's on purpose, and how near computed numbers must be."""

import numpy as np

from gradbag import dtypes

from .both import Refused
from .test_basic_ops import LENIENT, MOVING, assert_near
from .test_basic_ops import _tolerance as tolerance

# TensorFlow reads or writes beyond its arrays when these are given what they must refuse: it ends the process.
SPOILS_CRASH = {
    "GatherV2",
    "ScatterNd",
    "RaggedRange",
    "RaggedTensorToTensor",
    "RaggedGather",
    "SparseTensorDenseMatMul",
    "SparseBincount",
}
# These move values, or choose among them: every bit is the same.
EXACT = {"DynamicPartition", "SparseToDense", "SparseConcat", "SparseSplit", "SparseReorder", "GatherV2"}
EXACT |= {"Gather", "GatherNd", "DynamicStitch", "ParallelDynamicStitch", "RaggedTensorToTensor", "RaggedGather"}
EXACT |= {"RaggedTensorToSparse", "SparseAddGrad", "SparseSparseMaximum", "SparseSparseMinimum"}
IN_ORDER = {"SparseSoftmax": "sp_indices", "SparseAdd": "a_indices b_indices", "SparseAddGrad": "a_indices b_indices"}
LARGEST = ("Max", "Min", "Maximum", "Minimum", "MaxSparse")


def arrays(call):
    """All that a call is given, of lists too."""
    every = [a for value in call.inputs.values() for a in (value if isinstance(value, list) else [value])]
    return [a for a in every if a is not None]


def expected(call, ours, theirs):
    """Whether this difference has a reason; each stands here as a predicate."""
    return any(differs(call, ours, theirs) for differs in DIFFERENCES)


def nothing_is_stretched(call, ours, theirs):
    """One row stretched to none is no row; TensorFlow refuses to stretch it, and stretches none to one instead."""
    return call.op.name.startswith("SparseDenseCwise") and 0 in (*call.inputs["sp_shape"], *call.inputs["dense"].shape)


def one_number_is_scattered(call, ours, theirs):
    """TensorFlow's ScatterNd does not take back what its GatherNd gives for a single place, and needs one at all."""
    return call.op.name == "ScatterNd" and isinstance(theirs, Refused) and call.inputs["indices"].ndim == 1


def quantized_numbers(call, ours, theirs):
    """TensorFlow moves quantized numbers too."""
    given = arrays(call)
    return isinstance(ours, Refused) and any(dtypes.name_of(a.dtype) in dtypes.QUANTIZED for a in given)


def entries_out_of_order(call, ours, theirs):
    """TensorFlow takes for granted that entries are in order, and mixes up their values; gradbag orders them."""
    for name in IN_ORDER.get(call.op.name, "").split():
        rows = call.inputs[name].tolist()
        if isinstance(rows, list) and rows != sorted(rows):
            return True
    return False


def places_that_are_not_there(call, ours, theirs):
    """TensorFlow does not look whether all entries lie in the shape, or whether splits are a list."""
    lenient = {name for name, _ in LENIENT} | {"SparseReduceSum", "SparseReduceMax", "RaggedTensorToSparse"}
    return call.op.name in lenient and isinstance(ours, Refused)


def threshold_of_another_dtype(call, ours, theirs):
    """TensorFlow reads the bytes of the threshold as if they were a number of the values' dtype."""
    return call.op.name == "SparseAdd" and call.inputs["thresh"].dtype != call.inputs["a_values"].real.dtype


DIFFERENCES = [
    nothing_is_stretched,
    one_number_is_scattered,
    quantized_numbers,
    entries_out_of_order,
    places_that_are_not_there,
    threshold_of_another_dtype,
]


def near_enough(call, output, got, want):
    """Some units in the last place apart, of numbers as large as those that are added up or multiplied.

    Not compared are sums and products that overflow on the way in one order and not in another, and the largest of
    numbers among which is NaN: gradbag gives NaN, TensorFlow what the instructions of the machine happen to give.
    """
    given = arrays(call)
    floats = [a for a in given if dtypes.is_differentiable(a.dtype)]
    assert got.shape == want.shape, f"{output}: shape {got.shape} instead of {want.shape}"
    assert got.dtype == want.dtype
    with np.errstate(all="ignore"):
        wide = [a.astype(np.complex128) for a in floats]
        if any(np.isnan(a).any() for a in wide) and call.op.name.endswith(LARGEST):
            return
        large = any((~np.isfinite(a) | (np.abs(a) > 1e4)).any() for a in wide)
        if large and call.op.category not in MOVING:
            return
        size, ulps = tolerance(call, output)
        if call.op.name in ("SegmentMean", "SegmentProd", "UnsortedSegmentProd", "ScatterNd", "SparseTensorDenseAdd"):
            # Every row may be rounded once more.
            most = max((np.abs(a).max(initial=0) for a in wide), default=0)
            rows = 1 + len(np.atleast_1d(given[0]))
            size, ulps = np.maximum(np.abs(want.astype(np.complex128)), most), ulps * rows
        assert_near(got, want, size, ulps, output)
