"""gradbag for Keras 3: a layer that combines bags of ids on all its back ends, and a repair of its optimizers.

Which back end Keras runs on is Keras's setting (`KERAS_BACKEND`); only that framework is imported.
"""

from __future__ import annotations

from math import prod
from typing import Any

import keras

from . import errors, raw_ops
from .ops.combiners import combiner_named

__all__ = ["EmbeddingBag", "repaired"]


@keras.saving.register_keras_serializable("gradbag")
class EmbeddingBag(keras.layers.Layer):  # type: ignore[misc]
    """A table whose rows are looked up and combined in bags: integers `[..., ids of a bag]` to `[..., output_dim]`.

    Bags are rows of a matrix, with TensorFlow also of a ragged tensor. With `weights` of the same shape, "mean" divides
    by their sum and "sqrtn" by the root of the sum of their squares. With `mask_zero=True` the id 0 only fills bags up.
    A bag of nothing gives zeros. With TensorFlow the gradient of the table is compact, each row once, so that any
    optimizer of Keras is right about it.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        combiner: str = "mean",
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        for name, value in (("input_dim", input_dim), ("output_dim", output_dim)):
            errors.check_natural("EmbeddingBag", name, value, least=1)
        self.input_dim, self.output_dim, self.mask_zero = input_dim, output_dim, mask_zero
        self.combiner = combiner_named("EmbeddingBag", combiner).name
        self.embeddings_initializer = keras.initializers.get(embeddings_initializer)
        self.embeddings_regularizer = keras.regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = keras.constraints.get(embeddings_constraint)
        self._in_tensorflow = keras.backend.backend() == "tensorflow"
        self.supports_jit = not self._in_tensorflow  # inside of TensorFlow's functions the kernels are called by Python

    def build(self, *shapes: Any) -> None:
        self.embeddings = self.add_weight(
            shape=(self.input_dim, self.output_dim),
            initializer=self.embeddings_initializer,
            regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
            name="embeddings",
        )
        self.built = True

    def call(self, inputs: Any, weights: Any = None) -> Any:
        table = keras.ops.convert_to_tensor(self.embeddings) if not self._in_tensorflow else self.embeddings.value
        ids, offsets, weights, shape = self._entries(inputs, weights)
        pooled = raw_ops.EmbeddingBag(
            table=table,
            ids=ids,
            offsets=offsets,
            weights=weights,
            combiner=self.combiner,
            sparse_gradient=self._in_tensorflow,
        )
        return pooled if shape is None else keras.ops.reshape(pooled, shape)

    def _entries(self, inputs: Any, weights: Any) -> tuple[Any, Any, Any, tuple[Any, ...] | None]:
        """Ids and weights one after the other, where bags begin, and the shape of the result if it is not a matrix."""
        if hasattr(inputs, "row_splits"):  # TensorFlow's ragged tensor
            ids = inputs.flat_values
            weights = weights if weights is None else keras.ops.cast(weights.flat_values, self.compute_dtype)
            return ids, inputs.row_splits[:-1], self._masked(ids, weights), None
        ids = keras.ops.cast(inputs, "int32")
        *bags, length = keras.ops.shape(ids)
        count = prod(bags) if all(isinstance(n, int) for n in bags) else keras.ops.size(ids) // max(length, 1)
        offsets = keras.ops.arange(count, dtype="int32") * length
        flat = keras.ops.reshape(ids, (-1,))
        if weights is not None:
            weights = keras.ops.cast(keras.ops.reshape(weights, (-1,)), self.compute_dtype)
        return flat, offsets, self._masked(flat, weights), None if len(bags) == 1 else (*bags, self.output_dim)

    def _masked(self, ids: Any, weights: Any) -> Any:
        if not self.mask_zero:
            return weights
        real = keras.ops.cast(keras.ops.not_equal(ids, 0), self.compute_dtype)
        return real if weights is None else weights * real

    def compute_output_shape(self, input_shape: Any, weights_shape: Any = None) -> tuple[Any, ...]:
        return (*input_shape[:-1], self.output_dim)

    def compute_output_spec(self, inputs: Any, weights: Any = None) -> Any:
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), dtype=self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "input_dim": self.input_dim,
            "output_dim": self.output_dim,
            "combiner": self.combiner,
            "embeddings_initializer": keras.initializers.serialize(self.embeddings_initializer),
            "embeddings_regularizer": keras.regularizers.serialize(self.embeddings_regularizer),
            "embeddings_constraint": keras.constraints.serialize(self.embeddings_constraint),
            "mask_zero": self.mask_zero,
        }


def repaired(optimizer: Any) -> Any:
    """The same optimizer, which from now on adds up the gradients of a row before it does anything with them.

    With TensorFlow, the gradient of a `keras.layers.Embedding` has a row for each id of the batch. Adam, Adagrad,
    RMSprop, Ftrl and others of Keras square these rows and then add those of equal ids, so that a row that occurs n
    times moves up to the root of n times too far. On the other back ends gradients are whole, and nothing is changed.

        model.compile(gradbag.keras.repaired(keras.optimizers.Adam(0.001)), "mse")
    """
    if keras.backend.backend() != "tensorflow":
        return optimizer
    from .adapters.tensorflow.gradients import summed

    apply = optimizer.apply

    def apply_summed(grads: Any, trainable_variables: Any = None) -> Any:
        return apply(list(map(summed, grads)), trainable_variables)

    optimizer.apply = apply_summed
    return optimizer
