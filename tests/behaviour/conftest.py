"""Fresh interpreters, for what depends on which modules are there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def python() -> Run:
    """Run a program in an interpreter of its own, in which the `blocked` modules cannot be imported."""

    def run(
        program: str,
        *arguments: str,
        blocked: Sequence[str] = (),
        path: Sequence[Path] = (),
        stdout: int = subprocess.PIPE,
        seconds: float = 120.0,
    ) -> subprocess.CompletedProcess[str]:
        block = f"import sys; sys.modules.update(dict.fromkeys({list(blocked)!r}))\n"
        folders = [*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        return subprocess.run(
            [sys.executable, "-c", block + program, *arguments],
            env={**inherited, "PYTHONPATH": os.pathsep.join(folders)},
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=seconds,
        )

    return run
