"""Every name of TensorFlow that it does not promise to keep, and what breaks without it.

A test looks for each of them, so that a new version of TensorFlow is judged here and not by users.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.core.framework.kernel_def_pb2 import KernelList  # the registry of kernels as a message

try:
    # What `tf.custom_gradient` does, without the 100 microseconds that it takes for it in eager mode; and with forward
    # mode inside of a `tf.function`, where it gives zeros.
    from tensorflow.python.eager import record
except ImportError:
    record = None

try:
    from tensorflow.python.eager import context
except ImportError:
    context = None

try:
    # What TensorFlow's own functions call; without it, ops of ours are no ops of TensorFlow's.
    from tensorflow.python.eager import execute
except ImportError:
    execute = None


def _clear_kernel_cache() -> Callable[[], None] | None:
    """Makes eager calls and functions choose their kernels anew; without it those that ran before keep theirs."""
    if context is None or not hasattr(context.context(), "clear_kernel_cache"):
        return None
    return lambda: context.context().clear_kernel_cache()


clear_kernel_cache = _clear_kernel_cache()

# Tensors with values; without it a tensor from outside would go into the gradient functions of a graph.
EagerTensor = tf.__internal__.EagerTensor
# What the variables of Keras are; without it they would be no tensors to us.
AnyTensor = tf.__internal__.types.Tensor

__all__ = ["AnyTensor", "EagerTensor", "KernelList", "clear_kernel_cache", "context", "execute", "record"]


def replace_gradient(name: str, rule: Any, is_broken: Any) -> bool:
    """Put a gradient in place of the one that is registered, if that is broken and can be found; tells whether."""
    try:
        from tensorflow.python.framework import op_def_registry, ops

        registered = ops.gradient_registry
        there = registered.lookup(name)
        entry = registered._registry[name]
    except (ImportError, AttributeError, LookupError):
        return False
    broken: bool = is_broken(there, len(op_def_registry.get(name).output_arg))
    if broken:
        registered._registry[name] = {**entry, "type": rule}
    return broken


def allowed_types(name: str) -> dict[str, list[str]]:
    """The types that an op allows, by its variables, without those that may be anything; empty if nobody tells."""
    try:
        from tensorflow.python.framework import op_def_registry

        attrs = op_def_registry.get(name).attr
    except (ImportError, AttributeError):
        return {}
    lists = {attr.name: attr.allowed_values.list.type for attr in attrs}
    return {variable: [tf.as_dtype(enum).name for enum in enums] for variable, enums in lists.items() if enums}


def wrap_generated(name: str, wrap: Any) -> None:
    """Put a function around one that TensorFlow has generated for a sparse op."""
    try:
        from tensorflow.python.ops import gen_sparse_ops
    except ImportError:
        return
    if hasattr(gen_sparse_ops, name):
        setattr(gen_sparse_ops, name, wrap(getattr(gen_sparse_ops, name)))
