"""Small calls go by a shortcut in C++: for every op the same bits and the same refusals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import dtypes, eager
from gradbag.eager.program import Program, native
from gradbag.spec import Arg, Op, Reject
from gradbag.testing import assert_same_results, called, cases, layouts, native_ops
from gradbag.testing.cases import Case, usual_types
from gradbag.testing.oracle import listed, outcome

pytestmark = pytest.mark.skipif(not eager.available(), reason="the native kernels are not installed")

REJECTS = [(op, reject) for op in native_ops() for reject in op.rejects]
# A kernel sees these in another form than the caller's.
CARRIED = {"bool", "string", *dtypes.QUANTIZED}
every_op = pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    gradbag.set_memory_limit(None)


def by_shortcut(case: Case) -> Any:
    return eager.shortcut(case.op, tuple(case.arrays), dict(case.attrs))


def by_python(case: Case) -> list[Any]:
    """The inputs that the call changes, in copies, and the outputs."""
    return eager.functional(case.op, case.arrays, dict(case.attrs))


def usual(op: Op) -> Case:
    """The largest sample, known to the shortcuts."""
    case = max(cases(op, usual_types(op)), key=lambda case: sum(a.size for _, _, a in case.given))
    by_python(case)
    return case


def assert_taken(case: Case, wanted: list[Any]) -> None:
    """By the shortcut, and with these results."""
    op, answer = case.op, by_shortcut(case)
    assert answer is not NotImplemented, f"{case}: not taken"
    assert op.result is None or type(answer) is op.result
    for output in listed(op, answer):
        assert type(output) is np.ndarray
        assert output.flags.owndata
    assert_same_results(case, [*case.updated, *listed(op, answer)], wanted)


# ------------------------------------------------------------------ the same answers
@every_op
def test_a_shortcut_has_the_bits_of_the_python_way(op: Op) -> None:
    taken = 0
    for case in cases(op):
        wanted = by_python(case)
        names = [None if a is None else dtypes.name_of(a.dtype) for a in case.arrays]
        has_kernel = Program(op, names, native).fill is not None
        if has_kernel and CARRIED.isdisjoint(case.types.values()):
            assert_taken(case, wanted)
            taken += 1
        else:
            assert by_shortcut(case) is NotImplemented, str(case)
    assert taken


@every_op
def test_read_only_arrays_are_taken_and_odd_layouts_are_left_to_the_python_way(op: Op) -> None:
    case = usual(op)
    wanted = by_python(case)
    left = 0
    for place, name, array in case.given:
        updated = op.flat_inputs(len(case.arrays))[place].updates
        for label, other in layouts(array):
            made = case.fresh().replaced({place: other}, f"{case.label}, {name} {label}")
            again = case.fresh().replaced({place: other}, made.label)
            ready = other.flags.c_contiguous and other.flags.aligned and other.dtype.isnative
            if ready and (other.flags.writeable or not updated):
                assert_taken(made, wanted)
            else:
                assert by_shortcut(made) is NotImplemented, str(made)
                left += 1
            if not updated:
                assert_same_results(again, called(again), wanted)
    assert left


class Annotated(np.ndarray[Any, Any]):
    """Nobody knows what a subclass does."""


@every_op
def test_a_subclass_is_left_to_the_python_way(op: Op) -> None:
    case = usual(op)
    wanted = by_python(case)
    for place, name, array in case.given:
        made = case.fresh().replaced({place: array.copy().view(Annotated)}, f"{case.label}, {name} annotated")
        assert by_shortcut(made) is NotImplemented
        assert_same_results(made, called(made), wanted)


@every_op
def test_all_inputs_are_taken_in_a_tuple_or_a_list_and_nothing_else(op: Op) -> None:
    case = usual(op)
    arrays, attrs = case.arrays, dict(case.attrs)
    for values in (tuple(arrays), list(arrays)):
        assert eager.shortcut(op, values, attrs) is not NotImplemented
    others = [] if op.lists else [arrays[1:], [*arrays, arrays[0]]]  # a shorter list is another call
    for values in (*others, (), [], [None] * len(arrays), dict.fromkeys("ab"), "ab"):
        assert eager.shortcut(op, values, attrs) is NotImplemented


@every_op
def test_python_integers_are_taken_where_they_can_only_mean_one_dtype(op: Op) -> None:
    case = usual(op)
    wanted = by_python(case)
    for place in op.flat_held(len(case.arrays)):
        if not case.arrays[place].ndim:
            made = case.replaced({place: case.arrays[place].item()})
            assert_same_results(made, called(made), wanted)
            assert_taken(made, wanted)


# ------------------------------------------------------------------ the same refusals
@pytest.mark.parametrize(("op", "reject"), REJECTS, ids=lambda x: x.name if isinstance(x, Op) else str(x.change)[:40])
def test_what_is_refused_is_left_to_the_python_way(op: Op, reject: Reject) -> None:
    good = next(cases(op, usual_types(op)))
    by_python(good)
    assert by_shortcut(good.fresh()) is not NotImplemented
    attrs = {**good.attrs, **{name: value for name, value in reject.change.items() if name in op.attr_defaults}}
    inputs = {
        arg.name: _as_example(arg, reject.change[arg.name], good.types) if arg.name in reject.change else value
        for arg, value in zip(op.inputs, good.inputs.values(), strict=True)
    }
    bad = replace(good, inputs=inputs, attrs=attrs)
    want = outcome(lambda *_: called(bad), op, [], {})
    assert isinstance(want, str)
    assert by_shortcut(bad) is NotImplemented
    if all(inputs[arg.name] != [] for arg in op.inputs if arg.many) and attrs == good.attrs:
        assert outcome(eager.functional, op, bad.arrays, attrs) == want
    assert by_shortcut(good.fresh()) is not NotImplemented


def _as_example(arg: Arg, value: Any, types: Mapping[str, str]) -> Any:
    dtype = dtypes.numpy_dtype(types.get(arg.dtype, arg.dtype))
    return [np.asarray(v).astype(dtype) for v in value] if arg.many else np.asarray(value).astype(dtype)


@every_op
def test_the_memory_limit_holds_to_the_byte(op: Op) -> None:
    case = usual(op)

    def refused(limit: int) -> bool:
        gradbag.set_memory_limit(limit)
        got = outcome(lambda *_: called(case.fresh()), op, [], {})
        made = case.fresh()
        want = outcome(eager.run, op, made.arrays, dict(made.attrs))
        assert isinstance(got, str) == isinstance(want, str)
        assert not isinstance(got, str) or got == want
        assert (by_shortcut(case.fresh()) is NotImplemented) == isinstance(want, str)
        return isinstance(got, str)

    low, high = 0, 1 << 19  # refused, answered
    assert refused(low)
    assert not refused(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if refused(middle) else (low, middle)
    assert refused(low)
    assert not refused(high)
