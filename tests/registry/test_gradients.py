"""Every gradient rule, forward rule and gradient of a gradient, along random directions."""

from dataclasses import replace

import numpy as np
import pytest

from gradbag import RowGrad, vjp
from gradbag.spec import Op
from gradbag.testing import assert_adjoint, assert_gradient, assert_same, cases, differentiable_ops, native_ops
from gradbag.testing.cases import floating_types, usual_types
from gradbag.testing.gradcheck import function_of, random_like

every_op = pytest.mark.parametrize("op", differentiable_ops(), ids=lambda op: op.name)
every_type = pytest.mark.parametrize(
    ("name", "op"),
    [(name, op) for name in ("float64", "complex128") for op in differentiable_ops() if floating_types(op, name)],
    ids=lambda x: x.name if isinstance(x, Op) else x,
)


def test_every_op_with_a_gradient_is_checked_in_float64() -> None:
    assert len(differentiable_ops()) > 18
    assert all(floating_types(op, "float64") for op in differentiable_ops())


@every_type
def test_gradients_to_order_two(op: Op, name: str) -> None:
    checked = sum(assert_gradient(case, order=2) for case in cases(op, floating_types(op, name)))
    assert checked >= 2


@every_op
def test_gradients_to_order_three_on_the_example(op: Op) -> None:
    assert assert_gradient(next(cases(op, usual_types(op))), order=3) == 3


@every_type
def test_forward_mode_is_the_transpose_of_reverse_mode(op: Op, name: str) -> None:
    count = 0
    for case in cases(op, floating_types(op, name)):
        assert_adjoint(case)
        count += 1
    assert count


@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_whatever_can_carry_a_gradient_has_a_rule(op: Op) -> None:
    assert (op.rule is not None) == bool(op.differentiable)


@pytest.mark.parametrize(
    "op", [op for op in native_ops() if "sparse_gradient" in op.attr_defaults], ids=lambda op: op.name
)
def test_a_compact_gradient_is_the_dense_one(op: Op) -> None:
    for case in cases(op, usual_types(op)):
        function, primals = function_of(case)
        value, pullback = vjp(function, *primals)
        weights = tuple(random_like(np.random.default_rng(0), y) for y in value)
        compact_case = replace(case, attrs={**case.attrs, "sparse_gradient": True})
        found = vjp(function_of(compact_case)[0], *primals)[1](weights)
        assert isinstance(found[0], RowGrad)
        for got, want in zip(found, pullback(weights), strict=True):
            assert_same(got.dense() if isinstance(got, RowGrad) else got, want, str(case))
