"""Every name of TensorFlow that it does not promise to keep, and what breaks without it.

A test looks for each of them, so that a new version of TensorFlow is judged here and not by users.
"""

from collections.abc import Callable

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

__all__ = ["AnyTensor", "EagerTensor", "KernelList", "clear_kernel_cache", "record"]
