"""Every name of TensorFlow that it does not promise to keep, and what breaks without it.

A test looks for each of them, so that a new version of TensorFlow is judged here and not by users.
"""

import tensorflow as tf

try:
    # What `tf.custom_gradient` does, without the 100 microseconds that it takes for it in eager mode; and with forward
    # mode inside of a `tf.function`, where it gives zeros.
    from tensorflow.python.eager import record
except ImportError:
    record = None

# Tensors with values; without it a tensor from outside would go into the gradient functions of a graph.
EagerTensor = tf.__internal__.EagerTensor
# What the variables of Keras are; without it they would be no tensors to us.
AnyTensor = tf.__internal__.types.Tensor

__all__ = ["AnyTensor", "EagerTensor", "record"]
