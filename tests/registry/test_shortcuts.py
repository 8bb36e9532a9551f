"""Small calls go by a shortcut in C++: for every op the same bits and the same refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import arguments, dtypes, eager, raw_ops
from gradbag.eager.program import Program, native
from gradbag.spec import Op, Reject
from gradbag.testing import assert_same, cases, layouts, native_ops
from gradbag.testing.cases import Case, usual_types
from gradbag.testing.oracle import outcome

pytestmark = pytest.mark.skipif(not eager.available(), reason="the native kernels are not installed")

OPS = [op for op in native_ops() if op.kernel is not None]
REJECTS = [(op, reject) for op in OPS for reject in op.rejects]
# A kernel sees these in another form than the caller's.
CARRIED = {"bool", "string", *dtypes.QUANTIZED}
every_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    gradbag.set_memory_limit(None)


def by_shortcut(op: Op, values: Any) -> Any:
    return eager.shortcut(op, tuple(values), op.attr_defaults)


def by_call(op: Op, values: Any, attrs: Any) -> list[Any]:
    """As a user calls it."""
    answer = getattr(raw_ops, op.name)(**dict(zip(op.input_names, values, strict=True)), **attrs)
    return [answer] if op.result is None else list(answer)


def usual(op: Op) -> Case:
    """The largest sample, known to the shortcuts."""
    case = max(cases(op, usual_types(op)), key=lambda case: sum(a.size for a in case.arrays))
    eager.run(op, case.arrays, dict(case.attrs))
    return case


def assert_outputs(op: Op, answer: Any, wanted: list[Any], label: str) -> None:
    assert answer is not NotImplemented, f"{label}: not taken"
    assert op.result is None or type(answer) is op.result
    got = [answer] if op.result is None else list(answer)
    for arg, a, b in zip(op.outputs, got, wanted, strict=True):
        assert type(a) is np.ndarray
        assert a.flags.owndata
        assert_same(a, b, f"{label}: {arg.name}")


# ------------------------------------------------------------------ the same answers
@every_op
def test_a_shortcut_has_the_bits_of_the_python_way(op: Op) -> None:
    taken = 0
    for case in cases(op):
        wanted = eager.run(op, case.arrays, dict(case.attrs))
        answer = by_shortcut(op, case.arrays)
        has_kernel = Program(op, [dtypes.name_of(a.dtype) for a in case.arrays], native).fill is not None
        if has_kernel and CARRIED.isdisjoint(case.types.values()):
            assert_outputs(op, answer, wanted, str(case))
            taken += 1
        else:
            assert answer is NotImplemented, str(case)
    assert taken


@every_op
def test_read_only_arrays_are_taken_and_odd_layouts_are_left_to_the_python_way(op: Op) -> None:
    case = usual(op)
    wanted = eager.run(op, case.arrays, dict(case.attrs))
    left = 0
    for place, array in enumerate(case.arrays):
        for label, other in layouts(array):
            values = [*case.arrays[:place], other, *case.arrays[place + 1 :]]
            answer = by_shortcut(op, values)
            if other.flags.c_contiguous and other.flags.aligned and other.dtype.isnative:
                assert_outputs(op, answer, wanted, f"{case}, {label}")
            else:
                assert answer is NotImplemented, f"{case}, {label}"
                left += 1
            for got, want in zip(by_call(op, values, case.attrs), wanted, strict=True):
                assert_same(got, want, f"{case}, {label}")
    assert left


class Annotated(np.ndarray[Any, Any]):
    """Nobody knows what a subclass does."""


@every_op
def test_a_subclass_is_left_to_the_python_way(op: Op) -> None:
    case = usual(op)
    wanted = eager.run(op, case.arrays, dict(case.attrs))
    for place, array in enumerate(case.arrays):
        values = [*case.arrays[:place], array.view(Annotated), *case.arrays[place + 1 :]]
        assert by_shortcut(op, values) is NotImplemented
        for got, want in zip(by_call(op, values, case.attrs), wanted, strict=True):
            assert_same(got, want, str(case))


@every_op
def test_all_inputs_are_taken_in_a_tuple_or_a_list_and_nothing_else(op: Op) -> None:
    arrays = usual(op).arrays
    for values in (tuple(arrays), list(arrays)):
        assert eager.shortcut(op, values, op.attr_defaults) is not NotImplemented
    for values in (tuple(arrays[1:]), (*arrays, arrays[0]), (), [], [None] * len(arrays), dict.fromkeys("ab"), "ab"):
        assert eager.shortcut(op, values, op.attr_defaults) is NotImplemented


@every_op
def test_python_integers_are_taken_where_they_can_only_mean_one_dtype(op: Op) -> None:
    case = usual(op)
    wanted = eager.run(op, case.arrays, dict(case.attrs))
    scalars = [place for place in op.held if not case.arrays[place].ndim]
    for place in scalars:
        values = list(case.arrays)
        values[place] = values[place].item()
        for got, want in zip(by_call(op, values, case.attrs), wanted, strict=True):
            assert_same(got, want, str(case))
        assert_outputs(op, by_shortcut(op, values), wanted, str(case))


# ------------------------------------------------------------------ the same refusals
@pytest.mark.parametrize(("op", "reject"), REJECTS, ids=lambda x: x.name if isinstance(x, Op) else str(x.change)[:40])
def test_what_is_refused_is_left_to_the_python_way(op: Op, reject: Reject) -> None:
    attrs = dict(op.attr_defaults)
    good = arguments.to_arrays(op, list(op.example.inputs.values()))
    eager.run(op, good, attrs)
    assert by_shortcut(op, good) is not NotImplemented
    bad = [
        np.asarray({**op.example.inputs, **reject.change}[name]).astype(a.dtype)
        for name, a in zip(op.input_names, good, strict=True)
    ]
    want = outcome(eager.run, op, bad, attrs)
    assert isinstance(want, str)
    assert by_shortcut(op, bad) is NotImplemented
    assert outcome(by_call, op, bad, attrs) == want
    assert by_shortcut(op, good) is not NotImplemented


@every_op
def test_the_memory_limit_holds_to_the_byte(op: Op) -> None:
    case = usual(op)
    attrs = dict(case.attrs)

    def refused(limit: int) -> bool:
        gradbag.set_memory_limit(limit)
        got, want = outcome(by_call, op, case.arrays, attrs), outcome(eager.run, op, case.arrays, attrs)
        assert isinstance(got, str) == isinstance(want, str)
        assert not isinstance(got, str) or got == want
        assert (by_shortcut(op, case.arrays) is NotImplemented) == isinstance(want, str)
        return isinstance(got, str)

    low, high = 0, 1 << 19  # refused, answered
    assert refused(low)
    assert not refused(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if refused(middle) else (low, middle)
    assert refused(low)
    assert not refused(high)
