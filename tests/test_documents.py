"""What the README, its pages and CONTRIBUTING show is what happens, and what the documents name is there."""

import ast
import doctest
import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from gradbag import raw_ops
from gradbag.spec import registry
from gradbag.testing import assert_gradient, cases

ROOT = Path(__file__).parents[1]
FRAMEWORKS = ("import torch", "import tensorflow", "import jax")  # whose blocks run where they are installed


def python_blocks(name: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize(("document", "examples"), [("README.md", 0), ("docs/numpy.md", 14), ("docs/graphs.md", 11)])
def test_a_document_runs_as_printed(document: str, examples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # it opens a file of the examples
    names: dict[str, object] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    blocks = [block for block in python_blocks(document) if not any(line in block for line in FRAMEWORKS)]
    assert blocks
    for number, block in enumerate(blocks):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, names, f"{document} block {number}", document, 0)
            runner.run(test, clear_globs=False)
            names.update(test.globs)
        else:
            exec(compile(block, document, "exec"), names)  # noqa: S102  # our own text
    results = runner.summarize(verbose=False)
    assert results.failed == 0
    assert results.attempted >= examples
    if document == "README.md":  # as its comment says
        assert repr(names["g"]) == "RowGrad(3 of 1000 rows, shape=(1000, 16), dtype=float32)"


def test_the_readme_is_a_page_and_a_half() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 90


def test_the_op_of_contributing_works_as_declared(tmp_path: Path) -> None:
    source = next(block for block in python_blocks("CONTRIBUTING.md") if "@op(" in block)
    path = tmp_path / "scale_rows.py"
    path.write_text(source, encoding="utf-8")
    specification = importlib.util.spec_from_file_location("scale_rows", path)
    assert specification is not None
    assert specification.loader is not None
    before = {op.name for op in registry}
    try:
        specification.loader.exec_module(importlib.util.module_from_spec(specification))
        (name,) = {op.name for op in registry} - before
        op = registry[name]
        answer = getattr(raw_ops, name)(**op.example.inputs)
        assert answer.tolist() == op.example.outputs["output"]
        assert sum(assert_gradient(case) for case in cases(op, {"T": "float64"})) >= 8
        with pytest.raises(ValueError, match=op.rejects[0].message):
            getattr(raw_ops, name)(**{**op.example.inputs, **op.rejects[0].change})
    finally:
        for name in {op.name for op in registry} - before:
            registry.remove(name)


# ------------------------------------------------------------------ names
PACKAGE = ROOT / "src/gradbag"
SOURCES = ("src/gradbag/**/*.py", "csrc/**/*.[hc]*", "web/src/**/*.ts*")
PATH = re.compile(r"[\w.*/-]+/[\w.*/-]*|[\w-]+\.(?:py|pyi|hpp|h|cpp|md|tsx?|toml)")


def test_what_the_architecture_names_is_there() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    assert 200 <= len(text.splitlines()) <= 300
    assert len(named(text)) >= 150
    assert unknown(text) == []


def test_a_name_that_is_not_there_is_found() -> None:
    wrong = ["src/gradbag/nowhere.py", "eager.run_away", "spec.Op.fly", "csrc/call/abi.h:gradbag_fly", "flyingBuffalo"]
    right = ["src/gradbag/spec.py", "eager.run", "spec.Op.infer", "csrc/call/abi.h:gradbag_fill", "lane_of", "x + y"]
    text = " ".join(f"`{name}`" for name in [*wrong, *right])
    assert unknown(f"```\n`left/out.py`\n```\n{text} [gone](gone.md) [web](https://example.org)") == [*wrong, "gone.md"]


@pytest.mark.parametrize(
    "name",
    ["README.md", "CONTRIBUTING.md"]
    + [f"docs/{name}.md" for name in ("differences", "frameworks", "graphs", "kernels", "migration", "numpy", "speed")]
    + ["docs/studio.md", "docs/vocabulary.md"],
)
def test_the_files_that_a_document_names_are_there(name: str) -> None:
    found = [word for word in unknown((ROOT / name).read_text(encoding="utf-8"), name) if PATH.fullmatch(word)]
    assert [word for word in found if "scale_rows" not in word] == []  # the example's own


def named(text: str) -> list[str]:
    """What stands in backticks, code blocks aside."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def unknown(text: str, document: str = "docs/architecture.md") -> list[str]:
    """The names in backticks that nothing has, and the links that lead nowhere."""
    links = [link for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in link]
    folder = (ROOT / document).parent
    return [name for name in named(text) if not is_there(name)] + [k for k in links if not (folder / k).exists()]


def is_there(name: str) -> bool:
    """A path, `path:name`, `module.name`, or a word of the sources; what is none of these is not judged."""
    path, colon, inside = name.partition(":")
    if PATH.fullmatch(path):
        files = [file for root in (ROOT, PACKAGE) for file in root.glob(path.strip("/"))]
        files = files or ([] if "/" in path else list((ROOT / "csrc").rglob(path)))
        return any(not colon or re.search(rf"\b{inside}\b", file.read_text(encoding="utf-8")) for file in files)
    if re.fullmatch(r"[a-z_]\w*(\.\w+)+", name):
        return attribute_is_there(name.removeprefix("gradbag.").split("."))
    return name in words() if re.fullmatch(r"\w+", name) else True


def attribute_is_there(parts: list[str]) -> bool:
    """Looked up in the text, since a module may need a framework that is not installed."""
    for count in range(len(parts), 0, -1):
        stem = PACKAGE.joinpath(*parts[:count])
        for file in (stem.with_suffix(".py"), stem / "__init__.py"):
            if file.is_file():
                body: list[ast.stmt] = ast.parse(file.read_text(encoding="utf-8")).body
                for name in parts[count:]:
                    found = dict(members(body))
                    if name not in found:
                        break
                    body = found[name]
                else:
                    return True
    return False


def members(body: list[ast.stmt]) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The names that statements bind, each with the statements inside it."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield statement.name, statement.body
            if statement.name == "__init__":
                yield from members(statement.body)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name, []) for alias in statement.names)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            for node in ast.walk(statement):
                if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
                    yield node.id if isinstance(node, ast.Name) else node.attr, []


@cache
def words() -> set[str]:
    """Every word of the sources."""
    return {
        word
        for pattern in SOURCES
        for path in ROOT.glob(pattern)
        for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))
    }
