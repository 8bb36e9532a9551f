"""Run on the unbroken build, which has fewer element types: what most tests call must still reach a kernel."""

import pytest

from gradbag import arguments, dtypes
from gradbag.eager.program import Program, native
from gradbag.spec import Op
from gradbag.testing import native_ops
from gradbag.testing.cases import usual_types


@pytest.mark.parametrize("op", [op for op in native_ops() if op.kernel is not None], ids=lambda op: op.name)
def test_examples_and_usual_cases_reach_the_kernel(op: Op) -> None:
    example = [dtypes.name_of(a.dtype) for a in arguments.to_arrays(op, list(op.example.inputs.values()))]
    usual = [usual_types(op).get(a.dtype, a.dtype) for a in op.inputs]
    for names in (example, usual):
        assert Program(op, names, native).fill is not None, f"{op.name} has no kernel for {', '.join(names)}"
