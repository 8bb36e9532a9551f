"""Gradients in a graph, and feature columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from .batches import clicks, rng, sparse_ids, table, words
from .writing import frozen, graph, v1, write


@graph
def cross_entropy_gradient(where: Path) -> None:
    users, items = tf.Variable(table(seed=6)), tf.Variable(table(seed=7))

    def function(user: Any, item: Any) -> Any:
        with tf.GradientTape() as tape:
            a, b = tf.convert_to_tensor(users), tf.convert_to_tensor(items)
            tape.watch([a, b])
            scores = tf.matmul(tf.gather(a, user), tf.gather(b, item), transpose_b=True)
            labels = tf.range(tf.shape(scores)[0])
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores)
            loss = tf.reduce_mean(losses)
        return [loss, *[tf.convert_to_tensor(g) for g in tape.gradient(loss, [a, b])]]

    batch = clicks(1)[0]
    frozen(where, function, batch["user"], batch["item"], exact=False)


@graph
def dense_cross_entropy_gradient(where: Path) -> None:
    weights = tf.Variable(table(3, 4))

    def function(x: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            read = tf.convert_to_tensor(weights)
            tape.watch([read, x])
            loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, tf.matmul(x, read)))
        return [loss, *tape.gradient(loss, [read, x])]

    labels = np.eye(4, dtype=np.float32)[rng().integers(0, 4, 6)]
    frozen(where, function, rng().normal(size=(6, 3)).astype(np.float32), labels, exact=False)


@graph
def second_derivative(where: Path) -> None:
    params = tf.Variable(table())

    def function(ids: Any) -> Any:
        read = tf.convert_to_tensor(params)
        with tf.GradientTape() as outer:
            outer.watch(read)
            with tf.GradientTape() as inner:
                inner.watch(read)
                loss = tf.reduce_sum(tf.reduce_prod(tf.gather(read, ids), 1) ** 2)
            first = tf.convert_to_tensor(inner.gradient(loss, read))
            norm = tf.reduce_sum(first * first)
        return tf.convert_to_tensor(outer.gradient(norm, read))

    frozen(where, function, rng().integers(0, 40, (5, 2)), exact=False)


@graph
def concat_gradient(where: Path) -> None:
    """ShapeN and ConcatOffset, Split and Unpack: lists of outputs."""
    params = tf.Variable(table())

    def function(ids: Any, numbers: Any) -> Any:
        with tf.GradientTape() as tape:
            read = tf.convert_to_tensor(params)
            tape.watch([read, numbers])
            joined = tf.concat([tf.gather(read, ids), numbers], 1)
            first, second = tf.split(joined, [3, 4], 1)
            parts = tf.unstack(second, axis=1)
            loss = tf.reduce_sum(first) * tf.reduce_sum(parts[0] * parts[3]) + tf.reduce_sum(parts[1])
        return [tf.convert_to_tensor(g) for g in tape.gradient(loss, [read, numbers])]

    frozen(where, function, rng().integers(0, 40, 5), rng().normal(size=(5, 3)).astype(np.float32), exact=False)


@graph
def clipped_gradient(where: Path) -> None:
    params = tf.Variable(table())

    def function(ids: Any) -> Any:
        with tf.GradientTape() as tape:
            read = tf.convert_to_tensor(params)
            tape.watch(read)
            loss = tf.reduce_sum(tf.square(tf.gather(read, ids)))
        found = [tf.convert_to_tensor(tape.gradient(loss, read))]
        clipped, norm = tf.clip_by_global_norm(found, 1.0)
        return [*clipped, norm]

    frozen(where, function, rng().integers(0, 40, 5), exact=False)


def _columns(where: Path, columns: list[Any], features: dict[str, Any]) -> None:
    """A layer of feature columns, as TensorFlow 1 writes it, with variables that are initialized from a seed."""
    with tf.Graph().as_default() as made, v1.Session() as session:
        v1.set_random_seed(11)
        places = {
            name: v1.placeholder(tf.as_dtype(v.dtype), [None, *v.shape[1:]], name) for name, v in features.items()
        }
        y = tf.identity(v1.feature_column.input_layer(places, columns), "y")
        first = v1.group(v1.global_variables_initializer(), v1.tables_initializer())
        session.run(first)
        wanted = session.run(y, {places[name]: v for name, v in features.items()})
        (where / "graph.pb").write_bytes(made.as_graph_def().SerializeToString())
    feeds = {places[name].name: v for name, v in features.items()}
    write(where, [feeds], [[wanted]], feeds=list(feeds), fetches=[y.name], exact=False, init=[first.name])


@graph
def hashed_column(where: Path) -> None:
    fc = tf.feature_column
    column = fc.embedding_column(fc.categorical_column_with_hash_bucket("word", 20), 4)
    _columns(
        where,
        [column, fc.numeric_column("age")],
        {"word": words((6, 1)), "age": rng().normal(size=(6, 1)).astype("f4")},
    )


@graph
def vocabulary_column(where: Path) -> None:
    fc = tf.feature_column
    words_of = fc.categorical_column_with_vocabulary_list("word", ["red", "green", "blue"], num_oov_buckets=2)
    _columns(where, [fc.indicator_column(words_of)], {"word": words((6, 2))})


@graph
def bucketized_and_identity_columns(where: Path) -> None:
    fc = tf.feature_column
    ages = fc.bucketized_column(fc.numeric_column("age"), [-1.0, 0.0, 1.0])
    ids = fc.embedding_column(fc.categorical_column_with_identity("id", 40, default_value=0), 3, combiner="sum")
    features = {"age": rng().normal(size=(6, 1)).astype("f4"), "id": rng().integers(0, 40, (6, 2))}
    _columns(where, [ages, ids], features)


@graph
def crossed_column(where: Path) -> None:
    fc = tf.feature_column
    crossed = fc.crossed_column(["word", "colour"], 30)
    _columns(where, [fc.embedding_column(crossed, 3)], {"word": words((6, 1)), "colour": words((6, 1), 8)})


@graph
def linear_model(where: Path) -> None:
    fc = tf.feature_column
    indices, ids, shape = sparse_ids()
    with tf.Graph().as_default() as made, v1.Session() as session:
        v1.set_random_seed(11)
        place = v1.sparse_placeholder(tf.int64, shape, "ids")
        column = fc.categorical_column_with_identity("ids", 40)
        y = tf.identity(v1.feature_column.linear_model({"ids": place}, [column], sparse_combiner="mean"), "y")
        first = v1.group(v1.global_variables_initializer(), v1.tables_initializer())
        session.run(first)
        for variable in v1.global_variables():
            variable.load(rng().normal(size=variable.shape).astype("f4"), session)
        loaded = {v.name: session.run(v) for v in v1.global_variables()}
        wanted = session.run(y, {place: (indices, ids, shape)})
        (where / "graph.pb").write_bytes(made.as_graph_def().SerializeToString())
    np.savez(where / "variables.npz", **loaded)
    feeds = {place.indices.name: indices, place.values.name: ids}
    write(where, [feeds], [[wanted]], feeds=list(feeds), fetches=[y.name], exact=True, variables=True)


@graph
def random_numbers(where: Path) -> None:
    """Every draw, three runs: the numbers of a run go on where those of the last one ended."""
    with tf.Graph().as_default() as made, v1.Session() as session:
        v1.set_random_seed(5)
        drawn = [
            v1.random_uniform([5, 3]),
            v1.random_normal([7]),
            v1.truncated_normal([40]),
            v1.random_uniform([9], 3, 40, tf.int64),
            v1.random_uniform([6], 0, 7, tf.int32, seed=3),
            v1.random_normal([5], dtype=tf.float64),
            v1.random_uniform([5], dtype=tf.float64),
            tf.random.stateless_uniform([6], [1, 2]),
            tf.random.stateless_normal([6], [3, 4]),
            tf.random.stateless_truncated_normal([6], [3, 4]),
            tf.random.stateless_uniform([6], [3, 4], 0, 9, tf.int32),
        ]
        wanted = [session.run(drawn) for _ in range(3)]
        (where / "graph.pb").write_bytes(made.as_graph_def().SerializeToString())
    write(where, [{}] * 3, wanted, feeds=[], fetches=[d.name for d in drawn], exact=False)


@graph
def switched(where: Path) -> None:
    """The control flow of TensorFlow 1: Switch and Merge, with the gradient through them."""
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as made, v1.Session() as session:
            place, chosen = v1.placeholder(tf.float32, [None], "x"), v1.placeholder(tf.bool, [], "chosen")
            y = v1.cond(chosen, lambda: place * place, lambda: tf.exp(place) * 3.0)
            loss = tf.reduce_sum(y * 2.0, name="loss")
            (found,) = v1.gradients(loss, [place])
            x = np.array([1.0, 2.0, 0.5], np.float32)
            wanted = [session.run([loss, found], {place: x, chosen: c}) for c in (True, False)]
            (where / "graph.pb").write_bytes(made.as_graph_def().SerializeToString())
    finally:
        v1.enable_control_flow_v2()
    feeds = [{"x:0": x, "chosen:0": c} for c in (True, False)]
    write(where, feeds, wanted, feeds=list(feeds[0]), fetches=[loss.name, found.name], exact=False)


@graph
def checked(where: Path) -> None:
    """Assertions and debugging aids."""

    def function(ids: Any) -> Any:
        with tf.control_dependencies([tf.debugging.assert_less(ids, tf.constant(40, tf.int64), message="too large")]):
            y = tf.gather(tf.constant(table()), ids)
        return (
            tf.debugging.check_numerics(tf.ensure_shape(y, [None, 4]), "no number"),
            tf.reduce_any(y > 2),
            tf.reduce_all(y > -9),
        )

    frozen(where, function, rng().integers(0, 40, 5))
