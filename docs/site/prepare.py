"""Gather the sources of the site: `python docs/site/prepare.py FOLDER`. Ops come from their declarations."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

import gradbag
from gradbag import opdocs
from gradbag.spec import Op, registry

HERE = Path(__file__).parent
DOCS, ROOT = HERE.parent, HERE.parent.parent
API = ["gradbag", "gradbag.graph", "gradbag.page", "gradbag.optim", "gradbag.table"]
API += ["gradbag.vocabulary", "gradbag.hashing"]
_LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def main() -> None:
    target = Path(sys.argv[1])
    shutil.rmtree(target, ignore_errors=True)
    (target / "ops").mkdir(parents=True)
    (target / "guides").mkdir()
    (target / "_static").mkdir()
    for name in ("conf.py", "index.md", "start.md"):
        shutil.copy(HERE / name, target / name)
    shutil.copy(DOCS / "studio" / "gradient.png", target / "_static" / "studio.png")
    guides = sorted(DOCS.glob("*.md"))
    for guide in guides:
        text = _within(guide.read_text("utf-8"), {g.name for g in guides})
        (target / "guides" / guide.name).write_text(text, "utf-8")
    toctree = "\n".join(f"guides/{guide.stem}" for guide in guides)
    (target / "guides.md").write_text(f"# Guides\n\n```{{toctree}}\n:maxdepth: 1\n\n{toctree}\n```\n", "utf-8")
    (target / "changelog.md").write_text(_within((ROOT / "CHANGELOG.md").read_text("utf-8"), set()), "utf-8")
    ops = sorted(registry, key=lambda op: op.name)
    for op in ops:
        _execute(op)
        (target / "ops" / f"{op.name}.md").write_text(opdocs.markdown(op), "utf-8")
    (target / "ops" / "index.md").write_text(_op_index(ops), "utf-8")
    modules = "\n".join(f"   {name}" for name in API)
    text = f"API reference\n=============\n\n.. autosummary::\n   :toctree: api\n\n{modules}\n"
    (target / "api.rst").write_text(text, "utf-8")
    print(f"{len(ops)} ops, {len(guides)} guides in {target}")


def _within(text: str, known: set[str]) -> str:
    """Links to what the site does not have become text."""

    def judged(link: re.Match[str]) -> str:
        label, place, _ = link.groups()
        return link[0] if place.startswith("http") or place in known else label

    return _LINK.sub(judged, text)


def _execute(op: Op) -> None:
    """The example of a page, as a reader would run it: what is printed there must come out."""
    if not opdocs.runs_alone(op):
        return
    names: dict[str, Any] = {"gradbag": gradbag, "np": np}
    code = "\n".join([*opdocs.example_before(op), f"answer = {opdocs.example_call(op)}"])
    exec(code, names)  # noqa: S102  # our own words
    if names["answer"] is not None and opdocs.show(names["answer"]) != opdocs.example_answer(op):
        raise SystemExit(f"{op.name}: the page says {opdocs.example_answer(op)}, the call {names['answer']}")


def _op_index(ops: list[Op]) -> str:
    rows = "\n".join(f"| [{op.name}]({op.name}.md) | {opdocs.summary(op)} |" for op in ops)
    names = "\n".join(op.name for op in ops)
    return f"# Ops\n\n| op | what it does |\n|---|---|\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"


if __name__ == "__main__":
    main()
