"""What the README and CONTRIBUTING show is what happens."""

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

from gradbag import raw_ops
from gradbag.spec import registry
from gradbag.testing import assert_gradient, cases, native_ops

ROOT = Path(__file__).parents[1]
FRAMEWORKS = ("import torch", "import tensorflow", "import jax")  # whose blocks run where they are installed


def python_blocks(name: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)


def test_the_readme_runs_as_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # it opens a file of the examples
    names: dict[str, object] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    blocks = [block for block in python_blocks("README.md") if not any(line in block for line in FRAMEWORKS)]
    assert len(blocks) >= 4
    for number, block in enumerate(blocks):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, names, f"README block {number}", "README.md", 0)
            assert test.examples
            runner.run(test, clear_globs=False)
            names.update(test.globs)
        else:
            exec(compile(block, "README.md", "exec"), names)  # noqa: S102  # our own text
    assert runner.summarize(verbose=False).failed == 0
    assert repr(names["g"]) == "RowGrad(3 of 1000 rows, shape=(1000, 16), dtype=float32)"  # as its comment says


def test_the_op_of_contributing_works_as_declared(tmp_path: Path) -> None:
    source = next(block for block in python_blocks("CONTRIBUTING.md") if "@op(" in block)
    path = tmp_path / "scale_rows.py"
    path.write_text(source, encoding="utf-8")
    specification = importlib.util.spec_from_file_location("scale_rows", path)
    assert specification is not None
    assert specification.loader is not None
    before = {op.name for op in native_ops()}
    try:
        specification.loader.exec_module(importlib.util.module_from_spec(specification))
        (name,) = {op.name for op in native_ops()} - before
        op = registry[name]
        answer = getattr(raw_ops, name)(**op.example.inputs)
        assert answer.tolist() == op.example.outputs["output"]
        assert sum(assert_gradient(case) for case in cases(op, {"T": "float64"})) >= 8
        with pytest.raises(ValueError, match=op.rejects[0].message):
            getattr(raw_ops, name)(**{**op.example.inputs, **op.rejects[0].change})
    finally:
        for name in {op.name for op in native_ops()} - before:
            registry.remove(name)
