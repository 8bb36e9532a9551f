"""Processes that may die: hostile inputs are answered in a child, so that a crash or a hang names its case."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gradbag import eager

HERE = Path(__file__).parent
POISON = 165  # glibc fills fresh memory with the complement, 0x5A: as a float32, 1.5365221879119872e+16
SECONDS_PER_CASE = 5.0
SECONDS_TO_START = 60.0
# Poison, limits and the measuring of memory are Linux's own.
collect_ignore_glob = [] if sys.platform == "linux" else ["test_*.py"]

Case = dict[str, Any]
Answer = dict[str, Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.hostile)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The score of the corpus, as one line, and who earned it."""
    passed, failed = (
        sum("::test_is_answered_as_stated[" in report.nodeid for report in terminalreporter.stats.get(outcome, []))
        for outcome in ("passed", "failed")
    )
    if passed + failed:
        by = "native kernels" if eager.available() else "NumPy bodies"
        terminalreporter.write_line(f"hostile corpus: {passed} of {passed + failed} cases answered as stated, by {by}")


def command(script: str, *args: str) -> list[str]:
    return [sys.executable, str(HERE / script), *args]


def environment(poison: int = POISON) -> dict[str, str]:
    """Fresh memory is filled with a byte; glibc's cache of freed blocks, which is handed out as it is, is off."""
    poisoned = {"MALLOC_PERTURB_": str(poison), "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
    # One BLAS thread: on a large machine their stacks alone would fill the address space that the child may use.
    return {**os.environ, **poisoned, "OPENBLAS_NUM_THREADS": "1"}


class Worker:
    """A process that answers cases one after the other. One that dies of a case, or hangs, is replaced."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.seconds = SECONDS_PER_CASE
        self._answered: list[str] = []

    def ask(self, case: Case) -> Answer:
        answer = self._try(case)
        if isinstance(answer, dict):
            return answer
        before = self._answered[-5:]
        again = self._try(case)
        if isinstance(again, dict):
            answer += f"; alone it is answered, so look at those before it: {before}"
        pytest.fail(f"{case['id']}: the process {answer}")

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
        self.process = None
        self._answered = []

    def _try(self, case: Case) -> Answer | str:
        """The answer, or what became of the process instead."""
        if self.process is None:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(command("worker.py"), stdin=pipe, stdout=pipe, env=environment())
            assert self._line(SECONDS_TO_START) == "ready"
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(case).encode() + b"\n")
            self.process.stdin.flush()
            answer = self._line(self.seconds)
        except (EOFError, BrokenPipeError):
            answer = f"ended with {self.process.wait()} (a negative number is a signal)"
        except TimeoutError:
            answer = f"gave no answer in {self.seconds} s"
        else:
            self._answered.append(case["id"])
            decoded: Answer = json.loads(answer)
            return decoded
        self.close()
        return answer

    def _line(self, seconds: float) -> str:
        assert self.process is not None
        assert self.process.stdout is not None
        pipe, deadline, read = self.process.stdout.fileno(), time.monotonic() + seconds, b""
        while not read.endswith(b"\n"):
            if not select.select([pipe], [], [], max(deadline - time.monotonic(), 0.0))[0]:
                raise TimeoutError
            part = os.read(pipe, 1 << 16)
            if not part:
                raise EOFError
            read += part
        return read.decode().rstrip("\n")


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    """Shared by many cases, for speed."""
    made = Worker()
    yield made
    made.close()


@pytest.fixture
def fresh_worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


@pytest.fixture(scope="session")
def run_script() -> Callable[..., list[str]]:
    """Run a script of this folder to its end and give the lines it printed; its last line names what killed it."""

    def run(script: str, *args: str, poison: int = POISON, seconds: float = 60.0) -> list[str]:
        try:
            done = subprocess.run(
                command(script, *args), env=environment(poison), capture_output=True, text=True, timeout=seconds
            )
        except subprocess.TimeoutExpired as late:
            last = (late.stdout or b"").decode().splitlines()[-1:]
            pytest.fail(f"{script} {args} not done in {seconds} s, at {last}")
        lines = done.stdout.splitlines()
        if done.returncode != 0:
            pytest.fail(f"{script} {args} ended with {done.returncode} at {lines[-1:]}\n{done.stderr}")
        return lines

    return run
