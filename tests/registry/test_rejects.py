"""Every bad input that a declaration lists is refused in the words it states."""

import copy
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
    updated = {arg.name: copy.deepcopy(case.inputs[arg.name]) for arg in op.inputs if arg.updates}
    with pytest.raises(gradbag.InvalidArgumentError, match=f"^{op.name}: {reject.message}"):
        getattr(raw_ops, op.name)(**{**op.example.inputs, **updated, **reject.change})
    for name, value in updated.items():
        many = isinstance(value, list)
        for array, before in zip(
            value if many else [value], case.inputs[name] if many else [case.inputs[name]], strict=True
        ):
            np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_a_dtype_that_no_op_takes_is_named(op: Op) -> None:
    for arg in op.inputs:
        wrong: Any = np.zeros((1, 1), "datetime64[s]")
        value = [wrong] * len(op.example.inputs[arg.name]) if arg.many else wrong
        given = {**op.example.inputs, arg.name: value}
        message = rf"^{op.name}: {arg.name}(\[0\])? must be .*; got datetime64\[s\]"
        with pytest.raises(gradbag.UnsupportedTypeError, match=message):
            getattr(raw_ops, op.name)(**given)
