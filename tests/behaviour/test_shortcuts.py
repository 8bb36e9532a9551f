"""Small calls go by a shortcut in C++: the same bits and the same refusals, and never where something is special."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import arguments, dtypes, errors, kernels, raw_ops
from gradbag.spec import AtLeast, Op, Reject, registry
from gradbag.testing import assert_same, cases, layouts
from gradbag.testing.cases import Case, usual_types
from gradbag.testing.oracle import outcome

pytestmark = pytest.mark.skipif(not kernels.available(), reason="the native kernels are not installed")

OPS = [op for op in registry if op.kernel is not None]
REJECTS = [(op, reject) for op in OPS for reject in op.rejects]
# A kernel sees these in another form than the caller's.
CARRIED = {"bool", "string", *dtypes.QUANTIZED}
every_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    gradbag.set_memory_limit(None)


def by_shortcut(op: Op, values: Any) -> Any:
    return NotImplemented if op.shortcuts is None else op.shortcuts.call(tuple(values))


def by_call(op: Op, values: Any, attrs: Any) -> list[Any]:
    """As a user calls it."""
    answer = getattr(raw_ops, op.name)(**dict(zip(op.input_names, values, strict=True)), **attrs)
    return [answer] if op.result is None else list(answer)


def usual(op: Op) -> Case:
    """The largest sample, known to the shortcuts."""
    case = max(cases(op, usual_types(op)), key=lambda case: sum(a.size for a in case.arrays))
    kernels.run(op, case.arrays, dict(case.attrs))
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
        wanted = kernels.run(op, case.arrays, dict(case.attrs))
        answer = by_shortcut(op, case.arrays)
        if CARRIED.isdisjoint(case.types.values()):
            assert_outputs(op, answer, wanted, str(case))
            taken += 1
        else:
            assert answer is NotImplemented, str(case)
    assert taken


@every_op
def test_read_only_arrays_are_taken_and_odd_layouts_are_left_to_the_python_way(op: Op) -> None:
    case = usual(op)
    wanted = kernels.run(op, case.arrays, dict(case.attrs))
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
    wanted = kernels.run(op, case.arrays, dict(case.attrs))
    for place, array in enumerate(case.arrays):
        values = [*case.arrays[:place], array.view(Annotated), *case.arrays[place + 1 :]]
        assert by_shortcut(op, values) is NotImplemented
        for got, want in zip(by_call(op, values, case.attrs), wanted, strict=True):
            assert_same(got, want, str(case))


@every_op
def test_only_a_tuple_of_all_inputs_is_taken(op: Op) -> None:
    arrays = usual(op).arrays
    assert by_shortcut(op, arrays) is not NotImplemented
    for values in (arrays, tuple(arrays[1:]), (*arrays, arrays[0]), (), (None,) * len(arrays)):
        assert op.shortcuts.call(values) is NotImplemented


def test_large_results_are_left_to_the_cache_of_blocks() -> None:
    data, ids = np.ones((4, 1 << 16), np.float32), np.arange(4)
    for rows, taken in ((3, True), (4, False)):
        values = data[:rows], ids[:rows], ids[:rows]
        raw_ops.SparseSegmentSum(data=values[0], indices=values[1], segment_ids=values[2])
        assert (by_shortcut(registry["SparseSegmentSum"], values) is not NotImplemented) == taken


def test_an_answer_is_no_view_of_an_argument() -> None:
    data, ids = np.ones((2, 2)), np.array([0, 1])
    for _ in range(2):
        answer = raw_ops.SparseSegmentSum(data=data, indices=ids, segment_ids=ids)
        assert not np.shares_memory(answer, data)


# ------------------------------------------------------------------ Python integers
def grad(rows: Any) -> Any:
    return raw_ops.SparseSegmentSumGrad(
        grad=np.ones((1, 2)), indices=np.array([0]), segment_ids=np.array([0]), output_dim0=rows
    )


def spread(segments: Any) -> Any:
    return raw_ops.SparseSegmentSumWithNumSegments(
        data=np.ones((1, 0)), indices=np.array([0]), segment_ids=np.array([0]), num_segments=segments
    )


@pytest.mark.parametrize("call", [grad, spread], ids=["one dtype", "two dtypes"])
def test_a_python_integer_for_a_size_is_the_array_it_stands_for(call: Any) -> None:
    for rows in (1, 7, 200):
        want = call(np.array(rows, np.int32))
        for given in (rows, np.int32(rows)):
            assert_same(call(given), want)
    for rows in (-1, -(2**31)):
        with pytest.raises(gradbag.InvalidArgumentError, match=f"== {rows} must not be negative"):
            call(rows)
    with pytest.raises(gradbag.UnsupportedTypeError, match="got a Python bool"):
        call(True)
    with pytest.raises(gradbag.Error):
        call(2**64)


def test_a_python_integer_takes_the_dtype_that_holds_it() -> None:
    assert spread(5).shape == (5, 0)
    assert spread(2**31).shape == (2**31, 0)
    with pytest.raises(gradbag.InvalidArgumentError, match="does not fit int32"):
        grad(2**31)


@every_op
def test_python_integers_are_taken_where_they_can_only_mean_one_dtype(op: Op) -> None:
    case = usual(op)
    wanted = kernels.run(op, case.arrays, dict(case.attrs))
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
    kernels.run(op, good, attrs)
    assert by_shortcut(op, good) is not NotImplemented
    bad = [
        np.asarray({**op.example.inputs, **reject.change}[name]).astype(a.dtype)
        for name, a in zip(op.input_names, good, strict=True)
    ]
    want = outcome(kernels.run, op, bad, attrs)
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
        got, want = outcome(by_call, op, case.arrays, attrs), outcome(kernels.run, op, case.arrays, attrs)
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


# ------------------------------------------------------------------ rules
@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> tuple[Op, list[Any], dict[str, Any]]:
    """An op whose rule gives what a test puts into a dict, or raises it."""
    op = registry["SparseSegmentSum"]
    sizes: dict[str, Any] = {"segments": 2}

    def rule(*inputs: Any) -> Any:
        if isinstance(sizes["segments"], BaseException):
            raise sizes["segments"]
        return dict(sizes)

    monkeypatch.setattr(op, "size_rule", rule)
    monkeypatch.setattr(op, "routes", {})
    monkeypatch.setattr(op, "shortcuts", None)
    arrays = [np.ones((3, 2)), np.array([0, 2]), np.array([0, 1])]
    kernels.run(op, arrays, {})
    return op, arrays, sizes


def test_a_rule_decides_and_what_it_cannot_mean_is_left_to_the_python_way(counting: Any) -> None:
    op, arrays, sizes = counting
    sizes["segments"] = 3
    assert by_shortcut(op, arrays).tolist() == [[1, 1], [1, 1], [0, 0]]
    for odd in (
        -1,
        2**63,
        2**62,
        1,
        AtLeast(2),
        2.0,
        True,
        ValueError("no"),
        errors.Fault("negative", "segment_ids", (0,), -1),
    ):
        sizes["segments"] = odd
        assert by_shortcut(op, arrays) is NotImplemented, odd
    sizes.update(segments=2, more=2)
    assert by_shortcut(op, arrays) is NotImplemented


def test_an_interrupt_in_a_rule_is_not_swallowed(counting: Any) -> None:
    op, arrays, sizes = counting
    sizes["segments"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        by_shortcut(op, arrays)


# ------------------------------------------------------------------ the end
EVERY_OP_TWICE = """
import ctypes
from gradbag import raw_ops
from gradbag.spec import registry
from gradbag.testing import cases
from gradbag.testing.cases import usual_types
for op in registry:
    for case in cases(op, usual_types(op)):
        for _ in range(2):
            getattr(raw_ops, op.name)(**case.inputs)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(op))  # as a cache that nobody clears
print("done")
"""


def test_a_shortcut_is_collected_with_a_rule_that_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    op = registry["SparseSegmentSum"]

    class Rule:
        def __call__(self, *inputs: Any) -> dict[str, int]:
            return {"segments": 2}

    rule = Rule()
    with monkeypatch.context() as patched:
        for name, value in (("size_rule", rule), ("routes", {}), ("shortcuts", None)):
            patched.setattr(op, name, value)
        arrays = [np.ones((3, 2)), np.array([0, 2]), np.array([0, 1])]
        kernels.run(op, arrays, {})
        assert by_shortcut(op, arrays) is not NotImplemented
        rule.known = op.shortcuts  # type: ignore[attr-defined]
    alive = weakref.ref(rule)
    del rule
    gc.collect()
    assert alive() is None


def test_nothing_is_left_behind_when_the_interpreter_ends(python: Any) -> None:
    done = python(EVERY_OP_TWICE)
    assert (done.stdout, done.stderr) == ("done\n", "")
