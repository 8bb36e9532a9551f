"""An op of every kind, declared in one file, is answered and differentiated in every framework."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from gradbag import UnsupportedTypeError, eager
from gradbag.spec import Op, Rule, registry
from gradbag.testing import Case, assert_same, cases
from gradbag.testing.gradcheck import random_like

from .each import WAYS, Function, NumPy, called, first, forward, function_of, second

LISTS = ("PowersOfRows", "NegatedRows")
KINDS = ("CubeRows", "RoundRows", "PowerRows", "ProductOfRows", "ShiftRows", "DecayRows", *LISTS)
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
each_kind = pytest.mark.parametrize("name", KINDS)
each_differentiable_kind = pytest.mark.parametrize(
    "name", ["CubeRows", "PowerRows", "ProductOfRows", "ShiftRows", *LISTS]
)


@pytest.fixture(scope="module", autouse=True)
def _declared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The ops in a temporary module, forgotten again at the end: a name can be given to PyTorch only once."""
    path = tmp_path_factory.mktemp("declared") / "kinds_of_ops.py"
    path.write_text((Path(__file__).parents[1] / "data/kinds_of_ops.py").read_text(encoding="utf-8"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("kinds_of_ops", path)
    assert spec is not None
    assert spec.loader is not None
    before = {op.name for op in registry}
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert {op.name for op in registry} - before == set(KINDS)
    yield
    for name in KINDS:
        registry.remove(name)


def test_the_kinds_are_different() -> None:
    ops = [registry[name] for name in KINDS]
    assert [op.rule is None for op in ops] == [False, True, False, False, False, True, False, False]
    assert [bool(op.attrs) for op in ops] == [False, False, True, False, False, False, True, False]
    assert [bool(op.lists) for op in ops] == [False, False, False, True, False, False, False, True]
    assert [bool(op.optional_names) for op in ops] == [False, False, False, False, True, False, False, False]
    assert [op.updates for op in ops] == [False, False, False, False, False, True, False, False]
    assert [bool(op.output_lists) for op in ops] == [False, False, False, False, False, False, True, True]


# ------------------------------------------------------------------ values
def answering(case: Case, variables: dict[int, Any]) -> Function:
    """An op as a function of the inputs that are not left out and are no variables."""

    def answer(*given: Any) -> list[Any]:
        others = iter(given)
        values = [
            variables[place] if place in variables else None if array is None else next(others)
            for place, array in enumerate(case.arrays)
        ]
        return called(case.op, values, case.attrs)

    return answer


@each_way
@each_kind
def test_every_kind_gives_the_numbers_of_numpy(name: str, way: NumPy) -> None:
    """What is updated is a variable of TensorFlow, a tensor of PyTorch, and in JAX comes back as a new array."""
    op = registry[name]
    for dtype in ("float32", "float64"):
        for case in cases(op, {"T": dtype}):
            tensors = {place: way.tensor(a) for place, a in enumerate(case.arrays) if a is not None}
            updated = [tensors[place] for place in op.flat_updates(len(case.arrays))]
            variables = {p: tf.Variable(tensors.pop(p)) for p in op.flat_updates(len(case.arrays)) if way.is_tensorflow}
            got = way.wrapped(answering(case, variables))(*tensors.values())
            changed = list(variables.values()) if way.is_tensorflow else updated if way is WAYS["torch"] else []
            want = (eager.functional if op.updates else eager.run)(op, case.arrays, dict(case.attrs))
            for one, other in zip([*changed, *got], want, strict=True):
                assert_same(way.array(one), other, str(case))


# ------------------------------------------------------------------ derivatives
@each_way
@each_differentiable_kind
def test_derivatives_of_order_one_and_two_in_both_modes(name: str, way: NumPy) -> None:
    numpy, count = NumPy(), 0
    for case in cases(registry[name], {"T": "float64"}):
        plain, primals = function_of(numpy, case)
        function, tensors = function_of(way, case)
        directions = [random_like(np.random.default_rng(0), p) for p in primals]
        for of in (
            first,
            lambda w, f, d=directions: second(w, f, d),
            lambda w, f, d=directions: forward(w, f, d),
        ):
            for got, want in zip(way.wrapped(of(way, function))(*tensors), of(numpy, plain)(*primals), strict=True):
                np.testing.assert_allclose(way.array(got), want, rtol=1e-12, atol=1e-12, err_msg=str(case))
                count += 1
    assert count >= 3 * 4


@each_way
@pytest.mark.parametrize("name", ["RoundRows", "DecayRows"])
def test_what_has_no_derivative_says_so_when_asked(name: str, way: NumPy) -> None:
    case = next(cases(registry[name], {"T": "float64"}))
    variables = {0: tf.Variable(case.arrays[0])} if name == "DecayRows" and way.is_tensorflow else {}
    tensors = [way.tensor(array) for place, array in enumerate(case.arrays) if place not in variables]

    def gradient(*values: Any) -> Any:
        function = answering(case, variables)
        return way.pulled(lambda *v: [way.total(function(*v)[-1])], list(values), [way.tensor(np.ones(()))])

    with pytest.raises(UnsupportedTypeError, match=f"{name} has no gradient"):
        way.wrapped(gradient)(*tensors)


FORGETFUL: Rule = lambda ops, x, y, g: {}  # noqa: E731
INVENTIVE: Rule = lambda ops, x, y, g: {"x": g.y, "shift": g.y, "bogus": g.y}  # noqa: E731


@each_way
@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (FORGETFUL, "the gradient rule says nothing about x"),
        (INVENTIVE, "the gradient rule names bogus, which is no input"),
    ],
    ids=["forgets", "invents"],
)
@pytest.mark.parametrize("name", ["CubeRows", "ShiftRows"])
def test_a_rule_that_is_wrong_about_inputs_is_refused(
    name: str, rule: Rule, message: str, way: NumPy, monkeypatch: pytest.MonkeyPatch
) -> None:
    op: Op = registry[name]
    if rule is INVENTIVE and "shift" not in op.input_names:
        rule = lambda ops, x, y, g: {"x": g.y, "bogus": g.y}  # noqa: E731
    monkeypatch.setattr(op, "rule", rule)
    function, tensors = function_of(way, next(cases(op, {"T": "float64"})))
    with pytest.raises(UnsupportedTypeError, match=f"{name}: {message}"):
        way.wrapped(first(way, function))(*tensors)
