"""The namespace in which a gradient rule runs on tensors, and gradients of tables in the form of TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from ...gradients import Ops, Rows
from ...row_grad import RowGrad
from ...spec import Op


def from_row_grad(gradient: RowGrad) -> Any:
    return tf.IndexedSlices(
        tf.convert_to_tensor(gradient.rows), tf.convert_to_tensor(gradient.indices), tf.constant(gradient.shape)
    )


def dense(cotangent: Any, like: Any) -> Any:
    """The whole cotangent of a tensor, zeros included."""
    if not isinstance(cotangent, tf.IndexedSlices):
        return cotangent
    return RowGrad(cotangent.indices, cotangent.values, like.shape, like=like, ops=tensor_ops).dense()


def summed(gradient: Any) -> Any:
    """A gradient in which every row is named once."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    touched, places = tf.unique(gradient.indices)
    rows = tf.math.unsorted_segment_sum(gradient.values, places, tf.size(touched))
    return tf.IndexedSlices(rows, touched, gradient.dense_shape)


class TensorOps(Ops):
    """Ops on tensors; questions about indices are TensorFlow's to answer."""

    interpret: Callable[[Op, Sequence[Any], dict[str, Any]], Any]  # set by `calls`, which knows how

    def call(self, op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
        return self.interpret(op, values, attrs)

    def rows(self, value: Any) -> Any:
        shape = tf.TensorShape(value.shape)
        count = shape.as_list()[0] if shape.rank else None  # shape[0] is a Dimension if v2 behaviour is disabled
        return Rows(value) if count is None else count

    def known_shape(self, value: Any) -> tuple[int, ...] | None:
        shape = tf.TensorShape(value.shape)
        return tuple(shape.as_list()) if shape.is_fully_defined() else None

    def counted(self, rows: Rows, dtype: str) -> Any:
        return tf.shape(rows.of, out_type=tf.as_dtype(dtype))[0]

    def zeros_like(self, value: Any) -> Any:
        return tf.zeros_like(value)

    def range(self, count: Any) -> Any:
        return tf.range(self._size(count), dtype=tf.int64)

    def ones(self, count: Any) -> Any:
        return tf.ones([self._size(count, "int32")], tf.int8)

    def nonzero(self, marks: Any) -> Any:
        return tf.reshape(tf.where(marks), [-1])

    def sorted_by(self, keys: Any, values: Any) -> tuple[Any, Any]:
        order = tf.argsort(keys, stable=True)
        return tf.gather(keys, order), tf.gather(values, order)

    def positions(self, values: Any, among: Any) -> Any:
        return tf.searchsorted(among, values)

    def sum_like(self, value: Any, like: Any) -> Any:
        axes = tf.raw_ops.BroadcastGradientArgs(s0=tf.shape(value), s1=tf.shape(like)).r1
        return tf.reshape(tf.reduce_sum(value, axes), tf.shape(like))

    def row_grad(self, compact: Any, like: Any) -> Any:
        return tf.IndexedSlices(compact.output, compact.sorted_unique_indices, tf.shape(like))


tensor_ops = TensorOps()
