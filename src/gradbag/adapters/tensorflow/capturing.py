"""What a model of Keras on TensorFlow does with its tables: told by its layers while somebody watches.

The functions that `fit` has made are made anew when watching begins and when it ends; in between they are not compiled
by XLA, which calls no Python.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from ... import eager, errors
from ...capturing.seen import Seen
from ...keras import EmbeddingBag
from ...spec import registry

_FUNCTIONS = ("train_function", "test_function", "predict_function")


class Watching:
    """Every `keras.layers.Embedding` and `gradbag.keras.EmbeddingBag` of a model."""

    def __init__(self, model: Any) -> None:
        if keras.backend.backend() != "tensorflow":
            raise errors.unfit("capture", "model", "of Keras on TensorFlow", f"one on {keras.backend.backend()}")
        self._model = model
        self._layers: list[Any] = []

    def begin(self, seen: Seen) -> None:
        self._seen, self._compiled = seen, getattr(self._model, "jit_compile", None)
        for layer in self._model._flatten_layers():
            if isinstance(layer, (keras.layers.Embedding, EmbeddingBag)):
                name = layer.path or layer.name
                seen.add_table(name, layer.input_dim, layer.output_dim, layer.compute_dtype)
                self._layers.append(layer)
                layer.call = partial(self._call, layer, name, layer.call)  # type: ignore[method-assign]
        self._renew(False)

    def end(self) -> None:
        for layer in self._layers:
            del layer.call  # that of its class shows again
        self._layers = []
        self._renew(self._compiled)

    def _renew(self, compiled: bool | None) -> None:
        if self._compiled is not None:
            self._model.jit_compile = compiled
        for name in _FUNCTIONS:
            if hasattr(self._model, name):
                setattr(self._model, name, None)

    def _call(self, layer: Any, name: str, call: Any, inputs: Any, *others: Any, **settings: Any) -> Any:
        output = call(inputs, *others, **settings)
        combiner, padding = "sum", 0 if layer.mask_zero else None
        if isinstance(layer, EmbeddingBag):
            given = others[0] if others else settings.get("weights")
            ids, starts, weights, _ = layer._entries(inputs, given)
            combiner = layer.combiner
        else:
            ids = tf.reshape(tf.convert_to_tensor(inputs), [-1])
            length = tf.shape(inputs)[-1] if len(inputs.shape) > 1 else 1
            starts, weights = tf.range(tf.size(ids) // tf.maximum(length, 1)) * length, None
        entries = [tf.cast(ids, tf.int64), tf.cast(starts, tf.int64)]

        def looked_up(ids: Any, starts: Any, rows: Any) -> None:
            self._seen.looked_up(name, ids, starts, rows, padding)

        def graded(grad: Any, ids: Any, starts: Any, *weights: Any) -> None:
            if not isinstance(layer, EmbeddingBag):
                starts = np.arange(len(ids))  # a row for each id
            grad = grad.reshape(len(starts), -1)
            given = [grad, ids, starts, *(weights or (None,)), layer.input_dim]
            rows, indices = eager.run(registry["EmbeddingBagGrad"], given, {"combiner": combiner})
            self._seen.graded(name, indices, rows)

        @tf.custom_gradient  # type: ignore[untyped-decorator]
        def passing(rows: Any) -> Any:
            def backward(grad: Any) -> Any:
                more = [] if weights is None else [tf.cast(weights, grad.dtype)]
                tf.numpy_function(graded, [grad, *entries, *more], [])
                return grad

            return tf.identity(rows), backward

        tf.numpy_function(looked_up, [*entries, output], [])
        return passing(output)
