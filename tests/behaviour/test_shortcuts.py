"""What a shortcut leaves alone, and what it does not swallow."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import eager, errors, raw_ops
from gradbag.spec import AtLeast, Op, registry
from gradbag.testing import assert_same

pytestmark = pytest.mark.skipif(not eager.available(), reason="the native kernels are not installed")


def by_shortcut(op: Op, values: Any) -> Any:
    return eager.shortcut(op, tuple(values), op.attr_defaults)


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
    monkeypatch.delitem(eager.prepared._prepared, op, raising=False)
    arrays = [np.ones((3, 2)), np.array([0, 2]), np.array([0, 1])]
    eager.run(op, arrays, {})
    return op, arrays, sizes


def test_a_rule_decides_and_what_it_cannot_mean_is_left_to_the_python_way(counting: Any) -> None:
    op, arrays, sizes = counting
    sizes["segments"] = 3
    assert by_shortcut(op, arrays).tolist() == [[1, 1], [1, 1], [0, 0]]
    objection = errors.Fault("negative", "segment_ids", (0,), -1)
    for odd in (-1, 1, 2**62, 2**63, 2.0, True, AtLeast(2), objection, MemoryError()):
        sizes["segments"] = odd
        assert by_shortcut(op, arrays) is NotImplemented, odd
    sizes.update(segments=2, more=2)
    assert by_shortcut(op, arrays) is NotImplemented


def test_a_rule_sees_the_settings_of_its_own_call(monkeypatch: pytest.MonkeyPatch) -> None:
    op = registry["SparseSegmentSum"]

    def no_compact_gradient(*inputs: Any, sparse_gradient: bool) -> None:
        if sparse_gradient:
            raise errors.Fault("rule", "data", (), 1, hint="must not be compact")

    monkeypatch.setattr(op, "check_rule", no_compact_gradient)
    monkeypatch.delitem(eager.prepared._prepared, op, raising=False)
    arrays = [np.ones((3, 2)), np.array([0, 2]), np.array([0, 1])]
    dense, compact = {"sparse_gradient": False}, {"sparse_gradient": True}
    eager.run(op, arrays, dense)
    assert eager.shortcut(op, arrays, dense).tolist() == [[1, 1], [1, 1]]
    assert eager.shortcut(op, arrays, compact) is NotImplemented
    with pytest.raises(gradbag.InvalidArgumentError, match="must not be compact"):
        eager.run(op, arrays, compact)
    assert eager.shortcut(op, arrays, compact) is NotImplemented


@pytest.mark.parametrize("raised", [KeyboardInterrupt, TimeoutError, ValueError])
def test_what_a_signal_raises_while_a_rule_runs_is_not_swallowed(counting: Any, raised: Any) -> None:
    op, arrays, sizes = counting
    sizes["segments"] = raised("now")
    with pytest.raises(raised, match="now"):
        by_shortcut(op, arrays)


# ------------------------------------------------------------------ the end
EVERY_OP_TWICE = """
import ctypes
from gradbag.testing import called, cases, native_ops
from gradbag.testing.cases import usual_types
for op in native_ops():
    for case in cases(op, usual_types(op)):
        for _ in range(2):
            called(case)
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
        patched.setattr(op, "size_rule", rule)
        patched.delitem(eager.prepared._prepared, op, raising=False)
        arrays = [np.ones((3, 2)), np.array([0, 2]), np.array([0, 1])]
        eager.run(op, arrays, {})
        assert by_shortcut(op, arrays) is not NotImplemented
        rule.known = eager.prepared.of(op).shortcuts[()]  # type: ignore[attr-defined]
    alive = weakref.ref(rule)
    del rule
    gc.collect()
    assert alive() is None


def test_nothing_is_left_behind_when_the_interpreter_ends(python: Any) -> None:
    done = python(EVERY_OP_TWICE)
    assert (done.stdout, done.stderr) == ("done\n", "")
