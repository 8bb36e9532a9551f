"""Graphs for inference as servers have them: messages are parsed, texts cut, columns of every kind put together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .batches import ROWS, clicks, rng, sparse_ids, table, words
from .writing import frozen, graph, saved

fc = tf.feature_column


def _examples(count: int = 4) -> Any:
    """Serialized messages, some without some of the features."""
    draw, found = rng(4), []
    for row in range(count):
        feature = {
            "age": tf.train.Feature(float_list=tf.train.FloatList(value=[float(draw.uniform(18, 80))])),
            "words": tf.train.Feature(bytes_list=tf.train.BytesList(value=list(words(draw.integers(1, 4)).tolist()))),
            "ids": tf.train.Feature(int64_list=tf.train.Int64List(value=draw.integers(1, ROWS, row + 1).tolist())),
        }
        if row == 2:
            del feature["words"], feature["age"]
        found.append(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    return np.array(found, object)


@graph
def parsed_examples(where: Path) -> None:
    spec = {
        "age": tf.io.FixedLenFeature([1], tf.float32, [33.0]),
        "words": tf.io.VarLenFeature(tf.string),
        "ids": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True, default_value=7),
    }

    def function(serialized: Any) -> Any:
        found = tf.io.parse_example(serialized, spec)
        ragged = tf.io.parse_example(serialized, {"ids": tf.io.RaggedFeature(tf.int64)})["ids"]
        texts = found["words"]
        return found["age"], texts.indices, texts.dense_shape, found["ids"], ragged.values, ragged.row_splits

    frozen(where, function, _examples())


@graph
def saved_parsed_lookup(where: Path) -> None:
    module = tf.Module()
    module.table = tf.Variable(table())
    module.hashed = tf.Variable(table(20, seed=8))
    spec = {"ids": tf.io.VarLenFeature(tf.int64), "words": tf.io.VarLenFeature(tf.string)}

    @tf.function
    def serve(examples: Any) -> Any:
        found = tf.io.parse_example(examples, spec)
        ids = tf.nn.safe_embedding_lookup_sparse(module.table, found["ids"], combiner="mean")
        texts = found["words"]
        buckets = tf.SparseTensor(texts.indices, tf.strings.to_hash_bucket_fast(texts.values, 20), texts.dense_shape)
        return {"y": tf.concat([ids, tf.nn.safe_embedding_lookup_sparse(module.hashed, buckets, combiner="sum")], 1)}

    saved(where, module, serve, [{"examples": _examples()}], exact=True)


@graph
def crossed_three_columns(where: Path) -> None:
    crossed = fc.crossed_column(["color", fc.bucketized_column(fc.numeric_column("age"), [30, 50]), "id"], 60)
    weights = tf.Variable(table(60, 3))

    def function(color: Any, age: Any, ids: Any) -> Any:
        found = crossed.transform_feature(fc_cache({"color": color, "age": age, "id": ids}), None)
        return tf.nn.safe_embedding_lookup_sparse(weights, found, combiner="sum")

    frozen(
        where, function, words((5, 1)), rng().uniform(10, 90, (5, 1)).astype(np.float32), rng().integers(0, 9, (5, 1))
    )


def fc_cache(features: dict[str, Any]) -> Any:
    from tensorflow.python.feature_column import feature_column_v2

    return feature_column_v2.FeatureTransformationCache(features)


@graph
def crossed_texts(where: Path) -> None:
    def function(a: Any, b: Any) -> Any:
        found = tf.sparse.cross([tf.sparse.from_dense(a), b], separator="-")
        hashed = tf.sparse.cross_hashed([tf.sparse.from_dense(a), b], 77)
        return found.values, found.indices, hashed.values, hashed.dense_shape

    frozen(where, function, words((4, 2)), words((4, 3), 5))


@graph
def text_cleaned_and_cut(where: Path) -> None:
    texts = np.array([b" Red GREEN, blue! ", b"a-b c", b"", b"One two  three four"], object)

    def function(texts: Any) -> Any:
        clean = tf.strings.regex_replace(tf.strings.lower(tf.strings.strip(texts)), r"[^a-z ]", "")
        cut = tf.strings.split(clean)
        ids = tf.strings.to_hash_bucket_fast(cut.values, 50)
        return ids, cut.row_splits, tf.strings.length(texts), tf.strings.upper(texts)

    frozen(where, function, texts)


@graph
def saved_bidirectional_gru(where: Path) -> None:
    inputs = keras.Input((6,), dtype="int64", name="ids")
    x = keras.layers.Embedding(ROWS, 4, mask_zero=True)(inputs)
    x = keras.layers.Bidirectional(keras.layers.GRU(3))(x)
    model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(x))
    _served(where, model, {"ids": rng().integers(0, ROWS, (5, 6))})


@graph
def saved_transformer_block(where: Path) -> None:
    inputs = keras.Input((6,), dtype="int64", name="ids")
    x = keras.layers.Embedding(ROWS, 8)(inputs)
    x = keras.layers.LayerNormalization()(x + keras.layers.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True))
    x = keras.layers.Dense(8, activation="gelu")(x)
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(x)))
    _served(where, model, {"ids": rng().integers(0, ROWS, (3, 6))})


@graph
def saved_batch_norm_and_activations(where: Path) -> None:
    inputs = keras.Input((3,), name="numbers")
    x = keras.layers.BatchNormalization()(keras.layers.Dense(4)(inputs))
    x = keras.layers.concatenate(
        [keras.layers.Activation(a)(x) for a in ("elu", "selu", "leaky_relu", "softsign", "relu6", "swish")]
    )
    model = keras.Model(inputs, keras.layers.Dense(1)(x))
    _served(where, model, {"numbers": clicks(1)[0]["numbers"]})


def _served(where: Path, model: Any, batch: dict[str, Any]) -> None:
    @tf.function
    def serve(**given: Any) -> Any:
        return {"y": model(next(iter(given.values())))}

    saved(where, model, serve, [batch])


@graph
def exported_by_keras(where: Path) -> None:
    """model.export(), which is how Keras 3 writes a model for servers."""
    user, item = keras.Input((), dtype="int64", name="user"), keras.Input((), dtype="int64", name="item")
    towers = [keras.layers.Dense(4, activation="tanh")(keras.layers.Embedding(ROWS, 4)(x)) for x in (user, item)]
    model = keras.Model({"user": user, "item": item}, keras.layers.Dot(1, normalize=True)(towers))
    batch = {name: value for name, value in clicks(1)[0].items() if name in ("user", "item")}
    model.export(str(where / "saved_model"), verbose=False)
    serving = tf.saved_model.load(str(where / "saved_model")).signatures["serving_default"]
    answer = serving(**{name: tf.constant(v) for name, v in batch.items()})
    from .writing import write

    names = sorted(answer)
    given = [batch], [[answer[name].numpy() for name in names]]
    write(where, *given, feeds=list(batch), fetches=names, exact=False, saved_model=True)


@graph
def top_items(where: Path) -> None:
    """A retrieval: the nearest items of a user, and whether the wanted one is among them."""
    users, items = tf.Variable(table()), tf.Variable(table(seed=6))

    def function(user: Any, wanted: Any) -> Any:
        scores = tf.matmul(tf.gather(users, user), items, transpose_b=True)
        best = tf.math.top_k(scores, 5)
        hit = tf.reduce_any(tf.equal(best.indices, tf.cast(wanted[:, None], tf.int32)), 1)
        return best.indices, hit, tf.argmax(scores, 1), tf.math.in_top_k(wanted, scores, 5), tf.round(scores)

    frozen(where, function, rng().integers(0, ROWS, 4), rng(2).integers(0, ROWS, 4), exact=False)


@graph
def ragged_range_and_gather(where: Path) -> None:
    def function(starts: Any, limits: Any, ids: Any) -> Any:
        ranges = tf.ragged.range(starts, limits)
        taken = tf.gather(ranges, ids)
        return taken.values, taken.row_splits, tf.reduce_max(ranges, 1), ranges.to_tensor(-1)

    starts = np.array([0, 5, 7, 2], np.int64)
    frozen(where, function, starts, starts + np.array([3, 0, 2, 1]), np.array([3, 0, 0, 2], np.int64))


@graph
def masked_sequence(where: Path) -> None:
    def function(ids: Any, lengths: Any) -> Any:
        mask = tf.sequence_mask(lengths, tf.shape(ids)[1])
        x = tf.where(mask[:, :, None], tf.gather(tf.constant(table()), ids), 0.0)
        last = tf.gather(x, tf.maximum(lengths - 1, 0), batch_dims=1)
        return (
            tf.reverse(x, [1]),
            last,
            tf.math.cumsum(x, 1),
            tf.clip_by_value(x, -0.5, 0.5),
            tf.reverse_sequence(x, lengths, 1),
        )

    frozen(where, function, rng().integers(0, ROWS, (4, 5)), np.array([5, 2, 0, 3], np.int64), exact=False)


@graph
def sparse_weights_by_linalg(where: Path) -> None:
    indices, ids, shape = sparse_ids(empty=False)
    dense = tf.Variable(table(4, 3))

    def function(indices: Any, values: Any) -> Any:
        matrix = tf.sparse.reorder(tf.SparseTensor(indices, values, shape))
        y = tf.sparse.sparse_dense_matmul(matrix, dense)
        normal = tf.linalg.band_part(tf.matmul(y, y, transpose_b=True), 0, -1)
        return y, normal, tf.sparse.softmax(matrix).values

    frozen(where, function, indices, ids.astype(np.float32), exact=False)
