"""What `make test-mutation` breaks is marked in the sources; a marker and what the table tells of it go together."""

import importlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Faults = Callable[[Path], list[str]]


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    monkeypatch.syspath_prepend(ROOT / "tests/mutation")
    found: Faults = importlib.import_module("sources").table_faults
    return found


def test_markers_and_the_table_of_mutants_agree(faults: Faults) -> None:
    assert faults(ROOT) == []


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("  # mutant: largest", "", "'largest' stands 0 times"),
        ("  # mutant: largest", "  # mutant: none left", "'none left' stands 2 times"),
        ("  # mutant: largest", "  # mutant: unheard", "nothing is told of the marker 'unheard'"),
        ("elements > LARGEST", "elements > 1", "'largest' changes nothing"),
    ],
)
def test_a_marker_that_does_not_fit_is_named(
    faults: Faults, tmp_path: Path, before: str, after: str, fault: str
) -> None:
    for folder in ("csrc", "src/gradbag/ops"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    path = tmp_path / "src/gradbag/ops/slice.py"
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, after), encoding="utf-8")
    assert fault in "\n".join(faults(tmp_path))
