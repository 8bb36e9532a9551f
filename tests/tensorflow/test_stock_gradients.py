"""Gradients of TensorFlow's own sparse functions: each fails in TensorFlow alone, and is right after install()."""

import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
if sys.argv[2] == "ours":
    import gradbag.tensorflow
    gradbag.tensorflow.install()
places, shape = [[0, 1], [1, 0], [1, 2]], [2, 3]
other = tf.SparseTensor([[0, 1], [1, 1], [1, 2]], tf.constant([0.25, 5.0, 9.0], tf.float64), shape)
function = {
    "concat": lambda s: tf.sparse.concat(1, [s, s]).values,
    "split": lambda s: tf.sparse.split(s, 3, 1)[0].values,
    "reduce_max": lambda s: tf.sparse.reduce_max(s, 1),
    "reduce_max_sparse": lambda s: tf.sparse.reduce_max(s, 1, output_is_sparse=True).values,
    "reduce_sum_sparse": lambda s: tf.sparse.reduce_sum(s, 1, output_is_sparse=True).values,
    "maximum": lambda s: tf.sparse.maximum(s, other).values,
    "minimum": lambda s: tf.sparse.minimum(s, other).values,
    "bincount": lambda s: tf.raw_ops.DenseBincount(input=[0, 2, 0], size=3, weights=s.values),
    "add": lambda s: tf.sparse.add(s, other).values,
    "softmax": lambda s: tf.sparse.softmax(s).values,
}[sys.argv[1]]
order = 2 if sys.argv[1] in ("add", "softmax") else 1
point = tf.constant([0.5, 2.0, 3.0], tf.float64)

def loss(values):
    y = function(tf.SparseTensor(places, values, shape))
    return tf.reduce_sum(y ** 3 * tf.range(1, tf.size(y, tf.int64) + 1, dtype=tf.int64).numpy().astype(float))

def slope(values):
    with tf.GradientTape() as tape:
        tape.watch(values)
        y = loss(values)
    return tape.gradient(y, values)

def wanted(of, values):
    each = [tf.one_hot(k, 3, dtype=tf.float64) * 1e-6 for k in range(3)]
    return np.array([(of(values + e) - of(values - e)).numpy() / 2e-6 for e in each])

if order == 1:
    got, want = slope(point), wanted(loss, point)
else:
    weights = tf.constant([1.0, 2.0, 3.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(point)
        total = tf.reduce_sum(weights * slope(point))
    got = tape.gradient(total, point)
    want = wanted(lambda v: tf.reduce_sum(weights * slope(v)), point)
if got is None:
    sys.exit("the gradient is None")
np.testing.assert_allclose(np.asarray(tf.convert_to_tensor(got)), want, 1e-4, 1e-4)
assert np.abs(want).max() > 0
"""
FUNCTIONS = ["concat", "split", "reduce_max", "reduce_max_sparse", "reduce_sum_sparse", "maximum", "minimum"]
FUNCTIONS += ["bincount", "add", "softmax"]


def _run(function: str, whose: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", PROGRAM, function, whose], capture_output=True, text=True)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_it_fails_in_tensorflow_and_is_right_here(function: str) -> None:
    alone = _run(function, "stock")
    assert alone.returncode, "TensorFlow has it now"
    ours = _run(function, "ours")
    assert not ours.returncode, ours.stderr[-3000:]
