"""Saved models: folders with variables, tables and signatures; Keras models and plain modules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from .batches import clicks, rng, table, words
from .writing import graph, saved


@graph
def saved_lookup(where: Path) -> None:
    module = tf.Module()
    module.table = tf.Variable(table(), name="table")

    @tf.function
    def serve(ids: Any) -> Any:
        return {"rows": tf.gather(module.table, ids), "sum": tf.reduce_sum(tf.gather(module.table, ids), 1)}

    saved(where, module, serve, [{"ids": rng(i).integers(0, 40, (3, 2))} for i in range(2)])


@graph
def saved_vocabulary(where: Path) -> None:
    module = tf.Module()
    words_file = where / "words.txt"
    words_file.write_text("red\ngreen\nblue\n")
    init = tf.lookup.TextFileInitializer(
        str(words_file), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
    )
    module.words = tf.lookup.StaticVocabularyTable(init, 2)
    module.table = tf.Variable(table(5))

    @tf.function
    def serve(texts: Any) -> Any:
        return {"rows": tf.gather(module.table, module.words.lookup(texts))}

    saved(where, module, serve, [{"texts": words((4,))}], exact=True)


@graph
def saved_hash_table(where: Path) -> None:
    module = tf.Module()
    init = tf.lookup.KeyValueTensorInitializer(["red", "green", "blue"], [4, 2, 1], tf.string, tf.int64)
    module.words = tf.lookup.StaticHashTable(init, -1)

    @tf.function
    def serve(texts: Any) -> Any:
        return {"ids": module.words.lookup(texts), "size": module.words.size()}

    saved(where, module, serve, [{"texts": words((4,))}], exact=True)


def _keras_model(where: Path, model: Any, batches: list[dict[str, Any]], **rest: Any) -> None:
    @tf.function
    def serve(**given: Any) -> Any:
        values = list(given.values())
        return {"y": model(values if len(values) > 1 else values[0], training=False)}

    model(list(batches[0].values()) if len(batches[0]) > 1 else next(iter(batches[0].values())))
    module = tf.Module()
    module.model_variables = (
        model.variables if not hasattr(model.variables[0], "value") else [v.value for v in model.variables]
    )
    module.tables = [layer.lookup_table for layer in model.layers if hasattr(layer, "lookup_table")]
    saved(where, module, serve, batches, **rest)


@graph
def saved_keras_text(where: Path) -> None:
    text = keras.layers.TextVectorization(max_tokens=30, output_sequence_length=6)
    text.adapt(["red green blue", "the other red", "violet, and green!"])
    given = keras.Input([], dtype="string")
    x = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(30, 4)(text(given)))
    model = keras.Model(given, keras.layers.Dense(1, "sigmoid")(x))
    model.export(str(where / "saved_model"), verbose=False)
    _exported(where, np.array(["Red blue", "violet and something", "green"], object))


def _exported(where: Path, *given: Any, exact: bool = False) -> None:
    """A model that Keras has exported itself."""
    from .writing import write

    serving = tf.saved_model.load(str(where / "saved_model")).signatures["serving_default"]
    names = [
        t.name.partition(":")[0].removeprefix("serving_default_") for t in serving.inputs if t.dtype != tf.resource
    ]
    feeds = dict(zip(names[: len(given)], given, strict=True))
    answer = serving(**{name: tf.constant(v) for name, v in feeds.items()})
    fetches = sorted(answer)
    wanted = [[answer[name].numpy() for name in fetches]]
    write(where, [feeds], wanted, feeds=list(feeds), fetches=fetches, exact=exact, saved_model=True)


@graph
def saved_keras_lookup(where: Path) -> None:
    given = keras.Input([3], dtype="int64", name="ids")
    pooled = keras.layers.Lambda(lambda x: x)(keras.layers.Embedding(40, 4)(given))
    model = keras.Model(given, keras.layers.Dense(3, "softmax")(keras.layers.Flatten()(pooled)))
    model.export(str(where / "saved_model"), verbose=False)
    _exported(where, rng().integers(0, 40, (4, 3)))


@graph
def saved_keras_dlrm(where: Path) -> None:
    ids = [keras.Input([], dtype="int64", name=f"id_{i}") for i in range(3)]
    numbers = keras.Input([3], name="numbers")
    bottom = keras.layers.Dense(4, "relu")(numbers)
    parts = [bottom, *[keras.layers.Embedding(40, 4)(i) for i in ids]]
    pairs = [keras.layers.Dot(1)([a, b]) for i, a in enumerate(parts) for b in parts[:i]]
    x = keras.layers.BatchNormalization()(keras.layers.Concatenate()([bottom, *pairs]))
    model = keras.Model([*ids, numbers], keras.layers.Dense(1, "sigmoid")(x))
    model.export(str(where / "saved_model"), verbose=False)
    draw = rng()
    _exported(where, *[draw.integers(0, 40, 5) for _ in range(3)], draw.normal(size=(5, 3)).astype(np.float32))


@graph
def saved_tf1_estimator_style(where: Path) -> None:
    """A saved model of TensorFlow 1: ref variables, a table, a signature by tensor names."""
    v1 = tf.compat.v1
    texts = words((4, 2))
    with tf.Graph().as_default(), v1.Session() as session:
        place = v1.placeholder(tf.string, [None, 2], "texts")
        init = tf.lookup.KeyValueTensorInitializer(["red", "green", "blue"], [0, 1, 2], tf.string, tf.int64)
        ids = tf.lookup.StaticVocabularyTable(init, 2).lookup(place)
        params = v1.get_variable("rows", initializer=table(5), use_resource=False)
        y = tf.reduce_sum(tf.nn.embedding_lookup(params, ids), 1)
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        wanted = session.run(y, {place: texts})
        v1.saved_model.simple_save(
            session, str(where / "saved_model"), {"texts": place}, {"y": y}, legacy_init_op=v1.tables_initializer()
        )
    from .writing import write

    write(where, [{"texts": texts}], [[wanted]], feeds=["texts"], fetches=["y"], exact=True, saved_model=True)


@graph
def saved_recommender(where: Path) -> None:
    module = tf.Module()
    module.users, module.items = tf.Variable(table(seed=1)), tf.Variable(table(seed=2))

    @tf.function
    def serve(user: Any) -> Any:
        scores = tf.matmul(tf.gather(module.users, user), module.items, transpose_b=True)
        values, found = tf.math.top_k(scores, 5)
        return {"scores": values, "items": found}

    saved(where, module, serve, [{"user": clicks(1)[0]["user"]}])
