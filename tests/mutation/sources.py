"""Mutants made by changing a source file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from table import FEWER_TYPES, NATIVE, NUMPY

from gradbag.spec import Op
from gradbag.testing import native_ops

KERNEL_TESTS = tuple(f"tests/registry/test_{name}.py" for name in ("rejects", "examples", "kernels"))
SHORTCUT_TESTS = ("tests/registry/test_shortcuts.py",)  # sure to reach one, and quickly


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

    def text(self, root: Path) -> str:
        text = (root / self.file).read_text(encoding="utf-8")
        return _pattern(self.original).sub(lambda _: self.broken, text)


def source_mutants() -> Iterator[SourceMutant]:
    for (file, unit), edits in NATIVE.items():
        for original, broken, breaks in edits:
            tests = SHORTCUT_TESTS if unit == "shortcut" else KERNEL_TESTS
            yield SourceMutant(file, original, broken, breaks, unit=unit, tests=tests)
    for file, edits in NUMPY.items():
        module = ".".join(Path(file).relative_to("src").with_suffix("").parts)
        for original, broken, breaks in edits:
            yield SourceMutant(file, original, broken, breaks, module=module)


def with_fewer_types(root: Path) -> dict[str, str]:
    """The sources that list the element types, with fewer of them."""
    texts = {file: (root / file).read_text(encoding="utf-8") for file in FEWER_TYPES}
    for file, edits in FEWER_TYPES.items():
        for all_types, some_types in edits:
            texts[file] = _pattern(all_types).sub(lambda _, some=some_types: some, texts[file])
    return texts


def affected_ops(mutant: SourceMutant) -> list[Op]:
    """The ops that can tell the difference; all, if that is not known."""
    if mutant.module:
        found = [op for op in native_ops() if mutant.module in _modules(op)]
    else:
        # A translation unit begins with the name of the module that declares its ops.
        categories = {op.category for op in native_ops() if mutant.unit.startswith(op.category)}
        found = [op for op in native_ops() if categories and op.category == max(categories, key=len)]
    return found or native_ops()


def _modules(op: Op) -> set[str]:
    """Where an op's body is defined, and where what it may call comes from."""
    return {op.body.__module__, *(getattr(v, "__module__", "") or "" for v in op.body.__globals__.values())}


def _pattern(original: str) -> re.Pattern[str]:
    """The original with any white space between its words, for formatters move words to other lines."""
    return re.compile(r"\s+".join(re.escape(word) for word in original.split()))


def table_faults(root: Path) -> list[str]:
    """Entries that do not fit the sources as they are now, and kernels without an entry."""
    wanted = [(m.file, m.original) for m in source_mutants()]
    wanted += [(file, original) for file, edits in FEWER_TYPES.items() for original, _ in edits]
    faults = []
    for file, original in wanted:
        path = root / file
        count = len(_pattern(original).findall(path.read_text(encoding="utf-8"))) if path.exists() else 0
        if count != 1:
            faults.append(f"{file}: found {count} times instead of once: {original}")
    headers = {p.relative_to(root).as_posix() for p in (root / "csrc/kernels").glob("*.hpp")}
    faults += [f"{file}: no mutant breaks it" for file in sorted(headers - {file for file, _ in NATIVE})]
    units = {p.stem for p in (root / "csrc/bind").glob("*.cpp") if (root / f"csrc/kernels/{p.stem}.hpp").exists()}
    faults += [f"csrc/bind/{unit}.cpp: no mutant breaks it" for unit in sorted(units - {unit for _, unit in NATIVE})]
    return faults
