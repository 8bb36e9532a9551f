"""NumPy, PyTorch, JAX and TensorFlow behind one interface, so that a test is written once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
import torch
from torch.autograd import forward_ad

import gradbag
from gradbag import dtypes
from gradbag.spec import Op
from gradbag.testing.cases import Case

Function = Callable[..., Any]  # of tensors, giving a list of them
BFLOAT16 = dtypes.numpy_dtype("bfloat16")


class NumPy:
    is_tensorflow = False

    def wrapped(self, function: Function) -> Function:
        return function

    def tensor(self, array: Any) -> Any:
        return np.array(array)

    def array(self, tensor: Any) -> Any:
        return np.asarray(tensor)

    def total(self, tensor: Any) -> Any:
        return tensor.sum()

    def pulled(self, function: Function, primals: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        return gradbag.vjp(function, *primals)[1](list(weights))

    def pushed(self, function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Sequence[Any]:
        return gradbag.jvp(function, primals, tangents)[1]  # type: ignore[no-any-return]


class Torch(NumPy):
    def tensor(self, array: Any) -> Any:
        if array.dtype == BFLOAT16:
            return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
        return torch.tensor(array)

    def array(self, tensor: Any) -> Any:
        plain = tensor.detach()
        plain = plain.to_dense() if plain.is_sparse else plain
        return plain.view(torch.int16).numpy().view(BFLOAT16) if plain.dtype is torch.bfloat16 else plain.numpy()

    def pulled(self, function: Function, primals: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        leaves = [p if p.requires_grad else p.clone().requires_grad_() for p in primals]
        return torch.autograd.grad(function(*leaves), leaves, weights, create_graph=True)

    def pushed(self, function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Sequence[Any]:
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(p, t) for p, t in zip(primals, tangents, strict=True)]
            return [forward_ad.unpack_dual(y).tangent for y in function(*duals)]


class TensorFlow(NumPy):
    is_tensorflow = True

    def tensor(self, array: Any) -> Any:
        return tf.constant(array)

    def array(self, tensor: Any) -> Any:
        return tf.convert_to_tensor(tensor).numpy()

    def total(self, tensor: Any) -> Any:
        return tf.reduce_sum(tensor)

    def pulled(self, function: Function, primals: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        with tf.GradientTape() as tape:
            tape.watch(primals)
            values = function(*primals)
        found: Sequence[Any] = tape.gradient(values, primals, weights)
        return found

    def pushed(self, function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Sequence[Any]:
        with tf.autodiff.ForwardAccumulator(list(primals), list(tangents)) as accumulator:
            values = function(*primals)
        found: Sequence[Any] = accumulator.jvp(values)
        return found


class FunctionOfTensorFlow(TensorFlow):
    def wrapped(self, function: Function) -> Function:
        traced: Function = tf.function(function)
        return traced


class Jax(NumPy):
    def tensor(self, array: Any) -> Any:
        return jnp.array(array)

    def pulled(self, function: Function, primals: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        found: Sequence[Any] = jax.vjp(function, *primals)[1](list(weights))
        return found

    def pushed(self, function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Sequence[Any]:
        found: Sequence[Any] = jax.jvp(function, tuple(primals), tuple(tangents))[1]
        return found


class CompiledJax(Jax):
    def wrapped(self, function: Function) -> Function:
        return jax.jit(function)


FRAMEWORKS = {"torch": Torch(), "jax": Jax(), "tensorflow": TensorFlow()}
WAYS = {**FRAMEWORKS, "jax.jit": CompiledJax(), "tf.function": FunctionOfTensorFlow()}


def dtype_name(tensor: Any) -> str:
    return str(getattr(tensor.dtype, "name", tensor.dtype)).removeprefix("torch.")


def function_of(framework: NumPy, case: Case) -> tuple[Function, list[Any]]:
    """A case as a function of its differentiable inputs, giving a list of the differentiable outputs."""
    op, arrays = case.op, case.arrays
    args, held = op.flat_inputs(len(arrays)), op.flat_held(len(arrays))
    places = [
        place
        for place, (arg, array) in enumerate(zip(args, arrays, strict=True))
        if array is not None and arg.name in op.differentiable and dtypes.is_differentiable(array.dtype)
    ]

    def function(*values: Any) -> list[Any]:
        # Sizes are plain numbers, as a compiler wants them.
        given = [
            None if array is None else array.tolist() if place in held else framework.tensor(array)
            for place, array in enumerate(arrays)
        ]
        for place, value in zip(places, values, strict=True):
            given[place] = value
        return [y for y in called(op, given, case.attrs) if dtype_name(y) in dtypes.DIFFERENTIABLE]

    return function, [framework.tensor(arrays[place]) for place in places]


def called(op: Op, values: Sequence[Any], attrs: Any) -> list[Any]:
    """The answer of a raw op on flat inputs, as a list."""
    answer = getattr(gradbag.raw_ops, op.name)(**dict(zip(op.input_names, op.grouped(values), strict=True)), **attrs)
    if op.updates:  # of JAX, the new values of its inputs come first
        return [] if answer is None else list(answer) if isinstance(answer, tuple) else [answer]
    return op.flat_answer(answer)


# ------------------------------------------------------------------ derivatives
def loss_of(way: NumPy, function: Function) -> Function:
    """A number that is linear in nothing."""
    return lambda *values: [sum(way.total(y * y * y) for y in function(*values))]


def first(way: NumPy, function: Function) -> Function:
    one = way.tensor(np.ones(()))
    return lambda *values: list(way.pulled(loss_of(way, function), list(values), [one]))


def second(way: NumPy, function: Function, directions: list[Any]) -> Function:
    """The derivative of the first gradient, times directions."""
    given = [way.tensor(d) for d in directions]

    def inner(*values: Any) -> list[Any]:
        return [sum(way.total(g * d) for g, d in zip(first(way, function)(*values), given, strict=True))]

    one = way.tensor(np.ones(()))
    return lambda *values: list(way.pulled(inner, list(values), [one]))


def forward(way: NumPy, function: Function, directions: list[Any]) -> Function:
    given = [way.tensor(d) for d in directions]
    return lambda *values: list(way.pushed(loss_of(way, function), list(values), given))
