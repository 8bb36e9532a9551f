"""A raw op as TensorFlow's own, once its kernel is ours: then Python is not needed to run, differentiate or save it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from ... import dtypes
from ...gradients import pull
from ...spec import Op, registry
from . import taking_over
from .gradients import dense, tensor_ops

# As TensorFlow has them, whatever stands in their places later.
_RAW_OPS: dict[str, Callable[..., Any]] = {name: getattr(tf.raw_ops, name) for name in dir(tf.raw_ops)}


def serves(op: Op, tensors: Sequence[Any]) -> bool:
    """Whether TensorFlow's op takes these tensors, and calls our kernel."""
    types = taking_over.taken.get(op.name)
    return types is not None and tuple(t.dtype.name for t in tensors) in types


def answer(op: Op, tensors: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    made = _RAW_OPS[op.name](**dict(zip(op.input_names, tensors, strict=True)), **attrs)
    return list(made) if op.result is not None else [made]


def register_gradients() -> None:
    """Derivatives of the ops that have none in TensorFlow: those that are gradients themselves."""
    for name in taking_over.taken:
        if registry[name].rule is not None:
            try:
                tf.RegisterGradient(name)(_gradient(registry[name]))
            except KeyError:
                continue  # TensorFlow brings its own


def _gradient(op: Op) -> Callable[..., list[Any]]:
    def gradient(node: Any, *cotangents: Any) -> list[Any]:
        """The op's own rule, as TensorFlow calls it."""
        attrs = {name: node.get_attr(name) for name in op.attr_defaults}
        outputs = list(node.outputs)
        given = [dense(c, y) if _carries(y) else None for c, y in zip(cotangents, outputs, strict=True)]
        return pull(tensor_ops, op, list(node.inputs), outputs, given, attrs)

    return gradient


def _carries(tensor: Any) -> bool:
    return tensor.dtype.name in dtypes.DIFFERENTIABLE
