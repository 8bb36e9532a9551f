"""Symbolic gradients: what they refuse, compact ones, and gradients of gradients."""

import numpy as np
import pytest

import gradbag
from gradbag import RowGrad
from gradbag.graph import ClientSession, Scope, add_symbolic_gradients, ops

TABLE = np.arange(10.0).reshape(5, 2)


def pooled(scope: Scope, table: object, ids: list[int], compact: bool) -> object:
    return ops.SparseSegmentSum(scope, table, ids, [0] * len(ids), sparse_gradient=compact).output


def test_the_gradient_of_a_compact_lookup_is_compact() -> None:
    scope = Scope.new_root_scope()
    table = ops.Const(scope, TABLE).output
    (gradient,) = add_symbolic_gradients(scope, [pooled(scope, table, [3, 1, 3], True)], [table])
    assert isinstance(gradient, RowGrad)
    assert gradient.shape == (5, 2)
    indices, rows, dense = ClientSession(scope).run(fetches=[gradient.indices, gradient.rows, gradient.dense()])
    np.testing.assert_array_equal(indices, [1, 3])
    np.testing.assert_array_equal(rows, [[1.0, 1.0], [2.0, 2.0]])
    np.testing.assert_array_equal(dense, [[0, 0], [1, 1], [0, 0], [2, 2], [0, 0]])


def test_two_compact_gradients_of_a_table_add_up_to_a_compact_one() -> None:
    scope = Scope.new_root_scope()
    table = ops.Placeholder(scope, dtype="float64").output
    uses = [pooled(scope, table, ids, True) for ids in ([0, 2], [2, 4])]
    (gradient,) = add_symbolic_gradients(scope, uses, [table])
    assert isinstance(gradient, RowGrad)
    indices, rows = ClientSession(scope).run({table: TABLE}, [gradient.indices, gradient.rows])
    np.testing.assert_array_equal(indices, [0, 2, 4])
    np.testing.assert_array_equal(rows[:, 0], [1.0, 2.0, 1.0])


def test_a_compact_and_a_dense_gradient_add_up_to_a_dense_one() -> None:
    scope = Scope.new_root_scope()
    table = ops.Const(scope, TABLE).output
    uses = [pooled(scope, table, [0], True), ops.Square(scope, table).y]
    (gradient,) = add_symbolic_gradients(scope, uses, [table])
    want = 2 * TABLE
    want[0] += 1
    np.testing.assert_array_equal(ClientSession(scope).run(fetches=gradient), want)


def test_the_gradient_of_a_gradient_of_a_gradient() -> None:
    scope = Scope.new_root_scope()
    x = ops.Placeholder(scope.with_op_name("x"), dtype="float64", shape=[]).output
    value = ops.Mul(scope, ops.Square(scope, x), ops.Square(scope, x)).z
    found = [value]
    for _ in range(4):
        found += add_symbolic_gradients(scope, [found[-1]], [x])
    got = ClientSession(scope).run({"x": 3.0}, found)
    np.testing.assert_array_equal(got, [81.0, 108.0, 108.0, 72.0, 24.0])


def test_an_input_that_nothing_depends_on_is_told_not_zero() -> None:
    scope = Scope.new_root_scope()
    x, other = (ops.Placeholder(scope.with_op_name(n), dtype="float32").output for n in ("x", "other"))
    value = ops.Square(scope, x).y
    with pytest.raises(gradbag.InvalidArgumentError, match=r"no output depends on inputs\[1\] \(other:0\)"):
        add_symbolic_gradients(scope, [value], [x, other])
    assert add_symbolic_gradients(scope, [value], [other], unconnected="none") == [None]


def test_a_way_that_is_stopped_does_not_connect() -> None:
    scope = Scope.new_root_scope()
    x = ops.Placeholder(scope.with_op_name("x"), dtype="float32").output
    stopped = ops.Square(scope, ops.StopGradient(scope, x).output).y
    with pytest.raises(gradbag.InvalidArgumentError, match="no output depends"):
        add_symbolic_gradients(scope, [stopped], [x])


def test_weights_of_the_wrong_form_are_told() -> None:
    scope = Scope.new_root_scope()
    x = ops.Const(scope, np.ones(3)).output
    value = ops.Square(scope, x).y
    with pytest.raises(
        gradbag.InvalidArgumentError, match=r"grad_outputs\[0\] is float64\[2\]; the output is float64\[3\]"
    ):
        add_symbolic_gradients(scope, [value], [x], [ops.Const(scope, np.ones(2))])
    with pytest.raises(gradbag.InvalidArgumentError, match="1 outputs, but 2 grad_outputs"):
        add_symbolic_gradients(scope, [value], [x], [x, x])


def test_what_has_no_derivative_is_told() -> None:
    scope = Scope.new_root_scope()
    ids = ops.Const(scope, [1, 2]).output
    with pytest.raises(
        gradbag.UnsupportedTypeError, match=r"inputs\[0\] \(Const:0\) is int32, which has no derivative"
    ):
        add_symbolic_gradients(scope, [ops.Const(scope, 1.0).output], [ids])


def test_an_input_may_lie_in_the_middle() -> None:
    scope = Scope.new_root_scope()
    x = ops.Const(scope, 3.0).output
    middle = ops.Square(scope, x).y
    end = ops.Square(scope, middle).y
    gradients = add_symbolic_gradients(scope, [end], [middle, x])
    assert ClientSession(scope).run(fetches=gradients) == [18.0, 108.0]
