"""What tf.sparse cannot differentiate, gradbag.sparse can: first TensorFlow is seen to fail, then ours is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from gradbag import sparse

PLACES = np.array([[0, 0], [0, 2], [1, 1], [2, 0], [2, 3]], np.int64)
SHAPE = np.array([3, 4], np.int64)
VALUES = np.array([1.5, -2.0, 0.75, 3.0, -1.25])
OTHER = tf.SparseTensor(PLACES[[0, 2, 4]], tf.constant([0.5, 2.5, -3.5], tf.float64), SHAPE)

Function = Callable[[Any, Any], list[Any]]


def entries(value: Any) -> Any:
    return value.values if isinstance(value, tf.SparseTensor) else value


# A function of a module (tf.sparse or gradbag.sparse) and of a sparse tensor, giving what it answers.
FUNCTIONS: dict[str, Function] = {
    "add": lambda module, s: [module.add(s, OTHER)],
    "concat": lambda module, s: [module.concat(1, [s, OTHER])],
    "split": lambda module, s: module.split(s, 2, 1),
    "reduce_max": lambda module, s: [module.reduce_max(s, 1)],
    "reduce_max sparse": lambda module, s: [module.reduce_max(s, 1, output_is_sparse=True)],
    "reduce_sum sparse": lambda module, s: [module.reduce_sum(s, 1, output_is_sparse=True)],
    "maximum": lambda module, s: [module.maximum(s, OTHER)],
    "minimum": lambda module, s: [module.minimum(s, OTHER)],
    "softmax": lambda module, s: [module.softmax(s)],
    "slice": lambda module, s: [module.slice(s, [0, 0], [2, 3])],
    "fill_empty_rows": lambda module, s: [module.fill_empty_rows(s, tf.constant(2.0, tf.float64))[0]],
}
NOT_AT_ALL = {"concat", "split", "reduce_max", "reduce_max sparse", "reduce_sum sparse", "maximum", "minimum"}


def loss(module: Any, name: str, values: Any) -> Any:
    """A number that is linear in nothing."""
    answers = map(entries, FUNCTIONS[name](module, tf.SparseTensor(PLACES, values, SHAPE)))
    weighted = [tf.range(1.0, tf.cast(tf.size(y) + 1, tf.float64), dtype=tf.float64) for y in answers]
    answers = map(entries, FUNCTIONS[name](module, tf.SparseTensor(PLACES, values, SHAPE)))
    return sum(tf.reduce_sum(w * tf.reshape(y, [-1]) ** 3) for w, y in zip(weighted, answers, strict=True))


def first(module: Any, name: str, values: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(values)
        total = loss(module, name, values)
    return tape.gradient(total, values)


def second(module: Any, name: str, values: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(values)
        gradient = first(module, name, values)
    return tape.gradient(gradient, values)


def fails(derivative: Callable[..., Any], name: str) -> bool:
    """Whether TensorFlow raises, or says None without a word."""
    try:
        return derivative(tf.sparse, name, tf.constant(VALUES)) is None
    except (LookupError, TypeError, NotImplementedError, AttributeError, ValueError):
        return True


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_of_tensorflow(name: str) -> None:
    given = tf.SparseTensor(PLACES, tf.constant(VALUES), SHAPE)
    for got, want in zip(FUNCTIONS[name](sparse, given), FUNCTIONS[name](tf.sparse, given), strict=True):
        np.testing.assert_allclose(entries(got), entries(want), rtol=1e-14)
        if isinstance(want, tf.SparseTensor):
            np.testing.assert_array_equal(got.indices, want.indices)
            np.testing.assert_array_equal(got.dense_shape, want.dense_shape)


@pytest.mark.parametrize("name", sorted(NOT_AT_ALL))
def test_tensorflow_has_no_derivative(name: str) -> None:
    assert fails(first, name)


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - NOT_AT_ALL))
def test_tensorflow_has_no_second_derivative(name: str) -> None:
    assert not fails(first, name)
    assert fails(second, name)


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "tf.function"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradbag_differentiates_to_second_order(name: str, traced: bool) -> None:
    values, step = tf.constant(VALUES), 1e-6
    run = tf.function if traced else lambda function: function
    gradient = run(lambda v: first(sparse, name, v))
    curvature = run(lambda v: second(sparse, name, v))
    ahead, behind = [], []
    for place in range(len(VALUES)):
        direction = tf.one_hot(place, len(VALUES), dtype=tf.float64) * step
        ahead.append(loss(sparse, name, values + direction) - loss(sparse, name, values - direction))
        moved = first(sparse, name, values + direction) - first(sparse, name, values - direction)
        behind.append(tf.reduce_sum(moved))
    np.testing.assert_allclose(gradient(values), np.array(ahead) / (2 * step), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(curvature(values), np.array(behind) / (2 * step), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradbag_differentiates_forwards(name: str) -> None:
    values = tf.constant(VALUES)
    tangent = tf.constant([0.3, -0.2, 0.5, 1.0, 0.7], tf.float64)
    with tf.autodiff.ForwardAccumulator(values, tangent) as forward:
        total = loss(sparse, name, values)
    wanted = tf.reduce_sum(first(sparse, name, values) * tangent)
    np.testing.assert_allclose(forward.jvp(total), wanted, rtol=1e-12)
