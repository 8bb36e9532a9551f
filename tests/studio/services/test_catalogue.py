"""What the palette offers: every op of the registry, ready to run."""

from __future__ import annotations

import json

import pytest

from gradbag import page as pages
from gradbag.errors import InvalidArgumentError
from gradbag.spec import Arg, Example, Op, op, registry
from gradbag.studio.services.catalogue import catalogue, category, declared_ops, example, op_info
from gradbag.studio.services.help import help_page

OPS = list(declared_ops())
# What a session has to feed, to keep or to be told by a wire first.
KEPT = ("variable", "assign", "update", "initialized")
ALONE = [
    one for one in OPS if not one.updates and one.state not in (*KEPT, "switch") and (one.state != "fed" or one.inputs)
]


@pytest.mark.parametrize("one", ALONE, ids=lambda one: one.name)
def test_a_new_block_runs_at_once(one: Op) -> None:
    page = pages.Page({"format": pages.FORMAT, "nodes": {"block": {"op": one.name, **example(one)}}})
    assert pages.check(page) == []
    answer = pages.run(page)
    assert len(answer.fetches) >= len(one.outputs)  # each member of a list


@pytest.mark.parametrize("one", [o for o in OPS if o not in ALONE and o.state != "switch"], ids=lambda one: one.name)
def test_a_new_block_of_state_has_a_dtype_and_a_shape_or_waits_for_its_variable(one: Op) -> None:
    page = pages.Page({"format": pages.FORMAT, "nodes": {"block": {"op": one.name, **example(one)}}})
    missing = [problem.port for problem in pages.check(page)]
    assert missing == ([arg.name for arg in one.inputs if arg.updates] or list(one.input_names[:1]))


@pytest.mark.parametrize("one", OPS, ids=lambda one: one.name)
def test_every_op_says_what_an_editor_needs(one: Op) -> None:
    info = op_info(one)
    assert json.loads(json.dumps(info, allow_nan=False)) == info
    assert info["title"]
    assert info["summary"] == info["summary"].strip() != ""
    known = {*info["types"], *catalogue()["dtypes"]}
    assert {port["dtype"] for port in (*info["inputs"], *info["outputs"])} <= known
    assert all(port["text"] for port in (*info["inputs"], *info["outputs"]))
    assert all(setting["text"] for setting in info["attrs"])
    assert one.python_name in info["words"]


@pytest.mark.parametrize("one", OPS, ids=lambda one: one.name)
def test_inputs_and_outputs_of_an_op_have_different_names(one: Op) -> None:
    """A lens and a wire name a port by node and name alone."""
    assert not {a.name for a in one.inputs} & {a.name for a in one.outputs}


@pytest.mark.parametrize("one", OPS, ids=lambda one: one.name)
def test_the_help_of_an_op_is_plain_text(one: Op) -> None:
    blocks = help_page(one.name)["blocks"]
    assert blocks[0] == {"kind": "heading", "text": one.name}
    for block in blocks:
        if block["kind"] == "table":
            assert all(len(row) == len(block["head"]) for row in block["rows"])
        else:
            assert block["kind"] in ("heading", "text", "formula", "code")
            assert block["text"].strip()
            assert "```" not in block["text"]


def test_a_formula_keeps_its_lines() -> None:
    formulas = [b["text"] for b in help_page("SparseFillEmptyRowsGrad")["blocks"] if b["kind"] == "formula"]
    assert len(formulas) == 1
    assert formulas[0].count("\n") == 1


def test_an_op_that_does_not_exist_has_no_help() -> None:
    with pytest.raises(InvalidArgumentError, match="no op 'Nothing'"):
        help_page("Nothing")


def test_categories_are_words_from_the_modules() -> None:
    found = catalogue()["categories"]
    assert {"Sparse segments", "Sparse segment gradients", "Sparse fill empty rows", "Arithmetic"} <= set(found)
    assert found == [*dict.fromkeys(category(one) for one in OPS), "Gradients"]


def test_an_op_declared_later_is_offered_too() -> None:
    @op(
        "TwiceForAWhile",
        inputs=[Arg("x", "T", "*shape", "A number.")],
        outputs=[Arg("y", "T", "*shape", "Twice as much.")],
        types={"T": ("float32",)},
        example=Example({"x": [1.0]}, {"y": [2.0]}),
        samples=lambda rng: [],
    )
    def twice_for_a_while(x):  # type: ignore[no-untyped-def]
        """Double a number."""
        return x + x

    try:
        assert "TwiceForAWhile" in [info["name"] for info in catalogue()["ops"]]
    finally:
        registry.remove("TwiceForAWhile")
    assert "TwiceForAWhile" not in [info["name"] for info in catalogue()["ops"]]
