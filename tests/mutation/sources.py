"""Mutants made by changing a marked line of a source file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from table import FEWER_TYPES, MUTANTS

from gradbag.spec import Op
from gradbag.testing import compiled_ops, native_ops

KERNEL_TESTS = tuple(f"tests/registry/test_{name}.py" for name in ("rejects", "examples", "kernels"))
SHORTCUT_TESTS = ("tests/registry/test_shortcuts.py",)  # sure to reach one, and quickly
MARKED = re.compile(r"^(?P<code>.*?) *(?://|#) mutant: (?P<marker>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class SourceMutant:
    """A file with a line changed. C++ is seen by one translation unit; Python takes the place of a module."""

    file: str
    marker: str
    old: str
    new: str
    breaks: str
    unit: str

    @property
    def name(self) -> str:
        return f"{self.file.removeprefix('src/gradbag/')}: {self.breaks}"

    @property
    def module(self) -> str:
        return "" if self.unit else ".".join(Path(self.file).relative_to("src").with_suffix("").parts)

    @property
    def tests(self) -> tuple[str, ...]:
        return SHORTCUT_TESTS if self.unit == "shortcut" else KERNEL_TESTS

    def text(self, root: Path) -> str:
        return edited((root / self.file).read_text(encoding="utf-8"), self.marker, self.old, self.new)


def edited(text: str, marker: str, old: str, new: str) -> str:
    """A text with something else in, or as, the line that bears a marker."""

    def change(line: re.Match[str]) -> str:
        if line["marker"] != marker:
            return line[0]
        return line["code"].replace(old, new) if old else new

    return MARKED.sub(change, text)


def marked_lines(root: Path) -> Iterator[tuple[str, str, str]]:
    """Every marker with its file and the code of its line."""
    for path in sorted([*(root / "csrc").rglob("*.[ch]pp"), *(root / "src/gradbag").rglob("*.py")]):
        for line in MARKED.finditer(path.read_text(encoding="utf-8")):
            yield line["marker"], path.relative_to(root).as_posix(), line["code"]


def source_mutants(root: Path) -> list[SourceMutant]:
    files = {marker: file for marker, file, _ in marked_lines(root)}
    return [
        SourceMutant(files[marker], marker, old, new, breaks, unit)
        for unit, edits in MUTANTS.items()
        for marker, old, new, breaks in edits
    ]


def with_fewer_types(root: Path) -> dict[str, str]:
    """The sources that list the element types, with fewer of them."""
    files = {marker: file for marker, file, _ in marked_lines(root)}
    texts = {files[edit[0]]: (root / files[edit[0]]).read_text(encoding="utf-8") for edit in FEWER_TYPES}
    for marker, old, new in FEWER_TYPES:
        texts[files[marker]] = edited(texts[files[marker]], marker, old, new)
    return texts


def affected_ops(mutant: SourceMutant) -> list[Op]:
    """The ops that can tell the difference; all, if that is not known."""
    if mutant.unit in BY_RULES:
        return compiled_ops()
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


# Translation units of which the kernels are called by rules of ops, and by nothing else.
BY_RULES = {"row_moves", "segment_fold", "segment_softmax", "sparse_places"}
# Called by TensorFlow alone, and compared with its own kernels there; the suites that mutants are run with have none.
ELSEWHERE = {"first_come"}


def table_faults(root: Path) -> list[str]:
    """Markers without an edit, edits that do not fit one marked line, and kernels without a mutant."""
    edits = [*FEWER_TYPES, *(edit[:3] for unit in MUTANTS.values() for edit in unit)]
    marked = list(marked_lines(root))
    places = Counter(marker for marker, *_ in marked)
    faults = [f"{file}: nothing is told of the marker {m!r}" for m, file, _ in marked if m not in {e[0] for e in edits}]
    faults += [f"the marker {m!r} stands {places[m]} times instead of once" for m, *_ in edits if places[m] != 1]
    if faults:
        return faults
    lines = {marker: code for marker, _, code in marked}
    for marker, old, new in edits:
        code = lines[marker].strip()
        if (code.count(old) != 1 or old == new) if old else code == new:
            faults.append(f"{marker!r} changes nothing, or has more than one {old!r} to change: {code}")
    mutants = source_mutants(root)
    headers = {p.relative_to(root).as_posix() for p in (root / "csrc/kernels").glob("*.hpp") if p.stem not in ELSEWHERE}
    faults += [f"{file}: no mutant breaks it" for file in sorted(headers - {m.file for m in mutants})]
    units = {p.stem for p in (root / "csrc/families").glob("*.cpp") if (root / f"csrc/kernels/{p.stem}.hpp").exists()}
    faults += [f"csrc/families/{unit}.cpp: no mutant breaks it" for unit in sorted(units - MUTANTS.keys() - ELSEWHERE)]
    return faults
