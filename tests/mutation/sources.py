"""Mutants made by changing a source file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from native import units
from table import NATIVE, NUMPY

from gradbag.spec import Op, registry

KERNEL_TESTS = tuple(f"tests/registry/test_{name}.py" for name in ("rejects", "examples", "kernels"))


@dataclass(frozen=True)
class SourceMutant:
    """A file with one place changed. C++ is seen by one translation unit; Python takes the place of a module."""

    file: str
    original: str
    broken: str
    breaks: str
    unit: str = ""
    module: str = ""
    tests: tuple[str, ...] = KERNEL_TESTS

    @property
    def name(self) -> str:
        return f"{self.file.removeprefix('src/gradbag/')}: {self.breaks}"

    @property
    def pattern(self) -> re.Pattern[str]:
        """The original with any white space between its words, for formatters move words to other lines."""
        return re.compile(r"\s+".join(re.escape(word) for word in self.original.split()))

    def text(self, root: Path) -> str:
        return self.pattern.sub(lambda _: self.broken, (root / self.file).read_text(encoding="utf-8"), count=1)


def source_mutants() -> Iterator[SourceMutant]:
    for (file, unit), edits in NATIVE.items():
        for original, broken, breaks in edits:
            yield SourceMutant(file, original, broken, breaks, unit=unit)
    for file, edits in NUMPY.items():
        module = ".".join(Path(file).relative_to("src").with_suffix("").parts)
        for original, broken, breaks in edits:
            yield SourceMutant(file, original, broken, breaks, module=module)


def affected_ops(mutant: SourceMutant) -> list[Op]:
    """The ops that can tell the difference; all, if that is not known."""
    if mutant.module:
        found = [op for op in registry if mutant.module in _modules(op)]
    else:
        # A translation unit begins with the name of the module that declares its ops.
        categories = {op.category for op in registry if mutant.unit.startswith(op.category)}
        found = [op for op in registry if categories and op.category == max(categories, key=len)]
    return found or list(registry)


def _modules(op: Op) -> set[str]:
    """Where an op's body is defined, and where what it may call comes from."""
    return {op.body.__module__, *(getattr(v, "__module__", "") or "" for v in op.body.__globals__.values())}


def table_faults(root: Path) -> list[str]:
    """Entries that do not fit the sources as they are now, and kernels without an entry."""
    faults = []
    for mutant in source_mutants():
        path = root / mutant.file
        count = len(mutant.pattern.findall(path.read_text(encoding="utf-8"))) if path.exists() else 0
        if count != 1:
            faults.append(f"{mutant.file}: found {count} times instead of once: {mutant.original}")
    headers = {str(p.relative_to(root)) for p in (root / "csrc" / "kernels").glob("*.hpp")}
    faults += [f"{file}: no mutant breaks it" for file in sorted(headers - {file for file, _ in NATIVE})]
    faults += [f"csrc/bind/{u}.cpp: no mutant is compiled" for u in units(root) if u not in {u for _, u in NATIVE}]
    return faults
