"""The lookups of embeddings against TensorFlow's functions of the same names."""

import numpy as np
import pytest
import tensorflow as tf

import gradbag
from gradbag.testing import assert_same

COMBINERS = ("sum", "mean", "sqrtn")


def random_ids(seed, sort=True, rank=2, negative=False):
    """Ids at random places, some rows empty, and weights of which some are zero or negative."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 6, rank)
    count = int(rng.integers(0, 12))
    places = rng.integers(0, shape, (count, rank))
    if sort:
        places = places[np.lexsort(places.T[::-1])]
    ids = rng.integers(-3 if negative else 0, 7, count)
    weights = rng.choice([0.5, 1.0, 2.5, -1.0, 0.0], count).astype(np.float32)
    return places, ids, weights, shape


def both(places, values, shape):
    return gradbag.SparseTensor(places, values, shape), tf.SparseTensor(places, values, shape)


def table(seed, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal((7, 3)).astype(dtype)


@pytest.mark.parametrize("combiner", COMBINERS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("safe", [False, True], ids=["lookup", "safe"])
def test_values_and_gradients_are_tensorflows(combiner, weighted, safe):
    seen = 0
    for seed in range(30):
        places, ids, weights, shape = random_ids(seed, sort=not safe, negative=safe)
        if not len(ids):
            continue  # TensorFlow's gradient is garbage then
        our_ids, their_ids = both(places, ids, shape)
        our_weights, their_weights = both(places, weights, shape) if weighted else (None, None)
        settings = {"default_id": (None, 0, 4)[seed % 3]} if safe else {}
        name = "safe_embedding_lookup_sparse" if safe else "embedding_lookup_sparse"
        theirs, ours = getattr(tf.nn, name), getattr(gradbag, name)
        data = table(seed)
        tensor = tf.constant(data)
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            expected = theirs(tensor, their_ids, their_weights, combiner=combiner, **settings)
            loss = tf.reduce_sum(expected**2)

        def look_up(rows, ours=ours, given=(our_ids, our_weights, combiner), settings=settings):
            return ours(rows, *given, **settings)

        got, gradient = look_up(data), gradbag.grad(lambda rows, f=look_up: (f(rows) ** 2).sum())(data)
        if weighted:
            np.testing.assert_allclose(got, expected.numpy(), rtol=1e-5, atol=1e-6)
        else:
            assert_same(got, expected.numpy())
        theirs_dense = tf.convert_to_tensor(tape.gradient(loss, tensor)).numpy()
        np.testing.assert_allclose(gradient, theirs_dense, rtol=1e-4, atol=1e-5)
        seen += 1
    assert seen >= 15


@pytest.mark.parametrize("rank", [1, 3])
def test_ids_of_other_ranks(rank):
    for seed in range(8):
        places, ids, _, shape = random_ids(seed, rank=rank)
        ours, theirs = both(places, ids, shape)
        expected = tf.nn.safe_embedding_lookup_sparse(table(seed), theirs, combiner="mean", default_id=2)
        assert_same(gradbag.safe_embedding_lookup_sparse(table(seed), ours, default_id=2), expected.numpy())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_weighted_sums_of_narrow_tables_are_made_in_float32(dtype):
    places, shape = np.stack([np.zeros(40, int), np.arange(40)], 1), [1, 40]
    narrow = tf.cast(100 * table(0), dtype)
    ours, theirs = both(places, np.arange(40) % 7, shape)
    our_weights, their_weights = both(places, np.ones(40, np.float32), shape)
    expected = tf.nn.embedding_lookup_sparse(narrow, theirs, their_weights, combiner="mean")
    assert_same(gradbag.embedding_lookup_sparse(narrow.numpy(), ours, our_weights), expected.numpy())


@pytest.mark.parametrize("default_id", [None, 1])
def test_an_empty_batch_is_zeros_or_the_default(default_id):
    ours, theirs = both(np.empty((0, 2), np.int64), np.empty(0, np.int64), [3, 2])
    expected = tf.nn.safe_embedding_lookup_sparse(table(0), theirs, default_id=default_id)
    assert_same(gradbag.safe_embedding_lookup_sparse(table(0), ours, default_id=default_id), expected.numpy())
    assert gradbag.embedding_lookup_sparse(table(0), ours).shape == (0, 3)


def test_weights_that_cancel_give_zeros():
    places, ids, shape = [[0, 0], [0, 1]], [1, 2], [1, 2]
    ours, theirs = both(places, ids, shape)
    our_weights, their_weights = both(places, np.array([1, -1], np.float32), shape)
    expected = tf.nn.embedding_lookup_sparse(table(0), theirs, their_weights, combiner="mean")
    assert not expected.numpy().any()
    assert not gradbag.embedding_lookup_sparse(table(0), ours, our_weights).any()


def test_tensors_of_tensorflow_are_sent_to_the_patch():
    with pytest.raises(TypeError, match="patch"):
        gradbag.embedding_lookup_sparse(table(0), tf.SparseTensor([[0, 0]], [1], [1, 1]))
