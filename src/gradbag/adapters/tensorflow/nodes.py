"""A raw op as TensorFlow's own, once its kernel is ours: then Python is not needed to run, differentiate or save it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from ... import dtypes
from ...gradients import pull
from ...spec import Op, registry
from . import own_ops, taking_over
from .gradients import dense, tensor_ops

# As TensorFlow has them, whatever stands in their places later.
_RAW_OPS: dict[str, Callable[..., Any]] = {name: getattr(tf.raw_ops, name) for name in dir(tf.raw_ops)}


def serves(op: Op, tensors: Sequence[Any]) -> bool:
    """Whether an op of TensorFlow's takes these tensors, and calls our kernel."""
    if own_ops.PREFIX + op.name in own_ops.defined:
        return True
    types = taking_over.taken.get(op.name)
    return types is not None and tuple(t.dtype.name for t in tensors) in types


def answer(op: Op, tensors: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    if op.name not in taking_over.taken:
        return own_ops.answer(op, tensors, attrs)
    made = _RAW_OPS[op.name](**dict(zip(op.input_names, tensors, strict=True)), **attrs)
    return list(made) if op.result is not None else [made]


def register_gradients() -> None:
    """Derivatives of the ops that have none in TensorFlow: those that are gradients themselves, and ours."""
    ops = {**{name: registry[name] for name in taking_over.taken}, **own_ops.defined}
    for name, op in ops.items():
        try:
            if op.rule is not None:
                tf.RegisterGradient(name)(gradient_of(op))
            elif op in own_ops.defined.values():
                tf.no_gradient(name)
        except KeyError:
            continue  # TensorFlow brings its own


def gradient_of(op: Op) -> Callable[..., list[Any]]:
    def gradient(node: Any, *cotangents: Any) -> list[Any]:
        """The op's own rule, as TensorFlow calls it."""
        attrs, values = own_ops.attrs_of(op, node), own_ops.given_to(op, node)
        outputs = _computed(op, node, attrs) if node.outputs is None else list(node.outputs)
        given = [dense(c, y) if _carries(y) else None for c, y in zip(cotangents, outputs, strict=True)]
        pulled = pull(tensor_ops, op, values, outputs, given, attrs)
        # What was left out has no place among the inputs of the node.
        return [cotangent for cotangent, value in zip(pulled, values, strict=True) if value is not None]

    return gradient


def _computed(op: Op, node: Any, attrs: dict[str, Any]) -> list[Any]:
    """The outputs once more: an eager tape keeps none where TensorFlow's own gradient does not look at them."""
    inputs = dict(zip(op.input_names, op.grouped(list(node.inputs)), strict=True))
    return op.flat_answer(_RAW_OPS[op.name](**inputs, **attrs))


def _carries(tensor: Any) -> bool:
    return tensor.dtype.name in dtypes.DIFFERENTIABLE
