"""Thousands of random calls, each made by gradbag and by the real TensorFlow: the same bits, or both refuse.

GRADBAG_SEED repeats a run; a failure prints it, with the call as Python source.
"""

import zlib
from itertools import islice

import numpy as np
import pytest

from .both import Refused, ours, shared_ops, theirs
from .calls import good_calls, spoilt
from .differences import compare

CALLS = 2000  # per op; every fourth is spoilt


def test_there_are_enough_calls():
    assert CALLS * len(shared_ops()) >= 20_000


@pytest.mark.parametrize("op", shared_ops(), ids=lambda op: op.name)
def test_random_calls(op, seed, record_property):
    rng = np.random.default_rng([seed, zlib.crc32(op.name.encode())])
    refused = bits = 0
    for number, call in enumerate(islice(good_calls(op, rng), CALLS)):
        if number % 4 == 3:
            call = spoilt(call, rng)
        try:
            mine = ours(call)
            with np.errstate(invalid="ignore"):  # looking at a signaling NaN
                compare(call, mine, theirs(call))
        except Exception as problem:
            problem.add_note(f"GRADBAG_SEED={seed}, call {number} of {op.name}:\n{call}")
            raise
        if isinstance(mine, Refused):
            refused += 1
        else:
            bits += sum(map(_bits, mine.values()))
    record_property("row", (op.name, CALLS, refused, bits))
    assert 0 < refused < CALLS
    assert bits


def _bits(array):
    return 8 * sum(len(text.encode()) for text in array.flat) if array.dtype == object else 8 * array.nbytes
