"""Records of `gradbag.capture` in files and on the terminal; what made them is tested in the frameworks' folders."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import capturing
from gradbag.capturing.summary import largest_rows, never_touched, steps_of


def recorded() -> capturing.Seen:
    seen = capturing.Seen()
    seen.add_table("items", 20, 2, "float32")
    seen.add_table("unused", 5, 1, "float64")
    rng = np.random.default_rng(3)
    for _ in range(3):
        seen.looked_up("items", np.array([3, 17, 3, 9]), np.array([0, 3, 3]), rng.normal(size=(3, 2)), None)
        rows = np.zeros((20, 2), np.float32)
        rows[[3, 9, 17]] = [[1, 2], [30, 40], [np.nan, 0]]
        seen.graded("items", None, rows)
    return seen


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    seen = recorded()
    seen.save(tmp_path / "seen.gbcap")
    again = capturing.files.load(tmp_path / "seen.gbcap")
    assert again.count == 3
    assert steps_of(again, "items") == steps_of(seen, "items")
    assert never_touched(again, "items") == [(0, 3), (4, 9), (10, 17), (18, 20)]
    assert largest_rows(again.steps[1], "items", 9) == largest_rows(seen.steps[1], "items", 9)
    again.save(tmp_path / "again.gbcap")
    assert (tmp_path / "again.gbcap").read_bytes() == (tmp_path / "seen.gbcap").read_bytes()


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    recorded().report(2)
    said = capsys.readouterr().out
    assert "3 steps, 3 of them kept" in said
    assert "never looked up in items: 0 to 2, 4 to 8, 10 to 16, 18 to 19" in said
    assert "the largest gradients of items in step 2" in said
    lines = [line.split() for line in said.splitlines() if line.strip().startswith(("17 ", "9 ", "3 "))]
    assert [line[0] for line in lines[-3:]] == ["17", "9", "3"]  # what is not finite comes first
    with pytest.raises(gradbag.InvalidArgumentError, match="step must be one that is kept: 1 to 3; got 4"):
        recorded().report(4)


def change(told: dict[str, Any], *way: Any) -> None:
    *path, last, value = way
    for part in path:
        told = told[part]
    told[last] = value


@pytest.mark.parametrize(
    "way",
    [
        ("format", "gradbag-capture/9"),
        ("count", -1),
        ("tables", 0, "rows", 10**12),
        ("tables", 0, "bits", 999),
        ("steps", 0, "lookups", {"nobody": []}),
        ("steps", 0, "lookups", "items", 0, "ids", "../x"),
        ("steps", 0, "lookups", "items", 0, "offsets", 2),
        ("steps", 0, "gradients", "items", 0, "norms", 0),
        ("steps", 7),
    ],
    ids=str,
)
def test_a_damaged_file_is_refused(way: tuple[Any, ...], tmp_path: Path) -> None:
    recorded().save(tmp_path / "seen.gbcap")
    with zipfile.ZipFile(tmp_path / "seen.gbcap") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    told = json.loads(parts["capture.json"])
    change(told, *way)
    parts["capture.json"] = json.dumps(told).encode()
    with zipfile.ZipFile(tmp_path / "bad.gbcap", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(gradbag.InvalidArgumentError, match=r"bad\.gbcap is no record of gradbag\.capture: "):
        capturing.files.load(tmp_path / "bad.gbcap")


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.gbcap").write_bytes(b"nothing")
    with pytest.raises(gradbag.InvalidArgumentError, match=r"x\.gbcap is no record"):
        capturing.files.load(tmp_path / "x.gbcap")
