"""A real server in a process of its own, and clients that may say anything to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .served import Served

Start = Callable[..., Served]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """To start a server of one's own takes a second or two."""
    for item in items:
        if "start" in getattr(item, "fixturenames", ()) and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests of a file that do it no harm."""
    base = tmp_path_factory.mktemp("studio")
    (base / "pages").mkdir()
    server = Served(base / "pages", base / "state")
    yield server
    server.end()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Servers with limits of their own; the folder stays the same when one follows another."""
    (tmp_path / "pages").mkdir()
    running: list[Served] = []

    def begin(folder: Path | None = None, **settings: Any) -> Served:
        running.append(Served(folder or tmp_path / "pages", tmp_path / "state", **settings))
        return running[-1]

    yield begin
    for server in running:
        server.end()


@pytest.fixture
def python_in_worker() -> Callable[[str], str]:
    """Evaluate something in a process that is confined as a worker is, and give what it says on its way down."""

    def run(expression: str) -> str:
        program = f"from gradbag.studio.worker import confine\nconfine(1 << 30)\n{expression}\n"
        return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60).stderr

    return run
