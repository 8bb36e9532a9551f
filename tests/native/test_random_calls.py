"""Random calls of TensorFlow's own ops, answered by gradbag and by TensorFlow's kept kernels in one process.

The same bits outside the list of differences, and the same refusals in the same words. GRADBAG_SEED repeats a run.
"""

import zlib
from itertools import islice

import numpy as np
import pytest

import gradbag.tensorflow
from gradbag import dtypes
from gradbag.adapters.tensorflow.taking_over import adds_in_16_bits, taken

from ..tensorflow.both import Refused, shared_ops, theirs
from ..tensorflow.calls import good_calls, spoilt
from ..tensorflow.differences import (
    DIFFERENCES,
    assert_no_difference,
    default_gradient_of_floats,
    no_entries_in_a_dense_gradient,
    ragged_without_rows,
    window_ends_beyond_int64,
)
from .who import on_stock

OTHER_VALUES = (
    no_entries_in_a_dense_gradient,
    ragged_without_rows,
    window_ends_beyond_int64,
    default_gradient_of_floats,
)
ops = pytest.mark.parametrize("op", shared_ops(), ids=lambda op: op.name)


@ops
def test_random_calls(op, seed):
    _compare(op, seed, 84)


@pytest.mark.slow
@ops
def test_many_random_calls(op, seed):
    _compare(op, seed + 1, 1200)


def _compare(op, seed, calls):
    rng = np.random.default_rng([seed, zlib.crc32(op.name.encode())])
    before = gradbag.tensorflow.installed()[op.name]
    answers = refusals = left = 0
    for number, call in enumerate(islice(good_calls(op, rng), calls)):
        if number % 4 == 3:
            call = spoilt(call, rng)
        try:
            ours, stock = theirs(call), on_stock(theirs, call)
            with np.errstate(invalid="ignore"):  # looking at a signaling NaN
                _assert_equal(call, ours, stock)
        except Exception as problem:
            problem.add_note(f"GRADBAG_SEED={seed}, call {number} of {op.name}:\n{call}")
            raise
        refusals += isinstance(ours, Refused)
        answers += not isinstance(ours, Refused)
        left += not isinstance(ours, Refused) and not _is_served(call)
    # All but strings and what TensorFlow alone takes: sizes of zero, and sizes beyond what fits.
    assert gradbag.tensorflow.installed()[op.name] - before >= 0.8 * (answers - left)
    assert answers > left
    assert refusals
    assert answers


def _is_served(call):
    """Whether ours are the kernels for such inputs; strings, and 16-bit gradients of old versions, are TensorFlow's."""
    if _has_strings(call):
        return False
    return tuple(dtypes.name_of(value.dtype) for value in call.inputs.values()) in taken[call.op.name]


def _has_strings(call):
    return any(value.dtype == object for value in call.inputs.values())


def _assert_equal(call, ours, stock):
    assert isinstance(ours, Refused) == isinstance(stock, Refused), (ours, stock)
    if isinstance(ours, Refused):
        assert ours.message == stock.message
        return
    if no_entries_in_a_dense_gradient(call) and not _is_served(call):
        return  # memory that nobody has written, twice
    for differs in OTHER_VALUES:
        if differs(call) and _is_served(call):
            DIFFERENCES[differs](call, ours, stock)
            return
    if call.op.category == "segment_grad" and adds_in_16_bits():  # such versions keep the sign of a zero, too
        ours, stock = ({name: array + array.dtype.type(0) for name, array in found.items()} for found in (ours, stock))
    assert_no_difference(call, ours, stock)


def test_there_are_enough_calls():
    assert 84 * len(shared_ops()) >= 1500
    assert 1200 * len(shared_ops()) >= 20_000
