"""Values and gradients are the same bits in NumPy, PyTorch, JAX and TensorFlow: every op, dtype and sample."""

import numpy as np
import pytest

from gradbag import dtypes
from gradbag.spec import Op
from gradbag.testing import assert_same, cases, differentiable_ops
from gradbag.testing.cases import usual_types
from gradbag.testing.gradcheck import random_like

from .each import FRAMEWORKS, NumPy, function_of


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("op", differentiable_ops(), ids=lambda op: op.name)
def test_values_and_gradients_have_the_bits_of_numpy(op: Op, name: str) -> None:
    framework, numpy = FRAMEWORKS[name], NumPy()
    count = 0
    for dtype in [d for d in op.types["T"] if d in dtypes.DIFFERENTIABLE]:
        for case in cases(op, {**usual_types(op), "T": dtype}):
            plain, primals = function_of(numpy, case)
            wanted = plain(*primals)
            weights = [random_like(np.random.default_rng(0), y) for y in wanted]
            function, tensors = function_of(framework, case)
            for got, want in zip(function(*tensors), wanted, strict=True):
                assert_same(framework.array(got), want, f"{case}")
            gradients = framework.pulled(function, tensors, [framework.tensor(w) for w in weights])
            for got, want in zip(gradients, numpy.pulled(plain, primals, weights), strict=True):
                assert_same(framework.array(got), want, f"gradient of {case}")
            count += 1
    assert count > 10
