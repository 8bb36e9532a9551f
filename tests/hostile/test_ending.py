"""What happens around a call: the interpreter ends, the process forks, an array gets another shape."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import eager
from gradbag.eager import prepared, routes
from gradbag.spec import Op
from gradbag.testing import assert_same_results, called, native_ops
from gradbag.testing.cases import cases

Script = Callable[..., list[str]]


@pytest.mark.parametrize("call", ["segments", "rules", "counting"])
@pytest.mark.parametrize("size", [10, 10_000, 2_000_000])
def test_the_interpreter_may_end_while_a_thread_is_in_a_kernel(call: str, size: int, run_script: Script) -> None:
    with ThreadPoolExecutor(2) as pool:  # a process that is aborted fails here with its signal
        for lines in pool.map(lambda _: run_script("ending.py", call, str(size)), range(4)):
            assert lines == ["ends"]


@pytest.mark.skipif(not eager.available(), reason="bodies have no threads to lose")
def test_a_fork_in_a_handler_inside_a_kernel_ends_the_call_in_the_child() -> None:
    """The child has no helpers: what they were doing is lost, and nobody would ever finish it."""
    before = gradbag.get_num_threads()
    gradbag.set_num_threads(4)
    table = np.ones((1000, 256), np.float32)
    ids = np.arange(6_000_000) % 1000
    child: list[int] = []

    def fork(*_: Any) -> None:
        if not child:
            child.append(os.fork())

    former = signal.signal(signal.SIGALRM, fork)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.15)
        for _ in range(100):
            try:
                gradbag.segment_mean(table, ids, np.sort(ids))
            except RuntimeError as problem:
                os._exit(7 if child == [0] and "forked in the middle" in str(problem) else 8)
            if child:
                break
        if child == [0]:
            os._exit(9)  # the handler came between two calls
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, former)
        gradbag.set_num_threads(before)
    for _ in range(300):
        pid, status = os.waitpid(child[0], os.WNOHANG)
        if pid:
            break
        threading.Event().wait(0.1)
    else:
        os.kill(child[0], signal.SIGKILL)
        os.waitpid(child[0], 0)
        pytest.fail("the child hangs in the call")
    assert os.waitstatus_to_exitcode(status) in (7, 9)


@pytest.mark.skipif(not eager.available(), reason="NumPy's own functions look at a shape once")
@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_an_array_may_get_another_shape_during_a_call(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as the sizes have been read, the arrays of the caller get other shapes, as another thread may do it."""
    for case in cases(op):
        want = called(case.fresh())
        made = case.fresh()
        arrays = [array for _, _, array in made.given if array.ndim and array.flags.c_contiguous]
        read = routes._sizes

        def read_and_change(*args: Any, read: Any = read, arrays: Any = arrays) -> Any:
            sizes = read(*args)
            for array in arrays:
                array.shape = (array.size, *[1] * (array.ndim - 1))
            return sizes

        prepared.of(op).forget_shortcuts()  # the long way, which a large call goes
        with monkeypatch.context() as patched:
            patched.setattr(routes, "_sizes", read_and_change)
            shapes = [array.shape for array in arrays]
            got = called(made)
        for array, shape in zip(arrays, shapes, strict=True):
            array.shape = shape
        assert_same_results(case, got, want, "while shapes change")
