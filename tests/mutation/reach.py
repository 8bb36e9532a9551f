"""Run on the unbroken build, which has fewer element types: what most tests call must still reach a kernel."""

import pytest

from gradbag import arguments, dtypes
from gradbag.eager.program import Program, native
from gradbag.spec import Op
from gradbag.testing import native_ops
from gradbag.testing.cases import usual_types


@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_examples_and_usual_cases_reach_the_kernel(op: Op) -> None:
    given = op.flat([op.example.inputs.get(name) for name in op.input_names])
    example = [None if a is None else dtypes.name_of(a.dtype) for a in arguments.to_arrays(op, given)]
    usual = [usual_types(op).get(a.dtype, a.dtype) for a in op.flat_inputs(len(given))]
    for names in (example, usual):
        assert Program(op, names, native).fill is not None, f"{op.name} has no kernel for {', '.join(map(str, names))}"
