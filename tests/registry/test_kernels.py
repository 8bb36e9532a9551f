"""The native kernels give the bits of the NumPy bodies, for every dtype and every memory layout."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from gradbag import dtypes, eager, raw_ops
from gradbag.eager.program import Program, native
from gradbag.spec import Op
from gradbag.testing import assert_kernel_equals_body, assert_same, cases, layouts, native_ops
from gradbag.testing.cases import Case, type_choices, usual_types

needs_kernels = pytest.mark.skipif(not eager.available(), reason="the native kernels are not installed")


@needs_kernels
@pytest.mark.parametrize("op", [op for op in native_ops() if op.kernel], ids=lambda op: op.name)
def test_a_declared_kernel_exists_for_every_dtype(op: Op) -> None:
    choices = list(type_choices(op))
    assert choices
    for types in choices:
        program = Program(op, [types.get(a.dtype, a.dtype) for a in op.inputs], native)
        assert program.fill is not None, f"{op.name} has no kernel for {types}"
        assert (program.plan is not None) == any(w not in _exact_words(op) for w in op.counted_words)


def _exact_words(op: Op) -> set[str]:
    """Words whose size the op's size rule tells exactly, so that no kernel needs to count."""
    case = next(cases(op, usual_types(op)))
    sizes = {} if op.size_rule is None else op.size_rule(*case.arrays)
    return {word for word, size in sizes.items() if isinstance(size, int)}


@needs_kernels
@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_kernel_equals_body(op: Op) -> None:
    count = 0
    for case in cases(op):
        assert_kernel_equals_body(case)
        count += 1
    assert count > len(list(type_choices(op)))


@needs_kernels
@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_kernel_and_body_refuse_with_the_same_words(op: Op) -> None:
    """Damage every integer input at a random place: both answer alike, whatever the answer is."""
    rng = np.random.default_rng(1)
    count = 0
    for case in cases(op, usual_types(op)):
        for name, array in case.inputs.items():
            if array.dtype.kind != "i" or array.size == 0:
                continue
            # The last would be 0 in a shorter word.
            for value in (
                -1,
                2,
                min(int(array.max()), 2**62) + 1,
                2**31 - 1,
                *([2**32] if array.itemsize == 8 else []),
            ):
                damaged = array.copy()
                damaged.reshape(-1)[rng.integers(array.size)] = value
                if _asks_for_much(op, name, value):
                    continue
                changed = Case(
                    op, case.types, {**case.inputs, name: damaged}, case.attrs, f"{case.label}-{name}={value}"
                )
                assert_kernel_equals_body(changed)
                count += 1
    assert count


@needs_kernels
@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_kernel_equals_body_at_the_edges_of_the_numbers(op: Op, name: str) -> None:
    """NaN, infinities, signed zeros, subnormal and largest numbers, among ordinary ones."""
    rng = np.random.default_rng(2)
    limits = ml_dtypes.finfo(dtypes.numpy_dtype(name))
    edges = [np.nan, np.inf, -np.inf, 0.0, -0.0, limits.max, limits.tiny, limits.smallest_subnormal, -limits.max]
    for case in cases(op, {**usual_types(op), "T": name}):
        for share in (0.1, 0.9):
            changed = {n: _with_edges(rng, a, edges, share) for n, a in case.inputs.items()}
            assert_kernel_equals_body(Case(op, case.types, changed, case.attrs, f"{case.label}-edges"))


def _with_edges(rng: np.random.Generator, array: Any, edges: list[Any], share: float) -> Any:
    if not dtypes.is_differentiable(array.dtype):
        return array
    chosen = rng.random(array.shape) < share
    return np.where(chosen, rng.choice(np.array(edges, array.dtype), array.shape), array)


@needs_kernels
@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_of_two_faults_at_one_place_kernel_and_body_tell_the_same(op: Op) -> None:
    case = next(cases(op, usual_types(op)))
    damaged = {name: array.copy() for name, array in case.inputs.items()}
    for array in damaged.values():
        if array.dtype.kind == "i" and array.ndim == 1 and array.size:
            array[0] = -5
    assert_kernel_equals_body(Case(op, case.types, damaged, case.attrs, "two faults"))


def _asks_for_much(op: Op, name: str, value: int) -> bool:
    """2**31 rows are no fault but a large answer; the memory tests are about those."""
    arg = next(a for a in op.inputs if a.name == name)
    return value > 10**6 and (arg.holds is not None or name == "segment_ids")


@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_any_memory_layout_gives_the_same_bits(op: Op) -> None:
    count = 0
    for case in cases(op, usual_types(op)):
        want = eager.run(op, case.arrays, dict(case.attrs))
        for name, array in case.inputs.items():
            for layout, same in layouts(array):
                answer = _call(op, {**case.inputs, name: same})
                for arg, got, expected in zip(op.outputs, answer, want, strict=True):
                    assert_same(got, expected, f"{case}: {arg.name} with {name} {layout}")
                count += 1
    assert count


def _call(op: Op, inputs: dict[str, object]) -> list[object]:
    answer = getattr(raw_ops, op.name)(**inputs)
    return [answer] if op.result is None else list(answer)
