"""The answer to an edit: problems, slots, and keys that say when a result is stale."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

from gradbag import page as pages
from gradbag.graph.plan import Plan
from gradbag.page.drawing import draw
from gradbag.studio.services.checking import checked, keys

Make = Callable[..., pages.Page]
CHAIN: dict[str, Any] = {
    "x": {"op": "Const", "attrs": {"dtype": "float32", "value": [1, 2]}},
    "y": {"op": "Neg", "in": {"x": {"from": "x"}}},
    "z": {"op": "Exp", "in": {"x": {"from": "y"}}},
}


def test_the_keys_of_shipped_pages_are_those_of_a_runs_results(shipped: pages.Page) -> None:
    graph = draw(shipped).graph
    plan = Plan([o for node in graph for o in node.outputs], [n for n in graph if not n.dtypes], [])
    plan.add_digests()
    found = keys(graph)
    for step in plan.steps:
        if step.digest is not None and step.node.op.state != "fed":
            assert found[step.node.name] in (step.digest.hex(), None)
            if not _fed_before(step.node):
                assert found[step.node.name] == step.digest.hex()


def _fed_before(node: Any) -> bool:
    return node.op.state == "fed" or any(_fed_before(source.node) for source in node.inputs)


def test_an_answer_is_plain_data_and_says_every_node(shipped: pages.Page) -> None:
    answer, drawn = checked(shipped)
    assert answer == json.loads(json.dumps(answer))
    assert answer["problems"] == []
    assert list(answer["nodes"]) == list(shipped.nodes)
    again, _ = checked(shipped, drawn)
    assert again == answer


def test_only_what_an_edit_touches_gets_another_key(page_of: Make) -> None:
    before, drawn = checked(page_of(CHAIN))
    changed = copy.deepcopy(CHAIN)
    changed["y"]["op"] = "Abs"
    after, _ = checked(page_of(changed), drawn)
    same = {name for name in CHAIN if before["nodes"][name]["key"] == after["nodes"][name]["key"]}
    assert same == {"x"}


def test_renaming_and_moving_change_no_key(page_of: Make) -> None:
    moved = {"c": CHAIN["x"], "y": {"op": "Neg", "in": {"x": {"from": "c"}}}}
    one, _ = checked(page_of(CHAIN))
    other, _ = checked(page_of(moved, layout={"c": [7, 8]}))
    assert one["nodes"]["y"]["key"] == other["nodes"]["y"]["key"]


def test_a_broken_node_keeps_its_ports(page_of: Make) -> None:
    nodes = {**CHAIN, "sum": {"op": "AddV2", "in": {"x": {"from": "y"}, "y": {"from": "nowhere"}}}}
    nodes["after"] = {"op": "Neg", "in": {"x": {"from": "sum"}}}
    answer, _ = checked(page_of(nodes))
    assert [(p["node"], p["port"]) for p in answer["problems"]] == [("sum", "y")]
    assert answer["nodes"]["sum"]["key"] is None
    assert answer["nodes"]["sum"]["inputs"]["x"] == {"dtype": "float32", "shape": [2]}
    assert answer["nodes"]["sum"]["outputs"] == [{"name": "z", "dtype": None, "shape": None}]
    assert answer["nodes"]["after"]["key"] is None
    assert answer["nodes"]["y"]["key"]


def test_an_unknown_op_and_what_is_no_node_at_all_are_told(page_of: Make) -> None:
    answer, _ = checked(page_of({"a": {"op": "Nothing"}, "b": 3, "c": {"op": "Neg", "in": []}}))
    assert {p["node"] for p in answer["problems"]} == {"a", "b", "c"}
    assert answer["nodes"]["a"] == {"key": None, "inputs": {}, "outputs": [], "parts": 0}


def test_lists_of_inputs_have_a_slot_each(page_of: Make) -> None:
    nodes = {**CHAIN, "sum": {"op": "AddN", "in": {"inputs": [{"from": "x"}, [1, 1], {"from": "z"}]}}}
    answer, _ = checked(page_of(nodes))
    assert list(answer["nodes"]["sum"]["inputs"]) == ["inputs[0]", "inputs[1]", "inputs[2]"]


def test_an_edit_behind_a_variable_gives_another_key(page_of: Make) -> None:
    def keyed(factor: int) -> dict[str, str | None]:
        nodes = {
            "w": {"op": "VariableV2", "attrs": {"shape": [2], "dtype": "float32"}},
            "read": {"op": "Mul", "in": {"x": {"from": "w"}, "y": factor}},
            "next": {"op": "Assign", "in": {"ref": {"from": "w"}, "value": {"from": "read"}}},
            "apart": {"op": "Neg", "in": {"x": {"from": "w"}}},
        }
        answer, _ = checked(page_of(nodes))
        assert answer["problems"] == []
        return {name: node["key"] for name, node in answer["nodes"].items()}

    one, other = keyed(2), keyed(3)
    assert {name for name in one if one[name] != other[name]} == {"read", "next"}


def test_feeding_something_else_is_an_edit(page_of: Make) -> None:
    nodes = {
        "x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [2]}},
        "y": {"op": "Neg", "in": {"x": {"from": "x"}}},
    }
    one, _ = checked(page_of(nodes, runs={"main": {"fetch": ["y"], "feed": {"x": [1, 2]}}}))
    other, drawn = checked(page_of(nodes, runs={"main": {"fetch": ["y"], "feed": {"x": [1, 3]}}}))
    assert one["nodes"]["y"]["key"]
    assert one["nodes"]["y"]["key"] != other["nodes"]["y"]["key"]
    assert keys(drawn.graph)["y"] is None  # without the page, nobody knows what is fed
