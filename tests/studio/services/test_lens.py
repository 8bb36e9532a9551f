"""The row lens: hand-worked rows of the shipped pages, and brute force on random ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradbag import dtypes
from gradbag import page as pages
from gradbag.errors import InvalidArgumentError
from gradbag.graph.graph import Graph
from gradbag.graph.session import ClientSession
from gradbag.lens import walk as lens
from gradbag.lens.call import Call
from gradbag.lens.probing import Budget
from gradbag.page.drawing import Drawn, draw
from gradbag.spec import Op, registry
from gradbag.studio.services.catalogue import declared_ops
from gradbag.testing.cases import Case, cases, usual_types

Make = Callable[..., pages.Page]
Ran = Callable[[pages.Page], tuple[Drawn, dict[str, list[Any]]]]
Shipped = Callable[[str], pages.Page]
LINKS = {"indices": {"from": "indices"}, "segment_ids": {"from": "segment_ids"}}


def rows(look: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: look["marks"].get(name) for name in names}


# ------------------------------------------------------------------ by hand
def test_a_mean_lights_its_entries_and_the_rows_they_name(page_of: Make, ran: Ran) -> None:
    nodes = {
        "table": {"op": "Const", "attrs": {"dtype": "float32", "value": [[1, 2], [0, 0], [3, 4], [5, 6], [7, 8]]}},
        "indices": {"op": "Const", "attrs": {"dtype": "int64", "value": [4, 0, 2, 4, 1, 3]}},
        "segment_ids": {"op": "Const", "attrs": {"dtype": "int32", "value": [0, 1, 1, 1, 3, 3]}},
        "mean": {"op": "SparseSegmentMean", "in": {"data": {"from": "table"}, **LINKS}},
        "twice": {"op": "Mul", "in": {"x": {"from": "mean"}, "y": 2}},
        "loss": {"op": "L2Loss", "in": {"t": {"from": "twice"}}},
    }
    page = page_of(nodes)
    drawn, values = ran(page)
    look = lens.look(page, drawn, values, "mean", "output", [1])
    assert look["partial"] == ""
    assert rows(look, "table.output", "mean.data") == {"table.output": [0, 2, 4], "mean.data": [0, 2, 4]}
    assert rows(look, "indices.output", "mean.indices") == {"indices.output": [1, 2, 3], "mean.indices": [1, 2, 3]}
    assert rows(look, "segment_ids.output") == {"segment_ids.output": [1, 2, 3]}
    assert rows(look, "twice.x", "twice.z", "loss.output") == {"twice.x": [1], "twice.z": [1], "loss.output": [-1]}
    assert "twice.y" not in look["marks"]
    assert set(look["wires"]) == {"mean.data", "mean.indices", "mean.segment_ids", "twice.x", "loss.t"}
    assert set(look["feeds"]) == {
        "mean.data",
        "table.output",
        *(f"mean.{n}" for n in LINKS),
        *(f"{n}.output" for n in LINKS),
    }
    assert set(look["fed"]) == {"twice.x", "twice.z", "loss.t", "loss.output"}
    empty = lens.look(page, drawn, values, "mean", "output", [2])  # a segment without entries
    assert empty["feeds"] == []
    last = lens.look(page, drawn, values, "mean", "output", [3])
    assert rows(last, "mean.segment_ids", "table.output") == {"mean.segment_ids": [4, 5], "table.output": [1, 3]}
    down = lens.look(page, drawn, values, "table", "output", [4])
    assert rows(down, "mean.output", "twice.z") == {"mean.output": [0, 1], "twice.z": [0, 1]}
    entry = lens.look(page, drawn, values, "indices", "output", [2])
    assert rows(entry, "mean.indices", "mean.output") == {"mean.indices": [2], "mean.output": [1]}
    assert entry["feeds"] == []


def test_rows_of_zeros_before_the_last_segment_have_no_entries(page_of: Make, ran: Ran) -> None:
    pooled = {"op": "SparseSegmentSum", "in": {"data": [[1.5], [2.5]], "indices": [0, 1], "segment_ids": [0, 3]}}
    page = page_of({"sum": pooled})
    drawn, values = ran(page)
    assert [
        lens.look(page, drawn, values, "sum", "output", [row])["marks"].get("sum.segment_ids") for row in range(4)
    ] == [
        [0],
        None,
        None,
        [1],
    ]


@pytest.mark.parametrize(
    ("name", "row", "expected"),
    [
        # Three entries share segment 2, so each row of the result is row 2 of grad divided by their number.
        ("sparse_segment_mean_grad", 1, {"grad": [2], "indices": [1], "segment_ids": [0, 1, 2]}),
        ("sparse_segment_sqrt_n_grad", 0, {"grad": [0], "indices": [0], "segment_ids": [0, 1]}),
        ("sparse_segment_sqrt_n_grad", 2, {"grad": [2], "indices": [2], "segment_ids": [2]}),
    ],
)
def test_a_gradient_row_lights_the_gradient_entries(
    shipped_as: Shipped, ran: Ran, name: str, row: int, expected: dict[str, list[int]]
) -> None:
    page = shipped_as(name)
    drawn, values = ran(page)
    (result,) = page.section("runs")["main"]["fetch"]
    look = lens.look(page, drawn, values, result, "output", [row])
    assert rows(look, *(f"{n}.output" for n in expected)) == {f"{n}.output": r for n, r in expected.items()}


def test_a_lookup_lights_ids_places_and_table_through_all_its_parts(shipped_as: Shipped, ran: Ran) -> None:
    page = shipped_as("safe_embedding_lookup")
    drawn, values = ran(page)
    look = lens.look(page, drawn, values, "lookup", "output", [3])
    # Row 3 has the last two entries, ids 2 and 4; entry 2 is no id, and nothing of it is left.
    expected = {
        "table.output": [2, 4],
        "ids.output": [3, 4],
        "places.output": [3, 4],
        "kept_ids.output": [2, 3],
        "where_kept.index": [2, 3],
        "is_an_id.z": [3, 4],
        "fill.output_values": [4, 5],
        "pooled.output": [3],
        "table_grad.output": [2, 4],
    }
    assert rows(look, *expected) == expected
    filled = lens.look(page, drawn, values, "pooled", "output", [1])  # an empty row: the default, and no id
    assert rows(filled, "fill.default_value", "table.output") == {"fill.default_value": [-1], "table.output": [0]}
    assert "ids.output" not in filled["marks"]


def test_an_entry_is_finer_than_its_row(page_of: Make, ran: Ran) -> None:
    nodes = {
        "x": {"op": "Const", "attrs": {"dtype": "float32", "value": [[1, 2, 3], [4, 5, 6]]}},
        "t": {"op": "Transpose", "in": {"x": {"from": "x"}, "perm": [1, 0]}},
    }
    page = page_of(nodes)
    drawn, values = ran(page)
    assert lens.look(page, drawn, values, "t", "y", [2])["marks"]["x.output"] == [0, 1]
    assert lens.look(page, drawn, values, "t", "y", [2, 1])["marks"]["x.output"] == [1]
    assert lens.look(page, drawn, values, "t", "y", [])["marks"]["x.output"] == [0, 1]
    assert "t.perm" not in lens.look(page, drawn, values, "t", "y", [2])["marks"]  # a setting


def test_an_input_is_looked_at_from_its_own_side(page_of: Make, ran: Ran) -> None:
    nodes = {
        "x": {"op": "Const", "attrs": {"dtype": "float32", "value": [1, 2, 3]}},
        "a": {"op": "Neg", "in": {"x": {"from": "x"}}},
        "b": {"op": "Exp", "in": {"x": {"from": "x"}}},
        "c": {"op": "AddV2", "in": {"x": {"from": "a"}, "y": [1, 2, 3]}},
    }
    page = page_of(nodes)
    drawn, values = ran(page)
    look = lens.look(page, drawn, values, "a", "x", [1])
    assert look["marks"] == {"a.x": [1], "x.output": [1], "a.y": [1], "c.x": [1], "c.z": [1]}
    literal = lens.look(page, drawn, values, "c", "y", [2])
    assert literal["marks"] == {"c.y": [2], "c.z": [2]}


def test_zeros_and_saturated_functions_hide_nothing(page_of: Make, ran: Ran) -> None:
    nodes = {
        "x": {"op": "Const", "attrs": {"dtype": "float32", "value": [0, 2, 900]}},
        "y": {"op": "Const", "attrs": {"dtype": "float32", "value": [0, 0, 1]}},
        "product": {"op": "Mul", "in": {"x": {"from": "x"}, "y": {"from": "y"}}},
        "flat": {"op": "Tanh", "in": {"x": {"from": "product"}}},
    }
    page = page_of(nodes)
    drawn, values = ran(page)
    for row in range(3):
        look = lens.look(page, drawn, values, "flat", "y", [row])
        assert rows(look, "x.output", "y.output") == {"x.output": [row], "y.output": [row]}


def test_numbers_that_are_none_are_followed_all_the_same(page_of: Make, ran: Ran) -> None:
    nodes = {
        "x": {"op": "Const", "attrs": {"dtype": "float32", "value": ["nan", 1, "inf"]}},
        "words": {"op": "Const", "attrs": {"dtype": "string", "value": ["a", "b", "a"]}},
        "taken": {"op": "GatherV2", "in": {"params": {"from": "x"}, "indices": [2, 1], "axis": 0}},
        "some": {"op": "GatherV2", "in": {"params": {"from": "words"}, "indices": [2, 1], "axis": 0}},
    }
    page = page_of(nodes)
    drawn, values = ran(page)
    assert lens.look(page, drawn, values, "taken", "output", [1])["marks"]["x.output"] == [1]
    assert lens.look(page, drawn, values, "some", "output", [0])["marks"]["words.output"] == [2]


def test_what_has_not_run_is_said(page_of: Make) -> None:
    nodes = {
        "x": {"op": "Placeholder", "attrs": {"dtype": "float32", "shape": [2]}},
        "y": {"op": "Neg", "in": {"x": {"from": "x"}}},
    }
    page = page_of(nodes)
    drawn = draw(page)
    with pytest.raises(InvalidArgumentError, match="run the page first"):
        lens.look(page, drawn, {}, "y", "y", [0])
    look = lens.look(page, drawn, {"x": [np.zeros(2, np.float32)]}, "x", "output", [0])
    assert look["partial"] == "y has not run, so nothing is followed through it"
    for arguments in [
        ("z", "y", [0]),
        ("x", "z", [0]),
        ("x", "output", [2]),
        ("x", "output", [0, 0]),
        ("x", "output", [-1]),
    ]:
        with pytest.raises(InvalidArgumentError):
            lens.look(page, drawn, {"x": [np.zeros(2, np.float32)]}, *arguments)


def many(page_of: Make) -> pages.Page:
    ids = np.sort(np.arange(3000) % 50).tolist()
    table = {"op": "Const", "attrs": {"dtype": "float32", "value": np.ones((50, 2)).tolist()}}
    pooled = {"op": "SparseSegmentSum", "in": {"data": {"from": "table"}, "indices": ids, "segment_ids": ids}}
    return page_of({"table": table, "sum": pooled})


def test_many_entries_are_followed_in_few_calls(page_of: Make, monkeypatch: pytest.MonkeyPatch, ran: Ran) -> None:
    page = many(page_of)
    drawn, values = ran(page)
    monkeypatch.setattr(lens, "MOST_CALLS", 3000)  # half as many as there are entries
    look = lens.look(page, drawn, values, "sum", "output", [49])
    assert look["partial"] == ""
    assert look["marks"]["sum.indices"] == look["marks"]["sum.segment_ids"] == list(range(2940, 3000))
    assert look["marks"]["table.output"] == [49]


def test_there_is_an_end_to_trying(page_of: Make, monkeypatch: pytest.MonkeyPatch, ran: Ran) -> None:
    page = many(page_of)
    drawn, values = ran(page)
    monkeypatch.setattr(lens, "MOST_CALLS", 200)
    look = lens.look(page, drawn, values, "sum", "output", [49])
    assert look["partial"] == "only the first entries of sum.indices were followed"
    assert look["marks"]["table.output"] == [49]


# ------------------------------------------------------------------ over the registry
ASKED = [one for one in declared_ops() if not (one.state or one.updates) and one.inputs and one.outputs]


def call_of(case: Case) -> Call | None:
    """A case as a node of a graph, if it is small."""
    arrays = [array for array in case.arrays if array is not None]
    if sum(array.size for array in arrays) > 40:
        return None
    graph = Graph()
    sources = []
    for place, array in enumerate(case.arrays):
        if array is None:
            sources.append(None)
            continue
        attrs = {"value": array, "dtype": dtypes.name_of(array.dtype)}
        sources.append(graph.add(registry["Const"], f"input{place}", (), attrs).outputs[0])
    node = graph.add(case.op, "n", sources, case.attrs)
    outputs = ClientSession(graph).run(fetches=node.outputs)
    small = sum(output.size for output in outputs) <= 60
    return Call(node, arrays, outputs, Budget(10**6, 60)) if small else None


def called(op: Op) -> Call:
    call = call_of(next(cases(op, usual_types(op))))
    assert call is not None
    return call


def some_types(op: Op) -> list[dict[str, str]]:
    """The usual dtypes, and for each variable a text, a whole number and a complex number where it takes them."""
    usual = usual_types(op)
    others = [
        {**usual, v: name} for v in op.types for name in ("string", "int8", "bool", "complex64") if name in op.types[v]
    ]
    return [usual, *others]


def one_of(shape: tuple[int, ...], place: int) -> Any:
    mask = np.zeros(shape, bool)
    mask.reshape(-1)[place] = True
    return mask


def assert_two_ways(call: Call) -> None:
    """What an entry feeds, and what feeds an entry, are the same pairs."""
    count = len(call.inputs)
    forth, back = set(), set()
    for place, value in enumerate(call.inputs):
        for entry in range(value.size):
            found = call.forth([one_of(value.shape, entry) if p == place else None for p in range(count)])
            for index, mask in enumerate(found):
                forth |= {(place, entry, index, int(k)) for k in np.flatnonzero(mask)} if mask is not None else set()
    for index, value in enumerate(call.outputs):
        for entry in range(value.size):
            lit = [one_of(value.shape, entry) if k == index else None for k in range(len(call.outputs))]
            for place, mask in enumerate(call.back(lit)):
                back |= {(place, int(k), index, entry) for k in np.flatnonzero(mask)} if mask is not None else set()
    assert forth == back
    assert call.budget.unfinished == ""


@pytest.mark.parametrize("op", ASKED, ids=lambda op: op.name)
def test_upstream_and_downstream_are_two_ways_to_say_the_same(op: Op) -> None:
    for types in some_types(op):
        call = call_of(next(cases(op, types)))
        assert call is not None
        assert call.trials.smooth or not call.declared.differentiable, "the example can be followed"
        assert_two_ways(call)


@pytest.mark.slow
@pytest.mark.parametrize("op", ASKED, ids=lambda op: op.name)
def test_samples_are_followed_in_both_ways_too(op: Op) -> None:
    calls = [call for case in cases(op, usual_types(op)) if (call := call_of(case)) is not None]
    assert calls
    for call in calls[:12]:
        assert_two_ways(call)


@pytest.mark.parametrize("op", ASKED, ids=lambda op: op.name)
def test_what_an_op_carries_along_is_followed_whatever_its_dtype(op: Op) -> None:
    """Words and whole numbers go the same ways as fractions."""
    places = {}
    for types in some_types(op):
        call = call_of(next(cases(op, types)))
        assert call is not None
        for place in call.declared.differentiable:
            mask = np.ones(call.inputs[place].shape, bool)
            found = call.forth([mask if p == place else None for p in range(len(call.inputs))])
            lit = [m is not None and bool(m.any()) for m in found]
            assert places.setdefault(place, lit) == lit, types


@pytest.mark.parametrize("op", [o for o in ASKED if o.rule is not None and o.differentiable], ids=lambda op: op.name)
def test_a_small_change_of_a_number_touches_what_is_lit_and_nothing_else(op: Op) -> None:
    call = called(op)
    values, outputs = call.trials.smooth[0]
    for place in call.declared.differentiable:
        for entry in range(values[place].size):
            changed = list(values)
            changed[place] = values[place].copy()
            changed[place].reshape(-1)[entry] += 1e-3
            after = call.trials.run(changed)
            if after is None:
                continue
            lit = call.forth([one_of(values[place].shape, entry) if p == place else None for p in range(len(values))])
            for old, new, mask in zip(outputs, after, lit, strict=True):
                if old.dtype.kind in "fc" and old.shape == new.shape:
                    touched = (old != new) & ~(np.isnan(old) & np.isnan(new))
                    assert not (touched & ~(mask if mask is not None else np.zeros(old.shape, bool))).any(), op.name


# ------------------------------------------------------------------ random pages
@pytest.mark.slow
def test_every_row_of_the_shipped_pages_can_be_looked_at(shipped: pages.Page, ran: Ran) -> None:
    drawn, values = ran(shipped)
    looked = [node for node in drawn.graph if node.name in values]
    gradients = {
        f"{name}.{port}" for name, entry in shipped.nodes.items() if entry["op"] == "Gradient" for port in entry["in"]
    }
    assert len(looked) > len(drawn.graph) / 2
    for node in looked:
        for output, value in zip(node.outputs, values[node.name], strict=True):
            if node.name in shipped.nodes:
                for index in [[], *([k] for k in range(len(value) if value.ndim else 0))][:2]:
                    look = lens.look(shipped, drawn, values, node.name, output.port, index)
                    assert look["partial"] == ""
                    assert not set(look["feeds"]) & set(look["fed"])
                    lit = {*look["feeds"], *look["fed"], *look["wires"]} - gradients  # whose inputs have no values
                    assert lit <= look["marks"].keys()


@pytest.mark.parametrize("seed", range(6))
def test_random_pages_by_brute_force(page_of: Make, ran: Ran, seed: int) -> None:
    """Change a row of a table, run the page again: what differs is what the lens lights downstream, and only that."""
    rng = np.random.default_rng(seed)
    page = page_of(random_nodes(rng))
    drawn, before = ran(page)
    table = before["table"][0]
    for row in range(len(table)):
        moved = table.copy()
        moved[row] += rng.uniform(0.1, 0.2, moved[row].shape)
        nodes = {**page.nodes, "table": {"op": "Const", "attrs": {"dtype": "float64", "value": moved.tolist()}}}
        _, after = ran(page_of(nodes))
        look = lens.look(page, drawn, before, "table", "output", [row])
        assert look["partial"] == ""
        for name in page.nodes:
            if name == "table":
                continue
            for output, old, new in zip(drawn.graph.node(name).outputs, before[name], after[name], strict=True):
                flat = np.asarray(old != new).reshape(len(old), -1).any(1) if old.ndim else np.asarray([old != new])
                expected = [-1] if not old.ndim and flat[0] else np.flatnonzero(flat).tolist() if old.ndim else []
                assert look["marks"].get(f"{name}.{output.port}", []) == expected, (name, row)
        for name in page.nodes:  # and from there the lens looks back at the row
            for output in drawn.graph.node(name).outputs:
                for lit in look["marks"].get(f"{name}.{output.port}", [])[:2]:
                    if name != "table":
                        back = lens.look(page, drawn, before, name, output.port, [lit] if lit >= 0 else [])
                        assert row in back["marks"]["table.output"]


def random_nodes(rng: np.random.Generator) -> dict[str, Any]:
    """A table, pooled and taken apart and put together again at random, all with two columns."""
    nodes: dict[str, Any] = {
        "table": {"op": "Const", "attrs": {"dtype": "float64", "value": rng.normal(size=(6, 2)).tolist()}}
    }
    sizes = {"table": 6}
    for number in range(8):
        source = str(rng.choice(list(sizes)))
        count, name = sizes[source], f"n{number}"
        entries = rng.integers(0, count, 5).tolist()
        match rng.integers(6):
            case 0 | 1:
                kind = rng.choice(["Sum", "Mean", "SqrtN"])
                ids = np.sort(rng.permutation([0, 1, 2, *rng.integers(0, 3, 2)])).tolist()
                nodes[name] = {
                    "op": f"SparseSegment{kind}",
                    "in": {"data": {"from": source}, "indices": entries, "segment_ids": ids},
                }
                sizes[name] = 3
            case 2:
                inputs = {
                    "grad": {"from": source},
                    "indices": [3, 0, 0, 1],
                    "segment_ids": rng.integers(0, count, 4).tolist(),
                }
                nodes[name] = {"op": "SparseSegmentMeanGrad", "in": {**inputs, "output_dim0": 5}}
                sizes[name] = 5
            case 3:
                nodes[name] = {"op": "GatherV2", "in": {"params": {"from": source}, "indices": entries, "axis": 0}}
                sizes[name] = 5
            case 4:
                nodes[name] = {"op": "Tanh", "in": {"x": {"from": source}}}
                sizes[name] = count
            case _:
                other = str(rng.choice(list(sizes)))
                nodes[name] = {"op": "ConcatV2", "in": {"values": [{"from": source}, {"from": other}], "axis": 0}}
                sizes[name] = count + sizes[other]
    nodes["loss"] = {"op": "L2Loss", "in": {"t": {"from": list(sizes)[-1]}}}
    return nodes
