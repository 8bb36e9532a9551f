"""Every sparse op in JAX: the bits of NumPy, all derivatives, all transformations."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from gradbag import dtypes, raw_ops
from gradbag.adapters.jax.call import SizeNotKnownError
from gradbag.spec import Op, registry
from gradbag.testing import assert_same, cases, native_ops
from gradbag.testing.cases import Case, type_choices, usual_types

every_op = pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
USUAL = ("example", "sample0", "sample1")  # where each shape is compiled anew


def example(op: Op) -> Case:
    return next(cases(op, usual_types(op)))


def arguments_of(case: Case) -> list[Any]:
    """Arrays of JAX for a case; sizes are plain integers."""
    arrays = enumerate(case.arrays)
    return [array.tolist() if place in case.op.held else jnp.asarray(array) for place, array in arrays]


def called(op: Op, values: list[Any]) -> list[Any]:
    answer = getattr(raw_ops, op.name)(**dict(zip(op.input_names, values, strict=True)))
    return [answer] if op.result is None else list(answer)


def wanted(case: Case) -> list[Any]:
    answer = raw_ops.apply(case.op, case.arrays, dict(case.attrs))
    return [answer] if case.op.result is None else list(answer)


def jitted(op: Op, values: list[Any], known: bool = False) -> Callable[..., Any]:
    """The op as a compiled function of the arrays that carry a gradient, or of all arrays."""
    places = [p for p, v in enumerate(values) if isinstance(v, jax.Array)]
    if known:
        places = [p for p in places if op.input_names[p] in op.differentiable]

    def function(*inputs: Any) -> Any:
        given = list(values)
        for place, value in zip(places, inputs, strict=True):
            given[place] = value
        return called(op, given)

    compiled = jax.jit(function)
    return lambda: compiled(*[values[place] for place in places])


def function_of(op: Op, values: list[Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The op as a function of the arrays that carry a gradient, giving the outputs that do."""
    places = [p for p, v in enumerate(values) if isinstance(v, jax.Array) and op.input_names[p] in op.differentiable]
    assert places

    def function(*inputs: Any) -> Any:
        given = list(values)
        for place, value in zip(places, inputs, strict=True):
            given[place] = value
        return tuple(y for y in called(op, given) if jnp.issubdtype(y.dtype, jnp.inexact))

    return function, tuple(values[place] for place in places)


def choices(op: Op) -> Iterator[dict[str, str]]:
    """The dtypes that JAX has too: no strings, no quantized numbers."""
    for types in type_choices(op):
        if not set(types.values()) & {"string", *dtypes.QUANTIZED}:
            yield types


def assert_all_same(case: Case, got: Any, want: Any) -> None:
    assert len(got) == len(want)
    for arg, one, other in zip(case.op.outputs, got, want, strict=True):
        assert isinstance(one, jax.Array)
        assert_same(np.asarray(one), np.asarray(other), f"{case}: {arg.name}")


# ------------------------------------------------------------------ values
@every_op
def test_the_bits_are_those_of_numpy(op: Op) -> None:
    """The example with every combination of dtypes, the samples in every dtype of the values."""
    count = 0
    usual = usual_types(op)
    for types in choices(op):
        others = {name: usual[name] for name in types if name != "T"}
        for case in cases(op, types):
            if case.label == "example" or {**types, **others} == types:
                assert_all_same(case, called(op, arguments_of(case)), wanted(case))
                count += 1
    assert count > 10


@every_op
def test_compiled_calls_have_the_bits_of_numpy_in_every_dtype(op: Op) -> None:
    count, seen = 0, set()
    for types in choices(op):
        # Each dtype once with int32 and once with int64 indices, where there is a choice.
        key = (types.get("T"), frozenset(v for name, v in types.items() if name != "T"))
        if key in seen or len(key[1]) > 1:
            continue
        seen.add(key)
        case = next(cases(op, types))
        assert_all_same(case, jitted(op, arguments_of(case), known=True)(), wanted(case))
        count += 1
    assert count >= 6


@every_op
def test_compiled_calls_have_the_bits_of_numpy_on_every_sample(op: Op) -> None:
    for case in cases(op, usual_types(op)):
        assert_all_same(case, jitted(op, arguments_of(case), known=True)(), wanted(case))


@every_op
def test_what_is_compiled_once_is_told_all_that_is_traced(op: Op) -> None:
    """All arrays traced: the same bits, or, where sizes depend on values, words that say what to do."""
    case = example(op)
    if op.counted_words:
        with pytest.raises(SizeNotKnownError, match=rf"{op.name}: how many rows .* gradbag.jax.sized\("):
            jitted(op, arguments_of(case))()
    else:
        assert_all_same(case, jitted(op, arguments_of(case))(), wanted(case))


@every_op
def test_what_numpy_refuses_is_refused_in_the_same_words(op: Op) -> None:
    types = usual_types(op)
    for reject in op.rejects:
        plain = {**op.example.inputs, **reject.change}
        arrays = [np.asarray(plain[a.name], dtypes.numpy_dtype(types.get(a.dtype, a.dtype))) for a in op.inputs]
        values = [a.tolist() if p in op.held else jnp.asarray(a) for p, a in enumerate(arrays)]
        with pytest.raises(ValueError, match=reject.message):
            called(op, values)
        # What decides a size must be known. XLA has two errors, for calls that it waits for and others.
        with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match=reject.message):
            jax.block_until_ready(jitted(op, values, known=bool(op.counted_words))())


# ------------------------------------------------------------------ derivatives
@every_op
def test_gradients_of_order_one_and_two_in_both_modes(op: Op) -> None:
    count = 0
    for name in ("float64", "complex128"):
        for case in cases(op, {**usual_types(op), "T": name}):
            function, inputs = function_of(op, arguments_of(case))
            outputs = function(*inputs)
            if case.label not in USUAL or not all(0 < v.size <= 60 for v in (*inputs, *outputs)):
                continue  # differences of nothing, or too many of them
            check_grads(function, inputs, order=2, modes=["fwd", "rev"])
            count += 1
    assert count >= 2


@every_op
def test_gradients_have_the_bits_of_numpy(op: Op) -> None:
    """By the rule in NumPy, also for the samples that are too large or too empty for finite differences."""
    from gradbag.autodiff import vjp
    from gradbag.testing.gradcheck import function_of as numpy_function_of
    from gradbag.testing.gradcheck import random_like

    count = 0
    for name in ("float32", "complex64"):
        for case in cases(op, {**usual_types(op), "T": name}):
            if name == "complex64" and case.label not in USUAL:
                continue
            numpy_function, primals = numpy_function_of(case)
            value, pullback = vjp(numpy_function, *primals)
            weights = tuple(random_like(np.random.default_rng(0), y) for y in value)
            function, inputs = function_of(op, arguments_of(case))
            pulled = jax.vjp(function, *inputs)[1](tuple(jnp.asarray(w) for w in weights))
            for got, want in zip(pulled, pullback(weights), strict=True):
                assert_same(np.asarray(got), want, str(case))
            count += 1
    assert count > 10


@every_op
def test_compiled_gradients_are_eager_ones(op: Op) -> None:
    """Everything is traced, but what decides a size: some rules must then ask Python."""
    case = example(op)
    values = arguments_of(case)
    function, inputs = function_of(op, values)
    cotangents = tuple(jnp.asarray(np.random.default_rng(0).normal(size=y.shape)) for y in function(*inputs))
    want = jax.vjp(function, *inputs)[1](cotangents)
    places = [p for p, v in enumerate(values) if isinstance(v, jax.Array)]
    if op.counted_words:
        places = [p for p in places if op.input_names[p] in op.differentiable]

    def pulled(*arrays: Any) -> Any:
        given = list(values)
        for place, array in zip(places, arrays, strict=True):
            given[place] = array
        traced, primals = function_of(op, given)
        return jax.vjp(traced, *primals)[1](cotangents)

    got = jax.jit(pulled)(*[values[place] for place in places])
    for one, other in zip(got, want, strict=True):
        assert_same(np.asarray(one), np.asarray(other), op.name)


@every_op
def test_forward_mode_is_the_op_on_the_tangents(op: Op) -> None:
    for case in cases(op, usual_types(op)):
        function, inputs = function_of(op, arguments_of(case))
        rng = np.random.default_rng(0)
        tangents = tuple(jnp.asarray(rng.normal(size=v.shape)) for v in inputs)
        value, moved = jax.jvp(function, inputs, tangents)
        for got, want in zip((*value, *moved), (*function(*inputs), *function(*tangents)), strict=True):
            assert_same(np.asarray(got), np.asarray(want), str(case))


def loss_of(op: Op) -> tuple[Callable[..., Any], Any]:
    function, inputs = function_of(op, arguments_of(example(op)))
    return lambda value: sum((y**3).sum() for y in function(value, *inputs[1:])), inputs[0]


@every_op
def test_transformations_nest(op: Op) -> None:
    loss, value = loss_of(op)
    expected = np.asarray(jax.jacrev(jax.jacrev(loss))(value))
    assert np.abs(expected).sum() > 0
    np.testing.assert_allclose(jax.hessian(loss)(value), expected)

    def moved(value: Any) -> Any:
        return jax.jvp(jax.grad(loss), (value,), (jnp.ones_like(value),))[1]

    along_ones = expected.sum(tuple(range(value.ndim, 2 * value.ndim)))
    for function in (moved, jax.jit(moved)):
        np.testing.assert_allclose(function(value), along_ones)


@pytest.mark.parametrize("name", ["SparseSegmentMeanWithNumSegments", "SparseSliceGrad"])  # a rule traced, one not
def test_a_compiled_hessian_is_the_eager_one(name: str) -> None:
    loss, value = loss_of(registry[name])
    np.testing.assert_allclose(jax.jit(jax.hessian(loss))(value), jax.hessian(loss)(value))


@every_op
def test_vmap_is_a_loop(op: Op) -> None:
    function, inputs = function_of(op, arguments_of(example(op)))
    rng = np.random.default_rng(0)
    batches = tuple(jnp.asarray(rng.normal(size=(3, *v.shape))) for v in inputs)
    got = jax.vmap(function)(*batches)
    for number in range(3):
        for one, other in zip(got, function(*[b[number] for b in batches]), strict=True):
            assert_same(np.asarray(one[number]), np.asarray(other), op.name)
    last = jax.jit(jax.vmap(function, in_axes=-1, out_axes=-1))(*[jnp.moveaxis(b, 0, -1) for b in batches])
    for one, other in zip(last, got, strict=True):
        assert_same(np.asarray(jnp.moveaxis(one, -1, 0)), np.asarray(other), op.name)


@every_op
def test_scan_is_a_loop_and_has_a_gradient(op: Op) -> None:
    loss, value = loss_of(op)

    def scanned(value: Any) -> Any:
        return jax.lax.scan(lambda total, scale: (total + loss(scale * value), None), 0.0, jnp.array([1.0, 2.0]))[0]

    np.testing.assert_allclose(scanned(value), loss(value) + loss(2 * value))
    np.testing.assert_allclose(jax.grad(scanned)(value), jax.grad(loss)(value) + 2 * jax.grad(loss)(2 * value))


@every_op
def test_without_64_bits_answers_have_32(op: Op) -> None:
    case = next(cases(op, {**usual_types(op), "T": "float32"}))
    with jax.enable_x64(False):
        want = [y.astype(jax.dtypes.canonicalize_dtype(y.dtype)) for y in wanted(case)]
        values = arguments_of(case)
        assert not any(isinstance(v, jax.Array) and v.dtype.itemsize > 4 for v in values)
        assert_all_same(case, called(op, values), want)
        assert_all_same(case, jitted(op, values, known=True)(), want)
        if not op.counted_words:
            assert_all_same(case, jitted(op, values)(), want)
        function, inputs = function_of(op, values)
        gradients = jax.grad(lambda *v: sum((y**2).sum() for y in function(*v)), tuple(range(len(inputs))))(*inputs)
        assert all(g.dtype == jnp.float32 for g in gradients)
