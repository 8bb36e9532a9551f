"""Variables, loops and what is left of them: stale values, expectations, rounds."""

from __future__ import annotations

from typing import Any

from .served import Served, page

COUNTING = {
    "count": {"op": "VariableV2", "attrs": {"shape": [], "dtype": "float32"}},
    "start": {"op": "Assign", "in": {"ref": {"from": "count"}, "value": 0}},
    "next": {"op": "AssignAdd", "in": {"ref": {"from": "count"}, "value": 1}},
    "twice": {"op": "Mul", "in": {"x": {"from": "count"}, "y": 2}},
}
RUNS = {
    "init": {"fetch": ["start"]},
    "train": {"fetch": ["next"], "mode": "loop", "steps": 5},
    "look": {"fetch": ["twice"]},
}


def ended(served: Served, document: Any, **more: Any) -> dict[str, Any]:
    with served.events() as events:
        return events.of(served.run(document, **more))[-1]


def test_what_reads_a_variable_is_stale_when_it_has_changed(served: Served) -> None:
    document = {**page(**COUNTING), "runs": RUNS}
    assert ended(served, document, run="init")["stale"] == []
    assert ended(served, document, run="look")["stale"] == []
    later = ended(served, document, run="train", steps=5)
    assert "twice" in later["stale"]
    assert not {"next", "start"} & set(later["stale"])
    assert "twice" not in ended(served, document, run="look")["stale"]


def test_an_expectation_is_of_all_runs_in_order(served: Served) -> None:
    document = {**page(**COUNTING), "runs": RUNS, "expect": {"twice": 10}}
    for name, steps in (("init", 1), ("train", 5)):
        assert ended(served, document, run=name, steps=steps)["judged"] == []
    last = ended(served, document, run="look")
    assert (last["judged"], last["mismatches"]) == (["twice"], [])
    assert ended(served, document, run="train", steps=5)["judged"] == []
    again = ended(served, document, run="look")  # right, and not what the page speaks of
    assert (again["judged"], again["mismatches"]) == ([], [])


def test_every_round_of_a_loop_can_be_looked_at(served: Served) -> None:
    document = {**page(**COUNTING), "runs": RUNS}
    ended(served, document, run="init")
    assert ended(served, document, run="train", steps=20)["rounds"] == 20
    found = served.post("/api/rounds", path=None, client="test").json()
    assert found["rounds"] == list(range(1, 21))
    series = {one["name"]: one["values"] for one in found["series"]}
    assert series["next.output_ref"] == list(range(1, 21))
    shown = served.post("/api/round", path=None, client="test", round=7).json()
    values = {one["node"]: one["outputs"][0]["table"] for one in shown["nodes"]}
    assert values["next"] == 7
    assert served.client.post("/api/round", json={"path": None, "client": "test", "round": 21}).status_code >= 400


def test_a_run_with_a_seed_draws_the_same_numbers_again(served: Served) -> None:
    noise = {"op": "RandomUniform", "in": {"shape": [4]}, "attrs": {"dtype": "float32"}}
    document = {**page(one=noise, other=noise), "runs": {"main": {"fetch": ["one", "other"]}}}

    def drawn(seed: int | None) -> list[Any]:
        document["runs"]["main"] = {"fetch": ["one", "other"], **({} if seed is None else {"seed": seed})}
        with served.events() as events:
            said = events.of(served.run(document, run="main"))
        values = {
            one["node"]: one["outputs"][0]["table"] for one in said if one.get("state") == "done" and "node" in one
        }
        return [values["one"], values["other"]]

    first = drawn(7)
    assert first[0] != first[1]
    assert drawn(7) == first
    assert drawn(8) != first
    assert drawn(None) != drawn(None)


def test_rounds_are_thinned_out_when_there_are_many(served: Served) -> None:
    document = {**page(**COUNTING), "runs": RUNS}
    ended(served, document, run="init")
    kept = ended(served, document, run="train", steps=3000)["rounds"]
    assert 100 < kept <= 1001
    assert served.post("/api/rounds", path=None, client="test").json()["rounds"][-1] == 3000
