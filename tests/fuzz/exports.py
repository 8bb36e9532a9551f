"""Shipped pages with other numbers and names: what checks well, runs, and its exported script prints the same."""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import tempfile
from pathlib import Path
from typing import Any

import loaders
import numpy as np

import gradbag
from gradbag import page as pages
from gradbag.page.export_python import to_python

TO_COVER = len(loaders.originals("page"))
NUMBERS: list[Any] = [0, 1, -1, 2, 0.5, -0.0, "nan", "inf", "-inf", 1e-30]


def draw(random: np.random.Generator) -> dict[str, Any]:
    at = int(random.integers(TO_COVER))
    made = json.loads(loaders.originals("page")[at])
    made.pop("expect", None)
    for _ in range(random.integers(0, 4)):
        nodes = made["nodes"]
        node = nodes[list(nodes)[random.integers(len(nodes))]]
        change_numbers(node, random)
    return {"page": made, "shipped": at}


def change_numbers(node: Any, random: np.random.Generator) -> None:
    holder = node
    while isinstance(holder, dict | list) and holder:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = keys[random.integers(len(keys))]
        if isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
            holder[key] = NUMBERS[random.integers(len(NUMBERS))]
            return
        holder = holder[key]


def judge(case: dict[str, Any]) -> str | None:
    try:
        page = pages.parse(json.dumps(case["page"]).encode())
        answer = pages.run(page)
        script = to_python(page)
    except gradbag.Error:
        return None
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.py"
        path.write_text(script, "utf-8")
        try:
            with contextlib.redirect_stdout(printed):
                runpy.run_path(str(path))
        except Exception as problem:  # noqa: BLE001  # exactly what must not happen
            return f"the script ends with {type(problem).__name__}: {str(problem)[:200]}"
    want = [f"{name} = {array.tolist()}" for name, array in answer.fetches.items()]
    got = printed.getvalue().splitlines()
    return None if got == want else f"the script prints {got}, the page says {want}"[:2000]


def covered(case: dict[str, Any]) -> str:
    return str(case["shipped"])


def simpler(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The page without one of its nodes."""
    nodes = case["page"]["nodes"]
    fewer = [{name: node for name, node in nodes.items() if name != gone} for gone in nodes]
    return [{**case, "page": {**case["page"], "nodes": one}} for one in fewer]
