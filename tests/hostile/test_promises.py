"""What gradbag promises about any input, checked for every op that is declared."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gradbag
from gradbag import eager, errors
from gradbag.spec import Op
from gradbag.testing import assert_same, assert_same_results, called, compiled_ops, native_ops
from gradbag.testing.cases import Case, cases, usual_types

Script = Callable[..., list[str]]
each_op = pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
with_kernels = pytest.mark.parametrize("op", native_ops() + compiled_ops(), ids=lambda op: op.name)


# ------------------------------------------------------------------ inputs and outputs
@with_kernels
def test_inputs_are_not_changed_and_may_be_read_only(op: Op) -> None:
    for case in cases(op):
        want = called(case.fresh())
        updated = op.flat_updates(len(case.arrays))
        frozen = {place: array.copy() for place, _, array in case.given if place not in updated}
        for array in frozen.values():
            array.flags.writeable = False
        made = case.fresh().replaced(frozen)
        assert_same_results(made, called(made), want, "from read-only inputs")
        for place, name, array in case.given:
            assert_same(frozen.get(place, array), array, f"{case}: {name}, after the call")


@each_op
def test_outputs_have_memory_of_their_own(op: Op) -> None:
    for case in cases(op):
        inputs = [array for _, _, array in case.given]
        outputs = called(case)[len(case.updated) :]
        names = op.flat_output_names(len(outputs))
        for place, output in enumerate(outputs):
            assert output.flags.writeable, f"{case}: {names[place]} is read-only"
            others = inputs + outputs[:place]
            assert not any(np.shares_memory(output, other) for other in others), f"{case}: {names[place]}"


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


@with_kernels
def test_calls_from_many_threads_give_the_same_bits(op: Op) -> None:
    group = list(cases(op, usual_types(op))) * 4
    alone = [called(case.fresh()) for case in group]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda case: called(case.fresh()), group))
    finally:
        sys.setswitchinterval(interval)
    for case, got, want in zip(group, together, alone, strict=True):
        assert_same_results(case, got, want)


# ------------------------------------------------------------------ memory
@pytest.fixture
def memory_limit() -> Iterator[Callable[[int | None], None]]:
    yield gradbag.set_memory_limit
    gradbag.set_memory_limit(None)


def needed_bytes(case: Case) -> int:
    """Results and scratch, from the outputs that come out."""
    sizes = case.op.bind_shapes([None if a is None else a.shape for a in case.arrays], case.arrays)
    scratch = case.op.kernel.scratch if case.op.kernel is not None else ()
    outputs = called(case)[len(case.updated) :]
    return sum(o.nbytes for o in outputs) + sum(8 * sizes[word] for word in scratch)  # type: ignore[operator]


@each_op
def test_the_memory_limit_is_exact(op: Op, memory_limit: Callable[[int | None], None]) -> None:
    # A kernel counts before it asks for memory; a body does not, so it refuses only what can never fit.
    counts = eager.available() or not op.counted_words
    for case in cases(op, usual_types(op)):
        memory_limit(None)
        needed = needed_bytes(case)
        memory_limit(needed)
        called(case)
        too_little = needed - 1 if counts else 0
        if too_little >= needed or too_little < 0:
            continue
        memory_limit(too_little)
        with pytest.raises(gradbag.ResourceExhaustedError) as refusal:
            called(case)
        assert f"only {errors.in_bytes(too_little)} may be used (gradbag.set_memory_limit)" in str(refusal.value)


# ------------------------------------------------------------------ the process lives
def test_inputs_that_change_during_a_call_do_no_harm(run_script: Script) -> None:
    lines = run_script("race.py")
    assert lines[-1] == "done"
    assert any(line.startswith("answered") for line in lines)
    assert any(line.startswith("refused") for line in lines)
    assert not [line for line in lines if line.startswith("WRONG")]


@with_kernels
def test_changed_examples_are_answered_or_refused(op: Op, run_script: Script) -> None:
    lines = run_script("fuzz.py", op.name)
    assert lines[-1] == "done"
    assert len(lines) > 500
    wrong = {line.partition(" <- ")[0]: line for line in lines if line.startswith("WRONG")}
    assert not wrong, f"{len(wrong)} kinds of wrong answers:\n" + "\n".join(list(wrong.values())[:20])
