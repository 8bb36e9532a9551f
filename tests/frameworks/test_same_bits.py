"""Values and gradients are the same bits in NumPy, PyTorch, JAX and TensorFlow: every op, dtype and sample."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf
import torch

from gradbag import dtypes, raw_ops
from gradbag.autodiff import vjp
from gradbag.spec import Op
from gradbag.testing import assert_same, cases, native_ops
from gradbag.testing.cases import Case, usual_types
from gradbag.testing.gradcheck import function_of, random_like

Function = Callable[..., Any]
BFLOAT16 = dtypes.numpy_dtype("bfloat16")


class Torch:
    def tensor(self, array: Any) -> Any:
        return (
            torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
            if array.dtype == BFLOAT16
            else torch.tensor(array)
        )

    def array(self, tensor: Any) -> Any:
        plain = tensor.detach()
        return plain.view(torch.int16).numpy().view(BFLOAT16) if plain.dtype is torch.bfloat16 else plain.numpy()

    def pulled(self, function: Function, primals: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        leaves = [primal.requires_grad_() for primal in primals]
        return torch.autograd.grad(function(*leaves), leaves, weights)


class TensorFlow:
    def tensor(self, array: Any) -> Any:
        return tf.constant(array)

    def array(self, tensor: Any) -> Any:
        return tensor.numpy()

    def pulled(self, function: Function, primals: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        with tf.GradientTape() as tape:
            tape.watch(primals)
            values = function(*primals)
        return tape.gradient(values, primals, weights)


class Jax:
    def tensor(self, array: Any) -> Any:
        return jnp.asarray(array)

    def array(self, tensor: Any) -> Any:
        return np.asarray(tensor)

    def pulled(self, function: Function, primals: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        _, pullback = jax.vjp(lambda *p: tuple(function(*p)), *primals)
        return pullback(tuple(weights))


FRAMEWORKS = {"torch": Torch(), "tensorflow": TensorFlow(), "jax": Jax()}


@pytest.fixture(autouse=True)
def wide() -> Any:
    with jax.enable_x64(True):
        yield


def on(framework: Any, case: Case) -> tuple[Function, list[Any]]:
    """A case as a function of its differentiable inputs, giving the differentiable outputs."""
    op, inputs = case.op, case.inputs
    names = [name for name in op.differentiable if dtypes.is_differentiable(inputs[name].dtype)]
    # Sizes are plain numbers, as a compiler wants them.
    held = {op.input_names[place] for place in op.held}
    given = {name: array.tolist() if name in held else framework.tensor(array) for name, array in inputs.items()}

    def function(*values: Any) -> list[Any]:
        answer = getattr(raw_ops, op.name)(**given | dict(zip(names, values, strict=True)), **case.attrs)
        outputs = [answer] if op.result is None else list(answer)
        return [
            y
            for y in outputs
            if str(y.dtype).removeprefix("torch.").removeprefix("<dtype: '").removesuffix("'>") in dtypes.DIFFERENTIABLE
        ]

    return function, [framework.tensor(inputs[name]) for name in names]


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_values_and_gradients_have_the_bits_of_numpy(op: Op, name: str) -> None:
    framework = FRAMEWORKS[name]
    count = 0
    for dtype in [d for d in op.types["T"] if d in dtypes.DIFFERENTIABLE]:
        for case in cases(op, {**usual_types(op), "T": dtype}):
            plain, primals = function_of(case)
            wanted, pullback = vjp(plain, *primals)
            weights = [random_like(np.random.default_rng(0), y) for y in wanted]
            function, tensors = on(framework, case)
            for got, want in zip(function(*tensors), wanted, strict=True):
                assert_same(framework.array(got), want, f"{case}")
            gradients = framework.pulled(function, tensors, [framework.tensor(w) for w in weights])
            for got, want in zip(gradients, pullback(tuple(weights)), strict=True):
                assert_same(framework.array(got), want, f"gradient of {case}")
            count += 1
    assert count > 10
