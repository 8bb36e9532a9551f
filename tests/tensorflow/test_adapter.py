"""Raw ops on tensors: NumPy's bits, TensorFlow's gradients, and the derivatives that TensorFlow lacks."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import gradbag
from gradbag import dtypes, eager, raw_ops
from gradbag.adapters.tensorflow import compat
from gradbag.autodiff import jvp
from gradbag.testing import assert_same, cases, differentiable_ops, native_ops
from gradbag.testing.cases import type_choices, usual_types
from gradbag.testing.gradcheck import function_of as numpy_function_of
from gradbag.testing.gradcheck import random_like

from .both import Call, shared_ops, to_array, to_tensor
from .differences import DIFFERENCES

COMPACT = [op for op in native_ops() if "sparse_gradient" in op.attr_defaults]
GRADIENTS = [op for op in shared_ops() if op.name.endswith(("Grad", "GradV2"))]  # of these TensorFlow has no gradient
each_op = pytest.mark.parametrize("op", [op for op in native_ops() if not op.updates], ids=lambda op: op.name)
each_shared_op = pytest.mark.parametrize("op", shared_ops(), ids=lambda op: op.name)
each_linear_op = pytest.mark.parametrize(
    "op", [op for op in differentiable_ops() if op.is_linear], ids=lambda op: op.name
)
each_updating_op = pytest.mark.parametrize("op", [op for op in native_ops() if op.updates], ids=lambda op: op.name)


@pytest.fixture(params=["eager", "unknown shapes", "custom_gradient"])
def mode(request, monkeypatch):
    """How a call is made: at once, in a tf.function, or at once where TensorFlow's tape cannot be reached directly.

    A "function" knows the shapes of its arguments, one with "unknown shapes" does not even know the ranks.
    """
    if request.param == "custom_gradient":
        monkeypatch.setattr(compat, "record", None)
    return request.param


def run(mode, function, *tensors):
    if mode in ("eager", "custom_gradient"):
        return function(*tensors)
    shapes = [t.shape if mode == "function" else None for t in tensors]
    specs = [tf.TensorSpec(shape, t.dtype) for shape, t in zip(shapes, tensors, strict=True)]
    return tf.function(function, input_signature=specs)(*tensors)


def as_list(op, answer):
    return op.flat_answer(answer)


def tensors_of(case):
    """Tensors for a case, flat."""
    return [None if array is None else to_tensor(array) for array in case.arrays]


def called(case, values, attrs=None):
    op = case.op
    named = dict(zip(op.input_names, op.grouped(values), strict=True))
    return as_list(op, getattr(raw_ops, op.name)(**named, **(case.attrs if attrs is None else attrs)))


def function_of(case, attrs=None):
    """The op on tensors as a function of its differentiable inputs alone, giving its differentiable outputs."""
    op, arrays = case.op, case.arrays
    args = op.flat_inputs(len(arrays))
    places = [
        place
        for place, (arg, array) in enumerate(zip(args, arrays, strict=True))
        if array is not None and arg.name in op.differentiable and dtypes.is_differentiable(array.dtype)
    ]

    def function(*values):
        given = tensors_of(case)
        for place, value in zip(places, values, strict=True):
            given[place] = value
        return [y for y in called(case, given, attrs) if y.dtype.name in dtypes.DIFFERENTIABLE]

    return function, [to_tensor(arrays[place]) for place in places]


def pulled(function, primals, weights):
    with tf.GradientTape() as tape:
        tape.watch(primals)
        values = function(*primals)
    return tape.gradient(values, primals, weights)


# ------------------------------------------------------------------ values
@each_op
def test_values_are_the_bits_of_numpy_in_every_dtype(op):
    """Each dtype of the values with the first dtypes of the indices, then the example in every combination."""
    first = {variable: names[0] for variable, names in op.types.items()}
    chosen = [{**first, "T": name} for name in op.types["T"]] if "T" in op.types else [first]
    made = itertools.chain(
        (case for types in chosen for case in cases(op, types)),
        (next(cases(op, types)) for types in type_choices(op)),
    )
    for case in made:
        want = eager.run(op, case.arrays, dict(case.attrs))
        for got, wanted in zip(called(case, tensors_of(case)), want, strict=True):
            assert isinstance(got, tf.Tensor), str(case)
            assert_same(array_of(got), wanted, str(case))


@each_op
def test_assert_same_bites_on_tensors(op):
    case = next(cases(op, usual_types(op)))
    got = array_of(called(case, tensors_of(case))[0])
    with pytest.raises(AssertionError, match="values differ"):
        assert_same(got, got + got.dtype.type(1))


def array_of(tensor):
    array = to_array(tensor)
    name = tensor.dtype.name
    return array.view(dtypes.numpy_dtype(name)) if name in dtypes.QUANTIZED else array


@each_op
@pytest.mark.parametrize("known", [True, False], ids=["known shapes", "unknown shapes"])
def test_a_function_gives_the_bits_of_an_eager_call_and_its_static_shapes_hold(op, known):
    names = [n for n in ("float32", "bfloat16", "complex64", "int16", "string", "qint8") if n in op.types.get("T", ())]
    for types in [{"T": name} for name in names] or [{}]:
        made = list(cases(op, {**usual_types(op), **types}))
        functions = {}  # one for calls with as many arrays, of which the same are left out, under the same settings
        for case in made[:2] if known else made:
            tensors = tensors_of(case)
            key = (*[t is None for t in tensors], *case.attrs.values())
            if known or key not in functions:
                functions[key] = traced(case, tensors, known)
            function, shapes = functions[key]
            got = as_list(op, function(*[t for t in tensors if t is not None]))
            for place, (y, wanted) in enumerate(zip(got, called(case, tensors), strict=True)):
                assert shapes[place].is_compatible_with(wanted.shape), str(case)
                assert_same(array_of(y), array_of(wanted), str(case))


def traced(case, tensors, known):
    """The op as a tf.function of the tensors that there are, and the shapes that it knows its outputs to have."""
    shapes = []

    def function(*present):
        given = iter(present)
        outputs = called(case, [None if t is None else next(given) for t in tensors])
        shapes[:] = [y.shape for y in outputs]
        return outputs if len(outputs) > 1 else outputs[0]

    specs = [tf.TensorSpec(t.shape if known else None, t.dtype) for t in tensors if t is not None]
    return tf.function(function, input_signature=specs), shapes


@each_op
def test_sizes_that_are_constants_are_known_to_the_graph(op):
    """What the dims strings tell of the example, with the inputs that hold sizes written into the function."""
    case = next(cases(op, usual_types(op)))
    outline = op.infer(
        [a.shape for a in case.arrays], [dtypes.name_of(a.dtype) for a in case.arrays], list(case.arrays), case.attrs
    )
    shapes = []

    @tf.function
    def function():
        shapes.extend(y.shape for y in called(case, list(map(tf.constant, case.arrays))))

    function()
    for shape, (wanted, _) in zip(shapes, outline, strict=True):
        assert shape.rank is not None
        assert tuple(shape.as_list()) == tuple(wanted)


@each_op
def test_python_values_and_arrays_beside_one_tensor(op, mode):
    """One tensor is enough for tensors to come out; in a tf.function too."""
    case = next(cases(op, usual_types(op)))
    want = eager.run(op, case.arrays, dict(case.attrs))
    place = [arg.name for arg in op.flat_inputs(len(case.arrays))].index([*op.differentiable, *op.input_names][0])
    for beside in (lambda array: array, lambda array: array.tolist()):
        given = [beside(array) for array in case.arrays]

        def function(value, given=given):
            return called(case, [*given[:place], value, *given[place + 1 :]])

        for y, wanted in zip(run(mode, function, to_tensor(case.arrays[place])), want, strict=True):
            assert isinstance(y, tf.Tensor)
            np.testing.assert_array_equal(y, wanted)


def test_variables_are_read():
    table = tf.Variable([[1.0], [2.0]])
    pooled = gradbag.segment_sum(table, [0, 1, 1], [0, 0, 1])
    assert isinstance(pooled, tf.Tensor)
    np.testing.assert_array_equal(pooled, [[3.0], [2.0]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(gradbag.segment_sum(table, [0, 1, 1], [0, 0, 1], sparse_gradient=True))
    slices = tape.gradient(loss, table)
    np.testing.assert_array_equal(slices.values, [[1.0], [2.0]])
    layer = tf.keras.layers.Embedding(2, 1)
    layer.build(())
    assert isinstance(gradbag.segment_sum(layer.embeddings, [0], [0]), tf.Tensor)


@pytest.mark.parametrize("mode", ["eager", "custom_gradient"], indirect=True)
@pytest.mark.usefixtures("mode")
def test_an_array_that_changes_after_the_call_does_not_change_the_gradient():
    ids = np.array([0, 0])
    table = tf.constant([[1.0], [2.0]])
    with tf.GradientTape() as tape:
        tape.watch(table)
        pooled = gradbag.segment_sum(table, ids, np.array([0, 0]))
    ids[:] = 1
    np.testing.assert_array_equal(tape.gradient(pooled, table), [[2.0], [0.0]])


def test_sparse_tensors_of_tensorflow_come_back_as_such(mode):
    def function(values):
        sparse = tf.SparseTensor([[0, 1], [2, 0]], values, [3, 2])
        filled, empty = gradbag.fill_empty_rows(sparse, tf.constant(7.0))
        window = gradbag.slice(filled, [1, 0], [2, 2])
        assert isinstance(filled, tf.SparseTensor)
        return tf.sparse.to_dense(filled), empty, tf.sparse.to_dense(window)

    filled, empty, window = run(mode, function, tf.constant([5.0, 6.0]))
    np.testing.assert_array_equal(filled, [[0, 5], [7, 0], [6, 0]])
    np.testing.assert_array_equal(empty, [False, True, False])
    np.testing.assert_array_equal(window, [[7, 0], [6, 0]])


@each_updating_op
@pytest.mark.parametrize("mode", ["eager", "function", "unknown shapes"], indirect=True)
def test_what_an_op_updates_is_a_variable_and_is_assigned(op, mode):
    for case in cases(op, usual_types(op)):
        updated = op.flat_updates(len(case.arrays))
        shapes = [tf.TensorShape(None if mode == "unknown shapes" else case.arrays[place].shape) for place in updated]
        variables = {p: tf.Variable(case.arrays[p], shape=shape) for p, shape in zip(updated, shapes, strict=True)}
        others = [place for place, _, _ in case.given if place not in updated]
        tensors = [to_tensor(case.arrays[place]) for place in others]
        got = [*variables.values(), *run(mode, updating(case, variables, others), *tensors)]
        for one, want in zip(got, eager.functional(op, case.arrays, dict(case.attrs)), strict=True):
            assert_same(one.numpy(), want, str(case))


def updating(case, variables, others):
    """The op on variables, as a function of its other inputs."""
    op = case.op

    def function(*tensors):
        given = {**variables, **dict(zip(others, tensors, strict=True))}
        complete = [given.get(place) for place in range(len(case.arrays))]
        named = dict(zip(op.input_names, op.grouped(complete), strict=True))
        answer = getattr(raw_ops, op.name)(**named, **case.attrs)
        return [] if answer is None else as_list(op, answer)

    return function


@each_updating_op
def test_tensors_are_not_updated(op):
    case = next(cases(op, usual_types(op)))
    name = next(arg.name + (r"\[0\]" if arg.many else "") for arg in op.inputs if arg.updates)
    with pytest.raises(gradbag.UnsupportedTypeError, match=f"{op.name}: {name} must be a variable; got EagerTensor"):
        getattr(raw_ops, op.name)(**dict(zip(op.input_names, op.grouped(tensors_of(case)), strict=True)))


# ------------------------------------------------------------------ refusals
@each_op
def test_an_eager_refusal_is_gradbags_own(op):
    for reject in op.rejects:
        given = {**op.example.inputs, **reject.change}
        name = [*op.differentiable, *op.input_names][0]
        value = given[name] if op.differentiable else np.asarray(given[name])  # a number alone would be int32
        given[name] = list(map(tf.constant, value)) if op.lists else tf.constant(value)
        with pytest.raises(gradbag.InvalidArgumentError, match=reject.message):
            getattr(raw_ops, op.name)(**given)


def test_a_refusal_while_a_function_runs_is_readable():
    pool = tf.function(lambda ids: gradbag.segment_sum(tf.ones([2, 1]), ids, tf.zeros_like(ids)))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"SparseSegmentSum: indices\[1\] == 9 out of range \[0, 2\)"
    ):
        pool(tf.constant([0, 9]))


def test_a_refusal_while_a_function_is_traced_is_gradbags_own():
    with pytest.raises(gradbag.InvalidArgumentError, match=r"segment_ids must have shape \[n\] with n=2; got \[1\]"):
        tf.function(lambda t: gradbag.segment_sum(t, tf.constant([0, 0]), tf.constant([0])))(tf.ones([2, 1]))
    with pytest.raises(gradbag.UnsupportedTypeError, match="indices must be one of int32, int64; got float32"):
        tf.function(lambda t: gradbag.segment_sum(t, tf.constant([0.0]), tf.constant([0])))(tf.ones([2, 1]))


@pytest.mark.parametrize("wrapped", [lambda f: f, tf.function])
def test_ops_of_arrays_are_for_tensors_too_and_not_linear_ones_differentiate(wrapped):
    x, y = tf.constant([2.0, 3.0]), tf.constant(5.0)

    @wrapped
    def derivatives():
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch([x, y])
                product = tf.reduce_sum(raw_ops.Mul(x=x, y=y))
            first, second = tape.gradient(product, [x, y])
        return first, second, outer.gradient(second, x)

    first, second, mixed = derivatives()
    assert (first.numpy().tolist(), float(second), mixed.numpy().tolist()) == ([5.0, 5.0], 5.0, [1.0, 1.0])
    assert raw_ops.AddN(inputs=[x, x, x]).numpy().tolist() == [6.0, 9.0]


def test_out_is_for_arrays():
    with pytest.raises(gradbag.InvalidArgumentError, match="out must be None where an argument is EagerTensor"):
        gradbag.segment_sum(tf.ones([1, 1]), [0], [0], out=np.empty((1, 1), np.float32))


# ------------------------------------------------------------------ gradients
@each_shared_op
def test_gradients_are_tensorflows_where_it_has_them_and_is_right(op, mode):
    """Bit for bit; a default's gradient, which TensorFlow adds in another order, within rounding."""
    compared = 0
    for name in [n for n in ("float32", "float64") if n in op.types["T"]]:
        for case in list(cases(op, {**usual_types(op), "T": name}))[: None if mode == "eager" else 4]:
            call = Call(op, dict(case.inputs), dict(case.attrs))
            if any(differs(call) for differs in DIFFERENCES) or len(case.arrays[1]) == 0:
                continue  # among those without entries is the one whose gradient is not initialised
            function, primals = function_of(case)
            weights = [to_tensor(random_like(np.random.default_rng(0), y)) for y in arrays_of(function(*primals))]
            try:
                theirs = their_gradients(case, weights)
            except LookupError:
                assert op in GRADIENTS
                break
            got = run(mode, lambda *p, f=function, w=weights: pulled(f, list(p), w), *primals)
            for place, (a, b) in enumerate(zip(got, theirs, strict=True)):
                if op.differentiable[place] == "default_value":
                    np.testing.assert_allclose(a, b, rtol=1e-5)
                else:
                    assert_same(a.numpy(), b.numpy(), str(case))
                compared += 1
    assert compared or op in GRADIENTS


def arrays_of(tensors):
    return [t.numpy() for t in tensors]


def their_gradients(case, weights):
    op = case.op
    names = [name for name in op.differentiable if dtypes.is_differentiable(case.inputs[name].dtype)]
    given = {name: to_tensor(array) for name, array in case.inputs.items()}

    def function(*values):
        answer = getattr(tf.raw_ops, op.name)(**given | dict(zip(names, values, strict=True)), **case.attrs)
        return [y for y in as_list(op, answer) if y.dtype.is_floating]

    return pulled(function, [given[name] for name in names], weights)


@pytest.mark.parametrize(
    ("op", "name"),
    [(op, n) for op in differentiable_ops() for n in ("float64", "complex128") if n in op.types["T"]],
    ids=lambda v: v if isinstance(v, str) else v.name,
)
def test_second_derivatives_are_finite_differences(op, mode, name):
    """Of the gradient as a function of the point and of the cotangents, along a random direction."""
    chosen = list(cases(op, {**usual_types(op), "T": name}))[: 3 if mode == "eager" else 1]
    for case in chosen:
        function, primals = function_of(case)
        rng = np.random.default_rng(1)
        weights = [to_tensor(random_like(rng, y)) for y in arrays_of(function(*primals))]
        directions = [to_tensor(random_like(rng, p)) for p in arrays_of([*primals, *weights])]

        def first(*both, f=function, primals=primals):
            return pulled(f, list(both[: len(primals)]), list(both[len(primals) :]))

        outer = [to_tensor(random_like(rng, g)) for g in arrays_of(first(*primals, *weights))]
        point = [*primals, *weights]
        second = run(mode, lambda *both, f=first, o=outer: pulled(f, list(both), o), *point)
        step = 1e-6
        steps = [tf.cast(step, p.dtype) * d for p, d in zip(point, directions, strict=True)]
        ahead = first(*[p + s for p, s in zip(point, steps, strict=True)])
        behind = first(*[p - s for p, s in zip(point, steps, strict=True)])
        numeric = sum(inner(o, (a - b) / (2 * step)) for o, a, b in zip(outer, ahead, behind, strict=True))
        exact = sum(inner(d, s) for d, s in zip(directions, second, strict=True) if s is not None)
        assert abs(numeric - exact) <= 1e-6 * (1 + abs(exact)), f"{case}: {numeric} by differences, {exact} by the rule"


def inner(a, b):
    """TensorFlow's cotangents of complex numbers are conjugates of ours."""
    return float(tf.reduce_sum(tf.math.real(tf.math.conj(a) * b)))


@each_linear_op
def test_third_derivatives(op):
    """These ops are linear: the third derivative of a cube is the op again."""
    case = next(cases(op, usual_types(op)))
    function, primals = function_of(case)
    direction = [tf.ones_like(p) for p in primals]

    def derivative(f):
        def along(*point):
            with tf.GradientTape() as tape:
                tape.watch(point)
                value = f(*point)
            return sum(tf.reduce_sum(g * d) for g, d in zip(tape.gradient(value, point), direction, strict=True))

        return along

    cube = lambda *p: sum(tf.reduce_sum(y**3) for y in function(*p))  # noqa: E731
    third = derivative(derivative(derivative(cube)))(*primals)
    want = sum(tf.reduce_sum(6 * y**3) for y in function(*direction))
    np.testing.assert_allclose(third, want, rtol=1e-12)


@pytest.mark.parametrize("op", differentiable_ops(), ids=lambda op: op.name)
@pytest.mark.parametrize("mode", ["eager", "function", "unknown shapes"], indirect=True)
def test_forward_mode(op, mode):
    """The derivative in a direction is that of NumPy."""
    attrs = [{}, *([{"sparse_gradient": True}] if "sparse_gradient" in op.attr_defaults else [])]
    for name in {"float64", "complex128"} & set(op.types["T"]):
        for case, given in itertools.product(list(cases(op, {**usual_types(op), "T": name}))[:2], attrs):
            function, primals = function_of(case, {**case.attrs, **given})
            rng = np.random.default_rng(2)
            plain, arrays = numpy_function_of(case)
            directions = [random_like(rng, array) for array in arrays]
            with tf.autodiff.ForwardAccumulator(primals, list(map(to_tensor, directions))) as accumulator:
                values = run(mode, function, *primals)
            _, moved = jvp(plain, arrays, directions)
            for got, want in zip(accumulator.jvp(values), moved, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def along_ones(function):
    """The derivative of a function in the direction of ones, by forward mode."""

    def derivative(point):
        with tf.autodiff.ForwardAccumulator(point, tf.ones_like(point)) as accumulator:
            value = function(point)
        return accumulator.jvp(value)

    return derivative


def gradient_of_squares(function):
    def derivative(point):
        with tf.GradientTape() as tape:
            tape.watch(point)
            value = tf.reduce_sum(function(point) ** 2)
        return tape.gradient(value, point)

    return derivative


@pytest.mark.parametrize("wrapped", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize("name", ["Exp", "Square"])  # a rule that looks at the output, one that looks at the input
def test_both_modes_nest_in_any_order_inside_a_function_too(name, wrapped):
    point = tf.constant([0.5, 2.0], tf.float64)
    for modes in itertools.chain(*(itertools.product((along_ones, gradient_of_squares), repeat=n) for n in (1, 2))):
        ours, theirs = lambda x: getattr(raw_ops, name)(x=x), lambda x: getattr(tf.raw_ops, name)(x=x)
        for mode in modes:
            ours, theirs = mode(ours), mode(theirs)
        np.testing.assert_allclose(wrapped(ours)(point), wrapped(theirs)(point), rtol=1e-12)


@pytest.mark.parametrize("op", [op for op in COMPACT if not op.lists], ids=lambda op: op.name)
def test_compact_gradients_are_indexed_slices(op, mode):
    for case in list(cases(op, {**usual_types(op), "T": "float32"}))[: None if mode == "eager" else 3]:
        table, ids = case.arrays[:2]
        function, primals = function_of(case, {**case.attrs, "sparse_gradient": True})
        plain, _ = function_of(case, {**case.attrs, "sparse_gradient": False})
        weights = [to_tensor(random_like(np.random.default_rng(0), y)) for y in arrays_of(plain(*primals))]
        slices, *_ = run(mode, lambda *p, f=function, w=weights: pulled(f, list(p), w), *primals)
        assert isinstance(slices, tf.IndexedSlices)
        assert slices.indices.numpy().tolist() == np.unique(ids).tolist()
        assert slices.dense_shape.numpy().tolist() == list(table.shape)
        whole, *_ = pulled(plain, primals, weights)
        dense = np.zeros_like(whole)
        dense[slices.indices.numpy()] = slices.values
        assert_same(dense, whole.numpy(), str(case))


def test_compact_gradients_of_many_tables():
    """Each table gets its own, of the rows that its features picked."""
    tables = [tf.Variable(np.ones((4, 2), np.float32)), tf.Variable(np.ones((5, 3), np.float32))]
    with tf.GradientTape() as tape:
        rows = raw_ops.GroupedEmbeddingBag(
            tables=tables, ids=[1, 1, 4, 0], offsets=[[0, 1], [2, 3]], combiner="sum", sparse_gradient=True
        )
    first, second = tape.gradient(rows, tables)
    assert isinstance(first, tf.IndexedSlices)
    assert (first.indices.numpy().tolist(), second.indices.numpy().tolist()) == ([1], [0, 4])


def test_a_compact_gradient_trains_a_table_by_an_optimizer():
    table = tf.Variable(np.ones((5, 2), np.float32))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(gradbag.segment_mean(table, [1, 3, 3], [0, 0, 1], sparse_gradient=True) ** 2)
    tf.keras.optimizers.SGD(0.5).apply_gradients([(tape.gradient(loss, table), table)])
    assert (table.numpy() != 1).any(1).tolist() == [False, True, False, True, False]


def test_slices_that_come_in_from_above():
    """The gradient of a lookup in pooled rows is compact too, and becomes whole without a warning."""
    table = tf.Variable(np.arange(6.0).reshape(3, 2))
    with tf.GradientTape() as outer:
        with tf.GradientTape() as tape:
            pooled = gradbag.segment_sum(table, [0, 1, 2], [0, 1, 1])
            loss = tf.reduce_sum(tf.gather(pooled, [1, 1, 0]) ** 2)
        gradient = tape.gradient(loss, table)
        penalty = tf.reduce_sum(gradient**2)
    np.testing.assert_array_equal(gradient, [[0, 2], [24, 32], [24, 32]])
    assert np.isfinite(outer.gradient(penalty, table)).all()


def test_a_loop_of_a_function():
    """tf.while_loop keeps what the gradients of all rounds need."""

    @tf.function
    def gradient(table):
        with tf.GradientTape() as tape:
            tape.watch(table)
            total = tf.constant(0.0, tf.float64)
            for k in tf.range(3):
                ids = tf.stack([k, k])
                total += tf.reduce_sum(gradbag.segment_sum(table, ids, tf.constant([0, 0])) ** 2)
        return tape.gradient(total, table)

    np.testing.assert_array_equal(gradient(tf.constant([[1.0], [2.0], [3.0]], tf.float64)), [[8.0], [16.0], [24.0]])


def test_jacobians_and_vectorized_maps():
    """Also by pfor, which then makes a loop of the call."""

    def pool(table):
        return gradbag.segment_mean(table, [0, 2, 2], [0, 0, 1])

    table = tf.constant([[1.0], [2.0], [3.0]])
    with tf.GradientTape() as tape:
        tape.watch(table)
        pooled = pool(table)
    np.testing.assert_array_equal(tape.jacobian(pooled, table)[:, 0, :, 0], [[0.5, 0, 0.5], [0, 0, 1]])
    np.testing.assert_array_equal(tf.vectorized_map(pool, tf.stack([table, 2 * table]))[..., 0], [[2, 3], [4, 6]])


class Bag(tf.keras.layers.Layer):
    def build(self, _):
        self.table = self.add_weight(shape=(10, 4), initializer="ones")

    def call(self, ids):
        bags = tf.repeat(tf.range(tf.shape(ids)[0]), ids.shape[1])
        return gradbag.segment_mean(self.table, tf.reshape(ids, [-1]), bags, tf.shape(ids)[0], sparse_gradient=True)


def test_a_layer_of_keras_trains():
    model = tf.keras.Sequential([tf.keras.Input((3,), dtype="int32"), Bag(), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    ids = np.random.default_rng(0).integers(0, 10, (32, 3))
    loss = model.fit(ids, ids.mean(1, keepdims=True), epochs=3, verbose=0).history["loss"]
    assert loss[2] < loss[0]


# ------------------------------------------------------------------ where TensorFlow alone fails
@pytest.mark.parametrize("op", GRADIENTS, ids=lambda op: op.name)
def test_tensorflow_has_no_second_derivatives_and_gradbag_has(op):
    """tf.raw_ops raises LookupError at the gradient of a gradient op; the same calls of ours answer."""
    case = next(cases(op, {**usual_types(op), "T": "float32"}))
    given = {name: to_tensor(array) for name, array in case.inputs.items()}
    (name,) = op.differentiable

    def gradient(ops):
        with tf.GradientTape() as tape:
            tape.watch(given[name])
            value = as_list(op, getattr(ops, op.name)(**given))[0]
        return tape.gradient(value, given[name])

    with pytest.raises(LookupError, match=f"gradient registry has no entry for: {op.name}"):
        gradient(tf.raw_ops)
    assert gradient(raw_ops).shape == given[name].shape


def test_an_empty_batch_is_garbage_in_tensorflow_and_zero_here():
    """No id at all: TensorFlow does not write the gradient that it returns."""
    empty = tf.constant([], tf.int32)
    grad = tf.ones([4, 512])
    given = {"indices": empty, "segment_ids": empty, "output_dim0": 64}

    def theirs():
        for _ in range(4):  # leave something in the memory that the next answer may get
            tf.fill([64, 512], 7.0) + 1
        return tf.raw_ops.SparseSegmentMeanGrad(grad=grad, **given).numpy()

    assert any(theirs().any() for _ in range(100))
    for _ in range(100):
        assert not raw_ops.SparseSegmentMeanGrad(grad=grad, **given).numpy().any()


# ------------------------------------------------------------------ which library is imported first
IMPORTS = {
    "gradbag alone": "import gradbag, sys; assert 'tensorflow' not in sys.modules",
    "gradbag first": "import gradbag, tensorflow as tf",
    "gradbag last": "import tensorflow as tf, gradbag",
}
USE = """
def pool(table):
    return gradbag.segment_sum(table, [0], [0])

assert isinstance(tf.function(pool)(tf.ones([1, 1])), tf.Tensor)
assert isinstance(pool(tf.ones([1, 1])), tf.Tensor)
"""


@pytest.mark.parametrize("order", IMPORTS)
def test_the_order_of_imports_does_not_matter(order, tmp_path):
    program = tmp_path / "program.py"  # a file, for AutoGraph reads the source of what it rewrites
    program.write_text(IMPORTS[order] + (USE if "tf" in IMPORTS[order].split() else ""))
    done = subprocess.run([sys.executable, "-W", "error", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "AutoGraph" not in done.stderr
