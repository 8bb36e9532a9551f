"""Random pages with gradients, edited at random: what is shown is always what is computed anew."""

from __future__ import annotations

import copy
import os
from typing import Any

import numpy as np
import pytest

from gradbag import autodiff, raw_ops
from gradbag import page as pages
from gradbag.graph.cache import ResultCache
from gradbag.graph.session import ClientSession
from gradbag.page.drawing import Drawn, draw
from gradbag.page.running import resolve, tasks
from gradbag.studio.keeping import Sheet

PAGES = int(os.environ.get("GRADBAG_GRADIENT_PAGES", "40"))
EDITS = 6
ROWS, COLUMNS = 4, 3
POOLS = ["SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"]
ONE = ["Neg", "Square", "Tanh", "Sigmoid"]
TWO = ["Add", "Mul", "Sub"]


class Drawing:
    """A page that grows and changes at random; every node is a table of the same shape, so that all edits fit."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: dict[str, Any] = {name: self._table() for name in ("a", "b")}
        for number in range(int(self.rng.integers(2, 6))):
            self.nodes[f"n{number}"] = self._forward(list(self.nodes))
        self.gradients = 0
        for _ in range(int(self.rng.integers(1, 4))):
            self.add_gradient()

    def _table(self) -> dict[str, Any]:
        return {"op": "Const", "attrs": {"dtype": "float64", "value": self._numbers()}}

    def _numbers(self) -> list[Any]:
        return self.rng.uniform(-1, 1, (ROWS, COLUMNS)).round(3).tolist()

    def _forward(self, before: list[str]) -> dict[str, Any]:
        link = lambda: {"from": str(self.rng.choice(before))}  # noqa: E731
        kind = self.rng.integers(3)
        if kind == 0:
            count = int(self.rng.integers(1, 7))
            ids = {"indices": self.rng.integers(0, ROWS, count).tolist(), "segment_ids": self._bags(count)}
            data: Any = link() if self.rng.random() < 0.8 else {"value": self._numbers(), "dtype": "float64"}
            ports = {"data": data, **ids, "num_segments": ROWS}
            return {"op": f"{self.rng.choice(POOLS)}WithNumSegments", "in": ports}
        if kind == 1:
            return {"op": str(self.rng.choice(ONE)), "in": {"x": link()}}
        return {"op": str(self.rng.choice(TWO)), "in": {"x": link(), "y": link()}}

    def _bags(self, count: int) -> list[int]:
        return sorted(self.rng.integers(0, ROWS, count).tolist())

    def add_gradient(self) -> None:
        ends = [name for name, entry in self.nodes.items() if entry["op"] != "Const"]
        entry: dict[str, Any] = {"of": {"from": str(self.rng.choice(ends))}, "by": self._by()}
        if self.rng.random() < 0.3:
            entry["grad"] = self._numbers()
        self.nodes[f"d{self.gradients}"] = {"op": "Gradient", "in": entry}
        self.gradients += 1

    def _by(self) -> dict[str, str]:
        typed = [name for name, e in self.nodes.items() if "value" in str(e.get("in", {}).get("data", ""))]
        if typed and self.rng.random() < 0.5:
            return {"input": f"{self.rng.choice(typed)}.data"}
        return {"from": str(self.rng.choice([n for n in self.nodes if not n.startswith("d")]))}

    def edit(self) -> None:
        """Another value, another op, another wire, or one more gradient; some leave a gradient without a meaning."""
        name = str(self.rng.choice(list(self.nodes)))
        entry = copy.deepcopy(self.nodes[name])
        before = [one for one in list(self.nodes)[: list(self.nodes).index(name)] if not one.startswith("d")]
        if entry["op"] == "Const":
            entry["attrs"]["value"] = self._numbers()
        elif entry["op"] == "Gradient":
            if self.rng.random() < 0.5:
                return self.add_gradient()
            entry["in"]["by"] = self._by()
        else:
            entry = self._forward(before)
        self.nodes[name] = entry
        return None

    def page(self) -> pages.Page:
        return pages.Page({"format": "gradbag-page/1", "nodes": copy.deepcopy(self.nodes)})


def values(page: pages.Page, drawn: Drawn, cache: ResultCache) -> dict[str, Any]:
    (task,) = tasks(page)
    task.fetch = [name for name in page.nodes if name in drawn.graph]
    request = resolve(page, drawn.graph, task)
    answers = ClientSession(drawn.graph, cache).run(fetches=list(request.wanted.values()))
    return dict(zip(request.wanted, answers, strict=True))


def evaluated(nodes: dict[str, Any], place: str, given: dict[str, Any]) -> Any:
    """What stands at a node, or in a port "node.data", by another way: raw ops, and `autodiff.vjp` for gradients.

    `given` are values in place of what the page says there.
    """
    if place in given:
        return given[place]
    name, _, port = place.rpartition(".")
    if name:
        return argument(nodes, name, port, given)
    entry = nodes[place]
    if entry["op"] == "Const":
        return np.array(entry["attrs"]["value"])
    if entry["op"] == "Gradient":
        end, by = entry["in"]["of"]["from"], place_of(nodes, entry)
        _, pull = autodiff.vjp(lambda x: evaluated(nodes, end, {**given, by: x}), evaluated(nodes, by, given))
        (found,) = pull(np.array(entry["in"]["grad"]) if "grad" in entry["in"] else np.ones((ROWS, COLUMNS)))
        return found
    inputs = {port: argument(nodes, place, port, given) for port in entry["in"]}
    return getattr(raw_ops, entry["op"])(**inputs)


def argument(nodes: dict[str, Any], name: str, port: str, given: dict[str, Any]) -> Any:
    value = nodes[name]["in"][port]
    if f"{name}.{port}" in given:
        return given[f"{name}.{port}"]
    if isinstance(value, dict):
        return evaluated(nodes, value["from"], given) if "from" in value else np.array(value["value"])
    return np.array(value, np.int32)


def place_of(nodes: dict[str, Any], gradient: dict[str, Any]) -> str:
    """What a gradient is by: a node, or a port if a value stands in it."""
    by = gradient["in"]["by"]
    if "from" in by:
        return str(by["from"])
    name, _, port = by["input"].rpartition(".")
    value = nodes[name]["in"][port]
    return str(value["from"]) if "from" in value else str(by["input"])


def has_oracle(nodes: dict[str, Any], gradient: dict[str, Any]) -> bool:
    """Whether replacing values means the same: a gradient by something computed cuts off what it is computed from."""
    inner = nodes[gradient["in"]["of"]["from"]]
    if inner["op"] != "Gradient":
        return True
    by = place_of(nodes, gradient)
    return ("." in by or nodes[by]["op"] == "Const") and has_oracle(nodes, inner)


@pytest.mark.parametrize("seed", range(PAGES))
def test_the_shown_gradient_is_the_one_computed_anew(seed: int) -> None:
    drawing, sheet, cache = Drawing(seed), Sheet(), ResultCache()
    for _ in range(EDITS):
        page = drawing.page()
        drawn = sheet.draw(page)  # what an edit does not touch is taken over
        fresh = draw(page)
        assert [str(problem) for problem in drawn.problems] == [str(problem) for problem in fresh.problems]
        shown, anew = values(page, drawn, cache), values(page, fresh, ResultCache())
        assert shown.keys() == anew.keys()
        for name, value in anew.items():
            np.testing.assert_array_equal(shown[name], value, err_msg=name)
            if page.nodes[name]["op"] == "Gradient" and has_oracle(page.nodes, page.nodes[name]):
                oracle = evaluated(page.nodes, name, {})
                np.testing.assert_allclose(value, oracle, rtol=1e-9, atol=1e-12, err_msg=name)
        drawing.edit()
