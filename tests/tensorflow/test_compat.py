"""The names of TensorFlow that may go away are all in one file, and are there."""

import tensorflow as tf

from gradbag.adapters.tensorflow import compat


def test_the_names_are_there():
    for name in compat.__all__:
        assert getattr(compat, name) is not None
    for name in ("record_operation_backprop_only", "record_operation_forwardprop_only", "stop_recording"):
        assert callable(getattr(compat.record, name))


def test_a_tape_is_noticed():
    assert not compat.record.could_possibly_record()
    with tf.GradientTape():
        assert compat.record.could_possibly_record()


def test_tensors_with_values_and_variables_of_keras_are_told():
    assert isinstance(tf.ones(2), compat.EagerTensor)
    tf.function(lambda x: assert_is_not_eager(x))(tf.ones(2))
    layer = tf.keras.layers.Embedding(2, 1)
    layer.build(())
    assert isinstance(layer.embeddings, compat.AnyTensor)
    assert not isinstance(layer.embeddings, tf.Tensor)


def assert_is_not_eager(tensor):
    assert not isinstance(tensor, compat.EagerTensor)
