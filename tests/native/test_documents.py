"""docs/tensorflow.md: what it says is wrong in TensorFlow and Keras is wrong there, and right here."""

import re
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import gradbag.keras

from .who import on_stock

PAGE = (Path(__file__).parents[2] / "docs" / "tensorflow.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \|$", PAGE, re.MULTILINE)
# What a process that has installed derivatives cannot show again, and what nobody can foretell.
NOT_SHOWN = {"LookupError", "anything"}


def second(pool):
    """The derivative of the squared gradient of a sum of squares."""
    table = tf.constant([[3.0], [5.0]])
    with tf.GradientTape() as outer:
        outer.watch(table)
        with tf.GradientTape() as inner:
            inner.watch(table)
            loss = tf.reduce_sum(pool(table, [0], [0]) ** 2)
        squared = tf.reduce_sum(inner.gradient(loss, table) ** 2)
    return outer.gradient(squared, table)


NAMES = {
    "tf": tf,
    "keras": keras,
    "none": tf.zeros([0], tf.int64),
    "zero": tf.constant(0, tf.int64),
    "second": second,
}


def made(line):
    return eval(line, dict(NAMES))  # noqa: S307  # our own text


def said(line):
    value = made(line)
    return str(np.asarray(value).tolist()) if isinstance(value, tf.Tensor) else str(tuple(value))


def moved(optimizer):
    """How far a row goes that occurs a hundred times in a batch."""
    layer = keras.layers.Embedding(1, 1, embeddings_initializer="zeros")
    layer.build()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.zeros(100, tf.int32)))
    optimizer.apply(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables)
    return str(round(-float(layer.embeddings[0, 0]), 3))


def test_every_line_about_tensorflow():
    rows = [row for row in ROWS if not row[0].startswith("keras.")]
    assert len(rows) == 5
    for line, stock, ours in rows:
        assert said(line) == ours, line
        if stock not in NOT_SHOWN:
            assert on_stock(said, line) == stock, line


def test_every_line_about_keras():
    rows = [row for row in ROWS if row[0].startswith("keras.")]
    assert len(rows) == 6
    for line, unrepaired, repaired in rows:
        assert moved(made(line)) == unrepaired, line
        assert moved(gradbag.keras.repaired(made(line))) == repaired, line
