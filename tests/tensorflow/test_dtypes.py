"""Every dtype in every argument: gradbag takes what TensorFlow takes, and more only where it says so."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from gradbag import dtypes
from gradbag.testing.cases import cast, type_choices, usual_types

from .both import Call, Refused, ours, shared_ops, theirs
from .differences import compare, dtype_that_tensorflow_lacks

KNOWN = [*dtypes.ANY, *dtypes.QUANTIZED]
UNKNOWN = [ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ml_dtypes.uint4]


def example(op, types):
    return Call(op, {a.name: cast(op.example.inputs[a.name], types.get(a.dtype, a.dtype)) for a in op.inputs}, {})


@pytest.mark.parametrize("op", shared_ops(), ids=lambda op: op.name)
def test_the_example_in_every_combination_of_dtypes(op):
    for types in type_choices(op):
        made = example(op, types)
        answer = ours(made)
        assert not isinstance(answer, Refused), f"{types}: {answer}"
        compare(made, answer, theirs(made))


@pytest.mark.parametrize("op", shared_ops(), ids=lambda op: op.name)
def test_any_dtype_for_a_type_variable(op):
    """All arguments of the variable change together, so only the dtype can be wrong."""
    for variable, name in itertools.product(op.types, KNOWN):
        made = example(op, {**usual_types(op), variable: name})
        compare(made, ours(made), theirs(made))


@pytest.mark.parametrize("op", shared_ops(), ids=lambda op: op.name)
def test_any_dtype_for_one_argument(op):
    """Alone, so that it no longer agrees with the others, or with the one dtype that is declared."""
    right = example(op, usual_types(op))
    for arg, name in itertools.product(op.inputs, KNOWN):
        made = Call(op, {**right.inputs, arg.name: cast(op.example.inputs[arg.name], name)}, {})
        compare(made, ours(made), theirs(made))


@pytest.mark.parametrize("op", shared_ops(), ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", UNKNOWN, ids=lambda dtype: dtype.__name__)
def test_a_dtype_that_neither_knows(op, dtype):
    right = example(op, usual_types(op))
    values = {name: np.zeros(right.inputs[name].shape, dtype) for name in op.differentiable}
    made = Call(op, {**right.inputs, **values}, {})
    assert isinstance(ours(made), Refused)
    assert isinstance(theirs(made), Refused)


def test_some_op_takes_a_dtype_that_tensorflow_lacks():
    extra = [op.name for op in shared_ops() for t in type_choices(op) if dtype_that_tensorflow_lacks(example(op, t))]
    assert {"SparseSegmentSum", "SparseSegmentSumGrad", "SparseSliceGrad"} <= set(extra)
