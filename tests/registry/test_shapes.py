"""What the shape strings infer is what the ops do."""

import pytest

from gradbag import dtypes, eager
from gradbag.spec import Op
from gradbag.testing import cases, native_ops
from gradbag.testing.cases import usual_types


@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_inferred_shapes_and_dtypes_are_the_real_ones(op: Op) -> None:
    count = 0
    for case in cases(op, usual_types(op)):
        names = [dtypes.name_of(a.dtype) for a in case.arrays]
        inferred = op.infer([a.shape for a in case.arrays], names, case.arrays)
        for output, (shape, name) in zip(eager.run(op, case.arrays, {}), inferred, strict=True):
            assert dtypes.name_of(output.dtype) == name
            assert len(output.shape) == len(shape)
            assert all(want in (None, got) for got, want in zip(output.shape, shape, strict=True))
            count += 1
    assert count


@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_unknown_sizes_stay_unknown(op: Op) -> None:
    case = next(cases(op, usual_types(op)))
    names = [dtypes.name_of(a.dtype) for a in case.arrays]
    for shape, _ in op.infer([(None,) * a.ndim for a in case.arrays], names):
        assert all(size is None for size in shape)
