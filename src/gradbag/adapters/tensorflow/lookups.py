"""TensorFlow's own forms of sparse ids, and its answers to the questions of a look-up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf

from ... import errors
from ...embedding.entries import Entries, checked_weights
from ...embedding.frameworks import Answers


@dataclass(frozen=True)
class TensorEntries(Entries):
    """Entries whose sizes may not be known before the run."""

    def shortened(self) -> Entries:
        if self.offsets is not None:  # bags from the first that begins at the end on
            used = tf.reduce_sum(tf.cast(self.offsets < tf.size(self.ids, self.offsets.dtype), tf.int32))
            return replace(self, offsets=self.offsets[:used])
        count = tf.concat([[0], self.indices[-1:, 0] + 1], 0)[-1:]
        return replace(self, dense_shape=tf.concat([count, self.dense_shape[1:]], 0), outer=None)

    def shaped(self, pooled: Any) -> Any:
        if self.outer is None:
            return pooled
        shaped = tf.reshape(pooled, tf.concat([tf.cast(self.outer, tf.int32), tf.shape(pooled)[1:]], 0))
        known = tf.get_static_value(self.outer)
        outer = tf.TensorShape([None] * self.outer.shape[0] if known is None else known)
        shaped.set_shape(outer.concatenate(pooled.shape[1:]))
        return shaped


def entries_of(function: str, ids: Any, weights: Any) -> Entries:
    if weights is not None and type(weights) is not type(ids):
        raise errors.wrong_type(function, "weights", [type(ids).__name__], type(weights).__name__, "like the ids")
    if isinstance(ids, tf.RaggedTensor):
        flat = ids.flat_values
        own = None if weights is None else checked_weights(function, weights.flat_values, flat)
        return TensorEntries(flat, own, offsets=ids.row_splits[:-1])
    if not isinstance(ids, tf.SparseTensor):
        raise errors.wrong_type(function, "ids", ["SparseTensor", "RaggedTensor"], type(ids).__name__)
    own = None if weights is None else checked_weights(function, weights.values, ids.values)
    if ids.shape.rank == 2:
        return TensorEntries(ids.values, own, ids.indices, ids.dense_shape)
    if function == "embedding_lookup_sparse":  # the other axes are not looked at
        return TensorEntries(ids.values, own, ids.indices, ids.dense_shape)
    outer = ids.dense_shape[:-1]
    matrix = tf.sparse.reshape(ids, tf.stack([tf.reduce_prod(outer), ids.dense_shape[-1]]))
    return TensorEntries(ids.values, own, matrix.indices, matrix.dense_shape, outer=outer)


class TensorAnswers(Answers):
    def table(self, given: Any) -> Any:
        # Once rows of a variable were gathered or updated, whoever reads it in another way gets a copy.
        return given.read_value_no_copy() if hasattr(given, "read_value_no_copy") else given

    def distinct(self, ids: Any) -> tuple[Any, Any]:
        found = tf.unique(ids, out_idx=tf.int64)
        return found.y, found.idx

    def counting(self, values: Any) -> Any:
        return tf.range(tf.size(values, tf.int64))

    def clipped(self, rows: Any, norm: float) -> Any:
        return tf.clip_by_norm(rows, norm, axes=list(range(1, rows.shape.rank)))

    def marks(self, flags: Any) -> Any:
        return tf.cast(flags, tf.int8)

    def cast(self, values: Any, like: Any) -> Any:
        return tf.cast(values, like.dtype)


answers = TensorAnswers()
