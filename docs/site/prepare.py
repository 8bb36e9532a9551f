"""Gather the sources of the site: `python docs/site/prepare.py FOLDER`. Ops come from their declarations."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from op_pages import OpPages

from gradbag import opdocs
from gradbag.spec import Op, registry

HERE = Path(__file__).parent
DOCS, ROOT = HERE.parent, HERE.parent.parent
API = ["gradbag", "gradbag.graph", "gradbag.page", "gradbag.optim", "gradbag.table"]
API += ["gradbag.vocabulary", "gradbag.hashing"]
# The guides as one would read them; what is not named here comes behind.
ORDER = ["numpy", "frameworks", "pytorch", "tensorflow", "migration", "bags", "vocabulary", "optimizers", "tables"]
ORDER += [
    "ngram_tables",
    "sharding",
    "sparse",
    "graphs",
    "saved_graphs",
    "studio",
    "recommender",
    "speed",
    "differences",
]
_LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def main() -> None:
    target = Path(sys.argv[1])
    shutil.rmtree(target, ignore_errors=True)
    (target / "ops").mkdir(parents=True)
    (target / "guides").mkdir()
    (target / "_static").mkdir()
    for name in ("conf.py", "index.md", "start.md", "wrong.md"):
        shutil.copy(HERE / name, target / name)
    shutil.copy(HERE / "search_label.js", target / "_static")
    shutil.copy(DOCS / "studio" / "gradient.png", target / "_static" / "studio.png")
    guides = sorted(DOCS.glob("*.md"))
    known = {g.name for g in guides}
    for folder in ("studio", "benchmarks"):
        shutil.copytree(DOCS / folder, target / "guides" / folder, ignore=shutil.ignore_patterns("*.json"))
        known |= {f"{folder}/{picture.name}" for picture in (target / "guides" / folder).iterdir()}
    for guide in guides:
        text = _within(guide.read_text("utf-8"), known)
        (target / "guides" / guide.name).write_text(text, "utf-8")
    ordered = [*ORDER, *sorted({guide.stem for guide in guides} - set(ORDER))]
    toctree = "\n".join(f"guides/{name}" for name in ordered)
    (target / "guides.md").write_text(f"# Guides\n\n```{{toctree}}\n:maxdepth: 1\n\n{toctree}\n```\n", "utf-8")
    (target / "changelog.md").write_text(_within((ROOT / "CHANGELOG.md").read_text("utf-8"), set()), "utf-8")
    ops = sorted(registry, key=lambda op: op.name)
    pages = OpPages()
    for op in ops:
        pages.write(op, target / "ops")
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


def _op_index(ops: list[Op]) -> str:
    rows = "\n".join(f"| [{op.name}]({op.name}.md) | {opdocs.summary(op)} |" for op in ops)
    names = "\n".join(op.name for op in ops)
    return f"# Ops\n\n| op | what it does |\n|---|---|\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"


if __name__ == "__main__":
    main()
