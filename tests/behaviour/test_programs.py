"""Training runs are made ready once: they give what ordinary runs give, and what fails or is held elsewhere stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradbag import errors
from gradbag.graph import ClientSession, Report, Scope, ops
from gradbag.graph.updating import _told
from gradbag.spec import registry
from gradbag.testing import cases

ROWS, COLUMNS = 50, 3


def trained(optimizer: str, summed: bool) -> tuple[Scope, Any]:
    """A table whose rows are looked up and moved towards zero, by rows that TensorFlow would add up first, or not."""
    root = Scope.new_root_scope()
    handles = ["var", "accum", "linear"][: 3 if "Ftrl" in optimizer else 2]
    made = [ops.VarHandleOp(root.with_op_name(n), dtype="float32", shape=[ROWS, COLUMNS]) for n in handles]
    ids = ops.Placeholder(root.with_op_name("ids"), dtype="int64", shape=[None])
    found = ops.ResourceGather(root.with_op_name("found"), made[0], ids, dtype="float32")
    ops.Sum(root.with_op_name("loss"), ops.Square(root, found), [0, 1])
    rows, indices = found.output, ids.output
    if summed:
        unique = ops.Unique(root, ids)
        size = ops.Size(root, unique.y)
        rows, indices = ops.UnsortedSegmentSum(root, rows, unique.idx, size).output, unique.y
    numbers = {"lr": np.float32(0.1)} | ({n: np.float32(0.01) for n in ("l1", "l2")} if "Ftrl" in optimizer else {})
    if "Ftrl" in optimizer:
        numbers["lr_power"] = np.float32(-0.5)
    names = dict(zip(handles, made, strict=True))
    getattr(ops, optimizer)(root.with_op_name("step"), **names, grad=rows, indices=indices, **numbers)
    return root, handles


def started(root: Scope, handles: Any) -> ClientSession:
    session = ClientSession(root)
    rng = np.random.default_rng(4)
    for name in handles:
        session.set_variable(name, rng.uniform(0.5, 1, (ROWS, COLUMNS)).astype(np.float32))
    return session


def programs(session: ClientSession) -> int:
    return sum(len(made) for made in session._programs.values() if made)


@pytest.mark.parametrize("summed", [True, False], ids=["added up", "as they come"])
@pytest.mark.parametrize("optimizer", ["ResourceSparseApplyAdagrad", "ResourceSparseApplyFtrl"])
def test_a_program_does_what_a_run_does(optimizer: str, summed: bool) -> None:
    root, handles = trained(optimizer, summed)
    quick, slow = started(root, handles), started(root, handles)
    rng = np.random.default_rng(5)
    for count in (9, 9, 4, 9, 0, 9):
        ids = rng.integers(0, ROWS, count)
        one = quick.run({"ids": ids}, ["loss"], run_only=["step"])
        other = slow.run({"ids": ids}, ["loss"], run_only=["step"], report=Report())
        np.testing.assert_allclose(one[0], other[0], 1e-6)
        for name in handles:
            np.testing.assert_allclose(quick.variable(name), slow.variable(name), 1e-6)
    assert programs(quick) == 3
    assert programs(slow) == 0


def test_a_run_that_fails_puts_back_the_rows_that_it_has_changed() -> None:
    root, handles = trained("ResourceSparseApplyAdagrad", True)
    other = ops.Placeholder(root.with_op_name("other"), dtype="int64", shape=[None])
    late = root.with_control_dependencies([root.graph.node("step")])
    ops.ResourceGather(late.with_op_name("late"), root.graph.node("var").outputs[0], other, dtype="float32")
    session = started(root, handles)
    good, bad = ({"ids": np.arange(5), "other": np.array([last])} for last in (1, ROWS))
    for _ in range(2):
        session.run(good, ["late"])
    before = [session.variable(name) for name in handles]
    with pytest.raises(errors.InvalidArgumentError, match=r"node 'late': .*indices\[0\] == 50 out of range"):
        session.run(bad, ["late"])
    for name, value in zip(handles, before, strict=True):
        np.testing.assert_array_equal(session.variable(name), value)


def test_values_that_somebody_holds_are_not_changed_under_him() -> None:
    root, handles = trained("ResourceSparseApplyAdagrad", True)
    session = started(root, handles)
    feeds = {"ids": np.arange(5)}
    session.run(feeds, run_only=["step"])
    held = session.variables
    copies = {name: value.copy() for name, (value, _) in held.items()}
    session.run(feeds, run_only=["step"])
    for name, (value, _) in held.items():
        np.testing.assert_array_equal(value, copies[name])
        assert (session.variable(name) != value).any()


def test_a_fetch_of_a_variable_is_what_it_was_before() -> None:
    root, handles = trained("ResourceSparseApplyAdagrad", True)
    session = started(root, handles)
    for _ in range(3):
        before = session.variable("var")
        (got,) = session.run({"ids": np.arange(5)}, ["var"], run_only=["step"])
        np.testing.assert_array_equal(got, before)
        assert (session.variable("var") != before).any()


def test_feeds_of_ever_new_shapes_still_run() -> None:
    root, handles = trained("ResourceSparseApplyAdagrad", True)
    session = started(root, handles)
    for count in range(1, 30):
        session.run({"ids": np.arange(count)}, run_only=["step"])
    assert programs(session) <= 16


def test_bad_indices_are_refused_in_words() -> None:
    root, handles = trained("ResourceSparseApplyAdagrad", True)
    session = started(root, handles)
    session.run({"ids": np.arange(3)}, run_only=["step"])
    before = session.variable("var")
    with pytest.raises(errors.InvalidArgumentError, match=r"indices\[1\] == 50 out of range \[0, 50\)"):
        session.run({"ids": np.array([1, ROWS, 2])}, run_only=["step"])
    np.testing.assert_array_equal(session.variable("var"), before)


def test_ops_that_are_told_rows_change_no_others() -> None:
    """What a program relies on when it gives the body of an op nothing but the rows that are named."""
    told = [op for op in registry if op.updates and _told(op) is not None]
    assert len(told) > 10
    for op in told:
        for case in cases(op):
            arrays = list(case.arrays)
            place = op.input_names.index("indices")
            changed = [p for p, arg in enumerate(op.inputs) if arg.updates]
            rows, inverse = np.unique(arrays[place], return_inverse=True)
            whole = op.body(*arrays, **case.attrs)
            some = [a[rows] if p in changed else a for p, a in enumerate(arrays)]
            some[place] = inverse.reshape(arrays[place].shape)
            for p, after, few in zip(changed, whole, op.body(*some, **case.attrs), strict=False):
                wanted = arrays[p].copy()
                wanted[rows] = few
                np.testing.assert_array_equal(after, wanted, err_msg=op.name)
