"""Models for inference, frozen: the layers around the look-ups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .batches import clicks, rng, sparse_ids, table, words
from .writing import frozen, graph


def dense(width_in: int, width_out: int, seed: int) -> tuple[Any, Any]:
    return tf.Variable(table(width_in, width_out, seed)), tf.Variable(table(1, width_out, seed + 1)[0])


@graph
def factorisation_machine(where: Path) -> None:
    linear, factors = tf.Variable(table(40, 1)), tf.Variable(table(seed=6))

    def function(ids: Any) -> Any:
        v = tf.gather(factors, ids)
        crossed = 0.5 * tf.reduce_sum(tf.square(tf.reduce_sum(v, 1)) - tf.reduce_sum(tf.square(v), 1), 1)
        return tf.sigmoid(tf.squeeze(tf.reduce_sum(tf.gather(linear, ids), 1), -1) + crossed)

    frozen(where, function, rng().integers(0, 40, (6, 5)), exact=False)


@graph
def wide_and_deep(where: Path) -> None:
    (w1, b1), (w2, b2) = dense(11, 8, 1), dense(8, 1, 3)
    wide, users, items = tf.Variable(table(40, 1)), tf.Variable(table(seed=6)), tf.Variable(table(seed=7))

    def function(user: Any, item: Any, numbers: Any) -> Any:
        x = tf.concat([tf.gather(users, user), tf.gather(items, item), numbers], 1)
        deep = tf.nn.bias_add(tf.matmul(tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w1), b1)), w2), b2)
        return tf.sigmoid(deep + tf.gather(wide, (user * 7 + item) % 40))

    batch = clicks(1)[0]
    frozen(where, function, batch["user"], batch["item"], batch["numbers"], exact=False)


@graph
def two_towers(where: Path) -> None:
    users, items = tf.Variable(table(seed=6)), tf.Variable(table(seed=7))

    def function(user: Any, item: Any) -> Any:
        a = tf.math.l2_normalize(tf.gather(users, user), axis=1)
        b = tf.math.l2_normalize(tf.gather(items, item), axis=1)
        scores = tf.matmul(a, b, transpose_b=True)
        top = tf.math.top_k(scores, 3)
        return tf.nn.softmax(scores), tf.nn.log_softmax(scores), top.values, top.indices

    batch = clicks(1)[0]
    frozen(where, function, batch["user"], batch["item"], exact=False)


@graph
def dlrm(where: Path) -> None:
    tables = [tf.Variable(table(seed=i)) for i in range(3)]
    (w1, b1), (w2, b2) = dense(3, 4, 1), dense(10, 1, 3)

    def function(ids: Any, numbers: Any) -> Any:
        bottom = tf.nn.relu(tf.nn.bias_add(tf.matmul(numbers, w1), b1))
        parts = tf.stack([bottom, *[tf.gather(t, ids[:, i]) for i, t in enumerate(tables)]], 1)
        crossed = tf.matmul(parts, parts, transpose_b=True)
        pairs = tf.boolean_mask(crossed, np.tril(np.ones((4, 4), bool), -1), axis=1)
        return tf.sigmoid(tf.nn.bias_add(tf.matmul(tf.concat([bottom, pairs], 1), w2), b2))

    frozen(where, function, rng().integers(0, 40, (6, 3)), rng().normal(size=(6, 3)).astype(np.float32), exact=False)


@graph
def attention_over_history(where: Path) -> None:
    """Deep interest: a history of items of varying length, weighed by the candidate."""
    items = tf.Variable(table())
    (w1, b1), (w2, b2) = dense(16, 8, 1), dense(8, 1, 3)

    def function(history: Any, lengths: Any, candidate: Any) -> Any:
        keys, query = tf.gather(items, history), tf.gather(items, candidate)
        queries = tf.tile(tf.expand_dims(query, 1), [1, tf.shape(keys)[1], 1])
        x = tf.concat([queries, keys, queries - keys, queries * keys], -1)
        hidden = tf.nn.sigmoid(tf.tensordot(x, w1, [[2], [0]]) + b1)
        scores = tf.squeeze(tf.tensordot(hidden, w2, [[2], [0]]) + b2, -1)
        mask = tf.sequence_mask(lengths, tf.shape(keys)[1])
        scores = tf.where(mask, scores / 2.0, tf.fill(tf.shape(scores), -1e9))
        weights = tf.nn.softmax(scores)
        return tf.reduce_sum(tf.matmul(tf.expand_dims(weights, 1), keys), 1), mask

    lengths = np.array([1, 5, 3, 2], np.int32)
    frozen(where, function, rng().integers(0, 40, (4, 5)), lengths, rng().integers(0, 40, 4), exact=False)


@graph
def self_attention(where: Path) -> None:
    items = tf.Variable(table(width=8))

    def function(ids: Any) -> Any:
        x = tf.gather(items, ids)
        heads = tf.transpose(tf.reshape(x, [tf.shape(x)[0], tf.shape(x)[1], 2, 4]), [0, 2, 1, 3])
        weights = tf.nn.softmax(tf.matmul(heads, heads, transpose_b=True) / 2.0)
        return tf.reduce_max(tf.einsum("bhqk,bhkd->bqhd", weights, heads), 1)

    frozen(where, function, rng().integers(0, 40, (3, 5)), exact=False)


@graph
def sparse_linear(where: Path) -> None:
    weights = tf.Variable(table(4, 2))
    indices, _, shape = sparse_ids()

    def function(indices: Any, values: Any) -> Any:
        return tf.sparse.sparse_dense_matmul(tf.SparseTensor(indices, values, shape), weights)

    frozen(where, function, indices, rng().normal(size=len(indices)).astype(np.float32), exact=False)


@graph
def multi_hot(where: Path) -> None:
    indices, ids, shape = sparse_ids()

    def function(indices: Any, ids: Any) -> Any:
        sparse = tf.SparseTensor(indices, ids, shape)
        hot = tf.one_hot(tf.sparse.to_dense(sparse, default_value=-1), 40)
        return tf.reduce_sum(hot, 1), tf.math.bincount(tf.cast(ids, tf.int32), minlength=40)

    frozen(where, function, indices, ids)


@graph
def vocabulary_words(where: Path) -> None:
    """A static hash table whose content is in the graph."""
    known = tf.constant(["red", "green", "blue"])
    found = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(known, tf.range(3, dtype=tf.int64)), 3)
    params = table(4)
    texts = words((5, 2))
    with tf.Graph().as_default() as made, tf.compat.v1.Session() as session:
        init = tf.lookup.KeyValueTensorInitializer(["red", "green", "blue"], [0, 1, 2], tf.string, tf.int64)
        lookup = tf.lookup.StaticVocabularyTable(init, 1)
        place = tf.compat.v1.placeholder(tf.string, [None, 2], "texts")
        y = tf.identity(tf.gather(tf.constant(params), lookup.lookup(place)), "y")
        first = tf.compat.v1.tables_initializer()
        session.run(first)
        wanted = session.run(y, {place: texts})
        (where / "graph.pb").write_bytes(made.as_graph_def().SerializeToString())
    assert found is not None
    from .writing import write

    write(where, [{"texts:0": texts}], [[wanted]], feeds=["texts:0"], fetches=["y:0"], exact=True, init=[first.name])


@graph
def split_text(where: Path) -> None:
    params = tf.Variable(table())

    def function(texts: Any) -> Any:
        pieces = tf.strings.split(tf.strings.lower(tf.strings.regex_replace(texts, "[!,.]", " ")))
        ids = tf.strings.to_hash_bucket_fast(pieces.values, 40)
        return tf.nn.embedding_lookup_sparse(params, pieces.with_values(ids).to_sparse(), None, combiner="mean")

    frozen(where, function, np.array(["Red, green blue!", "a word", "the other", "One"], object))


@graph
def conditional(where: Path) -> None:
    params = tf.Variable(table())

    def function(ids: Any, scale: Any) -> Any:
        x = tf.gather(params, ids)
        return tf.cond(tf.reduce_sum(scale) > 0, lambda: tf.nn.relu(x) * scale, lambda: tf.nn.tanh(x) - 1.0)

    frozen(where, function, rng().integers(0, 40, 5), np.float32(-2.0), exact=False, dynamic=False)


@graph
def conditional_gradient(where: Path) -> None:
    params = tf.Variable(table())

    def function(ids: Any, scale: Any) -> Any:
        with tf.GradientTape() as tape:
            read = tf.convert_to_tensor(params)
            tape.watch(read)
            x = tf.gather(read, ids)
            y = tf.cond(scale > 0, lambda: tf.square(x) * scale, lambda: x - 1.0)
            loss = tf.reduce_sum(y * y)
        return loss, tf.convert_to_tensor(tape.gradient(loss, read))

    frozen(where, function, rng().integers(0, 40, 5), np.float32(2.0), exact=False, dynamic=False)


@graph
def repeated(where: Path) -> None:
    """A loop that runs as often as the input says."""
    params = tf.Variable(table(4, 4))

    def function(count: Any, x: Any) -> Any:
        _, y = tf.while_loop(lambda i, y: i < count, lambda i, y: (i + 1, tf.tanh(y @ params)), [0, x])
        return y

    frozen(where, function, np.int32(5), rng().normal(size=(2, 4)).astype(np.float32), exact=False, dynamic=False)


@graph
def keras_functional(where: Path) -> None:
    user, numbers = keras.Input([3], dtype="int64"), keras.Input([3])
    pooled = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(40, 4)(user))
    x = keras.layers.Concatenate()([pooled, numbers])
    x = keras.layers.LayerNormalization()(keras.layers.Dense(8, "relu")(x))
    model = keras.Model([user, numbers], keras.layers.Dense(2, "softmax")(keras.layers.Dropout(0.5)(x)))
    given = rng().integers(0, 40, (5, 3)), rng().normal(size=(5, 3)).astype(np.float32)
    frozen(where, lambda user, numbers: model([user, numbers], training=False), *given, exact=False)
