"""Optimizers beside TensorFlow's own raw ops, and on its variables."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import gradbag
from gradbag import optim
from gradbag.testing import assert_same

STEPS, ROWS, COLUMNS = 200, 12, 4
RATE = 0.05

# Each of TensorFlow's ops as a function of the variable, its slots, summed rows and their indices.
Apply = Callable[[Any, list[Any], Any, Any], Any]


def _adagrad(var: Any, slots: list[Any], grad: Any, indices: Any) -> Any:
    tf.raw_ops.ResourceSparseApplyAdagradV2(
        var=var.handle, accum=slots[0].handle, lr=RATE, epsilon=1e-7, grad=grad, indices=indices
    )


def _momentum(nesterov: bool) -> Apply:
    def apply(var: Any, slots: list[Any], grad: Any, indices: Any) -> Any:
        tf.raw_ops.ResourceSparseApplyMomentum(
            var=var.handle,
            accum=slots[0].handle,
            lr=RATE,
            grad=grad,
            indices=indices,
            momentum=0.9,
            use_nesterov=nesterov,
        )

    return apply


def _rms_prop(var: Any, slots: list[Any], grad: Any, indices: Any) -> Any:
    tf.raw_ops.ResourceSparseApplyRMSProp(
        var=var.handle,
        ms=slots[0].handle,
        mom=slots[1].handle,
        lr=RATE,
        rho=0.9,
        momentum=0.5,
        epsilon=1e-7,
        grad=grad,
        indices=indices,
    )


def _ftrl(var: Any, slots: list[Any], grad: Any, indices: Any) -> Any:
    tf.raw_ops.ResourceSparseApplyFtrlV2(
        var=var.handle,
        accum=slots[0].handle,
        linear=slots[1].handle,
        grad=grad,
        indices=indices,
        lr=RATE,
        l1=0.02,
        l2=0.1,
        l2_shrinkage=0.03,
        lr_power=-0.5,
    )


def _sgd(var: Any, slots: list[Any], grad: Any, indices: Any) -> Any:
    tf.raw_ops.ResourceScatterSub(resource=var.handle, indices=indices, updates=RATE * grad)


PAIRS: list[tuple[optim.Optimizer, Apply]] = [
    (optim.SGD.tensorflow(RATE), _sgd),
    (optim.Momentum.tensorflow(RATE), _momentum(False)),
    (optim.Momentum.tensorflow(RATE, nesterov=True), _momentum(True)),
    (optim.Adagrad.tensorflow(RATE), _adagrad),
    (optim.RMSProp.tensorflow(RATE, momentum=0.5), _rms_prop),
    (optim.Ftrl.tensorflow(RATE, l1=0.02, l2=0.1, l2_shrinkage=0.03), _ftrl),
]
every = pytest.mark.parametrize(("optimizer", "apply"), PAIRS, ids=lambda p: getattr(p, "rule_name", ""))


def gradients(seed: int, count: int = 9) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, ROWS, count), rng.standard_normal((count, COLUMNS)).astype(np.float32)


@every
def test_two_hundred_steps_are_those_of_tensorflow(optimizer: optim.Optimizer, apply: Apply) -> None:
    table = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    state = optimizer.init(table)
    variable = tf.Variable(table)
    slots = [tf.Variable(state[kept.name]) for kept in optimizer.rule.states]
    for step in range(STEPS):
        indices, rows = gradients(step)
        optimizer.apply(table, state, tf.IndexedSlices(tf.constant(rows), tf.constant(indices)))
        touched, places = tf.unique(indices)  # TensorFlow's ops want every row once: what Keras's optimizers did for it
        apply(variable, slots, tf.math.unsorted_segment_sum(rows, places, tf.size(touched)), touched)
    np.testing.assert_allclose(table, variable.numpy(), rtol=1e-5, atol=1e-6)
    for kept, slot in zip(optimizer.rule.states, slots, strict=True):
        np.testing.assert_allclose(state[kept.name], slot.numpy(), rtol=1e-5, atol=1e-6)
    assert not np.allclose(table, np.random.default_rng(0).standard_normal((ROWS, COLUMNS)), atol=0.1)


def test_two_hundred_steps_of_adam_are_those_of_tensorflow_where_all_rows_are_touched() -> None:
    optimizer = optim.Adam.tensorflow(RATE)
    table = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    state = optimizer.init(table)
    variable, mean, square = tf.Variable(table), *[tf.Variable(np.zeros_like(table)) for _ in range(2)]
    for step in range(1, STEPS + 1):
        indices, rows = gradients(step)
        indices, rows = np.append(indices, np.arange(ROWS)), np.append(rows, np.ones((ROWS, COLUMNS), np.float32), 0)
        optimizer.apply(table, state, (indices, rows))
        whole = np.zeros_like(table)
        np.add.at(whole, indices, rows)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=mean.handle,
            v=square.handle,
            beta1_power=np.float32(0.9**step),
            beta2_power=np.float32(0.999**step),
            lr=RATE,
            beta1=0.9,
            beta2=0.999,
            epsilon=1e-7,
            grad=whole,
        )
    np.testing.assert_allclose(table, variable.numpy(), rtol=2e-5, atol=2e-6)


EVERY_KIND = [
    *[optimizer for optimizer, _ in PAIRS],
    optim.RowAdagrad(RATE),
    optim.Adam(RATE),
    optim.RowAdam(RATE, bias_correction="row"),
    optim.AdamW(RATE, weight_decay=0.1, decay="lazy"),
    optim.SGD(lambda step: RATE / step, weight_decay=0.1),
]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("optimizer", EVERY_KIND, ids=lambda o: o.rule_name)
def test_a_variable_moves_as_an_array_does(optimizer: optim.Optimizer, traced: bool) -> None:
    table = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    variable = tf.Variable(table)
    state, slots = optimizer.init(table), optimizer.init(variable)

    def both(indices: Any, rows: Any, ids: Any, offsets: Any, grad: Any) -> None:
        optimizer.apply(variable, slots, tf.IndexedSlices(rows, indices))
        optimizer.step(variable, slots, (ids, offsets), grad)

    call = tf.function(both) if traced else both
    offsets = np.array([0, 4, 4])
    for step in range(4):
        indices, rows = gradients(step)
        optimizer.apply(table, state, (indices, rows))
        optimizer.step(table, state, (indices, offsets), rows[:3])
        call(*map(tf.constant, (indices, rows, indices, offsets, rows[:3])))
    assert_same(variable.numpy(), table)
    assert int(slots.pop("step").numpy()) == state.pop("step") == 8
    for name, slot in slots.items():
        assert_same(slot.numpy(), state[name], name)
    optimizer.catch_up(table, {**state, "step": 8})
    optimizer.catch_up(variable, {**slots, "step": tf.Variable(8, dtype=tf.int64)})
    assert_same(variable.numpy(), table)


def test_a_bad_index_is_refused_and_changes_nothing() -> None:
    variable = tf.Variable(tf.ones((3, 2)))
    optimizer = optim.Adagrad(0.1)
    slots = optimizer.init(variable)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"= 7 is not in \[0, 3\)"):
        optimizer.apply(variable, slots, tf.IndexedSlices(tf.ones((2, 2)), tf.constant([1, 7])))
    assert (variable.numpy() == 1).all()
    assert (slots["accumulator"].numpy() == 0).all()
    assert slots["step"].numpy() == 0


def test_a_tensor_cannot_be_moved() -> None:
    optimizer, tensor = optim.SGD(0.1), tf.ones((3, 2))
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^RowSgd: table must be a variable; got EagerTensor$"):
        optimizer.apply(tensor, optimizer.init(tensor), (tf.constant([1]), tf.ones((1, 2))))
