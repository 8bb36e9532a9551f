"""What gradbag promises about any input, checked for every op that is declared."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import eager, errors, raw_ops
from gradbag.spec import Op
from gradbag.testing import native_ops
from gradbag.testing.cases import Case, cases, usual_types
from gradbag.testing.oracle import assert_same

Array = np.ndarray[Any, Any]
Script = Callable[..., list[str]]
each_op = pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)


def call(case: Case, arrays: list[Array] | None = None) -> list[Array]:
    inputs = dict(zip(case.inputs, arrays or case.arrays, strict=True))
    result = getattr(raw_ops, case.op.name)(**inputs, **case.attrs)
    return list(result) if isinstance(result, tuple) else [result]


# ------------------------------------------------------------------ inputs and outputs
@each_op
def test_inputs_are_not_changed_and_may_be_read_only(op: Op) -> None:
    for case in cases(op):
        want = call(case)
        frozen = [array.copy() for array in case.arrays]
        for array in frozen:
            array.flags.writeable = False
        for got, output, arg in zip(call(case, frozen), want, op.outputs, strict=True):
            assert_same(got, output, f"{case}: {arg.name}, from read-only inputs")
        for before, after, arg in zip(frozen, case.arrays, op.inputs, strict=True):
            assert_same(after, before, f"{case}: {arg.name}, after the call")


@each_op
def test_outputs_have_memory_of_their_own(op: Op) -> None:
    for case in cases(op):
        inputs, outputs = case.arrays, call(case)
        for place, output in enumerate(outputs):
            assert output.flags.writeable, f"{case}: {op.outputs[place].name} is read-only"
            others = inputs + outputs[:place]
            assert not any(np.shares_memory(output, other) for other in others), f"{case}: {op.outputs[place].name}"


# ------------------------------------------------------------------ same input, same bits
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc fills fresh memory with a chosen byte")
def test_no_output_byte_is_left_unwritten(run_script: Script) -> None:
    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(lambda poison: run_script("digest.py", poison=poison), (1, 90, 165)))
    poisons = [run.pop(0) for run in runs]
    assert poisons == ["poison 254 254", "poison 165 165", "poison 90 90"]  # the check bites: glibc complements
    assert len(runs[0]) >= len(native_ops())
    for lines in zip(*runs, strict=True):
        assert len(set(lines)) == 1, f"depends on what the memory held before: {lines}"


@each_op
def test_calls_from_many_threads_give_the_same_bits(op: Op) -> None:
    group = list(cases(op, usual_types(op))) * 4
    alone = [call(case) for case in group]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(call, group))
    finally:
        sys.setswitchinterval(interval)
    for case, got, want in zip(group, together, alone, strict=True):
        for arg, a, b in zip(op.outputs, got, want, strict=True):
            assert_same(a, b, f"{case}: {arg.name}")


# ------------------------------------------------------------------ memory
@pytest.fixture
def memory_limit() -> Iterator[Callable[[int | None], None]]:
    yield gradbag.set_memory_limit
    gradbag.set_memory_limit(None)


def needed_bytes(case: Case) -> int:
    """Results and scratch, from the outputs that come out."""
    sizes = case.op.bind_shapes([a.shape for a in case.arrays], case.arrays)
    scratch = case.op.kernel.scratch if case.op.kernel is not None else ()
    return sum(o.nbytes for o in call(case)) + sum(8 * sizes[word] for word in scratch)  # type: ignore[operator]


@each_op
def test_the_memory_limit_is_exact(op: Op, memory_limit: Callable[[int | None], None]) -> None:
    # A kernel counts before it asks for memory; a body does not, so it refuses only what can never fit.
    counts = eager.available() or not op.counted_words
    for case in cases(op, usual_types(op)):
        memory_limit(None)
        needed = needed_bytes(case)
        memory_limit(needed)
        call(case)
        too_little = needed - 1 if counts else 0
        if too_little >= needed or too_little < 0:
            continue
        memory_limit(too_little)
        with pytest.raises(gradbag.ResourceExhaustedError) as refusal:
            call(case)
        assert f"only {errors.in_bytes(too_little)} may be used (gradbag.set_memory_limit)" in str(refusal.value)


# ------------------------------------------------------------------ the process lives
def test_inputs_that_change_during_a_call_do_no_harm(run_script: Script) -> None:
    lines = run_script("race.py")
    assert lines[-1] == "done"
    assert any(line.startswith("answered") for line in lines)
    assert any(line.startswith("refused") for line in lines)
    assert not [line for line in lines if line.startswith("WRONG")]


@each_op
def test_changed_examples_are_answered_or_refused(op: Op, run_script: Script) -> None:
    lines = run_script("fuzz.py", op.name)
    assert lines[-1] == "done"
    assert len(lines) > 500
    wrong = {line.partition(" <- ")[0]: line for line in lines if line.startswith("WRONG")}
    assert not wrong, f"{len(wrong)} kinds of wrong answers:\n" + "\n".join(list(wrong.values())[:20])
