"""The basic ops, in every dtype: TensorFlow answers their examples and samples alike, and refuses what they refuse."""

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from gradbag import arguments, attributes, dtypes, raw_ops
from gradbag.spec import registry
from gradbag.testing import array_ops, assert_same, cases

from .both import Call, Refused, in_a_graph, in_variable, ours, theirs

assert raw_ops.AddV2  # asking for a basic op loads them all
THEIRS = [op for op in array_ops() if hasattr(tf.raw_ops, op.name)]
# What only a session has: its tables are compared in graphs as people save them, and its branches.
SESSION = {"branches", "lookup_tables"}
EAGER = [op for op in THEIRS if not (op.state == "variable" or op.name == "Placeholder" or op.category in SESSION)]
# Of these themes TensorFlow lets some calls pass that gradbag refuses.
STRICT = {"random", "candidates", "networks", "splitting", "texts", "classes", "checking", "einsum", "products"}
REJECTS = [(op, reject) for op in EAGER if op.category not in STRICT for reject in op.rejects]

# The themes whose ops only move values: every bit is the same.
MOVING = {"constants", "identity", "casting", "shapes", "reshaping", "joining", "repeating", "gathering", "slicing"}
MOVING |= {"selecting", "state", "comparison", "logic", "variables"}
# Themes whose ops are some operations long, each of which TensorFlow may fuse with the next, or round.
LONG = {"optimizers", "networks", "products", "einsum", "random", "candidates"}
MOVING |= {"splitting", "checking", "classes", "truths", "rounding", "texts"}
ULPS = {"float16": 1, "bfloat16": 1, "float32": 2, "float64": 2, "complex64": 4, "complex128": 4}
# TensorFlow adds or multiplies one by one in the dtype itself, gradbag in a wider one: every term may be rounded.
TERMS = {"AddN", "Sum", "Mean", "Prod", "L2Loss", "MatMul", "SegmentSum", "UnsortedSegmentSum", "Cumsum", "Cumprod"}
TERMS |= {"SparseTensorDenseMatMul", "SparseReduceSum", "SparseReduceSumSparse", "DenseBincount", "SparseBincount"}
# TensorFlow rounds every step of these.
STEPS = {"SparseSoftmax": 8, "Erf": 4, "Erfc": 8}
# TensorFlow rounds a factor (1 - y * y, y + alpha) that may be small before it multiplies by this input.
FACTORS = {"TanhGrad": "dy", "SeluGrad": "gradients"}

# TensorFlow takes these; what it answers has places outside of the shape, or reads weights beyond the last.
LENIENT = {("SparseReduceSumSparse", "input_indices"), ("SparseReduceMaxSparse", "input_indices")}
LENIENT |= {("SparseBincount", "weights")}
LENIENT |= {(op, "indices") for op in ("SparseCross", "SparseCrossV2", "SparseCrossHashed")}  # entries get lost

# What TensorFlow must not be asked, for it ends the process: an op and the inputs that a reject changes.
CRASHES = {("SparseTensorDenseMatMul", "a_shape"), ("RaggedGather", "OUTPUT_RAGGED_RANK")}


def truncated_to_complex(call):
    """TensorFlow drops the whole mantissa of a float64 that is truncated to complex64."""
    return call.attrs["Truncate"] and call.inputs["x"].dtype == np.float64 and call.attrs["DstT"] == "complex64"


def mean_of_no_complex_numbers(call):
    """TensorFlow's mean of no numbers is NaN, but zero if they are complex; gradbag's is NaN."""
    return call.inputs["input"].dtype.kind == "c" and call.inputs["input"].size == 0


def threshold_of_another_dtype(call):
    """TensorFlow reads the bytes of the threshold as if they were a number of the values' dtype."""
    return call.inputs["thresh"].dtype != call.inputs["a_values"].real.dtype


# Where the answers differ on purpose.
DIFFERENT = {
    "Cast": truncated_to_complex,
    "Mean": mean_of_no_complex_numbers,
    "SparseAdd": threshold_of_another_dtype,
}


def update_without_an_axis(call):
    """One place alone has a single number, which TensorFlow's GatherNd gives, but its ScatterNd does not take back."""
    return call.inputs["updates"].ndim == 0


# What TensorFlow refuses although it has a meaning.
THEY_REFUSE = {"ScatterNd": update_without_an_axis}


def answer(call):
    """TensorFlow's; some ops it runs, or checks, in a graph only."""
    graph_only = call.op.state or call.op.name == "Const" or any(in_variable(call.op, a) for a in call.op.inputs)
    return in_a_graph(call) if graph_only else theirs(call)


@pytest.mark.parametrize("op", EAGER, ids=lambda op: op.name)
def test_tensorflow_answers_the_same(op):
    count = 0
    for case in cases(op):
        call = Call(op, dict(case.inputs), dict(case.attrs))
        mine, other = ours(call), answer(call)
        assert not isinstance(mine, Refused), f"{case}: {mine.message}"
        if op.name in THEY_REFUSE and THEY_REFUSE[op.name](call):
            assert isinstance(other, Refused), f"{case}: TensorFlow takes it now"
            continue
        assert not isinstance(other, Refused), f"{case}: TensorFlow refused: {other.message}"
        if op.name in DIFFERENT and DIFFERENT[op.name](call):
            continue
        for name, want in other.items():
            if op.category in MOVING or not dtypes.is_differentiable(want.dtype):
                assert_same(mine[name], want, f"{case}: {name}")
            else:
                assert_near(mine[name], want, *_tolerance(call, name), f"{case}: {name}")
        count += 1
    assert count


def assert_near(got, want, size, ulps, label):
    """The same but for some units in the last place of numbers of this size, or of the wanted ones if None."""
    assert_same(np.zeros_like(got), np.zeros_like(want), label)
    precise = np.complex128 if want.dtype.kind == "c" else np.float64
    got_exact, want_exact = got.astype(precise), want.astype(precise)
    size = np.abs(want_exact) if size is None else np.abs(size.astype(precise))
    limits = ml_dtypes.finfo(np.zeros((), want.dtype).real.dtype)
    with np.errstate(all="ignore"):  # infinities and NaN must simply be the same
        unit = 2.0 ** np.floor(np.log2(np.maximum(size, float(limits.tiny)))) * float(limits.eps)
        near = np.abs(got_exact - want_exact) <= ulps * unit
        near |= (got_exact == want_exact) | (np.isnan(got_exact) & np.isnan(want_exact))
    assert near.all(), f"{label}: {got[~near][0]!r} instead of {want[~near][0]!r}"


def _tolerance(call, output):
    """What a unit is measured at, and how many of them two answers may be apart."""
    arrays = [a for value in call.inputs.values() for a in (value if isinstance(value, list) else [value])]
    floats = [a for a in arrays if dtypes.is_differentiable(a.dtype)]
    if call.op.category in LONG:
        widest = max([ULPS[dtypes.name_of(a.dtype)] for a in floats], default=2)
        return np.full((), 9.0), 2 * widest
    ulps = ULPS[dtypes.name_of(floats[0].dtype)]
    if call.op.name in FACTORS:
        return call.inputs[FACTORS[call.op.name]], 2 * ulps
    if call.op.name not in TERMS:
        return None, ulps * STEPS.get(call.op.name, 1)
    # The terms may cancel, so that the size of their magnitudes counts.
    magnitudes = {name: _magnitude(value) for name, value in call.inputs.items()}
    size = ours(Call(call.op, magnitudes, call.attrs))[output]
    return size, ulps * (1 + sum(a.size for a in floats) // max(size.size, 1))


def _magnitude(value):
    if isinstance(value, list):
        return [_magnitude(array) for array in value]
    return np.abs(value).astype(value.dtype) if dtypes.is_differentiable(value.dtype) else value


@pytest.mark.parametrize("name", DIFFERENT)
def test_tensorflow_really_differs(name):
    op = registry[name]
    calls = [Call(op, dict(case.inputs), dict(case.attrs)) for case in cases(op)]
    shown = [call for call in calls if DIFFERENT[name](call)]
    outputs = [(mine, answer(call)[name]) for call in shown for name, mine in ours(call).items()]
    assert any(not np.array_equal(mine, other) for mine, other in outputs)


def test_two_units_apart_is_noticed():
    one = np.ones(2, np.float16)
    assert_near(one, np.nextafter(one, np.float16(2)), None, 1, "")
    with pytest.raises(AssertionError, match="instead of"):
        assert_near(one, one + 2 * np.finfo(np.float16).eps, None, 1, "")


def _id(part):
    return getattr(part, "name", None) or ",".join(part.change)


@pytest.mark.parametrize(("op", "reject"), REJECTS, ids=_id)
def test_tensorflow_refuses_too(op, reject):
    if (op.name, *reject.change) in CRASHES:
        pytest.skip("TensorFlow ends the process")
    if (op.name, *reject.change) in LENIENT:
        pytest.skip("TensorFlow takes it, and answers something that cannot be right")
    given = {**op.example.inputs, **reject.change}
    try:
        arrays = arguments.to_arrays(op, op.flat([given[name] for name in op.input_names]))
        attrs = attributes.normal(op, {name: given[name] for name in op.attr_defaults if name in given})
    except ValueError:
        pytest.skip("numbers that do not fit their dtype never become a tensor")
    call = Call(op, dict(zip(op.input_names, op.grouped(arrays), strict=True)), attrs)
    assert isinstance(answer(call), Refused)


def test_of_equal_values_the_first_is_the_largest():
    """Not among the samples, for there is no derivative."""
    top = registry["TopKV2"]
    values = np.array([[2, 5, 5, 1, 5], [0, 0, 0, 0, 0]], np.float32)
    call = Call(top, {"input": values, "k": np.array(3, np.int32)}, attributes.normal(top, {}))
    mine, other = ours(call), theirs(call)
    assert_same(mine["indices"], np.array([[1, 2, 4], [0, 1, 2]], np.int32))
    assert_same(mine["indices"], other["indices"])


def test_nan_equals_no_other_and_the_zeros_equal_each_other():
    unique = registry["Unique"]
    call = Call(unique, {"x": np.array([np.nan, 1, np.nan, 0.0, -0.0], np.float32)}, attributes.normal(unique, {}))
    mine, other = ours(call), theirs(call)
    for name in ("y", "idx"):
        assert_same(mine[name], other[name], name)
    assert len(mine["y"]) == 4
