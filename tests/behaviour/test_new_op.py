"""Adding an op touches one file: it is then called, checked, differentiated, typed, documented, listed and tested."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import dtypes, opdocs, raw_ops, stubs
from gradbag.cli import main
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
def split(values: Any) -> Any:
    """Give the positive numbers and the others, as pairs of place and number."""
    positive = np.flatnonzero(values > 0)
    others = np.flatnonzero(~(values > 0))
    return np.stack([positive, positive], 1), values[others]


def test_an_output_may_be_counted_and_have_an_axis_of_a_fixed_length() -> None:
    op(
        "Split",
        inputs=[Arg("values", "T", "n", "Numbers.")],
        outputs=[Arg("places", "int64", "positive 2", "Pairs."), Arg("others", "T", "rest", "The others.")],
        types={"T": ("float64",)},
        example=Example({"values": [1.0, -1.0]}, {"places": [[0, 0]], "others": [-1.0]}),
        samples=lambda rng: [],
    )(split)
    answer = raw_ops.Split(values=[1.0, -2.0, 3.0])
    assert type(answer).__name__ == "Split"
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
