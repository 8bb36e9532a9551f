"""Adding an op touches one file: it is then called, checked, differentiated, typed, documented, listed and tested."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
from collections.abc import Callable, Iterator
from doctest import DocTestParser, DocTestRunner
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import dtypes, opdocs, raw_ops, stubs
from gradbag.cli import main
from gradbag.graph import ClientSession, Scope, add_symbolic_gradients, load_graphdef
from gradbag.graph import ops as graph_ops
from gradbag.graph.graph import Node
from gradbag.graph.graphdef.saving import to_graphdef_bytes
from gradbag.spec import Arg, Attr, Example, Op, op, registry
from gradbag.testing import assert_adjoint, assert_gradient, assert_kernel_equals_body, cases
from gradbag.testing.cases import usual_types

HEAD = """
from typing import Any

import numpy as np

from gradbag.dtypes import COMPLEX, FLOAT
from gradbag.spec import Arg, Example, Reject, op


def scaled_rows(rng: np.random.Generator) -> Any:
    for shape in ((5,), (3, 2), (2, 0), (0, 4), (3, 2, 2)):
        yield {"data": rng.uniform(0.5, 2.0, shape), "factors": rng.integers(-3, 4, shape[0])}
"""
# The op that CONTRIBUTING.md shows.
BLOCK = '''
# ------------------------------------------------------------------ ScaleRows
@op(
    "ScaleRows",
    inputs=[
        Arg("data", "T", "rows *inner", "The rows to scale."),
        Arg("factors", "int64", "rows", "A whole number for each row."),
    ],
    outputs=[Arg("output", "T", "rows *inner", "The scaled rows.")],
    types={"T": FLOAT + COMPLEX},
    linear=["data"],
    example=Example({"data": [[1.0, 2.0], [3.0, 4.0]], "factors": [2, 3]}, {"output": [[2.0, 4.0], [9.0, 12.0]]}),
    samples=scaled_rows,
    rejects=[Reject({"factors": [2]}, r"factors must have shape \\[rows\\] with rows=2; got \\[1\\]")],
)
def scale_rows(data: Any, factors: Any) -> Any:
    """Multiply each row by a whole number.

    output[r] = data[r] * factors[r]
    """
    return (data * factors.reshape(-1, *[1] * (data.ndim - 1))).astype(data.dtype)


@scale_rows.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"data": ops.ScaleRows(data=g.output, factors=x.factors)}
'''


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Whatever a test declares is removed from the registry again."""
    before = dir(raw_ops)
    yield
    for name in set(dir(raw_ops)) - set(before):
        registry.remove(name)
    assert dir(raw_ops) == before


@pytest.fixture
def scale_rows(tmp_path: Path) -> Op:
    path = tmp_path / "scale_rows.py"
    path.write_text(HEAD + BLOCK, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("scale_rows", path)
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: Op = module.scale_rows
    return made


# ------------------------------------------------------------------ one file
def test_it_is_called_like_any_other(scale_rows: Op) -> None:
    answer = raw_ops.ScaleRows(data=np.array([[1.0], [2.0]], np.float16), factors=[3, -1])
    assert (answer.dtype, answer.tolist()) == (np.float16, [[3.0], [-2.0]])
    assert raw_ops.ScaleRows is raw_ops.ScaleRows
    assert "ScaleRows" in dir(raw_ops)
    assert list(inspect.signature(raw_ops.ScaleRows).parameters) == ["data", "factors", "name", "out"]


def test_its_arguments_are_checked(scale_rows: Op) -> None:
    (reject,) = scale_rows.rejects
    with pytest.raises(gradbag.InvalidArgumentError, match=f"^ScaleRows: {reject.message}$"):
        raw_ops.ScaleRows(**{**scale_rows.example.inputs, **reject.change})
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^ScaleRows: factors must be int64; got a Python float$"):
        raw_ops.ScaleRows(data=[[1.0]], factors=[0.5])
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^ScaleRows: data must be one of float16, .*; got int32$"):
        raw_ops.ScaleRows(data=np.array([1], np.int32), factors=[1])
    with pytest.raises(TypeError, match="ScaleRows misses the required argument 'factors'"):
        raw_ops.ScaleRows(data=[1.0])


def test_it_keeps_to_the_memory_limit(scale_rows: Op) -> None:
    gradbag.set_memory_limit(100)
    try:
        with pytest.raises(gradbag.ResourceExhaustedError, match=r"^ScaleRows: data asks for output of shape \[1000\]"):
            raw_ops.ScaleRows(data=np.zeros(1000), factors=np.zeros(1000, np.int64))
    finally:
        gradbag.set_memory_limit(None)


def test_it_has_help_a_page_a_block_and_a_stub(scale_rows: Op) -> None:
    assert "Multiply each row by a whole number." in raw_ops.ScaleRows.__doc__
    page = opdocs.markdown(scale_rows)
    assert page.startswith("# ScaleRows\n\nMultiply each row by a whole number.\n")
    assert "output[r] = data[r] * factors[r]" in page
    assert "[ 9., 12.]" in page
    block = opdocs.block(scale_rows)
    assert (block["op"], block["category"], block["differentiable"]) == ("ScaleRows", "scale_rows", ["data"])
    assert json.loads(json.dumps(block)) == block
    assert "def ScaleRows(\n    *,\n    data: ArrayLike,\n    factors: ArrayLike,\n" in stubs.stub(scale_rows)
    assert stubs.stub(scale_rows) in stubs.module()


def test_the_command_line_lists_and_shows_it(scale_rows: Op, capsys: Any) -> None:
    assert main(["ops"]) == 0
    assert "ScaleRows" in capsys.readouterr().out
    assert main(["ops", "scale_rows"]) == 0
    assert "A whole number for each row." in capsys.readouterr().out


def test_it_is_differentiated_in_both_modes_and_to_order_two(scale_rows: Op) -> None:
    for name in ("float64", "complex128"):
        derived = list(cases(scale_rows, {"T": name}))
        assert len(derived) == 6
        for case in derived:
            assert assert_gradient(case, order=2) == 2
            assert_adjoint(case)


def test_the_derived_tests_run_in_every_dtype(scale_rows: Op) -> None:
    derived = list(cases(scale_rows))
    assert {case.types["T"] for case in derived} == {*dtypes.FLOAT, *dtypes.COMPLEX}
    for case in derived:
        assert_kernel_equals_body(case)
    inferred = scale_rows.infer([(None, 2), (7,)], ["float32", "int64"])
    assert inferred == [((7, 2), "float32")]


def test_it_can_be_forgotten(scale_rows: Op) -> None:
    registry.remove("ScaleRows")
    assert "ScaleRows" not in dir(raw_ops)
    with pytest.raises(AttributeError, match="no op 'ScaleRows'"):
        _ = raw_ops.ScaleRows


# ------------------------------------------------------------------ every kind
KINDS = [
    "CubeRows",
    "RoundRows",
    "PowerRows",
    "ProductOfRows",
    "ShiftRows",
    "DecayRows",
    "PowersOfRows",
    "NegatedRows",
]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Op:
    """An op of one kind, declared with the others in a temporary module."""
    path = tmp_path / "kinds_of_ops.py"
    path.write_text((Path(__file__).parents[1] / "data/kinds_of_ops.py").read_text(encoding="utf-8"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("kinds_of_ops", path)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return registry[request.param]


def test_every_kind_gives_its_example(kind: Op) -> None:
    call = getattr(raw_ops, kind.name)
    given = dict(kind.example.inputs)
    given |= {name: np.array(given[name], np.float32) for name in kind.example.after}
    outputs = kind.flat_answer(call(**given))
    wanted = list(kind.example.outputs.values())
    for got, want in zip(outputs, kind.flat_answer(wanted if kind.result else wanted[0]), strict=True):
        np.testing.assert_array_equal(got, want)
    for name, value in kind.example.after.items():
        np.testing.assert_array_equal(given[name], value)


def test_every_kind_is_in_stubs_docs_and_blocks(kind: Op) -> None:
    assert kind.name in dir(raw_ops)
    stub, page, block = stubs.stub(kind), opdocs.markdown(kind), opdocs.block(kind)
    assert stub in stubs.module()
    assert page.startswith(f"# {kind.name}\n")
    assert {p["name"]: (p["many"], p["optional"], p["updates"]) for p in block["inputs"]} == {
        a.name: (a.many, a.optional, a.updates) for a in kind.inputs
    }
    for wanted, text in {
        "ShiftRows": ("shift: ArrayLike | None = None", "shift=None"),
        "DecayRows": ("table: NDArray[_Any]", "Changed in place, unless there is an error: table."),
        "ProductOfRows": ("factors: Sequence[ArrayLike]", "list of T"),
        "PowerRows": ("power: int = 2", "power=2"),
        "PowersOfRows": ("-> list[NDArray[_Any]]", "| `powers` | list of T |"),
        "NegatedRows": ("negated: list[NDArray[_Any]]", "| `negated` | list of T |"),
        "RoundRows": ("x: ArrayLike", "No input carries a gradient."),
        "CubeRows": ("x: ArrayLike", "Gradients: x, in reverse and forward mode, to any order."),
    }.items():
        if kind.name == wanted:
            assert text[0] in stub
            assert text[1] in page
    doctest = DocTestParser().get_doctest(getattr(raw_ops, kind.name).__doc__, {}, kind.name, None, 0)
    assert DocTestRunner().run(doctest).failed == 0


def test_every_kind_passes_the_derived_tests(kind: Op) -> None:
    derived = list(cases(kind))
    assert len(derived) >= 4
    for case in derived:
        assert_kernel_equals_body(case)
        if kind.rule is not None and set(case.types.values()) == {"float64"}:
            assert_gradient(case, order=2)
            assert_adjoint(case)


def in_graph(kind: Op, scope: Scope, left_out: bool) -> tuple[Node, list[Any]]:
    """A node of an op on its example, and what must run before it."""
    inputs: dict[str, Any] = {}
    before = []
    for arg in kind.inputs:
        value = kind.example.inputs[arg.name]
        if arg.updates:
            variable = graph_ops.VariableV2(scope, shape=list(np.shape(value)), dtype="float32")
            before.append(graph_ops.Assign(scope, variable, np.array(value, np.float32)).output_ref)
            inputs[arg.name] = variable.ref
        elif not (arg.optional and left_out):
            inputs[arg.name] = [graph_ops.Const(scope, v) for v in value] if arg.many else graph_ops.Const(scope, value)
    attrs = {a.name: kind.example.inputs[a.name] for a in kind.attrs}
    return getattr(graph_ops, kind.name)(scope, **inputs, **attrs).node, before


@pytest.mark.parametrize("left_out", [False, True], ids=["whole", "left out"])
def test_every_kind_is_a_node_and_comes_back_from_a_graphdef(kind: Op, left_out: bool) -> None:
    scope = Scope.new_root_scope()
    node, before = in_graph(kind, scope, left_out)
    if left_out and kind.optional_names:
        assert node.absent == (1,)
        assert node.ports == ["x"]
    wanted = kind.example.inputs["x"] if node.absent else next(iter(kind.example.outputs.values()))
    wanted = wanted[0] if kind.outputs[0].many else wanted
    again = load_graphdef(to_graphdef_bytes(scope.graph))
    for graph in (scope.graph, again):
        session = ClientSession(Scope.over(graph))
        if before:
            session.run({}, [graph.node(b.node.name).outputs[0] for b in before])
        np.testing.assert_array_equal(session.run({}, graph.node(node.name).outputs[0]), wanted)
        for (name, after), source in zip(kind.example.after.items(), node.inputs, strict=False):
            variable = graph.node(source.node.name).outputs[0]
            np.testing.assert_array_equal(session.run({}, variable), after, err_msg=name)
    assert to_graphdef_bytes(again) == to_graphdef_bytes(scope.graph)
    if kind.rule is not None:
        gradients = add_symbolic_gradients(scope, [node.outputs[0]], list(node.inputs))
        assert all(np.isfinite(g).all() for g in ClientSession(scope).run({}, gradients))


def test_a_gradient_of_what_has_none_is_an_error_not_a_zero(kind: Op) -> None:
    if kind.rule is None and not kind.updates:
        with pytest.raises(gradbag.UnsupportedTypeError, match=f"{kind.name} has no gradient"):
            gradbag.grad(lambda x: getattr(raw_ops, kind.name)(x=x).sum())(np.ones(2))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({}, "the gradient rule says nothing about x"),
        ({"x": None, "z": None}, "the gradient rule names z, which is no input"),
    ],
)
def test_a_rule_that_forgets_or_invents_an_input_is_refused_everywhere(
    kind: Op, answer: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind.name != "CubeRows":
        return
    monkeypatch.setattr(kind, "rule", lambda *_: answer)
    with pytest.raises(gradbag.UnsupportedTypeError, match=message):
        gradbag.grad(lambda x: raw_ops.CubeRows(x=x).sum())(np.ones(2))
    scope = Scope.new_root_scope()
    x = graph_ops.Const(scope, [1.0, 2.0]).output
    with pytest.raises(gradbag.UnsupportedTypeError, match=message):
        add_symbolic_gradients(scope, [graph_ops.CubeRows(scope, x).y], [x])


def test_an_update_is_refused_in_words_and_then_changes_nothing() -> None:
    table = np.ones((4, 2))
    rows = {"indices": [0, 9], "grad": np.ones((2, 2)), "learning_rate": 0.5}
    with pytest.raises(gradbag.InvalidArgumentError, match=r"indices\[1\] == 9 out of range \[0, 4\)"):
        raw_ops.RowSgd(table=table, **rows)
    good = {**rows, "indices": [0, 1]}
    for wrong, message in [
        ([[1.0, 2.0]] * 4, "table must be a NumPy array, which is changed; got list"),
        (np.broadcast_to(1.0, (4, 2)), "table must be writeable; got a read-only array"),
    ]:
        with pytest.raises(gradbag.Error, match=message):
            raw_ops.RowSgd(table=wrong, **good)
    with pytest.raises(gradbag.InvalidArgumentError, match="memory of its own; got an array that overlaps grad"):
        raw_ops.RowSgd(table=table, indices=[0, 1], grad=table[2:], learning_rate=0.5)
    assert (table == 1).all()
    every_second = np.ones((8, 2))[::2]
    raw_ops.RowSgd(table=every_second, **good)
    assert every_second[:, 0].tolist() == [0.5, 0.5, 1.0, 1.0]


# ------------------------------------------------------------------ wrong declarations
GOOD: dict[str, Any] = {
    "inputs": [Arg("data", "T", "n", "Numbers."), Arg("weights", "T", "n", "As many more.")],
    "outputs": [Arg("output", "T", "n", "Their products.")],
    "types": {"T": ("float32", "float64")},
    "example": Example({"data": [1.0], "weights": [2.0]}, {"output": [2.0]}),
    "samples": lambda rng: [],
}


def weigh(data: Any, weights: Any) -> Any:
    """Multiply two vectors."""
    return data * weights


def renamed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def body(*args: Any, **settings: Any) -> Any:
        return function(*args, **settings)

    body.__name__, body.__doc__ = name, function.__doc__
    body.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return body


def undocumented(data: Any, weights: Any) -> Any:
    return data * weights


WRONG = {
    "function name": ({}, renamed("weight", weigh), r"the function must be called weigh, not weight$"),
    "parameter order": (
        {"inputs": GOOD["inputs"][::-1]},
        weigh,
        r"the declaration names \['weights', 'data'\], the function takes \['data', 'weights'\]$",
    ),
    "parameter missing": (
        {"attrs": [Attr("squared", False, "Square them.")]},
        weigh,
        r"the declaration names \['data', 'weights', 'squared'\], the function takes \['data', 'weights'\]$",
    ),
    "reserved name": (
        {"inputs": [GOOD["inputs"][0], Arg("out", "T", "n", "As many more.")]},
        renamed("weigh", lambda data, out: data * out),
        r"out is an argument of every op, and no input can be called so$",
    ),
    "docstring": ({}, renamed("weigh", undocumented), r"the function needs a docstring"),
    "dtype": (
        {"inputs": [GOOD["inputs"][0], Arg("weights", "float23", "n", "As many more.")]},
        weigh,
        r"weights has the dtype 'float23', which is neither known nor in types$",
    ),
    "output dtype": (
        {"outputs": [Arg("output", "U", "n", "Their products.")]},
        weigh,
        r"output has the dtype 'U', which is neither known nor in types$",
    ),
    "dtype in types": ({"types": {"T": ("float32", "float23")}}, weigh, r"float23"),
    "example input": (
        {"example": Example({"data": [1.0]}, {"output": [2.0]})},
        weigh,
        r"the example must give every input, in order$",
    ),
    "example output": (
        {"example": Example({"data": [1.0], "weights": [2.0]}, {})},
        weigh,
        r"the example must give every output",
    ),
    "linear": ({"linear": ["factors"]}, weigh, r"linear names factors, which carries no gradient$"),
    "no_grad": ({"no_grad": ["factors"]}, weigh, r"no_grad names factors"),
}


@pytest.mark.parametrize(("change", "body", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_declaration_is_refused_where_it_stands(change: dict[str, Any], body: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"^Weigh: .*{message}"):
        op("Weigh", **{**GOOD, **change})(body)
    assert "Weigh" not in registry


def test_a_good_declaration_is_not() -> None:
    assert op("Weigh", **GOOD)(weigh).name == "Weigh"


def test_an_op_is_declared_once() -> None:
    op("Weigh", **GOOD)(weigh)
    with pytest.raises(TypeError, match=r"^Weigh is declared twice$"):
        op("Weigh", **GOOD)(weigh)


@pytest.mark.parametrize("shape", ["n-1", "*a *b", "rows,cols", "**a", "a *a"])
def test_a_shape_that_is_no_shape_is_refused(shape: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(shape))):
        Arg("data", "T", shape, "Numbers.")


# ------------------------------------------------------------------ wrong or missing rules
def test_a_rule_that_forgets_an_input_is_an_error_and_no_silent_zero() -> None:
    made = op("Weigh", **GOOD)(weigh)

    @made.gradient
    def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
        return {"data": ops.Weigh(data=g.output, weights=x.weights)}

    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^Weigh: the gradient rule says nothing about weights$"):
        gradbag.grad(lambda v: raw_ops.Weigh(data=np.ones(2), weights=v).sum())(np.ones(2))


def test_a_rule_that_names_an_input_that_is_not_there_is_an_error() -> None:
    made = op("Weigh", **GOOD)(weigh)

    @made.gradient
    def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
        return {"data": g.output, "weights": g.output, "factors": g.output}

    with pytest.raises(gradbag.Error, match=r"^Weigh: the gradient rule .*factors"):
        gradbag.grad(lambda v: raw_ops.Weigh(data=v, weights=np.ones(2)).sum())(np.ones(2))


def test_an_op_without_a_rule_has_no_gradient() -> None:
    op("Weigh", **GOOD)(weigh)
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^Weigh has no gradient$"):
        gradbag.grad(lambda v: raw_ops.Weigh(data=v, weights=v).sum())(np.ones(2))


def test_forward_mode_of_an_op_that_is_not_linear_follows_from_its_rule() -> None:
    made = op("Weigh", **GOOD)(weigh)

    @made.gradient
    def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
        return {
            "data": ops.Weigh(data=g.output, weights=x.weights),
            "weights": ops.Weigh(data=g.output, weights=x.data),
        }

    _, tangent = gradbag.jvp(
        lambda v: raw_ops.Weigh(data=v, weights=v), [np.array([2.0, 3.0])], [np.array([1.0, 10.0])]
    )
    np.testing.assert_array_equal(tangent, [4.0, 60.0])


def test_the_gradient_check_finds_a_wrong_rule() -> None:
    made = op("Weigh", **GOOD)(weigh)

    @made.gradient
    def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
        return {"data": g.output, "weights": ops.Weigh(data=g.output, weights=x.data)}

    with pytest.raises(AssertionError, match="by differences"):
        assert_gradient(next(cases(made, usual_types(made))), order=1)


# ------------------------------------------------------------------ other kinds of ops
def split_rows(values: Any) -> Any:
    """Give the positive numbers and the others, as pairs of place and number."""
    positive = np.flatnonzero(values > 0)
    others = np.flatnonzero(~(values > 0))
    return np.stack([positive, positive], 1), values[others]


def test_an_output_may_be_counted_and_have_an_axis_of_a_fixed_length() -> None:
    op(
        "SplitRows",
        inputs=[Arg("values", "T", "n", "Numbers.")],
        outputs=[Arg("places", "int64", "positive 2", "Pairs."), Arg("others", "T", "rest", "The others.")],
        types={"T": ("float64",)},
        example=Example({"values": [1.0, -1.0]}, {"places": [[0, 0]], "others": [-1.0]}),
        samples=lambda rng: [],
    )(split_rows)
    answer = raw_ops.SplitRows(values=[1.0, -2.0, 3.0])
    assert type(answer).__name__ == "SplitRows"
    assert (answer.places.tolist(), answer.others.tolist()) == ([[0, 0], [2, 2]], [-2.0])


def echo(texts: Any) -> Any:
    """Say it again."""
    return texts.copy()


def test_strings_of_a_known_size_come_in_a_new_array_all_the_same() -> None:
    op(
        "Echo",
        inputs=[Arg("texts", "T", "n", "What to say.")],
        outputs=[Arg("output", "T", "n", "What was said.")],
        types={"T": ("string",)},
        example=Example({"texts": ["a"]}, {"output": ["a"]}),
        samples=lambda rng: [],
    )(echo)
    message = r"^Echo: out must be None; got an array, but strings always come in a new one$"
    with pytest.raises(gradbag.InvalidArgumentError, match=message):
        raw_ops.Echo(texts=["a", "b"], out=np.empty(2, object))
