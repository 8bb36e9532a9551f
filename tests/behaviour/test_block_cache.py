"""The memory of large answers that are gone serves the next ones."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import dtypes, eager, memory, raw_ops
from gradbag.eager.program import native
from gradbag.spec import Op
from gradbag.testing import assert_same_results, cases, native_ops
from gradbag.testing.cases import type_choices, usual_types

MIB = 1 << 20
POISON = 0xA5
needs_kernels = pytest.mark.skipif(not eager.available(), reason="the native kernels are not installed")


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    limit = gradbag.get_block_cache_limit()
    gradbag.set_block_cache_limit(0)
    gradbag.set_block_cache_limit(64 * MIB)
    yield
    gradbag.set_block_cache_limit(limit)


def large(mebibytes: float = 1, value: float = 1.0) -> Any:
    """A gradient of so many mebibytes, with one row that is not zero."""
    rows = int(mebibytes * MIB) // 16
    return raw_ops.SparseSegmentSumGrad(
        grad=np.full((1, 2), value), indices=[1], segment_ids=[0], output_dim0=np.array(rows, np.int32)
    )


def address(array: Any) -> int:
    return int(array.ctypes.data)


def cached() -> int:
    return int(native.block_cache_size())


# ------------------------------------------------------------------ blocks come back
@needs_kernels
def test_an_answer_lies_where_one_lay_that_is_gone() -> None:
    first = large()
    place = address(first)
    assert cached() == 0
    del first
    assert cached() == MIB
    second = large(value=2.0)
    assert address(second) == place
    assert (second[1].tolist(), second.sum()) == ([2.0, 2.0], 4.0)


@needs_kernels
def test_no_view_loses_its_memory() -> None:
    answer = large()
    row, place = answer[1], address(answer)
    del answer
    others = [large(value=5.0) for _ in range(3)]
    assert place not in map(address, others)
    assert row.tolist() == [1.0, 1.0]
    del row
    assert address(large()) == place


@needs_kernels
def test_living_answers_share_nothing() -> None:
    answers = [large(value=float(v)) for v in range(4)]
    assert len({address(a) for a in answers}) == 4
    assert [a.sum() for a in answers] == [0.0, 2.0, 4.0, 6.0]


@needs_kernels
def test_small_answers_stay_with_numpy() -> None:
    small = raw_ops.SparseSegmentSum(data=np.ones((1, 4)), indices=[0], segment_ids=[0])
    assert small.flags.owndata
    del small
    assert cached() == 0


@needs_kernels
def test_a_somewhat_smaller_answer_fits_but_a_much_smaller_one_does_not() -> None:
    place = address(large(8))
    assert address(large(7.5)) == place
    assert address(large(4)) != place


@needs_kernels
@pytest.mark.parametrize("name", [*dtypes.NUMBER, "bool", *dtypes.QUANTIZED])
def test_every_dtype_lies_in_a_block_aligned_for_any_instruction(name: str) -> None:
    array = memory.empty((MIB // 8, 8), dtypes.numpy_dtype(name))
    assert (array.dtype, array.shape) == (dtypes.numpy_dtype(name), (MIB // 8, 8))
    assert array.flags.carray
    assert not array.flags.owndata
    assert address(array) % 64 == 0


@needs_kernels
@pytest.mark.parametrize("op", [op for op in native_ops() if op.outputs], ids=lambda op: op.name)
def test_nothing_of_what_a_block_held_before_shows(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "LARGE", 1)
    reused = 0
    for types in type_choices(op):
        if any(name != usual_types(op)[v] for v, name in types.items() if v != "T"):
            continue
        for case in cases(op, types):
            wanted = eager.run_reference(op, case.arrays, dict(case.attrs))
            blocks = [memory.empty((max(w.nbytes, 1),), np.dtype(np.uint8)) for w in wanted]
            for block in blocks:
                block.fill(POISON)
            poisoned = set(map(address, blocks))
            del blocks, block
            got = eager.run(op, case.arrays, dict(case.attrs))
            reused += len(poisoned & set(map(address, got)))
            assert_same_results(case, [*case.updated, *got], wanted)
            del got
    assert reused


# ------------------------------------------------------------------ the bound
@needs_kernels
def test_the_cache_keeps_to_its_limit_and_the_oldest_block_goes_first() -> None:
    gradbag.set_block_cache_limit(3 * MIB)
    answers = [large() for _ in range(4)]
    places = [address(a) for a in answers]
    while answers:
        del answers[0]
    assert cached() == 3 * MIB
    answers = [large() for _ in range(3)]
    assert {address(a) for a in answers} == set(places[1:])


@needs_kernels
def test_a_block_beyond_the_limit_pushes_out_no_other() -> None:
    gradbag.set_block_cache_limit(2 * MIB)
    large(1)
    large(3)
    assert cached() == MIB


@needs_kernels
def test_a_lower_limit_gives_memory_back_at_once_and_zero_turns_the_cache_off() -> None:
    large(4)
    assert cached() == 4 * MIB
    gradbag.set_block_cache_limit(0)
    assert cached() == 0
    answer = large()
    assert answer.flags.owndata
    del answer
    assert cached() == 0


@needs_kernels
def test_a_block_that_outlives_the_cache_is_simply_freed() -> None:
    answer = large()
    gradbag.set_block_cache_limit(0)
    del answer
    assert cached() == 0


@needs_kernels
def test_what_is_kept_unused_makes_room_when_memory_runs_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "_available", lambda: 10 * MIB - cached())
    large(4)
    with pytest.raises(gradbag.ResourceExhaustedError):
        large(11)
    assert cached() == 4 * MIB  # it would not have helped
    assert large(8).shape == (8 * MIB // 16, 2)


@pytest.mark.parametrize("limit", [1.5, None, True, "1 GiB", np.int64(1)], ids=repr)
def test_a_limit_is_a_whole_number_of_bytes(limit: Any) -> None:
    wanted = rf"^set_block_cache_limit: limit must be an int; got {type(limit).__name__}$"
    with pytest.raises(gradbag.UnsupportedTypeError, match=wanted):
        gradbag.set_block_cache_limit(limit)
    assert gradbag.get_block_cache_limit() == 64 * MIB


def test_a_limit_is_not_negative_and_may_be_larger_than_any_machine() -> None:
    with pytest.raises(
        gradbag.InvalidArgumentError, match=r"^set_block_cache_limit: limit == -1 must not be negative$"
    ):
        gradbag.set_block_cache_limit(-1)
    gradbag.set_block_cache_limit(2**100)
    assert gradbag.get_block_cache_limit() == 2**63 - 1


def test_the_limit_is_a_gibibyte_or_an_eighth_of_what_there_is(python: Any) -> None:
    done = python("import gradbag; print(gradbag.get_block_cache_limit(), gradbag.get_memory_limit())")
    limit, available = map(int, done.stdout.split())
    assert limit == 2**30 or limit == pytest.approx(available / 8, rel=0.2)


def test_without_compiled_kernels_there_is_a_limit_and_nothing_to_keep(python: Any) -> None:
    program = "import gradbag; gradbag.set_block_cache_limit(7); print(gradbag.get_block_cache_limit())"
    assert python(program, blocked=["gradbag.eager._kernels"]).stdout.strip() == "7"


# ------------------------------------------------------------------ threads and processes
@needs_kernels
def test_many_threads_take_and_give_back_blocks_of_their_own() -> None:
    def sums(value: float) -> list[float]:
        return [float(large(1 + k % 3, value).sum()) for k in range(30)]

    with ThreadPoolExecutor(8) as pool:
        for value, answers in enumerate(pool.map(sums, map(float, range(16)))):
            assert answers == [2.0 * value] * 30


FORKS = """
import os, signal, threading, warnings
import numpy as np
from gradbag import raw_ops

warnings.simplefilter("ignore")  # newer Pythons warn of every fork beside a thread

def large():
    return raw_ops.SparseSegmentSumGrad(grad=np.ones((1, 2)), indices=[1], segment_ids=[0], output_dim0=1 << 16)

going = True
def work():
    while going:
        large()

worker = threading.Thread(target=work)
worker.start()
held = large()
for _ in range(30):
    child = os.fork()
    if not child:
        signal.alarm(20)
        os._exit(0 if large().sum() == 2.0 and held.sum() == 2.0 else 1)
    assert os.waitpid(child, 0)[1] == 0
going = False
worker.join()
print("done")
"""


@needs_kernels
def test_a_forked_child_uses_the_cache_while_other_threads_of_the_parent_do(python: Any) -> None:
    pytest.importorskip("resource", reason="no fork on this system")
    done = python(FORKS)
    assert (done.stdout.strip(), done.stderr) == ("done", "")


@needs_kernels
def test_a_block_may_outlive_the_library(python: Any) -> None:
    program = "import numpy as np, gradbag; kept = gradbag.segment_sum(np.ones((1 << 16, 2)), [0], [1 << 16])"
    done = python(program)
    assert (done.returncode, done.stderr) == (0, "")
