"""What the shape strings infer is what the ops do."""

from typing import Any

import pytest

from gradbag import dtypes, eager
from gradbag.spec import Op
from gradbag.testing import cases, native_ops
from gradbag.testing.cases import Case, usual_types

every_op = pytest.mark.parametrize("op", [op for op in native_ops() if op.outputs], ids=lambda op: op.name)


def inferred(case: Case, shapes: list[Any], contents: Any = None) -> list[Any]:
    names = [None if a is None else dtypes.name_of(a.dtype) for a in case.arrays]
    return case.op.infer(shapes, names, contents, case.attrs)


@every_op
def test_inferred_shapes_and_dtypes_are_the_real_ones(op: Op) -> None:
    count = 0
    for case in cases(op, usual_types(op)):
        found = inferred(case, [None if a is None else a.shape for a in case.arrays], case.arrays)
        for output, (shape, name) in zip(eager.run(op, case.arrays, dict(case.attrs)), found, strict=True):
            assert dtypes.name_of(output.dtype) == name
            assert len(output.shape) == len(shape)
            assert all(want in (None, got) for got, want in zip(output.shape, shape, strict=True))
            count += 1
    assert count


@every_op
def test_unknown_sizes_stay_unknown(op: Op) -> None:
    case = next(cases(op, usual_types(op)))
    for shape, _ in inferred(case, [None if a is None else (None,) * a.ndim for a in case.arrays]):
        # A rule may know a size of the attributes alone.
        assert all(size is None for size in shape) or op.shape_rule is not None
