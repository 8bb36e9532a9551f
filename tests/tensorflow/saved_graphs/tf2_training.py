"""Training steps of TensorFlow 2, in saved models: functions that change their variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from .batches import clicks, table
from .writing import MADE, graph, saved


class Recommender(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.users, self.items = tf.Variable(table(seed=1), name="users"), tf.Variable(table(seed=2), name="items")
        self.w, self.b = tf.Variable(table(11, 1, 3), name="w"), tf.Variable([0.0], name="b")

    def loss(self, user: Any, item: Any, numbers: Any, label: Any) -> Any:
        x = tf.concat([tf.gather(self.users, user), tf.gather(self.items, item), numbers], 1)
        logits = tf.squeeze(tf.nn.bias_add(tf.matmul(x, self.w), self.b), 1)
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(label, logits))


@graph
def step_by_hand(where: Path) -> None:
    module = Recommender()

    @tf.function
    def step(user: Any, item: Any, numbers: Any, label: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = module.loss(user, item, numbers, label)
        for v, g in zip(module.trainable_variables, tape.gradient(loss, module.trainable_variables), strict=True):
            if isinstance(g, tf.IndexedSlices):
                v.scatter_sub(tf.IndexedSlices(0.1 * g.values, g.indices))
            else:
                v.assign_sub(0.1 * g)
        return {"loss": loss}

    saved(where, module, step, clicks())


def _keras(make_optimizer: Any) -> Any:
    def make(where: Path) -> None:
        module = Recommender()
        optimizer = make_optimizer()
        optimizer.build(module.trainable_variables)
        module.slots = [v.value for v in optimizer.variables]

        @tf.function
        def step(user: Any, item: Any, numbers: Any, label: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = module.loss(user, item, numbers, label)
            variables = list(module.trainable_variables)
            found = [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]
            optimizer.apply(found, variables)
            return {"loss": loss}

        saved(where, module, step, clicks())

    return make


MADE["keras_sgd_step"] = _keras(lambda: keras.optimizers.SGD(0.1, momentum=0.9))
MADE["keras_adam_step"] = _keras(lambda: keras.optimizers.Adam(0.01))
MADE["keras_adagrad_step"] = _keras(lambda: keras.optimizers.Adagrad(0.1))
MADE["keras_ftrl_step"] = _keras(lambda: keras.optimizers.Ftrl(0.1))


@graph
def raw_optimizer_step(where: Path) -> None:
    """The fused ops, dense and sparse, called by name."""
    module = Recommender()
    module.slots = [tf.Variable(tf.fill(v.shape, 0.1), trainable=False) for v in module.trainable_variables]

    @tf.function
    def step(user: Any, item: Any, numbers: Any, label: Any) -> Any:
        variables = list(module.trainable_variables)
        with tf.GradientTape() as tape:
            loss = module.loss(user, item, numbers, label)
        for v, slot, g in zip(variables, module.slots, tape.gradient(loss, variables), strict=True):
            if isinstance(g, tf.IndexedSlices):
                tf.raw_ops.ResourceSparseApplyAdagradV2(
                    var=v.handle, accum=slot.handle, lr=0.1, epsilon=1e-7, grad=g.values, indices=g.indices
                )
            else:
                tf.raw_ops.ResourceApplyAdagradV2(var=v.handle, accum=slot.handle, lr=0.1, epsilon=1e-7, grad=g)
        return {"loss": loss}

    saved(where, module, step, clicks())


@graph
def counted_steps(where: Path) -> None:
    """A variable that is changed and read again in one call, in the order of the program."""
    module = Recommender()
    module.count = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def step(user: Any, item: Any, numbers: Any, label: Any) -> Any:
        before = module.loss(user, item, numbers, label)
        module.b.assign_add([0.5])
        module.count.assign_add(1)
        after = module.loss(user, item, numbers, label)
        module.b.assign(module.b * 0.9)
        return {"before": before, "after": after, "count": module.count + 0, "b": module.b + 0.0}

    saved(where, module, step, clicks())


@graph
def conditional_step(where: Path) -> None:
    """A step that is only made when the loss is large."""
    module = Recommender()

    @tf.function
    def step(user: Any, item: Any, numbers: Any, label: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = module.loss(user, item, numbers, label)
        found = tf.convert_to_tensor(tape.gradient(loss, module.w))
        if loss > 0.8:
            module.w.assign_sub(0.1 * found)
        return {"loss": loss}

    saved(where, module, step, clicks())
