"""What a run gives, in its three forms: on the terminal, as JSON and as an .npz file."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..graph.report import Report
from ..page import data_files, literals
from ..page.running import Answer
from ..terminal import Terminal

Array = np.ndarray[Any, Any]
SHOWN = {"threshold": 200, "edgeitems": 4, "floatmode": "maxprec", "precision": 6, "linewidth": 100}


def as_json(answer: Answer, report: bool) -> dict[str, Any]:
    """For machines: {"fetches": {name: {"dtype", "shape", "value"}}}, and what went wrong or was asked for."""
    made: dict[str, Any] = {
        "fetches": {
            name: {"dtype": dtypes.name_of(a.dtype), "shape": list(a.shape), "value": literals.plain(a)}
            for name, a in answer.fetches.items()
        }
    }
    if answer.mismatches:
        made["mismatches"] = [vars(mismatch) for mismatch in answer.mismatches]
    if report:
        nodes = [
            {"node": n.name, "op": n.op, "seconds": n.seconds, "bytes": n.bytes, "source": n.source}
            for n in answer.report.nodes
        ]
        made["report"] = {"seconds": answer.report.seconds, "nodes": nodes}
    return made


def show(answer: Answer, report: bool, terminal: Terminal) -> None:
    for name, array in answer.fetches.items():
        terminal.text(f"{name}  {dtypes.name_of(array.dtype)} {list(array.shape)}", style="bold")
        with np.printoptions(**SHOWN):  # type: ignore[arg-type]
            terminal.verbatim(str(array) + "\n")
    if report:
        _show_report(answer.report, terminal)
    if answer.mismatches:
        rows = [(m.name, m.expected, m.got, m.text) for m in answer.mismatches]
        terminal.table(("result", "expected", "got", ""), rows, title="not as the page expects")
    elif answer.compared:
        terminal.text(f"{answer.compared} expectation{'s' if answer.compared > 1 else ''} met", style="green")


def _show_report(report: Report, terminal: Terminal) -> None:
    rows = [
        (n.name, n.op, f"{n.seconds * 1e6:.0f} µs" if n.source == "ran" else n.source, errors.in_bytes(n.bytes))
        for n in report.nodes
    ]
    terminal.table(("node", "op", "time", "result"), rows, title="what ran, in the order of being done")
    terminal.text(f"{len(rows)} nodes in {report.seconds * 1e3:.2f} ms")


def write_npz(path: Path, fetches: Mapping[str, Array]) -> None:
    """An .npz file of the results, which `numpy.load` reads; the same results are the same bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        taken: set[str] = set()
        for name, array in fetches.items():
            # A node may be called ../x: nobody's unzip must write there.
            safe = re.sub(r"(^|/)\.+(?=/)|\\|^/", r"\1_", name)
            while safe in taken:
                safe += "_"
            taken.add(safe)
            archive.writestr(zipfile.ZipInfo(f"{safe}.npy"), data_files.file_bytes(array))
    data_files.write_whole(path, made.getvalue())
