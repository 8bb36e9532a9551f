"""What is wrong with a page: all of it, at its node and port, and the page opens all the same."""

import json
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import page as pages
from gradbag.page import checking

GRAD = {"op": "Const", "attrs": {"dtype": "float64", "value": [[1, 2, 3], [4, 4, 2], [3, 1, 5]]}}
PLACES = {"indices": [0, 1, 2], "segment_ids": [2, 2, 2], "output_dim0": 3}


def page_of(nodes: Any, **sections: Any) -> pages.Page:
    document = {"format": "gradbag-page/1", "nodes": nodes, **sections}
    return pages.parse(json.dumps(document).encode())


def problems(nodes: Any, **sections: Any) -> list[tuple[str, str, str]]:
    page = page_of(nodes, **sections)
    before = pages.text(page)
    found = pages.check(page)
    assert pages.text(page) == before
    return [(p.node, p.port, p.text) for p in found]


def the_problem(nodes: Any, **sections: Any) -> tuple[str, str, str]:
    found = problems(nodes, **sections)
    assert len(found) == 1, found
    return found[0]


def mean_grad(**changes: Any) -> dict[str, Any]:
    return {"op": "SparseSegmentMeanGrad", "in": {"grad": {"from": "grad"}, **PLACES, **changes}}


# ------------------------------------------------------------------ nodes
@pytest.mark.parametrize(
    ("node", "port", "told"),
    [
        (5, "", "must be an object with an op"),
        ({}, "", "op must be the name of an op"),
        ({"op": "ReadFile", "in": {"filename": "/etc/passwd"}}, "", "there is no op 'ReadFile'"),
        ({"op": "Neg", "in": [1]}, "", "in must be an object"),
        ({"op": "Neg", "in": {"x": 1.0, "y": 2.0}}, "y", "Neg has no input 'y'; it takes x"),
        ({"op": "Neg"}, "x", "Neg: x needs a value or a wire"),
        ({"op": "Neg", "in": {"x": None}}, "x", "is empty: it needs a link or a value"),
        ({"op": "Neg", "in": {"x": {"from": "nobody"}}}, "x", "is wired to 'nobody', which is not on the page"),
        ({"op": "Neg", "in": {"x": {"from": "grad.sum"}}}, "x", "has no output 'sum'; it has output"),
        ({"op": "Neg", "in": {"x": {"from": 3}}}, "x", 'a link is {"from": "node"}'),
        (
            {"op": "Neg", "in": {"x": {"from": "fill"}}},
            "x",
            "fill has 4 outputs, the link must name one: fill.output_in",
        ),
        ({"op": "Neg", "in": {"x": {"from": "x"}}}, "x", "the node reads itself"),
        ({"op": "Neg", "in": {"x": "text"}}, "x", "Neg: x 'text' is no number"),
        ({"op": "Neg", "in": {"x": {"value": 1, "dtype": "float99"}}}, "x", "the dtype 'float99', which is not known"),
        ({"op": "Neg", "in": {"x": {"value": 1, "file": "x.npy"}}}, "x", "one of value, base64 and file"),
        ({"op": "Neg", "in": {"x": {"file": "../x.npy"}}}, "x", "the page lies in no folder"),
        ({"op": "Neg", "in": {"x": True}}, "x", "Neg: x must be one of"),
        ({"op": "AddV2", "in": {"x": {"from": "grad"}, "y": "1"}}, None, None),
        (
            {"op": "AddV2", "in": {"x": {"from": "grad"}, "y": {"value": 1, "dtype": "int32"}}},
            "y",
            "must be float64 like x",
        ),
        ({"op": "AddV2", "in": {"x": {"from": "grad"}, "y": [1.0, 2.0]}}, None, "AddV2"),
        ({"op": "AddN", "in": {"inputs": {"from": "grad"}}}, "inputs", "must be a list of links and values"),
        ({"op": "AddN", "in": {"inputs": [{"from": "grad"}, {"from": "no"}]}}, "inputs[1]", "is wired to 'no'"),
        ({"op": "Sum", "in": {"input": [1.0], "axis": 0}, "attrs": {"keep": True}}, "keep", "has no attribute 'keep'"),
        ({"op": "Sum", "in": {"input": [1.0], "axis": 0}, "attrs": {"keep_dims": 1}}, "keep_dims", "must be a bool"),
        ({"op": "Const", "attrs": {"value": [1, 300], "dtype": "int8"}}, "value", "300 does not fit int8"),
        ({"op": "Const", "attrs": {"dtype": "int8"}}, "value", "the attribute value is required"),
        ({"op": "Neg", "in": {"x": 1.0}, "after": "grad"}, "after", "must be a list of nodes"),
        ({"op": "Neg", "in": {"x": 1.0}, "after": ["no"]}, "after", "names 'no', which is not on the page"),
        (mean_grad(output_dim0=2**40), "output_dim0", "does not fit int32"),
        (mean_grad(segment_ids=[[0]]), "segment_ids", "must have shape"),
        (mean_grad(output_dim0=-1), "output_dim0", "must not be negative"),
    ],
    ids=str,
)
def test_a_node_says_what_is_wrong_with_it_and_where(node: Any, port: str | None, told: str | None) -> None:
    fill = {
        "op": "SparseFillEmptyRows",
        "in": {"indices": [[0, 0]], "values": [1.0], "dense_shape": [1, 1], "default_value": 0.0},
    }
    found = problems({"x": node, "grad": GRAD, "fill": fill})
    if told is None:
        assert found == []
        return
    assert len(found) == 1, found
    assert found[0][0] == "x"
    assert port is None or found[0][1] == port
    assert told in found[0][2]


def test_all_problems_are_told_and_none_that_follows_from_another() -> None:
    nodes = {
        "unknown": {"op": "Unheard", "in": {"a": {"from": "grad"}}},
        "reader": {"op": "Neg", "in": {"x": {"from": "unknown.b"}}},
        "second": {"op": "AddV2", "in": {"x": {"from": "reader"}, "y": {"from": "nobody"}}},
        "grad": GRAD,
        "third": {"op": "AddV2", "in": {"x": "a", "z": 1}, "attrs": {"no": 1}},
    }
    found = problems(nodes, title=3, runs={"r": {"mode": "sometimes"}}, layout={"grad": [1], "ghost": [1, 2]})
    places = sorted((node, port) for node, port, _ in found)
    assert places == sorted(
        [
            ("unknown", ""),
            ("second", "y"),
            ("third", "no"),
            ("third", "z"),
            ("third", "x"),
            ("third", "y"),
            ("", "title"),
            ("", "runs.r.mode"),
            ("grad", "layout"),
            ("", "layout.ghost"),
        ]
    )


def test_a_broken_wire_hides_no_literal_of_the_same_node() -> None:
    lost = {"op": "SparseSegmentMean", "in": {"data": {"from": "lost"}, "indices": [0, 1.5], "segment_ids": ["x"]}}
    assert [(port, text.partition(";")[0]) for _, port, text in problems({"pool": lost})] == [
        ("data", "is wired to 'lost', which is not on the page"),
        ("indices", "SparseSegmentMean: indices must be one of int32, int64"),
        ("segment_ids", "SparseSegmentMean: segment_ids 'x' is no number"),
    ]


def test_cycles_are_told_with_their_nodes() -> None:
    ring = {f"n{k}": {"op": "Neg", "in": {"x": {"from": f"n{(k + 1) % 12}"}}} for k in range(12)}
    pair = {
        "a": {"op": "AddV2", "in": {"x": {"from": "b"}, "y": {"from": "n3"}}},
        "b": {"op": "Neg", "in": {"x": {"from": "a"}}},
    }
    waiting = {"w": {"op": "Neg", "in": {"x": {"from": "a"}}}}
    found = problems({**ring, **pair, **waiting})
    assert len(found) == 2
    assert "12 nodes wait for each other: n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 and 2 more" in found[0][2]
    assert found[0][:2] == ("n0", "x")


def test_the_order_of_nodes_does_not_matter() -> None:
    nodes = {"b": {"op": "Neg", "in": {"x": {"from": "a"}}}, "a": {"op": "Neg", "in": {"x": 2.0}}}
    assert pages.run(page_of(nodes)).fetches["b"] == 2.0


def test_names_of_nodes_are_not_paths() -> None:
    assert "is no name for a node" in the_problem({"_x": GRAD})[2]
    assert "is no name for a node" in the_problem({"": GRAD})[2]
    assert "is no name for a node" in the_problem({"a b": GRAD})[2]
    assert "is no name for a node" in the_problem({"x" * 1025: GRAD})[2]
    assert problems({"../../etc/passwd": GRAD}) == []  # TensorFlow's grammar: only ever a name


def test_a_long_chain_is_no_deep_recursion() -> None:
    nodes: dict[str, Any] = {"n0": {"op": "Const", "attrs": {"dtype": "float32", "value": 1}}}
    for k in range(1, 5000):
        nodes[f"n{k}"] = {"op": "Neg", "in": {"x": {"from": f"n{k - 1}"}}}
    backwards = dict(reversed(nodes.items()))
    assert problems(backwards) == []
    closed = {**nodes, "n0": {"op": "Neg", "in": {"x": {"from": "n4999"}}}}
    assert "5000 nodes wait for each other" in the_problem(closed)[2]


def test_too_many_nodes_are_one_problem(monkeypatch: Any) -> None:
    monkeypatch.setattr(checking, "MOST_NODES", 2)
    assert the_problem({"a": 1, "b": 2, "c": 3})[1:] == ("nodes", "has 3 nodes; a page has at most 2")


@pytest.mark.parametrize("nodes", [[], 3, "x", None])
def test_sections_of_another_kind_are_problems_not_crashes(nodes: Any) -> None:
    found = problems(nodes, runs=[], expect=1, layout="x", groups=3, notes=[])
    assert {port for _, port, _ in found} == {"nodes", "runs", "expect", "layout"}


@pytest.mark.parametrize("position", [["nan", 0], [1e308, 0], [1], "here", [True, 0], None])
def test_positions_are_two_sane_numbers(position: Any) -> None:
    assert the_problem({"grad": GRAD}, layout={"grad": position})[:2] == ("grad", "layout")


def test_titles_have_an_end() -> None:
    assert the_problem({}, title="x" * 1_000_000)[:2] == ("", "title")


# ------------------------------------------------------------------ runs and expectations
@pytest.mark.parametrize(
    ("run", "place", "told"),
    [
        (3, "runs.r", "must be an object"),
        ({"fetch": "grad"}, "runs.r.fetch", "must be a list of nodes"),
        ({"fetch": ["ghost"]}, "runs.r.fetch", "'ghost' is not on the page"),
        ({"fetch": ["grad.sum"]}, "runs.r.fetch", "has no output 'sum'"),
        ({"only": ["ghost"]}, "runs.r.only", "'ghost' is not on the page"),
        ({"steps": 0}, "runs.r.steps", "from 1 to"),
        ({"steps": 10**12}, "runs.r.steps", "from 1 to"),
        ({"seed": -1}, "runs.r.seed", "from 0 to"),
        ({"feed": []}, "runs.r.feed", "must be an object"),
        ({"feed": {"ghost": 1}}, "runs.r.feed.ghost", "not on the page"),
        ({"feed": {"grad": "x"}}, "runs.r.feed.grad", "'x' is no number"),
        ({"feed": {"grad": {"from": "grad"}}}, "runs.r.feed.grad", "not a link"),
    ],
    ids=str,
)
def test_runs_are_checked(run: Any, place: str, told: str) -> None:
    node, port, text = the_problem({"grad": GRAD}, runs={"r": run})
    assert (node, port) == ("", place)
    assert told in text


def test_expectations_are_checked() -> None:
    assert "not on the page" in the_problem({"grad": GRAD}, expect={"ghost": 1})[2]
    assert "no number" in the_problem({"grad": GRAD}, expect={"grad": {"value": "x"}})[2]
    assert "tolerance" in the_problem({"grad": GRAD}, expect={"grad": {"value": 1, "tolerance": -1}})[1]


# ------------------------------------------------------------------ to the graph
def test_a_node_id_is_the_name_in_the_graph_and_a_literal_is_called_by_its_port() -> None:
    graph = pages.to_graph(page_of({"grad": GRAD, "x": mean_grad()}))
    assert [n.name for n in graph] == ["grad", "x/indices", "x/segment_ids", "x/output_dim0", "x"]
    assert graph.node("x/output_dim0").dtypes == ["int32"]


def test_a_literal_does_not_take_the_name_of_a_node() -> None:
    nodes = {"x": {"op": "Neg", "in": {"x": 1.0}}, "x/x": {"op": "Neg", "in": {"x": 5.0}}}
    assert {n: v.item() for n, v in pages.run(page_of(nodes)).fetches.items()} == {"x": -1.0, "x/x": -5.0}


def test_a_page_with_problems_does_not_become_a_graph_and_does_not_run() -> None:
    page = page_of({"grad": GRAD, "x": mean_grad(grad={"from": "no"}), "y": {"op": "Neg"}})
    for attempt in (pages.to_graph, pages.run):
        with pytest.raises(
            gradbag.InvalidArgumentError, match=r"x\.grad: is wired to 'no'.* \(and 1 more problem"
        ) as caught:
            attempt(page)
        assert (caught.value.node, caught.value.argument) == ("x", "grad")


@pytest.mark.parametrize(
    ("literal", "beside", "dtype"),
    [
        (2, {"from": "grad"}, "float64"),
        (2, 3.5, "float32"),
        (2, 3, "int32"),
        (2**40, 3, "int64"),
        ("nan", 1.0, "float32"),
        ("9007199254740993", 1, "int64"),
        ({"value": 1, "dtype": "float16"}, 2, "float16"),
        ([1, 2], 1.5, "float32"),
        ({"value": [[1, 2]], "dtype": "complex64"}, [[3, 4]], "complex64"),
        ({"value": 1, "dtype": "bfloat16"}, "inf", "bfloat16"),
    ],
    ids=str,
)
def test_a_bare_literal_takes_the_dtype_that_the_port_gives(literal: Any, beside: Any, dtype: str) -> None:
    graph = pages.to_graph(page_of({"grad": GRAD, "x": {"op": "AddV2", "in": {"x": literal, "y": beside}}}))
    assert graph.node("x").dtypes == [dtype]


def test_strings_are_bytes_as_in_tensorflow() -> None:
    page = page_of({"x": {"op": "Identity", "in": {"input": ["nan", "é"]}}})
    assert pages.run(page).fetches["x"].tolist() == [b"nan", "é".encode()]


# ------------------------------------------------------------------ running
VARIABLE = {
    "count": {"op": "VariableV2", "attrs": {"shape": [], "dtype": "float32"}},
    "init": {"op": "Assign", "in": {"ref": {"from": "count"}, "value": 0}},
    "step": {"op": "AssignAdd", "in": {"ref": {"from": "count"}, "value": 1}},
    "read": {"op": "Identity", "in": {"input": {"from": "count"}}},
    "all": {"op": "NoOp", "after": ["step"]},
}


def test_the_runs_of_a_page_share_their_variables() -> None:
    runs = {
        "init": {"only": ["init"]},
        "train": {"mode": "loop", "steps": 7, "fetch": ["all"]},
        "test": {"fetch": ["read"]},
    }
    page = page_of(VARIABLE, runs=runs, expect={"read": 7})
    answer = pages.run(page)
    assert {name: v.item() for name, v in answer.fetches.items()} == {"read": 7.0}
    assert (answer.compared, answer.mismatches) == (1, [])
    assert pages.run(page, ["init", "train", "train", "test"]).fetches["read"] == 14
    with pytest.raises(gradbag.InvalidArgumentError, match=r"node 'count'.*has no value yet"):
        pages.run(page, ["test"])
    with pytest.raises(gradbag.InvalidArgumentError, match="no run 'tset'; it has init, train, test"):
        pages.run(page, ["tset"])


def test_a_page_without_runs_fetches_what_nothing_reads() -> None:
    fill = {
        "op": "SparseFillEmptyRows",
        "in": {"indices": [[1, 0]], "values": [1.0], "dense_shape": [2, 1], "default_value": 9},
    }
    answer = pages.run(page_of({"a": GRAD, "n": {"op": "Neg", "in": {"x": {"from": "a"}}}, "fill": fill}))
    names = ["fill.output_indices", "fill.output_values", "fill.empty_row_indicator", "fill.reverse_index_map"]
    assert list(answer.fetches) == ["n", *names]
    assert answer.fetches["fill.output_values"].tolist() == [9.0, 1.0]


def test_feeds_stand_in_the_page_or_come_from_outside() -> None:
    nodes = {
        "x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [None]}},
        "y": {"op": "Neg", "in": {"x": {"from": "x"}}},
    }
    page = page_of(nodes, runs={"main": {"fetch": ["y"], "feed": {"x": [1, "inf"]}}}, expect={"y": [-1, "-inf"]})
    assert pages.run(page).mismatches == []
    assert pages.run(page, feed={"x": np.float32([3])}).fetches["y"].tolist() == [-3]
    with pytest.raises(gradbag.InvalidArgumentError, match="node 'x'"):
        pages.run(page_of(nodes))


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ({"value": [1.1, 2], "tolerance": 0.1}, None),
        ({"value": [1.2, 2], "tolerance": 0.1}, "1 of 2 elements differ by more than 0.1"),
        ([1, 2], None),
        ([1, 3], "1 of 2 elements differ by more than 0"),
        ([1, "nan"], "1 of 2 elements differ"),
        ([1], "another dtype or shape"),
        ({"value": [1, 2], "dtype": "float64"}, "another dtype or shape"),
    ],
    ids=str,
)
def test_expectations_have_a_tolerance(expected: Any, told: str | None) -> None:
    page = page_of({"x": {"op": "Identity", "in": {"input": [1.0, 2.0]}}}, expect={"x": expected})
    found = [m.text for m in pages.run(page).mismatches]
    assert len(found) == (told is not None)
    assert told is None or told in found[0]


def test_expectations_that_no_run_fetches_are_computed_for_the_comparison_alone() -> None:
    nodes = {"a": GRAD, "b": {"op": "Neg", "in": {"x": {"from": "a"}}}}
    answer = pages.run(page_of(nodes, runs={"main": {"fetch": ["a"]}}, expect={"b": 1}))
    assert list(answer.fetches) == ["a"]
    assert len(answer.mismatches) == 1


# ------------------------------------------------------------------ a page that was drawn before
CHAIN = {
    "a": {"op": "Const", "attrs": {"dtype": "float32", "value": [1, 2]}},
    "b": {"op": "AddV2", "in": {"x": {"from": "a"}, "y": 1}},
    "c": {"op": "AddN", "in": {"inputs": [{"from": "b"}, {"from": "a"}, [1, 1]]}, "after": ["b"]},
    "d": {"op": "Reshape", "in": {"tensor": {"from": "c"}, "shape": [2, 1]}},
    "e": {"op": "Neg", "in": {"x": {"from": "d"}}},
}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"a": {"op": "Const", "attrs": {"dtype": "float32", "value": [5, 6]}}},
        {"a": {"op": "Const", "attrs": {"dtype": "float64", "value": [5, 6]}}},
        {"a": {"op": "Const", "attrs": {"dtype": "float32", "value": [5, 6, 7]}}},
        {"b": {"op": "Mul", "in": {"x": {"from": "a"}, "y": 3}}},
        {"c": {"op": "AddN", "in": {"inputs": [{"from": "b"}]}}},
        {"d": {"op": "Reshape", "in": {"tensor": {"from": "c"}, "shape": [1, 2]}}},
        {"b": {"op": "Unheard"}},
        {"b": {"op": "Neg", "in": {"x": {"from": "e"}}}},
        {"f": {"op": "Neg", "in": {"x": {"from": "b"}}}},
        {"b/y": {"op": "Neg", "in": {"x": {"from": "a"}}}},
        {"a.output": {"op": "Const", "attrs": {"dtype": "float32", "value": [9, 9]}}},
        {"b": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("linked", ["a", "a.output"])
def test_what_was_drawn_before_changes_nothing_but_the_time(change: Any, linked: str) -> None:
    before = {**CHAIN, "b": {"op": "AddV2", "in": {"x": {"from": linked}, "y": 1}}}
    after = {name: node for name, node in {**before, **change}.items() if node is not None}
    drawn = checking.inspect(page_of(before))
    for first, second in ((before, after), (after, before)):
        drawn = checking.inspect(page_of(first))
        fresh, again = checking.inspect(page_of(second)), checking.inspect(page_of(second), drawn)
        assert again.problems == fresh.problems
        assert [
            (n.name, n.op, [i.name for i in n.inputs], [c.name for c in n.control], n.shapes, n.dtypes)
            for n in again.graph
        ] == [
            (n.name, n.op, [i.name for i in n.inputs], [c.name for c in n.control], n.shapes, n.dtypes)
            for n in fresh.graph
        ]
        assert all(i.graph is again.graph for n in again.graph for i in n.inputs)
        if not fresh.problems:
            from gradbag.graph import ClientSession

            ends = [n for n in again.graph if n.name in ("e", "f", "b/y")]
            for end in ends:
                got = ClientSession(again.graph).run(fetches=[end.name])[0]
                assert got.tobytes() == ClientSession(fresh.graph).run(fetches=[end.name])[0].tobytes()


def test_most_nodes_are_taken_over() -> None:
    drawn = checking.inspect(page_of(CHAIN))
    changed = {**CHAIN, "a": {"op": "Const", "attrs": {"dtype": "float32", "value": [5, 6]}}}
    again = checking.inspect(page_of(changed), drawn)
    kept = [n.name for n in again.graph if n.shapes is drawn.graph.node(n.name).shapes]
    assert {"d", "e"} <= set(kept)
    assert "a" not in kept


def test_a_page_that_was_edited_in_place_is_drawn_as_it_is_now() -> None:
    page = page_of(CHAIN)
    drawn = checking.inspect(page)
    page.nodes["b"]["in"]["y"] = 5
    again = checking.inspect(page, drawn)
    assert again.graph.node("b/y").attrs["value"] == 5
