"""Look-ups alone, frozen: every combiner, safe and not, sparse and ragged, and the gradients of some."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from .batches import rng, sparse_ids, table
from .writing import MADE, frozen, graph


def _lookup(safe: bool, combiner: str, weighted: bool, rank: int, differentiated: bool) -> Any:
    def make(where: Path) -> None:
        params = tf.Variable(table())
        indices, ids, shape = sparse_ids(rank=rank, empty=safe)
        weights = rng(9).uniform(-0.2 if safe else 0.5, 2.0, len(ids)).astype(np.float32)

        def pooled(params: Any, indices: Any, ids: Any, weights: Any) -> Any:
            sparse = tf.SparseTensor(indices, ids, shape)
            weighing = tf.SparseTensor(indices, weights, shape) if weighted else None
            look = tf.nn.safe_embedding_lookup_sparse if safe else tf.nn.embedding_lookup_sparse
            return look(params, sparse, weighing, combiner=combiner)

        def function(indices: Any, ids: Any, weights: Any) -> Any:
            if not differentiated:
                return pooled(params, indices, ids, weights)
            with tf.GradientTape() as tape:
                read = tf.convert_to_tensor(params)
                tape.watch([read, weights])
                y = pooled(read, indices, ids, weights)
                loss = tf.reduce_sum(y * y)
            found = tape.gradient(loss, [read, weights] if weighted else [read])
            return [tf.convert_to_tensor(g) for g in found]

        frozen(where, function, indices, ids, weights, exact=not (differentiated or weighted))

    return make


for _name, _settings in {
    "lookup_sum": (False, "sum", False, 2, False),
    "lookup_mean": (False, "mean", False, 2, False),
    "lookup_sqrtn_weighted": (False, "sqrtn", True, 2, False),
    "lookup_mean_weighted": (False, "mean", True, 2, False),
    "safe_lookup_sum": (True, "sum", False, 2, False),
    "safe_lookup_mean": (True, "mean", False, 2, False),
    "safe_lookup_mean_weighted": (True, "mean", True, 2, False),
    "safe_lookup_rank_3": (True, "sqrtn", False, 3, False),
    "lookup_gradient": (False, "mean", False, 2, True),
    "lookup_gradient_weighted": (False, "sum", True, 2, True),
    "safe_lookup_gradient": (True, "sqrtn", False, 2, True),
}.items():
    MADE[_name] = _lookup(*_settings)


@graph
def ragged_lookup(where: Path) -> None:
    params = tf.Variable(table())

    def function(ids: Any, splits: Any) -> Any:
        return tf.nn.embedding_lookup_sparse(
            params, tf.RaggedTensor.from_row_splits(ids, splits), None, combiner="mean"
        )

    frozen(where, function, rng().integers(0, 40, 9), np.array([0, 2, 3, 9], np.int64))


@graph
def safe_ragged_lookup(where: Path) -> None:
    params = tf.Variable(table())

    def function(ids: Any, splits: Any) -> Any:
        ragged = tf.RaggedTensor.from_row_splits(ids, splits, validate=False)
        return tf.nn.safe_embedding_lookup_sparse(params, ragged, combiner="sum")

    frozen(where, function, rng().integers(0, 40, 9), np.array([0, 2, 2, 9], np.int64))


@graph
def ragged_bag_reduced(where: Path) -> None:
    """Rows of a ragged tensor gathered, then averaged: what people write without embedding_lookup_sparse."""
    params = tf.Variable(table())

    def function(ids: Any, splits: Any) -> Any:
        ragged = tf.RaggedTensor.from_row_splits(ids, splits, validate=False)
        return tf.reduce_mean(tf.gather(params, ragged), axis=1), ragged.to_tensor(-1), ragged.row_lengths()

    frozen(where, function, rng().integers(0, 40, 9), np.array([0, 2, 5, 9], np.int64), exact=False)


@graph
def partitioned_lookup(where: Path) -> None:
    shards = [tf.Variable(table(10, seed=i)) for i in range(4)]

    def function(ids: Any) -> Any:
        return tf.nn.embedding_lookup(shards, ids)

    frozen(where, function, rng().integers(0, 40, (5, 2)))


@graph
def hashed_words_lookup(where: Path) -> None:
    from .batches import words

    params = tf.Variable(table())

    def function(texts: Any) -> Any:
        return tf.gather(params, tf.strings.to_hash_bucket_fast(texts, 40))

    frozen(where, function, words((5, 2)))


@graph
def max_norm_lookup(where: Path) -> None:
    params = tf.Variable(table())
    frozen(where, lambda ids: tf.nn.embedding_lookup(params, ids, max_norm=1.0), rng().integers(0, 40, 7), exact=False)
