"""Ops that stand around a look-up: tf.unique, which every sparse look-up and every optimizer of sparse rows calls."""

import numpy as np
import pytest
import tensorflow as tf

from gradbag.testing import assert_same

from .who import counted, on_stock

ENDS = [-(2**63), 2**63 - 1, 0, -1]


def drawn(rng, dtype):
    """Numbers close together, far apart, few, many, and at the ends of the type."""
    count = int(rng.choice([0, 1, 2, 10, 100, 3000]))
    limits = np.iinfo(dtype)
    spread = int(rng.choice([1, 10, 1000, 10**6, 2**31 - 1, 2**62]))
    low = int(rng.integers(limits.min, limits.max))
    values = rng.integers(max(low - spread, limits.min), min(low + spread, limits.max), count, dtype)
    if count > 5 and rng.random() < 0.3:
        values[rng.integers(0, count, 4)] = np.array(ENDS).clip(limits.min, limits.max).astype(dtype)
    return rng.choice(values, count) if count and rng.random() < 0.5 else values


@pytest.mark.parametrize("out_idx", [tf.int32, tf.int64], ids=lambda t: t.name)
@pytest.mark.parametrize("dtype", [np.int32, np.int64], ids=lambda t: t.__name__)
def test_random_calls_of_unique(dtype, out_idx, seed):
    rng = np.random.default_rng(seed)
    for _ in range(150):
        x = tf.constant(drawn(rng, dtype))
        with counted(Unique=1):
            ours = tf.unique(x, out_idx)
        for a, b in zip(ours, on_stock(tf.unique, x, out_idx), strict=True):
            assert_same(a.numpy(), b.numpy())


def test_other_types_and_shapes_stay_tensorflows():
    with counted():
        assert tf.unique([0.5, 0.5])[0].numpy().tolist() == [0.5]
        assert tf.unique(["a", "b", "a"])[1].numpy().tolist() == [0, 1, 0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="unique expects a 1D vector"):
            tf.unique([[1, 2]])


def test_a_step_of_a_safe_look_up():
    """Forward, backward and the update of the rows, in one function: the bits of stock TensorFlow."""
    rng = np.random.default_rng(3)
    start = rng.standard_normal((40, 4)).astype(np.float32)
    ids = tf.constant(rng.integers(0, 40, 30))
    places = np.stack([np.sort(rng.integers(0, 9, 30)), np.arange(30)], 1)
    sparse = tf.SparseTensor(places, ids, [10, 30])

    def trained():
        table = tf.Variable(start)

        @tf.function
        def step():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.nn.safe_embedding_lookup_sparse(table, sparse, combiner="mean") ** 2)
            slices = tape.gradient(loss, table)
            table.scatter_sub(tf.IndexedSlices(slices.values * 0.1, slices.indices))

        step()  # whatever of it is constant is computed now
        return step, table

    def after_two_steps():
        step, table = trained()
        step()
        return table.numpy()

    step, table = trained()
    with counted(Unique=1, SparseFillEmptyRows=1, SparseSegmentMean=1, SparseSegmentMeanGrad=1):
        step()
    assert_same(table.numpy(), on_stock(after_two_steps))
    assert (table.numpy() != start).any()
