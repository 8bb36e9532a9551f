"""Every NumPy function that traced arrays know, against finite differences, to order two and in both modes."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradbag
from gradbag import grad, jvp, vjp
from gradbag.autodiff.arithmetic import ELEMENTWISE, FUNCTIONS
from gradbag.autodiff.trace import plain

RNG = np.random.default_rng(7)
CUBE = RNG.uniform(0.5, 2.0, (2, 3, 2))
MATRIX = RNG.uniform(0.5, 2.0, (2, 3))
VECTOR = RNG.uniform(0.5, 2.0, 3)
SCALAR = np.array(1.25)
MASK = CUBE > 1

# What is computed, and from which inputs.
TABLE: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "x + y": (lambda x, y: x + y, [MATRIX, 2 * MATRIX]),
    "x + 2": (lambda x: x + 2, [MATRIX]),
    "2 + x": (lambda x: 2 + x, [MATRIX]),
    "array + x": (lambda x: MATRIX.astype(x.dtype) + x, [MATRIX]),
    "np.add": (np.add, [MATRIX, 2 * MATRIX]),
    "x - y": (lambda x, y: x - y, [MATRIX, 2 * MATRIX]),
    "2 - x": (lambda x: 2 - x, [MATRIX]),
    "x * y": (lambda x, y: x * y, [MATRIX, 2 * MATRIX]),
    "3 * x": (lambda x: 3 * x, [MATRIX]),
    "x * x": (lambda x: x * x, [MATRIX]),
    "x / y": (lambda x, y: x / y, [MATRIX, 2 * MATRIX]),
    "1 / x": (lambda x: 1 / x, [MATRIX]),
    "-x": (lambda x: -x, [MATRIX]),
    "np.negative": (np.negative, [MATRIX]),
    "x ** 3": (lambda x: x**3, [MATRIX]),
    "x ** 2": (lambda x: x**2, [MATRIX - 1]),
    "x ** 1": (lambda x: x**1, [MATRIX]),
    "x ** 0": (lambda x: x**0, [MATRIX]),
    "x ** -1.5": (lambda x: x**-1.5, [MATRIX]),
    "np.power": (lambda x: np.power(x, 2.5), [MATRIX]),
    "np.square": (np.square, [MATRIX - 1]),
    "np.sqrt": (np.sqrt, [MATRIX]),
    "np.exp": (np.exp, [MATRIX]),
    "np.log": (np.log, [MATRIX]),
    "np.tanh": (np.tanh, [MATRIX - 1]),
    "sum": (lambda x: x.sum(), [CUBE]),
    "sum axis 0": (lambda x: x.sum(0), [CUBE]),
    "sum axis -1": (lambda x: x.sum(axis=-1), [CUBE]),
    "sum axes": (lambda x: x.sum(axis=(0, -1)), [CUBE]),
    "sum keepdims": (lambda x: x.sum(axis=1, keepdims=True), [CUBE]),
    "sum all keepdims": (lambda x: np.sum(x, keepdims=True), [CUBE]),
    "np.sum": (lambda x: np.sum(x, axis=1), [CUBE]),
    "mean": (lambda x: x.mean(), [CUBE]),
    "mean axis": (lambda x: x.mean(axis=1), [CUBE]),
    "mean axes keepdims": (lambda x: x.mean((0, 2), keepdims=True), [CUBE]),
    "np.mean": (lambda x: np.mean(x, axis=-2), [CUBE]),
    "reshape": (lambda x: x.reshape(3, 4), [CUBE]),
    "reshape tuple": (lambda x: x.reshape((4, 3)), [CUBE]),
    "reshape -1": (lambda x: x.reshape(-1), [CUBE]),
    "np.reshape": (lambda x: np.reshape(x, (6, -1)), [CUBE]),
    "T": (lambda x: x.T, [CUBE]),
    "transpose": (lambda x: x.transpose((2, 0, 1)), [CUBE]),
    "transpose by numbers": (lambda x: x.transpose(1, 2, 0), [CUBE]),
    "transpose from the end": (lambda x: x.transpose((-1, 0, 1)), [CUBE]),
    "np.transpose": (lambda x: np.transpose(x, (1, 2, 0)), [CUBE]),
    "np.broadcast_to": (lambda x: np.broadcast_to(x, (4, 2, 3)), [MATRIX]),
    "x[1]": (lambda x: x[1], [CUBE]),
    "x[-1, 0]": (lambda x: x[-1, 0], [CUBE]),
    "x[:, 0]": (lambda x: x[:, 0], [CUBE]),
    "x[..., ::-1]": (lambda x: x[..., ::-1], [CUBE]),
    "x[:, None]": (lambda x: x[:, None], [CUBE]),
    "x[[1, 1, 0]]": (lambda x: x[[1, 1, 0]], [CUBE]),
    "x[ids, ids]": (lambda x: x[np.array([0, 0]), np.array([2, 2])], [CUBE]),
    "x[mask]": (lambda x: x[MASK], [CUBE]),
    "for row in x": (lambda x: sum(row * (k + 1) for k, row in enumerate(x)), [MATRIX]),
    "matrix @ matrix": (lambda x, y: x @ y, [MATRIX, MATRIX.T.copy()]),
    "matrix @ vector": (lambda x, y: x @ y, [MATRIX, VECTOR]),
    "vector @ matrix": (lambda x, y: x @ y, [VECTOR, MATRIX.T.copy()]),
    "vector @ vector": (lambda x, y: x @ y, [VECTOR, 2 * VECTOR]),
    "x @ x.T": (lambda x: x @ x.T, [MATRIX]),
    "array @ x": (lambda x: MATRIX.T.astype(x.dtype) @ x, [MATRIX]),
    "x @ array": (lambda x: x @ VECTOR.astype(x.dtype), [MATRIX]),
    "np.matmul": (np.matmul, [MATRIX, VECTOR]),
    "matrix + row": (lambda x, y: x + y, [MATRIX, VECTOR]),
    "column * row": (lambda x, y: x * y, [VECTOR.reshape(3, 1), VECTOR]),
    "matrix / scalar": (lambda x, y: x / y, [MATRIX, SCALAR]),
    "scalar - cube": (lambda x, y: x - y, [SCALAR, CUBE]),
    "softmax": (lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True), [MATRIX]),
    "an op inside": (lambda x: np.tanh(gradbag.segment_mean(x * x, [0, 1, 1], [0, 0, 1])) @ x.T, [MATRIX]),
}
CASES = [pytest.param(*case, id=name) for name, case in TABLE.items()]


def assert_derivatives(function: Callable[..., Any], primals: list[Any], order: int = 2) -> None:
    """Value, forward mode and reverse mode are right, and so is the gradient of the gradient."""
    rng = np.random.default_rng(0)
    directions = [rng.standard_normal(p.shape) for p in primals]
    step = 1e-6
    ahead = function(*[p + step * d for p, d in zip(primals, directions, strict=True)])
    behind = function(*[p - step * d for p, d in zip(primals, directions, strict=True)])
    numeric = (ahead - behind) / (2 * step)
    value, tangent = jvp(function, primals, directions)
    np.testing.assert_allclose(value, function(*primals), rtol=1e-15)
    np.testing.assert_allclose(tangent, numeric, rtol=1e-5, atol=1e-7)
    weights = rng.standard_normal(np.shape(value))
    gradients = vjp(function, *primals)[1](weights)
    backward = sum(np.vdot(g, d) for g, d in zip(gradients, directions, strict=True))
    np.testing.assert_allclose(backward, np.vdot(weights, tangent), rtol=1e-11, atol=1e-12)
    if order > 1:

        def steepness(*primals: Any) -> Any:
            return sum((g * g).sum() for g in vjp(function, *primals)[1](weights))

        assert_derivatives(steepness, primals, order - 1)


@pytest.mark.parametrize(("function", "primals"), CASES)
def test_derivatives(function: Callable[..., Any], primals: list[Any]) -> None:
    assert_derivatives(function, primals)


def test_assert_derivatives_bites() -> None:
    with pytest.raises(AssertionError):
        assert_derivatives(lambda x: x * plain(x), [MATRIX])


def test_the_table_has_every_function() -> None:
    used = {word for name in TABLE for word in name.split() if word.startswith("np.")}
    operators = {"np.subtract", "np.multiply", "np.divide"}
    assert {f"np.{f.__name__}" for f in (*ELEMENTWISE, *FUNCTIONS, np.power, np.matmul)} - operators <= used


# ------------------------------------------------------------------ dtypes
@pytest.mark.parametrize(("function", "primals"), CASES)
def test_float32_stays_float32(function: Callable[..., Any], primals: list[Any]) -> None:
    primals = [p.astype(np.float32) for p in primals]
    value, tangent = jvp(function, primals, primals)
    assert {np.asarray(v).dtype.name for v in (value, tangent)} == {"float32"}
    value, pullback = vjp(function, *primals)
    assert {g.dtype.name for g in pullback(np.ones(value.shape, np.float32))} == {"float32"}


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.complex64, np.complex128], ids=np.dtype)
def test_a_gradient_has_the_dtype_of_its_argument(dtype: Any) -> None:
    def loss(x: Any) -> Any:
        return (x**2 / 3 + np.sqrt(x) - 1 / x + 0.5 * np.exp(x)).mean()

    assert grad(loss)(VECTOR.astype(dtype)).dtype == dtype


def test_a_float32_argument_beside_float64_has_a_float32_gradient() -> None:
    x = VECTOR.astype(np.float32)
    assert grad(lambda v: (v * VECTOR).sum())(x).dtype == np.float32


def test_a_real_argument_beside_a_complex_array_has_a_real_gradient() -> None:
    turned = np.array([1j, 2j])
    (gradient,) = vjp(lambda v: v * turned, np.array([1.0, 1.0]))[1](np.array([1.0 + 0j, 1j]))
    assert (gradient.dtype, gradient.tolist()) == (np.float64, [0.0, -2.0])


@pytest.mark.parametrize("other", [np.float64(2), np.float32(2), 2, 2.5, np.array([1, 2, 3]), [1, 2, 3]], ids=repr)
def test_a_value_has_the_dtype_that_numpy_gives_it(other: Any) -> None:
    x = VECTOR.astype(np.float32)
    assert vjp(lambda v: v * other, x)[0].dtype == (x * other).dtype


# ------------------------------------------------------------------ where it ends
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("np.maximum", lambda x: np.maximum(x, 0).sum()),
        ("np.sin", lambda x: np.sin(x).sum()),
        ("np.concatenate", lambda x: np.concatenate([x, x]).sum()),
        ("np.where", lambda x: np.where(MATRIX > 1, x, 0).sum()),
        ("np.max", lambda x: np.max(x)),
        ("np.greater", lambda x: np.greater(x, 0)),
        ("np.add.reduce", lambda x: np.add.reduce(x)),
        ("np.add.at", lambda x: np.add.at(np.zeros(3), [0], x)),
    ],
)
def test_a_function_without_derivative_is_named_beside_those_that_have_one(name: str, function: Any) -> None:
    wanted = rf"^{name} has no derivative here; gradbag differentiates its own ops and np\.add, .*np\.sum"
    with pytest.raises(TypeError, match=wanted):
        grad(function)(MATRIX)


@pytest.mark.parametrize(
    ("wanted", "function"),
    [
        (r"\badd\b.*\bout\b", lambda x: np.add(x, x, out=np.zeros((2, 3)))),
        (r"\bmultiply\b.*\bwhere\b", lambda x: np.multiply(x, x, where=MATRIX > 1)),
        (r"\bsum\b.*\bdtype\b", lambda x: np.sum(x, dtype=np.float32)),
        (r"\bmean\b.*\bout\b", lambda x: np.mean(x, out=np.zeros(()))),
        (r"\breshape\b.*\border\b", lambda x: np.reshape(x, (3, 2), order="F")),
    ],
    ids=["add out", "multiply where", "sum dtype", "mean out", "reshape order"],
)
def test_a_setting_that_has_no_derivative_is_named(wanted: str, function: Any) -> None:
    with pytest.raises(TypeError, match=wanted):
        grad(function)(MATRIX)


@pytest.mark.parametrize("exponent", [MATRIX, 2j, np.array(2)], ids=["array", "complex", "0-d array"])
def test_only_a_number_can_be_an_exponent(exponent: Any) -> None:
    with pytest.raises(TypeError, match="only a Python number can be an exponent"):
        grad(lambda x: (x**exponent).sum())(MATRIX)
    with pytest.raises(TypeError, match="only a Python number can be an exponent"):
        grad(lambda x: (x**x).sum())(MATRIX)


def test_only_matrices_and_vectors_are_multiplied() -> None:
    with pytest.raises(TypeError, match="only matrices and vectors"):
        grad(lambda x: (x @ x).sum())(CUBE)


def test_the_derivative_of_a_constant_is_not_even_computed() -> None:
    # That of the divisor, -x / y**2, would divide by zero; the warning would be an error here.
    tiny = 1e-200
    assert grad(lambda x: x / tiny)(np.array(1.0)) == 1 / tiny
    assert grad(lambda x: x * np.inf)(np.array(0.5)) == np.inf
