"""Second derivatives and forward mode of stock TensorFlow, once gradbag is installed; and the adapter's nodes."""

import numpy as np
import pytest
import tensorflow as tf

import gradbag
from gradbag.testing import assert_same

from ..tensorflow.both import shared_ops, to_tensor
from .who import counted, on_stock

rng = np.random.default_rng(1)
TABLE = tf.constant(rng.standard_normal((7, 2)))
IDS = tf.constant([1, 5, 5, 0, 2])
BAGS = tf.constant([0, 0, 1, 1, 3])
POOLINGS = {"sum": tf.sparse.segment_sum, "mean": tf.sparse.segment_mean, "sqrtn": tf.sparse.segment_sqrt_n}


def matrix(pool):
    """Pooling as a matrix that is multiplied with a table."""
    return pool(tf.eye(7, dtype=tf.float64), IDS, BAGS).numpy()


def second(pool, **more):
    with tf.GradientTape() as outer:
        outer.watch(TABLE)
        with tf.GradientTape() as inner:
            inner.watch(TABLE)
            loss = tf.reduce_sum(pool(TABLE, IDS, BAGS, **more) ** 3)
        squared = tf.reduce_sum(tf.convert_to_tensor(inner.gradient(loss, TABLE)) ** 2)
    return tf.convert_to_tensor(outer.gradient(squared, TABLE))


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("compact", [False, True], ids=["dense", "compact"])
@pytest.mark.parametrize("pool", POOLINGS.values(), ids=POOLINGS)
def test_the_second_derivative_is_the_closed_form(pool, compact, traced):
    pooling = matrix(pool)
    pooled = pooling @ TABLE.numpy()
    first = pooling.T @ (3 * pooled**2)
    want = pooling.T @ (6 * pooled * (pooling @ (2 * first)))
    function = tf.function(second) if traced else second
    np.testing.assert_allclose(function(pool, sparse_gradient=compact), want, rtol=1e-10)


@pytest.mark.parametrize("op", [op for op in shared_ops() if op.rule is not None], ids=lambda op: op.name)
def test_every_op_has_a_derivative(op):
    """In stock TensorFlow those that are gradients have none: LookupError."""
    case = gradbag.testing.case_of(
        op, {v: "float64" if v == "T" else n[-1] for v, n in op.types.items()}, op.example.inputs, ""
    )
    tensors = {name: to_tensor(array) for name, array in case.inputs.items()}
    source = tensors[op.differentiable[0]]
    with tf.GradientTape() as tape:
        tape.watch(source)
        made = getattr(tf.raw_ops, op.name)(**tensors)
        outputs = dict(zip([a.name for a in op.outputs], made if op.result else [made], strict=True))
        loss = sum(tf.reduce_sum(outputs[name] ** 2) for name in op.differentiable_outputs)
    assert tape.gradient(loss, source).shape == source.shape


def test_forward_mode():
    tangent = tf.constant(rng.standard_normal((7, 2)))
    for pool in POOLINGS.values():
        with tf.autodiff.ForwardAccumulator(TABLE, tangent) as forward:
            pooled = pool(TABLE, IDS, BAGS)
        np.testing.assert_allclose(forward.jvp(pooled), matrix(pool) @ tangent.numpy(), rtol=1e-12)


# ------------------------------------------------------------------ the adapter
def test_a_raw_op_of_gradbag_is_a_node_of_tensorflows():
    """In a function too: no Python in it, so that it can be saved."""

    @tf.function
    def pooled():
        return gradbag.raw_ops.SparseSegmentMean(data=TABLE, indices=IDS, segment_ids=BAGS)

    kinds = {node.type for node in pooled.get_concrete_function().graph.get_operations()}
    assert "SparseSegmentMean" in kinds
    assert "PyFunc" not in kinds
    assert "EagerPyFunc" not in kinds
    with counted(SparseSegmentMean=1):
        ours = pooled()
    assert_same(ours.numpy(), on_stock(pooled).numpy())


def test_types_that_tensorflow_lacks_stay_the_adapters():
    table = tf.constant(np.array([[1 + 2j], [3j]]))
    with counted():
        answer = gradbag.raw_ops.SparseSegmentSum(
            data=table, indices=tf.constant([0, 1]), segment_ids=tf.constant([0, 0])
        )
    assert answer.numpy().tolist() == [[1 + 5j]]


def test_a_look_up_of_gradbag_can_be_saved(tmp_path):
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.table = tf.Variable(TABLE)

        @tf.function(input_signature=[tf.TensorSpec([5], tf.int64)])
        def __call__(self, ids):
            return gradbag.raw_ops.SparseSegmentMean(data=self.table, indices=ids, segment_ids=BAGS)

    model = Model()
    tf.saved_model.save(model, str(tmp_path))
    ids = tf.cast(IDS, tf.int64)
    assert_same(tf.saved_model.load(str(tmp_path))(ids).numpy(), on_stock(model, ids).numpy())
    assert b"PyFunc" not in (tmp_path / "saved_model.pb").read_bytes()
