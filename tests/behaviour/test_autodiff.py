"""vjp, jvp, grad and value_and_grad: what they take, what they refuse, what they give."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import gradbag
from gradbag import SparseTensor, grad, jvp, raw_ops, value_and_grad, vjp

X = np.array([[1.0, 2.0], [3.0, 4.0]])
ONES = np.ones((2, 2))


def pooled(table: Any) -> Any:
    return gradbag.segment_sum(table, [0, 0, 1], [0, 0, 1])


def product(u: Any, v: Any) -> Any:
    return (u * v).sum()


# ------------------------------------------------------------------ arguments
@pytest.mark.parametrize("primal", [np.array([1, 2]), [1, 2], 3, True, "x", None, np.array([1.0], "f16")], ids=repr)
def test_what_is_no_floating_array_has_no_derivative(primal: Any) -> None:
    wanted = r"argument 0 is .+, which has no derivative; give it a floating dtype or close over it$"
    with pytest.raises(gradbag.UnsupportedTypeError, match="^vjp: " + wanted):
        vjp(lambda v: v, primal)
    with pytest.raises(gradbag.UnsupportedTypeError, match="^jvp: " + wanted):
        jvp(lambda v: v, [primal], [primal])


def test_lists_and_floats_are_differentiated_as_float64() -> None:
    (gradient,) = vjp(lambda v: v * v, [1.0, 2.0])[1](np.ones(2))
    assert (gradient.dtype, gradient.tolist()) == (np.float64, [2.0, 4.0])
    assert vjp(lambda v: v * v, 3.0)[1](1.0) == (6.0,)


def test_a_cotangent_of_a_wrong_shape_or_dtype_is_refused() -> None:
    _, pullback = vjp(pooled, X)
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^vjp: cotangent 0 has shape \[3\]; wanted \[2, 2\]$"):
        pullback(np.ones(3))
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^vjp: cotangent 0 is float32; wanted float64$"):
        pullback(np.ones((2, 2), np.float32))


@pytest.mark.parametrize("cotangent", [ONES, (ONES,), (ONES, ONES, ONES)], ids=["bare", "one", "three"])
def test_a_cotangent_must_have_as_many_arrays_as_the_value(cotangent: Any) -> None:
    _, pullback = vjp(lambda v: (v, 2 * v), X)
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^vjp: the cotangent .*\b2\b"):
        pullback(cotangent)


def test_tangents_must_match_the_primals() -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^jvp: 1 primals but 0 tangents$"):
        jvp(pooled, [X], [])
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^jvp: tangent 0 has shape \[2\]; wanted \[2, 2\]$"):
        jvp(pooled, [X], [np.ones(2)])
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^jvp: tangent 1 is float32; wanted float64$"):
        jvp(product, [X, X], [ONES, ONES.astype(np.float32)])


@pytest.mark.parametrize(("function", "got"), [(pooled, r"shape \[2, 2\]"), (lambda v: (v.sum(), v), "tuple")])
def test_grad_wants_a_scalar(function: Any, got: str) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=f"^grad: the function must give a scalar, got {got}"):
        grad(function)(X)


# ------------------------------------------------------------------ argnums
def test_argnums_choose_the_arguments() -> None:
    assert grad(product)(X, 2 * X).tolist() == (2 * X).tolist()
    assert grad(product, 1)(X, 2 * X).tolist() == X.tolist()
    assert grad(product, -1)(X, 2 * X).tolist() == X.tolist()
    both = grad(product, (1, 0))(X, 2 * X)
    assert [g.tolist() for g in both] == [X.tolist(), (2 * X).tolist()]
    assert len(grad(product, [0])(X, X)) == 1


@pytest.mark.parametrize("argnums", [2, -3, (0, 5)])
def test_argnums_beyond_the_arguments_are_refused(argnums: Any) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^grad: argnums names argument -?\d, but there are 2$"):
        grad(product, argnums)(X, X)


@pytest.mark.parametrize("argnums", [(0, 0), (0, -2), (1, 1)])
def test_an_argument_named_twice_is_refused(argnums: Any) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^grad: argnums "):
        grad(product, argnums)(X, X)


@pytest.mark.parametrize("argnums", ["0", 1.0, None, (0, "1")], ids=repr)
def test_argnums_that_are_no_integers_are_refused(argnums: Any) -> None:
    with pytest.raises(TypeError, match=r"argnums"):
        grad(product, argnums)(X, X)


def test_the_argument_without_a_derivative_is_named_by_its_own_place() -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"argument 1 is int64"):
        grad(product, 1)(X, np.array([[1, 2], [3, 4]]))


def test_arguments_that_are_not_chosen_may_be_anything() -> None:
    def chosen(table: Any, settings: dict[str, Any], ids: list[int]) -> Any:
        return gradbag.segment_sum(table, ids, settings["rows"]).sum()

    assert grad(chosen)(X, {"rows": [0, 0]}, [1, 1]).tolist() == [[0.0, 0.0], [2.0, 2.0]]


# ------------------------------------------------------------------ values
def test_value_and_grad_gives_the_functions_own_value() -> None:
    value, gradient = value_and_grad(lambda v: (v * v).sum())(X)
    assert (value, gradient.tolist()) == (30.0, (2 * X).tolist())


def test_an_argument_without_influence_gets_zeros() -> None:
    unused = np.ones(3, np.float32)
    _, gradient = grad(lambda u, v: (u * u).sum(), (0, 1))(X, unused)
    assert (gradient.dtype, gradient.tolist()) == (np.float32, [0.0, 0.0, 0.0])


def test_a_constant_function_has_a_zero_derivative() -> None:
    assert grad(lambda v: np.float64(7))(X).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert vjp(lambda v: ONES, X)[1](ONES)[0].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert jvp(lambda v: ONES, [X], [X])[1].tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_function_that_gives_a_python_number_is_constant() -> None:
    assert grad(lambda v: 7.0)(X).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_python_number_among_the_values_has_a_zero_tangent() -> None:
    (_, seven), (_, moved) = jvp(lambda v: (v, 7.0), [X], [X])
    assert (seven, moved) == (7.0, 0.0)


def test_an_integer_output_of_an_op_is_plain_and_has_no_cotangent() -> None:
    def rows_in_use(table: Any) -> Any:
        places = {"indices": [3, 1], "segment_ids": [0, 1], "dense_output_dim0": 4}
        answer = raw_ops.SparseSegmentSumGradV2(grad=table, **places)
        assert type(answer.sorted_unique_indices) is np.ndarray
        return answer.output

    assert vjp(rows_in_use, X)[1](X)[0].tolist() == [[3.0, 4.0], [1.0, 2.0]]


# ------------------------------------------------------------------ structures
class Parts(NamedTuple):
    first: Any
    second: Any


def test_tuples_dicts_and_named_tuples_keep_their_form() -> None:
    def nested(v: Any) -> Any:
        return {"pooled": pooled(v), "rest": Parts(v * 2, [v, (v,)])}

    value, pullback = vjp(nested, X)
    assert isinstance(value["rest"], Parts)
    assert isinstance(value["rest"].second, list)
    assert value["rest"].second[1][0].tolist() == X.tolist()
    (gradient,) = pullback({"pooled": 0 * ONES, "rest": Parts(ONES, [10 * ONES, (100 * ONES,)])})
    assert gradient.tolist() == [[112.0, 112.0], [112.0, 112.0]]
    _, tangent = jvp(nested, [X], [ONES])
    assert tangent["rest"].first.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_a_cotangent_in_a_dict_goes_where_its_key_says() -> None:
    _, pullback = vjp(lambda v: {"a": v, "b": 10 * v}, X)
    (gradient,) = pullback({"b": ONES, "a": 0 * ONES})
    assert gradient.tolist() == [[10.0, 10.0], [10.0, 10.0]]


@pytest.mark.parametrize("cotangent", [{"a": X, "c": X}, (X, X), [X, X]], ids=["other keys", "tuple", "list"])
def test_a_cotangent_of_another_form_than_the_value_is_refused(cotangent: Any) -> None:
    _, pullback = vjp(lambda v: {"a": v, "b": v}, X)
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^vjp: the cotangent "):
        pullback(cotangent)


def test_a_function_may_give_a_sparse_tensor() -> None:
    def window(values: Any) -> SparseTensor:
        return gradbag.slice(SparseTensor([[0, 0], [1, 1], [2, 0]], values, [3, 2]), [1, 0], [2, 2])

    values = np.array([5.0, 6.0, 7.0])
    value, pullback = vjp(window, values)
    assert value.to_dense().tolist() == [[0.0, 6.0], [7.0, 0.0]]
    cotangent = SparseTensor(value.indices, np.array([10.0, 20.0]), value.dense_shape)
    assert pullback(cotangent)[0].tolist() == [0.0, 10.0, 20.0]
    _, tangent = jvp(window, [values], [np.array([1.0, 2.0, 3.0])])
    assert tangent.to_dense().tolist() == [[0.0, 2.0], [3.0, 0.0]]


# ------------------------------------------------------------------ orders
def cubes(v: Any) -> Any:
    return (gradbag.segment_mean(v, [0, 1, 1], [0, 0, 1]) ** 3).sum()


def test_forward_over_reverse_is_reverse_over_forward_and_reverse_over_reverse() -> None:
    direction = np.array([[1.0, -2.0], [0.5, 3.0]])
    forward_over_reverse = jvp(grad(cubes), [X], [direction])[1]
    reverse_over_forward = grad(lambda v: jvp(cubes, [v], [direction])[1])(X)
    reverse_over_reverse = grad(lambda v: (grad(cubes)(v) * direction).sum())(X)
    step = 1e-6 * direction
    numeric = (grad(cubes)(X + step) - grad(cubes)(X - step)) / 2e-6
    for answer in (forward_over_reverse, reverse_over_forward, reverse_over_reverse):
        np.testing.assert_allclose(answer, numeric, rtol=1e-7)


def test_a_third_derivative() -> None:
    third = grad(lambda v: grad(lambda u: grad(lambda t: t**5)(u))(v))(np.array(2.0))
    assert third == 5 * 4 * 3 * 2.0**2


def test_an_inner_derivative_does_not_see_the_outer_variable() -> None:
    # d/dx (x * d/dy (x + y)) = 1: mixing the two variables up would give 2.
    assert grad(lambda x: x * grad(lambda y: x + y)(np.array(1.0)))(np.array(3.0)) == 1.0


def test_a_table_used_twice_gets_both_gradients() -> None:
    twice = grad(lambda v: (pooled(v) * pooled(v)).sum() + v[0, 0])(X)
    assert twice.tolist() == [[9.0, 16.0], [6.0, 8.0]]


# ------------------------------------------------------------------ an array under a transform
LOSSES = {"asarray": np.asarray, "array": np.array, "float": float, "a list": lambda v: np.sum([v, v])}


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
def test_a_conversion_that_would_lose_the_derivative_is_refused(lose: Any) -> None:
    with pytest.raises(TypeError, match="derivative would be lost"):
        grad(lambda v: lose(v) * v)(np.array(3.0))


def test_a_branch_may_depend_on_a_value() -> None:
    assert grad(lambda v: v * 2 if v else v)(np.array(3.0)) == 2.0


def test_equality_is_not_decided_by_identity() -> None:
    def penalty(v: Any) -> Any:
        return v * 100 if v == 3.0 else v

    with pytest.raises(TypeError, match="=="):
        grad(penalty)(np.array(3.0))


def test_an_array_under_a_transform_cannot_be_written_to() -> None:
    def write(v: Any) -> Any:
        v[0] = 0.0
        return v.sum()

    with pytest.raises(TypeError, match="item assignment"):
        grad(write)(X)


def test_a_fault_under_a_transform_is_told_as_outside() -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^SparseSegmentSum: indices\[0\] == 7 out of range"):
        grad(lambda v: gradbag.segment_sum(v, [7], [0]).sum())(X)
    with pytest.raises(gradbag.UnsupportedTypeError, match="indices must be one of int32, int64; got float64"):
        grad(lambda v: gradbag.segment_sum(X, v, [0]).sum())(np.array([0.0]))


def test_a_traced_array_shows_its_value() -> None:
    seen: list[str] = []
    grad(lambda v: (seen.append(repr(v)), v)[1])(np.array(3.0))
    assert seen == ["Traced(array(3.))"]
