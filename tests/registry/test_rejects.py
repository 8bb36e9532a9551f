"""Every bad input that a declaration lists is refused in the words it states."""

import numpy as np
import pytest

import gradbag
from gradbag import raw_ops
from gradbag.spec import Op, Reject
from gradbag.testing import native_ops

REJECTS = [(op, reject) for op in native_ops() for reject in op.rejects]


def test_every_op_lists_rejects() -> None:
    assert {op.name for op, _ in REJECTS} == {op.name for op in native_ops()}


@pytest.mark.parametrize(("op", "reject"), REJECTS, ids=lambda x: x.name if isinstance(x, Op) else str(x.change)[:40])
def test_a_reject_names_op_argument_and_limit(op: Op, reject: Reject) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=f"^{op.name}: {reject.message}"):
        getattr(raw_ops, op.name)(**{**op.example.inputs, **reject.change})


@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_a_dtype_that_no_op_takes_is_named(op: Op) -> None:
    for name in op.input_names:
        wrong = np.zeros((1, 1), "datetime64[s]")
        with pytest.raises(gradbag.UnsupportedTypeError, match=rf"^{op.name}: {name} must be .*; got datetime64\[s\]"):
            getattr(raw_ops, op.name)(**{**op.example.inputs, name: wrong})
