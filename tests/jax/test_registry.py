"""Every op with a kernel in JAX: the bits of NumPy, all derivatives, all transformations."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from gradbag import dtypes, eager, raw_ops
from gradbag.adapters.jax import lowering
from gradbag.adapters.jax.call import SizeNotKnownError
from gradbag.spec import Arg, Op, registry
from gradbag.testing import assert_same, cases, cast, differentiable_ops, native_ops
from gradbag.testing.cases import Case, type_choices, usual_types

every_op = pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
every_differentiable_op = pytest.mark.parametrize("op", differentiable_ops(), ids=lambda op: op.name)
every_linear_op = pytest.mark.parametrize(
    "op", [op for op in differentiable_ops() if op.is_linear], ids=lambda op: op.name
)
every_updating_op = pytest.mark.parametrize("op", [op for op in native_ops() if op.updates], ids=lambda op: op.name)
USUAL = ("example", "sample0", "sample1")  # where each shape is compiled anew


def example(op: Op) -> Case:
    return next(cases(op, usual_types(op)))


def arguments_of(case: Case) -> list[Any]:
    """Arrays of JAX for a case, flat; sizes are plain integers."""
    held = case.op.flat_held(len(case.arrays))
    return [
        None if array is None else array.tolist() if place in held else jnp.asarray(array)
        for place, array in enumerate(case.arrays)
    ]


def called(case: Case, values: Sequence[Any]) -> list[Any]:
    """The new values of what the op updates, and its outputs."""
    op = case.op
    answer = getattr(raw_ops, op.name)(**dict(zip(op.input_names, op.grouped(values), strict=True)), **case.attrs)
    return list(answer) if isinstance(answer, tuple) else [answer]


def wanted(case: Case) -> list[Any]:
    return (eager.functional if case.op.updates else eager.run)(case.op, case.arrays, dict(case.attrs))


def places_of(op: Op, values: Sequence[Any], carrying: bool) -> list[int]:
    """The places of the arrays, or of those that carry a gradient."""
    args = op.flat_inputs(len(values))
    arrays = [place for place, value in enumerate(values) if isinstance(value, jax.Array)]
    return [place for place in arrays if not carrying or args[place].name in op.differentiable]


def with_values(values: Sequence[Any], places: Sequence[int], others: Sequence[Any]) -> list[Any]:
    given = list(values)
    for place, value in zip(places, others, strict=True):
        given[place] = value
    return given


def jitted(case: Case, values: list[Any], known: bool = False) -> Callable[..., Any]:
    """The op as a compiled function of the arrays that carry a gradient, or of all arrays.

    If all sizes must be known and no array carries one, of none.
    """
    carrying = known and bool(case.op.differentiable or case.op.counted_words)
    places = places_of(case.op, values, carrying)
    compiled = jax.jit(lambda *inputs: called(case, with_values(values, places, inputs)))
    return lambda: compiled(*[values[place] for place in places])


def function_of(case: Case, values: list[Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The op as a function of the arrays that carry a gradient, giving the outputs that do."""
    places = places_of(case.op, values, carrying=True)
    assert places

    def function(*inputs: Any) -> Any:
        outputs = called(case, with_values(values, places, inputs))
        return tuple(y for y in outputs if jnp.issubdtype(y.dtype, jnp.inexact))

    return function, tuple(values[place] for place in places)


def choices(op: Op) -> Iterator[dict[str, str]]:
    """The dtypes that JAX has too: no strings, no quantized numbers."""
    for types in type_choices(op):
        if not set(types.values()) & {"string", *dtypes.QUANTIZED}:
            yield types


def assert_all_same(case: Case, got: Any, want: Any) -> None:
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        assert isinstance(one, jax.Array)
        assert_same(np.asarray(one), np.asarray(other), str(case))


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
                assert_all_same(case, called(case, arguments_of(case)), wanted(case))
                count += 1
    assert count > 5


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
        assert_all_same(case, jitted(case, arguments_of(case), known=True)(), wanted(case))
        count += 1
    assert count >= (4 if "T" in op.types else 2)


@every_op
def test_compiled_calls_have_the_bits_of_numpy_on_every_sample(op: Op) -> None:
    for case in cases(op, usual_types(op)):
        assert_all_same(case, jitted(case, arguments_of(case), known=True)(), wanted(case))


@every_op
def test_what_is_compiled_once_is_told_all_that_is_traced(op: Op) -> None:
    """All arrays traced: the same bits, or, where sizes depend on values, words that say what to do."""
    case = example(op)
    names = [None if a is None else dtypes.name_of(a.dtype) for a in case.arrays]
    shapes = [None if a is None else a.shape for a in case.arrays]
    if op.counted_words and (op.shape_rule is None or None in op.ruled_sizes(shapes, names, case.attrs).values()):
        with pytest.raises(SizeNotKnownError, match=rf"{op.name}: how many rows .* gradbag.jax.sized\("):
            jitted(case, arguments_of(case))()
    else:
        assert_all_same(case, jitted(case, arguments_of(case))(), wanted(case))


@every_op
def test_what_numpy_refuses_is_refused_in_the_same_words(op: Op) -> None:
    types, held = usual_types(op), [op.input_names[place] for place in op.held]

    def array(arg: Arg, value: Any) -> Any:
        if arg.many:
            return [jnp.asarray(cast(v, types.get(arg.dtype, arg.dtype))) for v in value]
        return value if arg.name in held else jnp.asarray(cast(value, types.get(arg.dtype, arg.dtype)))

    for reject in op.rejects:
        given = {**op.example.inputs, **reject.change}
        given |= {arg.name: array(arg, given[arg.name]) for arg in op.inputs if arg.name in given}
        with pytest.raises(ValueError, match=reject.message):
            getattr(raw_ops, op.name)(**given)
        # What decides a size must be known. XLA has two errors, for calls that it waits for and others.
        traced = op.differentiable if op.counted_words else [n for n in op.input_names if n in given and n not in held]
        plain = {name: value for name, value in given.items() if name not in traced}
        compiled = jax.jit(lambda inputs, plain=plain: getattr(raw_ops, op.name)(**plain, **inputs))
        with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match=reject.message):
            jax.block_until_ready(compiled({name: given[name] for name in traced}))


@every_updating_op
def test_a_table_that_is_given_away_is_updated_in_its_own_memory(op: Op) -> None:
    """The functional form: nothing that was given changes, but for what the caller donates."""
    case = example(op)
    values = arguments_of(case)
    kept = [None if value is None else np.array(value) for value in values]
    updated = op.flat_updates(len(values))
    compiled = jax.jit(lambda *given: called(case, given), donate_argnums=updated)
    text = compiled.lower(*values).as_text()
    assert f"@{lowering.TARGET}(" in text
    assert "callback" not in text
    assert_all_same(case, called(case, values), wanted(case))
    for value, before in zip(values, kept, strict=True):
        if value is not None:
            assert_same(np.asarray(value), before, str(case))
    memory = [values[place].unsafe_buffer_pointer() for place in updated]
    got = compiled(*values)
    assert_all_same(case, got, wanted(case))
    assert [y.unsafe_buffer_pointer() for y in got[: len(updated)]] == memory
    deleted = [value is not None and value.is_deleted() for value in values]
    assert deleted == [place in updated for place in range(len(values))]


# ------------------------------------------------------------------ derivatives
@every_differentiable_op
def test_gradients_of_order_one_and_two_in_both_modes(op: Op) -> None:
    count = 0
    for name in {"float64", "complex128"} & set(op.types["T"]):
        for case in cases(op, {**usual_types(op), "T": name}):
            function, inputs = function_of(case, arguments_of(case))
            outputs = function(*inputs)
            if case.label not in USUAL or not all(0 < v.size <= 60 for v in (*inputs, *outputs)):
                continue  # differences of nothing, or too many of them
            check_grads(function, inputs, order=2, modes=["fwd", "rev"])
            count += 1
    assert count >= 2


@every_differentiable_op
def test_gradients_have_the_bits_of_numpy(op: Op) -> None:
    """By the rule in NumPy, also for the samples that are too large or too empty for finite differences."""
    from gradbag.autodiff import vjp
    from gradbag.testing.gradcheck import function_of as numpy_function_of
    from gradbag.testing.gradcheck import random_like

    count = 0
    for name in {"float32", "complex64"} & set(op.types["T"]):
        for case in cases(op, {**usual_types(op), "T": name}):
            if name == "complex64" and case.label not in USUAL:
                continue
            numpy_function, primals = numpy_function_of(case)
            value, pullback = vjp(numpy_function, *primals)
            weights = tuple(random_like(np.random.default_rng(0), y) for y in value)
            function, inputs = function_of(case, arguments_of(case))
            pulled = jax.vjp(function, *inputs)[1](tuple(jnp.asarray(w) for w in weights))
            for got, want in zip(pulled, pullback(weights), strict=True):
                assert_same(np.asarray(got), want, str(case))
            count += 1
    assert count > 5


@every_differentiable_op
def test_compiled_gradients_are_eager_ones(op: Op) -> None:
    """Everything is traced, but what decides a size: some rules must then ask Python."""
    case = example(op)
    values = arguments_of(case)
    function, inputs = function_of(case, values)
    cotangents = tuple(jnp.asarray(np.random.default_rng(0).normal(size=y.shape)) for y in function(*inputs))
    want = jax.vjp(function, *inputs)[1](cotangents)
    places = places_of(op, values, carrying=bool(op.counted_words))

    def pulled(*arrays: Any) -> Any:
        traced, primals = function_of(case, with_values(values, places, arrays))
        return jax.vjp(traced, *primals)[1](cotangents)

    got = jax.jit(pulled)(*[values[place] for place in places])
    for one, other in zip(got, want, strict=True):
        assert_same(np.asarray(one), np.asarray(other), op.name)


@every_linear_op
def test_forward_mode_is_the_op_on_the_tangents(op: Op) -> None:
    for case in cases(op, usual_types(op)):
        function, inputs = function_of(case, arguments_of(case))
        rng = np.random.default_rng(0)
        tangents = tuple(jnp.asarray(rng.normal(size=v.shape)) for v in inputs)
        value, moved = jax.jvp(function, inputs, tangents)
        for got, want in zip((*value, *moved), (*function(*inputs), *function(*tangents)), strict=True):
            assert_same(np.asarray(got), np.asarray(want), str(case))


def loss_of(op: Op) -> tuple[Callable[..., Any], Any]:
    case = example(op)
    function, inputs = function_of(case, arguments_of(case))
    return lambda value: sum((y**3).sum() for y in function(value, *inputs[1:])), inputs[0]


@every_differentiable_op
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


@every_differentiable_op
def test_vmap_is_a_loop(op: Op) -> None:
    case = example(op)
    function, inputs = function_of(case, arguments_of(case))
    rng = np.random.default_rng(0)
    batches = tuple(jnp.asarray(rng.normal(size=(3, *v.shape))) for v in inputs)
    got = jax.vmap(function)(*batches)
    for number in range(3):
        for one, other in zip(got, function(*[b[number] for b in batches]), strict=True):
            assert_same(np.asarray(one[number]), np.asarray(other), op.name)
    last = jax.jit(jax.vmap(function, in_axes=-1, out_axes=-1))(*[jnp.moveaxis(b, 0, -1) for b in batches])
    for one, other in zip(last, got, strict=True):
        assert_same(np.asarray(jnp.moveaxis(one, -1, 0)), np.asarray(other), op.name)


@every_differentiable_op
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
        assert_all_same(case, called(case, values), want)
        assert_all_same(case, jitted(case, values, known=True)(), want)
        if not op.counted_words:
            assert_all_same(case, jitted(case, values)(), want)
        if op.differentiable:
            function, inputs = function_of(case, values)
            places = tuple(range(len(inputs)))
            gradients = jax.grad(lambda *v: sum((y**2).sum() for y in function(*v)), places)(*inputs)
            assert all(g.dtype == jnp.float32 for g in gradients)
