"""What the fuzzer has found once is tried again: `make fuzz` keeps its findings in tests/fuzz/cases."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

FUZZ = Path(__file__).parent.parent / "fuzz"
KEPT = sorted((FUZZ / "cases").glob("*.json"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_former_finding_is_answered(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Any] = json.loads(path.read_text())
    monkeypatch.syspath_prepend(str(FUZZ))
    spec = importlib.util.spec_from_file_location(f"fuzz_{kept['part']}", FUZZ / f"{kept['part']}.py")
    assert spec is not None
    assert spec.loader is not None
    part = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, part)
    spec.loader.exec_module(part)
    assert part.judge(kept["case"]) is None
