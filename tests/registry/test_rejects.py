"""Every bad input that a declaration lists is refused in the words it states."""

from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import raw_ops
from gradbag.spec import Op, Reject
from gradbag.testing import cases, native_ops
from gradbag.testing.cases import usual_types

REJECTS = [(op, reject) for op in native_ops() for reject in op.rejects]


def test_every_op_lists_rejects() -> None:
    assert {op.name for op, _ in REJECTS} == {op.name for op in native_ops()}


@pytest.mark.parametrize(("op", "reject"), REJECTS, ids=lambda x: x.name if isinstance(x, Op) else str(x.change)[:40])
def test_a_reject_names_op_argument_and_limit_and_changes_nothing(op: Op, reject: Reject) -> None:
    case = next(cases(op, usual_types(op)))
    updated = {arg.name: case.inputs[arg.name].copy() for arg in op.inputs if arg.updates}
    with pytest.raises(gradbag.InvalidArgumentError, match=f"^{op.name}: {reject.message}"):
        getattr(raw_ops, op.name)(**{**op.example.inputs, **updated, **reject.change})
    for name, array in updated.items():
        np.testing.assert_array_equal(array, case.inputs[name])


@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_a_dtype_that_no_op_takes_is_named(op: Op) -> None:
    for arg in op.inputs:
        wrong: Any = np.zeros((1, 1), "datetime64[s]")
        given = {**op.example.inputs, arg.name: [wrong] if arg.many else wrong}
        message = rf"^{op.name}: {arg.name} must be .*; got datetime64\[s\]"
        with pytest.raises(gradbag.UnsupportedTypeError, match=message):
            getattr(raw_ops, op.name)(**given)
