"""Training graphs with what people put around the optimizers: schedules, clipping, dropout, conditions, samplers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from .batches import ROWS, clicks, rng
from .tf1_training import deep, loss_of
from .writing import MADE, STEPS, graph, trained, v1

train = v1.train
RATES = {
    "cosine": lambda step: train.cosine_decay(0.1, step, 15),
    "polynomial": lambda step: train.polynomial_decay(0.1, step, 10, 0.01, power=2.0),
    "piecewise": lambda step: train.piecewise_constant(step, [5, 12], [0.1, 0.05, 0.01]),
    "inverse_time": lambda step: train.inverse_time_decay(0.1, step, 4, 0.5),
}


def _scheduled(rate: str) -> Any:
    def make(where: Path) -> None:
        def build(places: dict[str, Any]) -> Any:
            loss = loss_of(deep(places), places)
            step = train.get_or_create_global_step()
            return loss, train.MomentumOptimizer(RATES[rate](step), 0.9).minimize(loss, global_step=step)

        trained(where, build, clicks(), resource=True)

    return make


for _name in RATES:
    MADE[f"train_{_name}_rate"] = _scheduled(_name)


@graph
def train_dropped_rows(where: Path) -> None:
    def build(places: dict[str, Any]) -> Any:
        users = v1.get_variable("users", [ROWS, 4], initializer=v1.random_normal_initializer(seed=3))
        x = tf.nn.dropout(tf.nn.embedding_lookup(users, places["user"]), 0.3, seed=11)
        loss = loss_of(tf.reduce_sum(x, 1), places)
        return loss, train.AdamOptimizer(0.01).minimize(loss)

    trained(where, build, clicks(), resource=True)


@graph
def train_clipped_by_value(where: Path) -> None:
    def build(places: dict[str, Any]) -> Any:
        loss = loss_of(deep(places), places)
        optimizer = train.AdagradOptimizer(0.1)
        pairs = [(tf.clip_by_value(g, -0.05, 0.05), v) for g, v in optimizer.compute_gradients(loss)]
        return loss, optimizer.apply_gradients(pairs)

    trained(where, build, clicks(), resource=True)


@graph
def train_clipped_by_norm(where: Path) -> None:
    def build(places: dict[str, Any]) -> Any:
        loss = loss_of(deep(places), places)
        optimizer = train.RMSPropOptimizer(0.01)
        pairs = [(tf.clip_by_norm(g, 0.2), v) for g, v in optimizer.compute_gradients(loss)]
        return loss, optimizer.apply_gradients(pairs)

    trained(where, build, clicks(), resource=False)


@graph
def train_sampled_softmax(where: Path) -> None:
    def build(places: dict[str, Any]) -> Any:
        vectors = v1.get_variable("vectors", [ROWS, 4], initializer=v1.random_uniform_initializer(-1, 1))
        weights = v1.get_variable("weights", [ROWS, 4], initializer=v1.truncated_normal_initializer(stddev=0.5))
        biases = v1.get_variable("biases", [ROWS], initializer=v1.zeros_initializer())
        x = tf.nn.embedding_lookup(vectors, places["center"])
        loss = tf.reduce_mean(
            tf.nn.sampled_softmax_loss(weights, biases, places["context"][:, None], x, 6, ROWS, seed=5)
        )
        return loss, train.GradientDescentOptimizer(0.2).minimize(loss)

    draw = rng(8)
    batches = [{"center": draw.integers(0, ROWS, 8), "context": draw.integers(0, ROWS, 8)} for _ in range(STEPS)]
    trained(where, build, batches, resource=True)


@graph
def train_batch_norm(where: Path) -> None:
    """Moments of the batch, and averages that move."""

    def build(places: dict[str, Any]) -> Any:
        w = v1.get_variable("w", [3, 4], initializer=v1.random_normal_initializer(seed=3))
        moving = v1.get_variable("moving", [4], initializer=v1.zeros_initializer(), trainable=False)
        x = tf.matmul(places["numbers"], w)
        mean, variance = tf.nn.moments(x, [0])
        x = tf.nn.batch_normalization(x, mean, variance, None, None, 1e-3)
        loss = loss_of(tf.reduce_sum(tf.nn.elu(x), 1), places)
        with tf.control_dependencies([v1.assign(moving, moving * 0.9 + mean * 0.1)]):
            return loss, train.AdamOptimizer(0.02).minimize(loss)

    trained(where, build, clicks(), resource=True)


@graph
def train_on_condition(where: Path) -> None:
    """Every third step is left out."""

    def build(places: dict[str, Any]) -> Any:
        loss = loss_of(deep(places, layer=False), places)
        step = train.get_or_create_global_step()
        optimizer = train.GradientDescentOptimizer(0.1)
        counted = v1.assign_add(step, 1)
        stepped = tf.cond(tf.equal(counted % 3, 0), lambda: tf.constant(0), lambda: _done(optimizer.minimize(loss)))
        return loss, stepped

    trained(where, build, clicks(), resource=True)


def _done(action: Any) -> Any:
    with tf.control_dependencies([action]):
        return tf.constant(1)


@graph
def train_weighted_loss(where: Path) -> None:
    """Labels by one-hot, losses weighted and masked, the largest class told."""

    def build(places: dict[str, Any]) -> Any:
        w = v1.get_variable("w", [3, 2], initializer=v1.random_normal_initializer(seed=3))
        logits = tf.matmul(places["numbers"], w)
        labels = tf.cast(places["label"], tf.int32)
        weights = tf.where(tf.equal(tf.argmax(logits, 1, tf.int32), labels), 0.5, 1.0)
        found = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_sum(found * weights) / tf.reduce_sum(weights)
        return loss, train.AdamOptimizer(0.05).minimize(loss)

    trained(where, build, clicks(), resource=True)


@graph
def train_attention(where: Path) -> None:
    """DIN: the history of a user, weighted by a small network of it and the item."""

    def build(places: dict[str, Any]) -> Any:
        items = v1.get_variable("items", [ROWS, 4], initializer=v1.random_normal_initializer(seed=3))
        w = v1.get_variable("w", [12, 1], initializer=v1.random_normal_initializer(seed=4))
        history = tf.nn.embedding_lookup(items, places["history"])
        item = tf.tile(tf.nn.embedding_lookup(items, places["item"])[:, None, :], [1, 5, 1])
        score = tf.squeeze(tf.tensordot(tf.concat([history, item, history * item], 2), w, 1), 2)
        score = tf.where(places["history"] > 0, score, -1e9 * tf.ones_like(score))
        user = tf.einsum("bt,btd->bd", tf.nn.softmax(score), history)
        loss = loss_of(tf.reduce_sum(user * item[:, 0], 1), places)
        return loss, train.AdagradOptimizer(0.1).minimize(loss)

    batches = clicks()
    for k, batch in enumerate(batches):
        batch["history"] = rng(k).integers(0, ROWS, (8, 5))
    trained(where, build, batches, resource=True)
