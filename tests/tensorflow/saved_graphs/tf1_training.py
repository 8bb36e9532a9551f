"""Training graphs of TensorFlow 1: ref and resource variables, the optimizers, twenty steps each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from .batches import ROWS, clicks, rng, words
from .writing import MADE, STEPS, graph, trained, v1

train = v1.train
OPTIMIZERS = {
    "sgd": lambda: train.GradientDescentOptimizer(0.1),
    "momentum": lambda: train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: train.AdagradOptimizer(0.1),
    "adam": lambda: train.AdamOptimizer(0.01),
    "rms_prop": lambda: train.RMSPropOptimizer(0.01, momentum=0.5),
    "centered_rms_prop": lambda: train.RMSPropOptimizer(0.01, centered=True),
    "ftrl": lambda: train.FtrlOptimizer(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.01),
    "adadelta": lambda: train.AdadeltaOptimizer(1.0),
    "proximal_adagrad": lambda: train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.01),
}


def deep(places: dict[str, Any], layer: bool = True) -> Any:
    """Logits of two look-ups, with a layer over them."""
    normal = v1.truncated_normal_initializer(stddev=0.1)
    users = v1.get_variable("users", [ROWS, 4], initializer=normal)
    items = v1.get_variable("items", [ROWS, 4], initializer=normal)
    x = tf.concat([tf.nn.embedding_lookup(users, places["user"]), tf.nn.embedding_lookup(items, places["item"])], 1)
    x = tf.concat([x, places["numbers"]], 1)
    if layer:
        w = v1.get_variable("w", [11, 8])
        b = v1.get_variable("b", [8], initializer=v1.zeros_initializer())
        x = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), b))
    out = v1.get_variable("out", [8 if layer else 11, 1], initializer=v1.random_normal_initializer())
    return tf.squeeze(tf.matmul(x, out), 1)


def loss_of(logits: Any, places: dict[str, Any]) -> Any:
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=places["label"], logits=logits))


def _trained(optimizer: str, resource: bool) -> Any:
    def make(where: Path) -> None:
        def build(places: dict[str, Any]) -> Any:
            loss = loss_of(deep(places), places)
            return loss, OPTIMIZERS[optimizer]().minimize(loss)

        trained(where, build, clicks(), resource=resource)

    return make


for _name in OPTIMIZERS:
    MADE[f"train_{_name}"] = _trained(_name, True)
for _name in ("sgd", "momentum", "adagrad", "adam", "ftrl", "rms_prop"):
    MADE[f"train_{_name}_refs"] = _trained(_name, False)


@graph
def train_wide_and_deep(where: Path) -> None:
    """FTRL for the wide part, Adagrad for the deep one, a counter of steps."""

    def build(places: dict[str, Any]) -> Any:
        wide = v1.get_variable("wide", [ROWS, 1], initializer=v1.zeros_initializer())
        crossed = (places["user"] * 7 + places["item"]) % ROWS
        logits = deep(places) + tf.squeeze(tf.nn.embedding_lookup(wide, crossed), 1)
        loss = loss_of(logits, places)
        step = train.get_or_create_global_step()
        others = [v for v in v1.trainable_variables() if v is not wide]
        first = train.FtrlOptimizer(0.1).minimize(loss, var_list=[wide])
        second = train.AdagradOptimizer(0.05).minimize(loss, global_step=step, var_list=others)
        return loss, v1.group(first, second)

    trained(where, build, clicks(), resource=True)


@graph
def train_factorisation_machine(where: Path) -> None:
    def build(places: dict[str, Any]) -> Any:
        linear = v1.get_variable("linear", [2 * ROWS, 1], initializer=v1.zeros_initializer())
        factors = v1.get_variable("factors", [2 * ROWS, 4], initializer=v1.random_uniform_initializer(-0.1, 0.1))
        ids = tf.stack([places["user"], places["item"] + ROWS], 1)
        v = tf.gather(factors, ids)
        crossed = 0.5 * tf.reduce_sum(tf.square(tf.reduce_sum(v, 1)) - tf.reduce_sum(tf.square(v), 1), 1)
        logits = tf.reduce_sum(tf.gather(linear, ids), [1, 2]) + crossed
        loss = loss_of(logits, places) + 0.01 * tf.nn.l2_loss(v)
        return loss, train.AdamOptimizer(0.02).minimize(loss)

    trained(where, build, clicks(), resource=True)


@graph
def train_decayed_rate(where: Path) -> None:
    def build(places: dict[str, Any]) -> Any:
        loss = loss_of(deep(places), places)
        step = train.get_or_create_global_step()
        rate = train.exponential_decay(0.1, step, 5, 0.7, staircase=True)
        optimizer = train.GradientDescentOptimizer(rate)
        found = optimizer.compute_gradients(loss)
        clipped, _ = tf.clip_by_global_norm([g for g, _ in found], 1.0)
        pairs = [(g, v) for g, (_, v) in zip(clipped, found, strict=True)]
        return loss, optimizer.apply_gradients(pairs, global_step=step)

    trained(where, build, clicks(), resource=False)


@graph
def train_word2vec(where: Path) -> None:
    """Noise contrastive estimation: candidates are sampled in the graph."""

    def build(places: dict[str, Any]) -> Any:
        vectors = v1.get_variable("vectors", [ROWS, 4], initializer=v1.random_uniform_initializer(-1, 1))
        weights = v1.get_variable("weights", [ROWS, 4], initializer=v1.truncated_normal_initializer(stddev=0.5))
        biases = v1.get_variable("biases", [ROWS], initializer=v1.zeros_initializer())
        loss = tf.reduce_mean(
            tf.nn.nce_loss(
                weights,
                biases,
                tf.reshape(places["item"], [-1, 1]),
                tf.nn.embedding_lookup(vectors, places["user"]),
                5,
                ROWS,
            )
        )
        return loss, train.GradientDescentOptimizer(0.5).minimize(loss)

    batches = [{name: b[name] for name in ("user", "item")} for b in clicks()]
    trained(where, build, batches, resource=True)


@graph
def train_skip_gram(where: Path) -> None:
    """Negatives are fed: no sampling in the graph."""

    def build(places: dict[str, Any]) -> Any:
        vectors = v1.get_variable("vectors", [ROWS, 4], initializer=v1.random_uniform_initializer(-1, 1))
        weights = v1.get_variable("weights", [ROWS, 4], initializer=v1.truncated_normal_initializer(stddev=0.5))
        x, y = tf.gather(vectors, places["word"]), tf.gather(weights, places["contexts"])
        logits = tf.einsum("bd,bcd->bc", x, y)
        labels = tf.one_hot(tf.zeros_like(places["word"]), 4)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        return loss, train.AdagradOptimizer(0.3).minimize(loss)

    draw = rng(4)
    batches = [{"word": draw.integers(0, ROWS, 8), "contexts": draw.integers(0, ROWS, (8, 4))} for _ in range(STEPS)]
    trained(where, build, batches, resource=True)


@graph
def train_feature_columns(where: Path) -> None:
    fc = tf.feature_column

    def build(places: dict[str, Any]) -> Any:
        word = fc.categorical_column_with_hash_bucket("word", 20)
        known = fc.categorical_column_with_vocabulary_list("colour", ["red", "green", "blue"], default_value=0)
        columns = [fc.embedding_column(word, 4), fc.embedding_column(known, 3), fc.numeric_column("age")]
        features = {name: places[name] for name in ("word", "colour", "age")}
        x = v1.feature_column.input_layer(features, columns)
        logits = tf.squeeze(v1.layers.dense(x, 1), 1) if hasattr(v1.layers, "dense") else tf.reduce_sum(x, 1)
        loss = loss_of(logits, places)
        return loss, train.AdagradOptimizer(0.3).minimize(loss)

    draw = rng(6)
    batches = [
        {
            "word": words((8, 2), i),
            "colour": words((8, 1), i + 100),
            "age": draw.normal(size=(8, 1)).astype(np.float32),
            "label": draw.integers(0, 2, 8).astype(np.float32),
        }
        for i in range(STEPS)
    ]
    trained(where, build, batches, resource=True)


@graph
def train_pooled_bags(where: Path) -> None:
    """safe_embedding_lookup_sparse in training: bags of ids, some empty."""

    def build(places: dict[str, Any]) -> Any:
        params = v1.get_variable("params", [ROWS, 4], initializer=v1.random_normal_initializer())
        sparse = tf.SparseTensor(places["indices"], places["ids"], [8, 4])
        x = tf.nn.safe_embedding_lookup_sparse([params], sparse, combiner="mean")
        loss = loss_of(tf.reduce_sum(x, 1), places)
        return loss, train.AdagradOptimizer(0.3).minimize(loss)

    draw = rng(4)
    batches = []
    for _ in range(STEPS):
        places = np.argwhere(draw.random((8, 4)) < 0.4).astype(np.int64)
        label = draw.integers(0, 2, 8).astype(np.float32)
        batches.append({"indices": places, "ids": draw.integers(0, ROWS, len(places)), "label": label})
    trained(where, build, batches, resource=True)


@graph
def train_with_dropout(where: Path) -> None:
    def build(places: dict[str, Any]) -> Any:
        users = v1.get_variable("users", [ROWS, 4], initializer=v1.random_normal_initializer())
        x = tf.nn.dropout(tf.gather(users, places["user"]), rate=0.3, seed=4)
        loss = loss_of(tf.reduce_sum(x, 1), places)
        return loss, train.GradientDescentOptimizer(0.3).minimize(loss)

    trained(where, build, [{n: b[n] for n in ("user", "label")} for b in clicks()], resource=True)


@graph
def train_moving_average(where: Path) -> None:
    def build(places: dict[str, Any]) -> Any:
        users = v1.get_variable("users", [ROWS, 4], initializer=v1.random_normal_initializer())
        loss = loss_of(tf.reduce_sum(tf.gather(users, places["user"]), 1), places)
        step = train.GradientDescentOptimizer(0.3).minimize(loss)
        average = train.ExponentialMovingAverage(0.9)
        with tf.control_dependencies([step]):
            kept = average.apply([users])
        return loss + 0.0 * tf.reduce_sum(average.average(users)), kept

    trained(where, build, [{n: b[n] for n in ("user", "label")} for b in clicks()], resource=True)
