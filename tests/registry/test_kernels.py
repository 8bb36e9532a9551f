"""The native kernels give the bits of the NumPy bodies, for every dtype and every memory layout."""

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradbag
from gradbag import dtypes, eager
from gradbag.eager import compiled
from gradbag.eager.program import Program, native
from gradbag.spec import Op, registry
from gradbag.testing import (
    assert_kernel_equals_body,
    assert_same_results,
    called,
    cases,
    compiled_ops,
    indexed_ops,
    layouts,
    native_ops,
)
from gradbag.testing.cases import type_choices, usual_types

needs_kernels = pytest.mark.skipif(not eager.available(), reason="the native kernels are not installed")
every_op = pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)


@needs_kernels
@every_op
def test_a_declared_kernel_exists_for_every_dtype(op: Op) -> None:
    choices = list(type_choices(op))
    assert choices
    for types in choices:
        program = Program(op, [types.get(a.dtype, a.dtype) for a in op.inputs], native)
        assert program.fill is not None, f"{op.name} has no kernel for {types}"
        assert (program.plan is not None) == any(w not in _exact_words(op) for w in op.counted_words)


def _exact_words(op: Op) -> set[str]:
    """Words whose size a rule of the op tells exactly, so that no kernel needs to count."""
    case = next(cases(op, usual_types(op)))
    if op.shape_rule is not None:
        names = [None if a is None else dtypes.name_of(a.dtype) for a in case.arrays]
        ruled = op.ruled_sizes([None if a is None else a.shape for a in case.arrays], names, case.attrs)
        return {word for word, size in ruled.items() if size is not None}
    sizes = {} if op.size_rule is None else op.size_rule(*case.arrays)
    return {word for word, size in sizes.items() if isinstance(size, int)}


@needs_kernels
@every_op
def test_kernel_equals_body(op: Op) -> None:
    count = 0
    for case in cases(op):
        assert_kernel_equals_body(case)
        count += 1
    assert count > len(list(type_choices(op)))


@needs_kernels
@pytest.mark.parametrize("op", indexed_ops(), ids=lambda op: op.name)
def test_kernel_and_body_refuse_with_the_same_words(op: Op) -> None:
    """Damage every integer input at a random place: both answer alike, whatever the answer is."""
    rng = np.random.default_rng(1)
    count = 0
    for case in cases(op, usual_types(op)):
        for place, name, array in case.given:
            if array.dtype.kind != "i" or array.size == 0:
                continue
            # The last would be 0 in a shorter word.
            for value in (
                -1,
                2,
                min(int(array.max()), 2**62) + 1,
                2**31 - 1 if array.itemsize > 1 else 127,
                *([2**32] if array.itemsize == 8 else []),
            ):
                damaged = array.copy()
                damaged.reshape(-1)[rng.integers(array.size)] = value
                if _asks_for_much(op, name, value):
                    continue
                assert_kernel_equals_body(case.replaced({place: damaged}, f"{case.label}-{name}={value}"))
                count += 1
    assert count


@needs_kernels
@every_op
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_kernel_equals_body_at_the_edges_of_the_numbers(op: Op, name: str) -> None:
    """NaN, infinities, signed zeros, subnormal and largest numbers, among ordinary ones."""
    rng = np.random.default_rng(2)
    limits = ml_dtypes.finfo(dtypes.numpy_dtype(name))
    edges = [np.nan, np.inf, -np.inf, 0.0, -0.0, limits.max, limits.tiny, limits.smallest_subnormal, -limits.max]
    for case in cases(op, {**usual_types(op), "T": name}):
        for share in (0.1, 0.9):
            changed = {place: _with_edges(rng, array, edges, share) for place, _, array in case.given}
            assert_kernel_equals_body(case.replaced(changed, f"{case.label}-edges"))


def _with_edges(rng: np.random.Generator, array: Any, edges: list[Any], share: float) -> Any:
    if not dtypes.is_differentiable(array.dtype):
        return array
    chosen = rng.random(array.shape) < share
    return np.where(chosen, rng.choice(np.array(edges, array.dtype), array.shape), array)


@needs_kernels
@pytest.mark.parametrize("op", indexed_ops(), ids=lambda op: op.name)
def test_of_two_faults_at_one_place_kernel_and_body_tell_the_same(op: Op) -> None:
    case = next(cases(op, usual_types(op)))
    damaged = {place: array.copy() for place, _, array in case.given}
    for array in damaged.values():
        if array.dtype.kind == "i" and array.ndim == 1 and array.size:
            array[0] = -5
    assert_kernel_equals_body(case.replaced(damaged, "two faults"))


def _asks_for_much(op: Op, name: str, value: int) -> bool:
    """2**31 rows are no fault but a large answer; the memory tests are about those."""
    arg = next(a for a in op.inputs if a.name == name)
    return value > 10**6 and (arg.holds is not None or name == "segment_ids")


@every_op
def test_any_memory_layout_gives_the_same_bits(op: Op) -> None:
    count = 0
    for case in cases(op, usual_types(op)):
        want = eager.functional(op, case.arrays, dict(case.attrs))
        for place, name, array in case.given:
            for layout, same in layouts(array):
                made = case.fresh().replaced({place: same}, f"{case.label}, {name} {layout}")
                if op.flat_inputs(len(case.arrays))[place].updates and layout in ("read-only", "other byte order"):
                    with pytest.raises(
                        gradbag.InvalidArgumentError, match=f"{re.escape(name)} must be (writeable|in the byte)"
                    ):
                        called(made)
                else:
                    assert_same_results(made, called(made), want)
                    count += 1
    assert count


# ------------------------------------------------------------------ rules that call kernels
@needs_kernels
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("op", compiled_ops(), ids=lambda op: op.name)
def test_a_rule_by_kernels_equals_the_body(op: Op, threads: int) -> None:
    before, answered = gradbag.get_num_threads(), 0
    gradbag.set_num_threads(threads)
    try:
        for case in cases(op):
            assert_kernel_equals_body(case)
            answered += compiled.outputs(op, case.arrays, dict(case.attrs)) is not NotImplemented
    finally:
        gradbag.set_num_threads(before)
    assert answered


@needs_kernels
@pytest.mark.parametrize("op", compiled_ops(), ids=lambda op: op.name)
def test_a_rule_by_kernels_leaves_words_to_the_body(op: Op) -> None:
    rng = np.random.default_rng(1)
    for case in cases(op, usual_types(op)):
        for place, name, array in case.given:
            if array.dtype.kind == "i" and array.size:
                for value in (-1, min(int(array.max()), 100) + 1):
                    damaged = array.copy()
                    damaged.reshape(-1)[rng.integers(array.size)] = value
                    assert_kernel_equals_body(case.replaced({place: damaged}, f"{case.label}-{name}={value}"))


@needs_kernels
@pytest.mark.parametrize("op", compiled_ops(), ids=lambda op: op.name)
def test_a_rule_by_kernels_equals_the_body_at_the_edges_of_the_numbers(op: Op) -> None:
    rng = np.random.default_rng(2)
    edges = [np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, 1e-38, 1e-45, -90.0, -103.5]
    for case in cases(op, {**usual_types(op), "T": "float32"} if "T" in op.types else usual_types(op)):
        for share in (0.1, 0.9):
            changed = {place: _with_edges(rng, array, edges, share) for place, _, array in case.given}
            assert_kernel_equals_body(case.replaced(changed, f"{case.label}-edges"))


def _large(rng: np.random.Generator) -> dict[str, list[Any]]:
    """Inputs so large that several threads share them, tables grow and numbers are sorted in several passes."""
    rows, ids = rng.standard_normal((40_000, 5)).astype(np.float32), rng.integers(-1, 700, 40_000)
    ordered, shape = np.sort(ids)[np.sort(ids) >= 0] // 2 * 2, np.array([300, 40, 7])
    places = [np.stack([rng.integers(0, n, 9_000) for n in shape], 1) for _ in "ab"]
    a, b = (np.unique(one, axis=0) for one in places)
    entries = [a, rows[: len(a), 0], shape, b, rows[: len(b), 1], shape]
    return {
        **{op.name: [rows, ids, np.array(700)] for op in compiled_ops() if op.input_names[-1] == "num_segments"},
        **{f"Segment{kind}": [rows[: len(ordered)], ordered] for kind in ("Sum", "Mean", "Max", "Min", "Prod")},
        "Unique": [np.concatenate([rng.integers(-(2**62), 2**62, 9_000), ids])[rng.permutation(49_000)]],
        "SparseReorder": [places[0], rows[:9_000, 0], shape],
        "SparseAdd": [*entries, np.array(0, np.float32)],
        "SparseSparseMaximum": entries,
        "SparseTensorDenseMatMul": [places[0][:, :2], rows[:9_000, 0], shape[:2], rows[:40]],
        "SparseDenseDots": [rows, np.abs(ids), rows, ids[::-1] + 1],
    }


@needs_kernels
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_rule_by_kernels_equals_the_body_on_large_inputs(threads: int) -> None:
    before = gradbag.get_num_threads()
    gradbag.set_num_threads(threads)
    try:
        for name, given in _large(np.random.default_rng(3)).items():
            op = registry[name]
            assert compiled.outputs(op, given, dict(op.attr_defaults)) is not NotImplemented, name
            want = eager.run_reference(op, given, dict(op.attr_defaults))
            for got, other in zip(eager.run(op, given, dict(op.attr_defaults)), want, strict=True):
                np.testing.assert_array_equal(got, other, name)
    finally:
        gradbag.set_num_threads(before)
