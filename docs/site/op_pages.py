"""A page for each op: what its declaration says, its block as a drawing, and what is known of it elsewhere."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

import gradbag
from gradbag import opdocs, page
from gradbag.page.export_svg import to_svg
from gradbag.spec import Op

DOCS = Path(__file__).parent.parent
SHOWN = 8  # workloads of the last benchmark, spread over all that there are
_ROW = re.compile(r"^\| (.*) \| (.*) \| (.*) \| `?([\w*]+)`? \|$", re.MULTILINE)


class OpPages:
    """What the pages share: the differences from TensorFlow, and the last benchmark."""

    def __init__(self) -> None:
        text = (DOCS / "differences.md").read_text("utf-8")
        self.differences = [row for row in _ROW.findall(text) if row[0] != "case"]
        assert len(self.differences) >= 10
        self.bench: dict[str, Any] = json.loads((DOCS / "benchmarks" / "ratios.json").read_text("utf-8"))

    def write(self, op: Op, folder: Path) -> None:
        execute(op)
        (folder / f"{op.name}.svg").write_text(to_svg(block(op)), "utf-8")
        alt = f"The block {op.name} with its ports"
        text = opdocs.markdown(op).replace(
            " | |\n", " | what it is |\n"
        )  # a column without a name is none for a reader of screens
        parts = [text, "## Block", f"```{{image}} {op.name}.svg\n:alt: {alt}\n```"]
        parts += self._gradient(op) + self._differing(op) + self._speed(op)
        (folder / f"{op.name}.md").write_text("\n\n".join(part.strip("\n") for part in parts) + "\n", "utf-8")

    def _gradient(self, op: Op) -> list[str]:
        if op.rule is None:
            return []
        rule = textwrap.dedent(inspect.getsource(op.rule)).strip("\n")
        says = "The rule, in ops, so that it has a gradient again, in every framework:"
        return ["## Gradient", says, f"```python\n{rule}\n```"]

    def _differing(self, op: Op) -> list[str]:
        """Of the ops that stand in the table by name; arithmetic on arrays is TensorFlow's throughout."""
        own = [row for row in self.differences if row[3] != "all" and fnmatch(op.name, row[3])]
        if not own:
            return []
        rows = [f"| {case} | {theirs} | {ours} |" for case, theirs, ours, _ in own]
        return [
            "## How TensorFlow differs",
            "\n".join(["| case | TensorFlow 2.21 | gradbag |", "|---|---|---|", *rows]),
        ]

    def _speed(self, op: Op) -> list[str]:
        measured = [row for row in self.bench["rows"] if row["op"] == op.name and "seconds" in row]
        measured = measured[:: max(1, len(measured) // SHOWN)]
        if not measured:
            return []
        lines = ["| workload | gradbag | times as fast as TensorFlow | as PyTorch |", "|---|---|---|---|"]
        for row in measured:
            peers = [row["ratios"].get(peer) for peer in ("TensorFlow", "PyTorch")]
            ratios = ["" if ratio is None else f"{ratio:.1f}" for ratio in peers]
            lines.append(f"| {row['workload']} | {row['seconds']['gradbag'] * 1e3:.3g} ms | {' | '.join(ratios)} |")
        machine, versions = self.bench["machine"], self.bench["versions"]
        when = f"By `make bench` on {self.bench['date'][:10]} with gradbag {versions['gradbag']},"
        when += f" on {machine['cores']} cores ({machine['processor']})."
        return ["## Speed", when, "\n".join(lines)]


def block(op: Op) -> page.Page:
    """A page of one node, with the values of the example typed into its ports."""
    given = op.example.inputs
    entry: dict[str, Any] = {"op": op.name}
    values = {name: plain(given[name]) for name in op.input_names if name in given}
    attrs = {name: plain(given[name]) for name in op.attr_defaults if name in given}
    if values and not op.lists:
        entry["in"] = values
    if attrs:
        entry["attrs"] = attrs
    text = json.dumps({"format": page.FORMAT, "title": "", "nodes": {op.python_name: entry}})
    return page.parse(text.encode())


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, complex):
        return [value.real, value.imag]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def execute(op: Op) -> None:
    """The example of a page, as a reader would run it: what is printed there must come out."""
    if not opdocs.runs_alone(op):
        return
    names: dict[str, Any] = {"gradbag": gradbag, "np": np}
    code = "\n".join([*opdocs.example_before(op), f"answer = {opdocs.example_call(op)}"])
    exec(code, names)  # noqa: S102  # our own words
    if names["answer"] is not None and opdocs.show(names["answer"]) != opdocs.example_answer(op):
        raise SystemExit(f"{op.name}: the page says {opdocs.example_answer(op)}, the call {names['answer']}")
