"""Several Python threads at once: the same bits, and nobody waits for a kernel that holds the interpreter."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import eager, raw_ops
from gradbag.spec import Op
from gradbag.testing import assert_same, cases, native_ops
from gradbag.testing.cases import usual_types

THREADS = 4


def at_once(function: Any, arguments: list[Any]) -> list[Any]:
    """All at the same moment, as far as the machine lets them."""
    start = threading.Barrier(THREADS)

    def wait_and_run(share: list[Any]) -> list[Any]:
        start.wait()
        return [function(argument) for argument in share]

    with ThreadPoolExecutor(THREADS) as pool:
        shares = pool.map(wait_and_run, [arguments] * THREADS)
        return [answer for share in shares for answer in share]


@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_every_op_gives_the_same_bits_in_every_thread_from_its_first_call_on(op: Op) -> None:
    asked = list(cases(op, usual_types(op)))
    want = [eager.run_reference(op, case.arrays, dict(case.attrs)) for case in asked]
    eager.prepared.of(op).routes.clear()  # what an op prepares at its first call is prepared by all threads at once
    got = at_once(lambda case: eager.functional(op, case.arrays, dict(case.attrs)), asked)
    assert len(got) == THREADS * len(asked)
    for answers, expected in zip(got, want * THREADS, strict=True):
        for answer, value in zip(answers, expected, strict=True):
            assert_same(answer, value, op.name)


def test_transforms_in_different_threads_do_not_see_each_other() -> None:
    table = np.arange(12.0).reshape(6, 2)

    def gradient(scale: float) -> Any:
        def loss(t: Any) -> Any:
            return (scale * gradbag.segment_mean(t, [0, 5, 5], [0, 0, 1]) ** 2).sum()

        return gradbag.grad(lambda t: (gradbag.grad(loss)(t) ** 2).sum())(table)

    scales = [float(s) for s in range(1, 30)]
    for answer, scale in zip(at_once(gradient, scales), scales * THREADS, strict=True):
        np.testing.assert_allclose(answer, gradient(1.0) * scale**2, rtol=1e-12)


@pytest.mark.skipif(not eager.available(), reason="the native kernels are not installed")
def test_a_kernel_lets_other_threads_run() -> None:
    data = np.ones((1 << 16, 64), np.float32)
    indices = np.random.default_rng(0).integers(0, len(data), 1 << 19)
    segment_ids = np.arange(len(indices), dtype=np.int64) // 4

    def longest_pause() -> tuple[float, float]:
        """How long the kernel ran, and the longest time that this thread had to wait meanwhile."""
        seconds = []

        def work() -> None:
            begin = time.perf_counter()
            raw_ops.SparseSegmentSum(data=data, indices=indices, segment_ids=segment_ids)
            seconds.append(time.perf_counter() - begin)

        worker = threading.Thread(target=work)
        pause, last = 0.0, time.perf_counter()
        worker.start()
        while worker.is_alive():
            now = time.perf_counter()
            pause, last = max(pause, now - last), now
        return seconds[0], pause

    # A busy machine may stop this thread too, so one good run of several is proof enough.
    runs = [longest_pause() for _ in range(5)]
    assert any(pause < seconds / 2 for seconds, pause in runs), runs
