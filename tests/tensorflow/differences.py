"""Where gradbag answers differently from TensorFlow on purpose; everything else is compared bit for bit.

Each difference is a predicate, whose docstring is the reason, and what is checked instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np

from gradbag import dtypes
from gradbag.testing.oracle import assert_same

from .both import Array, Call, Outcome, Refused

LARGEST = 2**63 - 1


def compare(call: Call, ours: Outcome, theirs: Outcome) -> None:
    """Both refuse, or both answer with the same bits, or one of the differences below explains it."""
    if isinstance(ours, Refused) and isinstance(theirs, Refused):
        return
    for differs, check in DIFFERENCES.items():
        if differs(call):
            check(call, ours, theirs)
            return
    assert_no_difference(call, ours, theirs)


# ------------------------------------------------------------------ TensorFlow answers, gradbag refuses
def no_rows_and_yet_entries(call: Call) -> bool:
    """A table without rows: TensorFlow looks at no value, gradbag finds every index out of range."""
    rows = [call.inputs[name] for name in ("output_dim0", "dense_output_dim0") if name in call.inputs]
    return bool(rows) and int(rows[0]) == 0 and len(call.inputs["indices"]) > 0


def size_is_negative(call: Call) -> bool:
    """TensorFlow takes a negative size where the window starts beyond the shape, or where it wraps."""
    return "size" in call.inputs and bool((call.inputs["size"] < 0).any())


def number_of_segments_beyond_int32(call: Call) -> bool:
    """TensorFlow reads only the low 32 bits of num_segments; gradbag reads all, and has no such memory."""
    return "num_segments" in call.inputs and not -(2**31) <= int(call.inputs["num_segments"]) < 2**31


def _we_refuse(call: Call, ours: Outcome, theirs: Outcome) -> None:
    assert isinstance(ours, Refused), "gradbag answered"


# ------------------------------------------------------------------ TensorFlow refuses, gradbag answers
def dtype_that_tensorflow_lacks(call: Call) -> bool:
    """gradbag pools and scatters complex numbers, scatters integers and moves quantized numbers too."""
    used = {name: dtypes.name_of(call.inputs[name].dtype) for name in call.op.differentiable}
    more = {
        *(dtypes.COMPLEX if "segment_ids" in call.inputs else ()),
        *(dtypes.INTEGER if "grad" in call.inputs else ()),
        *dtypes.QUANTIZED,
    }
    declared = {a.name: call.op.allowed(a) for a in call.op.inputs}
    return any(dtype in more and dtype in declared[name] for name, dtype in used.items())


def _they_refuse(call: Call, ours: Outcome, theirs: Outcome) -> None:
    assert isinstance(theirs, Refused), "TensorFlow answered"
    assert not isinstance(ours, Refused), f"gradbag refused: {ours.message}"


# ------------------------------------------------------------------ other values
def no_entries_in_a_dense_gradient(call: Call) -> bool:
    """TensorFlow returns uninitialised memory where no entry says anything, gradbag zeros."""
    return "output_dim0" in call.inputs and len(call.inputs["indices"]) == 0


def _zeros(call: Call, ours: Outcome, theirs: Outcome) -> None:
    if not isinstance(theirs, Refused):
        theirs = {name: np.zeros_like(array) for name, array in theirs.items()}
    assert_no_difference(call, ours, theirs)


def ragged_without_rows(call: Call) -> bool:
    """Without rows, TensorFlow gives output_value_rowids the shape (0, 1), gradbag (0,) as always."""
    return "nrows" in call.inputs and int(call.inputs["nrows"]) == 0


def _flat(call: Call, ours: Outcome, theirs: Outcome) -> None:
    if not isinstance(theirs, Refused):
        assert theirs["output_value_rowids"].shape == (0, 1)
        theirs = {name: array.reshape(0) for name, array in theirs.items()}
    assert_no_difference(call, ours, theirs)


def window_ends_beyond_int64(call: Call) -> bool:
    """TensorFlow's start + size wraps and drops every entry, gradbag's does not."""
    if "size" not in call.inputs:
        return False
    window = zip(call.inputs["start"].tolist(), call.inputs["size"].tolist(), strict=True)
    return any(first + length > LARGEST for first, length in window)


def _exact_window(call: Call, ours: Outcome, theirs: Outcome) -> None:
    if not isinstance(theirs, Refused):
        indices, values, start = (call.inputs[name] for name in ("indices", "values", "start"))
        window = [range(f, f + n) for f, n in zip(start.tolist(), call.inputs["size"].tolist(), strict=True)]
        kept = [all(p in w for p, w in zip(place, window, strict=True)) for place in indices.tolist()]
        theirs = {**theirs, "output_indices": indices[kept] - start, "output_values": values[kept]}
    assert_no_difference(call, ours, theirs)


def default_gradient_of_floats(call: Call) -> bool:
    """TensorFlow adds one by one in the storage type; gradbag adds in float64 and rounds once."""
    return "reverse_index_map" in call.inputs and dtypes.is_differentiable(call.inputs["grad_values"].dtype)


def _near_the_truth(call: Call, ours: Outcome, theirs: Outcome) -> None:
    if isinstance(ours, Refused) or isinstance(theirs, Refused):
        assert_no_difference(call, ours, theirs)
        return
    grad, total = call.inputs["grad_values"], ours["d_default_value"]
    assert_same(ours["d_values"], theirs["d_values"], "d_values")
    assert_same(np.zeros_like(total), np.zeros_like(theirs["d_default_value"]), "d_default_value")
    added = np.delete(grad, call.inputs["reverse_index_map"])
    parts = [(added.real, total.real), (added.imag, total.imag)] if grad.dtype.kind == "c" else [(added, total)]
    for terms, got in parts:
        _assert_sum(terms, got)


def _assert_sum(terms: Array, got: Array) -> None:
    """`got` is the sum of `terms`, up to float64's own rounding and one rounding to the storage type."""
    limits = ml_dtypes.finfo(got.dtype)
    numbers, total = [float(term) for term in terms], float(got)
    finite = [number for number in numbers if math.isfinite(number)]
    size = sum(map(abs, finite))
    if math.isinf(size):
        return  # the order of the additions decides whether they overflow on the way
    if len(finite) < len(numbers):
        want = sum(number for number in numbers if not math.isfinite(number))
        assert total == want or (math.isnan(total) and math.isnan(want)), f"d_default_value is {total}, not {want}"
        return
    want = math.fsum(numbers)
    margin = float(limits.eps) / 2 * abs(want) + len(numbers) * 2.0**-53 * size + float(limits.smallest_subnormal)
    overflows = math.isinf(total) and abs(want) + margin > float(limits.max)
    assert overflows or abs(total - want) <= margin, f"d_default_value is {total}, not {want}"


# ------------------------------------------------------------------ the list
def assert_no_difference(call: Call, ours: Outcome, theirs: Outcome) -> None:
    """Both answer, and every bit is the same."""
    assert not isinstance(ours, Refused), f"gradbag refused: {ours.message}"
    assert not isinstance(theirs, Refused), f"TensorFlow refused: {theirs.message}"
    for name, array in theirs.items():
        assert_same(ours[name], array, name)


DIFFERENCES: dict[Callable[[Call], bool], Callable[[Call, Outcome, Outcome], None]] = {
    no_rows_and_yet_entries: _we_refuse,
    size_is_negative: _we_refuse,
    number_of_segments_beyond_int32: _we_refuse,
    dtype_that_tensorflow_lacks: _they_refuse,
    no_entries_in_a_dense_gradient: _zeros,
    ragged_without_rows: _flat,
    window_ends_beyond_int64: _exact_window,
    default_gradient_of_floats: _near_the_truth,
}
