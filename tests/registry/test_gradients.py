"""Every gradient rule, forward rule and gradient of a gradient, along random directions."""

import numpy as np
import pytest

from gradbag import RowGrad, vjp
from gradbag.spec import Op
from gradbag.testing import assert_adjoint, assert_gradient, assert_same, cases, native_ops
from gradbag.testing.cases import usual_types
from gradbag.testing.gradcheck import function_of, random_like

TYPES = ["float64", "complex128"]


@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
@pytest.mark.parametrize("name", TYPES)
def test_gradients_to_order_two(op: Op, name: str) -> None:
    checked = sum(assert_gradient(case, order=2) for case in cases(op, {**usual_types(op), "T": name}))
    assert checked >= 2


@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_gradients_to_order_three_on_the_example(op: Op) -> None:
    assert assert_gradient(next(cases(op, usual_types(op))), order=3) == 3


@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
@pytest.mark.parametrize("name", TYPES)
def test_forward_mode_is_the_transpose_of_reverse_mode(op: Op, name: str) -> None:
    count = 0
    for case in cases(op, {**usual_types(op), "T": name}):
        assert_adjoint(case)
        count += 1
    assert count


@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_every_floating_input_has_a_rule(op: Op) -> None:
    assert op.differentiable
    assert op.rule is not None
    assert set(op.linear) == set(op.differentiable)


@pytest.mark.parametrize(
    "op", [op for op in native_ops() if "sparse_gradient" in op.attr_defaults], ids=lambda op: op.name
)
def test_a_compact_gradient_is_the_dense_one(op: Op) -> None:
    for case in cases(op, usual_types(op)):
        function, primals = function_of(case)
        value, pullback = vjp(function, *primals)
        weights = tuple(random_like(np.random.default_rng(0), y) for y in value)
        compact_case = type(case)(op, case.types, case.inputs, {"sparse_gradient": True}, case.label)
        compact = vjp(function_of(compact_case)[0], *primals)[1](weights)[0]
        assert isinstance(compact, RowGrad)
        assert_same(compact.dense(), pullback(weights)[0], str(case))
