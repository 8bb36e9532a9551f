"""The sparse and segment ops differentiate in frameworks with a tape as in NumPy, to second order and forwards."""

from __future__ import annotations

import numpy as np
import pytest

from gradbag.spec import Op, registry
from gradbag.testing import cases
from gradbag.testing.cases import floating_types
from gradbag.testing.gradcheck import random_like

from .each import NumPy, TensorFlow, Torch, first, forward, function_of, second

THEMES = {"sparse_concat", "sparse_add", "sparse_reduce", "sparse_softmax", "sparse_order", "sparse_dense", "segments"}
THEMES |= {"segment_softmax", "partitioning", "gathering_nd", "bincount", "ragged"}
OPS = [op for op in registry if op.category in THEMES and op.differentiable and op.differentiable_outputs]


def test_there_are_such_ops() -> None:
    assert len(OPS) >= 30


@pytest.mark.parametrize("way", [Torch(), TensorFlow()], ids=["torch", "tensorflow"])
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_derivatives_are_those_of_numpy(op: Op, way: NumPy) -> None:
    numpy, count = NumPy(), 0
    types = floating_types(op, "float64")
    assert types is not None
    for case in list(cases(op, types))[1:2]:
        plain, primals = function_of(numpy, case)
        if not primals:
            continue
        function, tensors = function_of(way, case)
        directions = [random_like(np.random.default_rng(0), p) for p in primals]
        for of in (
            first,
            lambda w, f, d=directions: second(w, f, d),
            lambda w, f, d=directions: forward(w, f, d),
        ):
            for got, want in zip(of(way, function)(*tensors), of(numpy, plain)(*primals), strict=True):
                np.testing.assert_allclose(way.array(got), want, rtol=1e-10, atol=1e-10, err_msg=str(case))
                count += 1
    assert count
