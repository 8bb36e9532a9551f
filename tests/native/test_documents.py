"""docs/tensorflow.md: what it says is wrong in TensorFlow is wrong there, and right here."""

import re
from pathlib import Path

import numpy as np
import tensorflow as tf

from .who import on_stock

PAGE = (Path(__file__).parents[2] / "docs" / "tensorflow.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \|$", PAGE, re.MULTILINE)


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


NAMES = {"tf": tf, "none": tf.zeros([0], tf.int64), "zero": tf.constant(0, tf.int64), "second": second}


def said(line):
    value = eval(line, dict(NAMES))  # noqa: S307  # our own text
    return str(np.asarray(value).tolist()) if isinstance(value, tf.Tensor) else str(tuple(value))


def test_every_line_of_the_page():
    assert len(ROWS) == 4
    for line, stock, ours in ROWS:
        assert said(line) == ours, line
        if stock != "LookupError":  # which a process that has installed derivatives cannot show again
            assert on_stock(said, line) == stock, line
