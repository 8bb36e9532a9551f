"""Graph files that would take all memory are refused in words, before anything is made of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradbag import eager
from gradbag.graph.graphdef import messages, weighing
from gradbag.graph.graphdef.weighing import NODE_LIMIT, rows, walked, weight_of

from .bombs import KINDS, laughs

Script = Callable[..., list[str]]
MIB = 1 << 20
each_kind = pytest.mark.parametrize("kind", KINDS)


def load(run_script: Script, *args: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run_script("bombs.py", *map(str, args))[-1])
    return answer


@each_kind
def test_a_file_never_takes_more_than_it_weighs(kind: str, run_script: Script) -> None:
    answer = load(run_script, kind, 100_000, 0)
    assert answer["took"] <= answer["weight"] + 8 * MIB, answer


@each_kind
@pytest.mark.parametrize("limit", [64, 256], ids=lambda limit: f"{limit}MiB")
def test_what_does_not_fit_the_memory_of_the_process_is_refused(kind: str, limit: int, run_script: Script) -> None:
    count = {"named nodes": MIB, "numbers": 16 * MIB}.get(kind, 4 * MIB)
    answer = load(run_script, kind, count, limit * MIB)
    assert answer["told"].startswith("ResourceExhaustedError: the GraphDef "), answer
    assert "MiB that may be used (gradbag.set_memory_limit)" in answer["told"] or "nodes" in answer["told"], answer
    assert answer["took"] < 8 * MIB, answer


def test_a_file_of_nothing_but_nodes_is_refused_whatever_memory_there_is(run_script: Script) -> None:
    answer = load(run_script, "nodes", 32 * MIB, 0)
    assert "nodes" in answer["told"] or "may be used" in answer["told"]
    assert answer["told"].startswith("ResourceExhaustedError: the GraphDef ")
    assert answer["took"] < 8 * MIB, answer


@pytest.mark.parametrize(("calls", "deep"), [(5, 9), (14, 5), (3000, 2), (2, 31)])
def test_functions_that_multiply_are_refused_before_they_are_written_out(
    calls: int, deep: int, run_script: Script
) -> None:
    answer = load(run_script, "laughs", calls, 0, deep)
    assert "with the functions written out the graph would take about" in answer["told"], answer
    assert answer["took"] < 16 * MIB, answer


def test_a_graph_of_many_calls_is_still_written_out(run_script: Script) -> None:
    assert load(run_script, "laughs", 10, 0, 4)["told"] == "ok"


@pytest.mark.skipif(not eager.available(), reason="without compiled code there is one walk only")
def test_both_walks_weigh_the_same() -> None:
    random = np.random.default_rng(18)
    node = list(messages.FIELDS).index("NodeDef")
    files = [make(50) for make in KINDS.values()] + [laughs(3, 3)]
    for data in files:
        for _ in range(200):
            mutant = bytearray(data)
            for place in random.integers(0, len(mutant), random.integers(0, 4)):
                mutant[place] = random.integers(0, 256)
            most, most_nodes = int(random.choice([1 << 12, 1 << 40])), int(random.choice([3, NODE_LIMIT]))
            given = bytes(mutant), rows(), node, most, most_nodes
            assert eager.native.weigh_message(*given) == walked(*given), bytes(mutant)


def test_the_python_walk_refuses_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eager, "native", None)
    monkeypatch.setattr(weighing, "NODE_LIMIT", 1000)
    weight, nodes = weight_of(KINDS["nodes"](100_000), 1 << 40)
    assert nodes == 1001
    assert weight > 1000 * weighing.NODE_BYTES
