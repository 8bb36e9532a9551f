"""Run tests on a gradbag of which some modules are replaced by broken ones, in a process of its own.

The report, a JSON file, names the test that is running and the one that failed; a crash leaves it as it was then.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib.abc import MetaPathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

import pytest


class Replacements(MetaPathFinder):
    """Finds the replaced modules before anything else can, compiled ones included."""

    def __init__(self, paths: dict[str, str]) -> None:
        self.paths = paths

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return spec_from_file_location(name, self.paths[name]) if name in self.paths else None


class Reporter:
    """A pytest plugin: keeps the tests that are about some ops, and tells how they went."""

    def __init__(self, ops: set[str], path: Path) -> None:
        self.ops, self.path = ops, path
        self.tests = {"running": "", "failed": ""}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if op_of(item) in self.ops]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._tell(running=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._tell(failed=report.nodeid)

    def _tell(self, **tests: str) -> None:
        self.tests.update(tests)
        self.path.write_text(json.dumps(self.tests), encoding="utf-8")


def op_of(item: pytest.Item) -> str | None:
    """The name of the op that a test of the registry is about."""
    callspec = getattr(item, "callspec", None)
    return getattr(callspec.params.get("op"), "name", None) if callspec is not None else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replace", action="append", default=[], metavar="MODULE=FILE")
    parser.add_argument("--ops", required=True, help="names, with commas between them")
    parser.add_argument("--without", action="append", default=[], metavar="TEST")
    parser.add_argument("--report", required=True, type=Path)
    parser.add_argument("tests", nargs="+")
    given = parser.parse_args()
    sys.meta_path.insert(0, Replacements(dict(pair.split("=", 1) for pair in given.replace)))
    reporter = Reporter(set(given.ops.split(",")), given.report)
    without = [f"--deselect={test}" for test in given.without]
    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *without, *given.tests], plugins=[reporter]))


if __name__ == "__main__":
    sys.exit(main())
