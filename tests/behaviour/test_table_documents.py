"""The pages about tables show what happens, and the example of an n-gram table learns and goes on."""

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gradbag import FileTable

ROOT = Path(__file__).parents[2]


def test_the_page_about_tables_runs_as_printed() -> None:
    answer = doctest.testfile(
        str(ROOT / "docs/tables.md"), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert answer.attempted > 20
    assert answer.failed == 0


@pytest.mark.parametrize("name", ["table", "growing", "file_table", "quantized"])
def test_the_examples_of_the_classes_run_as_printed(name: str) -> None:
    answer = doctest.testmod(importlib.import_module(f"gradbag.table.{name}"))
    assert answer.attempted >= 4
    assert answer.failed == 0


def test_the_page_about_ngrams_runs() -> None:
    text = (ROOT / "docs/ngram_tables.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(block, "ngram_tables.md", "exec"), names)  # noqa: S102  # our own text
    assert np.shape(names["hidden"]) == (18, 32)


def test_the_files_that_the_pages_name_are_there() -> None:
    for page in ("tables.md", "ngram_tables.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
        assert links
        for link in [*links, "../benchmarks/file_table.py"]:
            assert (ROOT / "docs" / link).exists(), link


def example(folder: Path, steps: int) -> list[float]:
    settings = f"--rows 65536 --columns 8 --batch 256 --words 3000 --every 10 --steps {steps}".split()
    command = [sys.executable, str(ROOT / "examples/ngram_table.py"), "--folder", str(folder), *settings]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(loss) for loss in re.findall(r"loss ([\d.]+)", answer.stdout)]


def test_the_example_learns_and_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    losses = example(straight, 60)
    assert len(losses) == 6
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.5 * losses[0]
    assert example(stopped, 20) + example(stopped, 60) == losses
    with FileTable.open(straight / "ngrams") as one, FileTable.open(stopped / "ngrams") as other:
        rows = np.arange(one.rows)
        assert one.step_count == other.step_count == 60
        assert one.read(rows).tobytes() == other.read(rows).tobytes()
    for folder in (straight, stopped):
        assert sorted(path.name for path in folder.iterdir()) == ["ngrams", "ngrams.journal", "scores-60.npz"]
