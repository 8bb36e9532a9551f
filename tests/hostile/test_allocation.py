"""Every allocation may fail: the answer is a MemoryError or the right numbers, never a signal."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gradbag import eager

from .conftest import HERE, command

compiler = shutil.which("cc")


@pytest.mark.skipif(compiler is None or not eager.available(), reason="needs kernels, and a C compiler")
def test_any_allocation_of_any_op_may_fail(tmp_path: Path) -> None:
    library = tmp_path / "failing.so"
    subprocess.run([compiler or "cc", "-O1", "-shared", "-fPIC", "-o", library, HERE / "failing.c", "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command("failing.py"), env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    calls = 0
    for line in done.stdout.splitlines():
        told = json.loads(line)
        outcomes = {name: count for name, count in told.items() if name not in ("op", "entries", "known")}
        assert set(outcomes) <= {"right", "MemoryError"}, told
        calls += sum(outcomes.values())
    assert calls > 1000
