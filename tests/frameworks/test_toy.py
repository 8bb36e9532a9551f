"""One short adapter gives a framework eager ops and gradients of any order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradbag import raw_ops
from gradbag.spec import Op, registry
from gradbag.testing import assert_same, cases, differentiable_ops
from gradbag.testing.cases import usual_types
from gradbag.testing.gradcheck import random_like

from . import toy
from .each import Function, NumPy, first, function_of, second

OF_ARRAYS = [registry[name] for name in ("Mul", "MatMul", "Tanh", "GatherV2", "ConcatV2", "Sum", "SelectV2", "Sqrt")]


class Toy(NumPy):
    def tensor(self, array: Any) -> Any:
        return toy.ToyArray(array)

    def array(self, tensor: Any) -> Any:
        return tensor.numbers

    def total(self, tensor: Any) -> Any:
        return raw_ops.Sum(input=tensor, axis=list(range(len(tensor.shape))))

    def pulled(self, function: Function, primals: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        found = toy.gradients(function(*primals), weights, primals, toy.toy_ops.total)
        return [
            toy.toy_ops.zeros_like(primal) if gradient is None else toy.toy_ops.dense(gradient)
            for primal, gradient in zip(primals, found, strict=True)
        ]


def test_the_adapter_is_one_short_file() -> None:
    assert len(Path(toy.__file__).read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("op", [*differentiable_ops(), *OF_ARRAYS], ids=lambda op: op.name)
def test_values_and_gradients_of_order_one_and_two_are_those_of_numpy(op: Op) -> None:
    framework, numpy, count = Toy(), NumPy(), 0
    for case in cases(op, usual_types(op)):
        plain, primals = function_of(numpy, case)
        function, tensors = function_of(framework, case)
        directions = [random_like(np.random.default_rng(0), p) for p in primals]
        for got, want in zip(function(*tensors), plain(*primals), strict=True):
            assert isinstance(got, toy.ToyArray)
            assert_same(got.numbers, want, str(case))
        for got, want in zip(first(framework, function)(*tensors), first(numpy, plain)(*primals), strict=True):
            np.testing.assert_allclose(got.numbers, want, rtol=1e-10, atol=1e-10, err_msg=str(case))
        wanted = second(numpy, plain, directions)(*primals)
        for got, want in zip(second(framework, function, directions)(*tensors), wanted, strict=True):
            np.testing.assert_allclose(got.numbers, want, rtol=1e-10, atol=1e-10, err_msg=str(case))
        count += 1
    assert count >= 3


def test_a_loss_over_several_ops() -> None:
    """The table is used twice, once with a compact gradient."""

    def loss(table: Any) -> list[Any]:
        bags = {"ids": [0, 2, 2, 1], "offsets": [0, 3, 3], "weights": None}
        pooled = raw_ops.EmbeddingBag(table=table, **bags, combiner="sqrtn", sparse_gradient=True)
        scores = raw_ops.MatMul(a=raw_ops.Tanh(x=pooled), b=table, transpose_b=True)
        return [raw_ops.Square(x=scores)]

    table = np.random.default_rng(0).normal(size=(3, 2))
    direction = [np.random.default_rng(1).normal(size=(3, 2))]
    framework, numpy = Toy(), NumPy()
    for of in (first, lambda way, function: second(way, function, direction)):
        (got,), (want,) = of(framework, loss)(toy.ToyArray(table)), of(numpy, loss)(table)
        assert np.abs(want).max() > 0.01
        np.testing.assert_allclose(got.numbers, want, rtol=1e-12)


def test_a_rule_that_forgets_an_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry["Square"], "rule", lambda ops, x, y, g: {})
    with pytest.raises(TypeError, match="Square: the gradient rule says nothing about x"):
        first(Toy(), lambda value: [raw_ops.Square(x=value)])(toy.ToyArray([1.0]))
