"""What an op's rules say about values, C++ says too, for callers without Python."""

import pytest

from gradbag import eager, errors
from gradbag.eager.program import Program, native
from gradbag.eager.shortcut import settings
from gradbag.testing import case_of, cases, native_ops
from gradbag.testing.cases import usual_types

pytestmark = pytest.mark.skipif(not eager.available(), reason="the native kernels are not installed")


def program_of(op):
    types = usual_types(op)
    return Program(op, [types.get(a.dtype, a.dtype) for a in op.inputs], native)


def has_rules(op):
    """Whether a kernel of this op takes the place of TensorFlow's, and Python has rules for it."""
    return op.kernel.takes_over and (
        op.check_rule is not None or (op.size_rule is not None and program_of(op).plan is None)
    )


OPS = [op for op in native_ops() if has_rules(op)]


def by_python(op, case):
    """The sizes that the rules give, None where they object."""
    try:
        if op.check_rule is not None:
            op.bound(op.check_rule, case.attrs)(*case.arrays)
        return [] if op.size_rule is None else list(op.size_rule(*case.arrays).values())
    except errors.Fault:
        return None


def by_kernel(op, case):
    program = program_of(op)
    rules = native.find_kernel(program.rules_name)
    assert rules is not None, f"{op.name} takes over and has no {program.rules_name}"
    found = rules.count(program.arguments([case.arrays[p] for p in program.passes]), settings(op, dict(case.attrs)))
    return None if type(found) is tuple else list(found.sizes)


def test_there_are_some():
    assert len(OPS) >= 4


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_rules_of_kernels_agree_with_those_of_python(op):
    types = usual_types(op)
    made = [*cases(op, types)]
    made += [case_of(op, types, {**op.example.inputs, **reject.change}, "reject") for reject in op.rejects]
    objected = 0
    for case in made:
        try:
            op.bind_shapes([a.shape for a in case.arrays], case.arrays)
        except errors.Error:
            continue  # shapes and contents are not the rules' business
        want = by_python(op, case)
        objected += want is None
        assert by_kernel(op, case) == want, str(case)
    assert objected
