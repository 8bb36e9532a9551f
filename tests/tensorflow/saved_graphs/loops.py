"""Loops as TensorFlow 2 saves them: with arrays that collect results, their gradients, and recurrent layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .writing import frozen, frozen_with_frames, graph, saved, trained, v1

X = np.array([0.3, 0.7, 1.1], np.float32)
IDS = np.array([[1, 2, 3, 4], [5, 6, 7, 0]])


def _powers(x: Any, n: Any) -> Any:
    made = tf.TensorArray(tf.float32, n, element_shape=[3])
    rounds = tf.while_loop(
        lambda i, y, all: i < n,
        lambda i, y, all: (i + 1, y * x + tf.tanh(y), all.write(i, y)),
        [tf.constant(0), x * 1.0, made],
    )
    return rounds[1], rounds[2].stack()


@graph
def loop_with_results(where: Path) -> None:
    frozen(where, _powers, X, np.int32(5), exact=False, dynamic=False)


@graph
def loop_gradient(where: Path) -> None:
    def gradient(x: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            last, all_of_them = _powers(x, n)
            loss = tf.reduce_sum(last) + tf.reduce_sum(all_of_them**2)
        return loss, tape.gradient(loss, x)

    frozen(where, gradient, X, np.int32(5), exact=False, dynamic=False)


@graph
def recurrent_text(where: Path) -> None:
    model = keras.Sequential(
        [keras.layers.Embedding(10, 4), keras.layers.GRU(5, return_sequences=True), keras.layers.LSTM(3)]
    )
    model(IDS)
    frozen(where, lambda ids: model(ids), IDS, exact=False)


@graph
def loop_that_trains(where: Path) -> None:
    """A saved model whose one call takes three steps."""

    class Trained(tf.Module):
        def __init__(self) -> None:
            self.table = tf.Variable(np.linspace(-1, 1, 20, dtype=np.float32).reshape(10, 2))

        @tf.function
        def step(self, ids: Any) -> Any:
            for _ in tf.range(3):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(tf.gather(self.table, ids) ** 2)
                rows = tape.gradient(loss, self.table)
                self.table.scatter_sub(tf.IndexedSlices(0.1 * rows.values, rows.indices))
            return {"loss": loss}

    made = Trained()
    saved(where, made, made.step, [{"ids": ids} for ids in IDS.reshape(4, 2)])


@graph
def train_recurrent(where: Path) -> None:
    rng = np.random.default_rng(3)
    batches = [
        {"x": rng.standard_normal((4, 5, 3)).astype(np.float32), "y": rng.random((4, 1)).astype(np.float32)}
        for _ in range(20)
    ]

    def build(places: dict[str, Any]) -> Any:
        weights = v1.get_variable("weights", [6, 3], initializer=v1.truncated_normal_initializer(seed=2))
        top = v1.get_variable("top", [3, 1], initializer=v1.truncated_normal_initializer(seed=4))
        state = tf.zeros([tf.shape(places["x"])[0], 3])
        _, state = tf.while_loop(
            lambda t, h: t < 5,
            lambda t, h: (t + 1, tf.tanh(tf.concat([places["x"][:, t], h], 1) @ weights)),
            [tf.constant(0), state],
        )
        loss = tf.reduce_mean((state @ top - places["y"]) ** 2)
        return loss, v1.train.AdagradOptimizer(0.1).minimize(loss)

    trained(where, build, batches, resource=True)


@graph
def frames_loop(where: Path) -> None:
    def build(x: Any, n: Any) -> Any:
        return v1.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x + tf.tanh(y)), [tf.constant(0), x * 1.0])

    frozen_with_frames(where, build, X, np.int32(5))


@graph
def frames_in_frames(where: Path) -> None:
    """A loop in a loop, a branch in the inner one, and a value that grows from round to round."""

    def build(x: Any, n: Any) -> Any:
        def inner(i: Any, y: Any) -> Any:
            return v1.while_loop(
                lambda j, z: j < i,
                lambda j, z: (j + 1, v1.cond(tf.equal(j % 2, 0), lambda: z * x[0], lambda: z + x)),
                [tf.constant(0), y],
            )[1]

        def body(i: Any, y: Any, grown: Any) -> Any:
            y = inner(i, y)
            return i + 1, y, tf.concat([grown, [y]], 0)

        shapes = [tf.TensorShape([]), tf.TensorShape([3]), tf.TensorShape([None, 3])]
        return v1.while_loop(lambda i, y, grown: i < n, body, [tf.constant(0), x, x[None]], shape_invariants=shapes)

    frozen_with_frames(where, build, X, np.int32(4))


@graph
def frames_recurrent(where: Path) -> None:
    """What tf.compat.v1.nn.dynamic_rnn does over looked-up rows, each row of words as long as it is."""

    def build(ids: Any, lengths: Any) -> Any:
        table = v1.get_variable("table", [10, 4], initializer=v1.truncated_normal_initializer(seed=1))
        weights = v1.get_variable("weights", [7, 3], initializer=v1.truncated_normal_initializer(seed=2))
        words = tf.nn.embedding_lookup(table, ids)

        def step(t: Any, state: Any) -> Any:
            after = tf.tanh(tf.concat([words[:, t], state], 1) @ weights)
            return t + 1, tf.where((t < lengths)[:, None], after, state)

        longest = tf.reduce_max(lengths)
        return v1.while_loop(lambda t, _: t < longest, step, [tf.constant(0), tf.zeros([2, 3])])[1]

    frozen_with_frames(where, build, IDS, np.array([4, 2], np.int32))
