"""Every place in which TensorFlow runs an op: gradbag answers there, with the bits of TensorFlow's kept kernel."""

import threading

import numpy as np
import pytest
import tensorflow as tf

import gradbag.tensorflow
from gradbag.adapters.tensorflow import compat
from gradbag.eager.program import native
from gradbag.testing import assert_same

from .who import counted, on_stock

rng = np.random.default_rng(0)
TABLE = tf.constant(rng.standard_normal((50, 4)).astype(np.float32))
IDS = tf.constant(rng.integers(0, 50, 30))
BAGS = tf.constant(np.sort(rng.integers(0, 8, 30)))
SPARSE = tf.SparseTensor(np.stack([BAGS, np.arange(30)], 1), IDS, [9, 30])


def pooled(table=TABLE, **more):
    return tf.sparse.segment_mean(table, IDS, BAGS, **more)


def gradient(table=TABLE, **more):
    with tf.GradientTape() as tape:
        tape.watch(table)
        loss = tf.reduce_sum(pooled(table, **more) ** 2)
    return tape.gradient(loss, table)


def assert_ours(function, **want):
    """gradbag answers this many calls, and TensorFlow's kernels give the same bits."""
    with counted(**want):
        ours = function()
    stock = on_stock(function)
    for a, b in zip(tf.nest.flatten(ours), tf.nest.flatten(stock), strict=True):
        assert_same(np.asarray(a), np.asarray(b))


# ------------------------------------------------------------------ places
def test_eager():
    assert_ours(pooled, SparseSegmentMean=1)


def test_tapes_dense_and_compact():
    assert_ours(gradient, SparseSegmentMean=1, SparseSegmentMeanGrad=1)

    def compact():
        slices = gradient(sparse_gradient=True)
        return slices.values, slices.indices

    assert_ours(compact, SparseSegmentMean=1, SparseSegmentMeanGradV2=1)


def test_functions_and_their_tapes():
    assert_ours(tf.function(gradient), SparseSegmentMean=1, SparseSegmentMeanGrad=1)


def test_while_loop():
    def loop():
        return tf.while_loop(lambda k, _: k < 5, lambda k, x: (k + 1, pooled(x, num_segments=50)), [0, TABLE])[1]

    assert_ours(tf.function(loop), SparseSegmentMeanWithNumSegments=5)


def test_datasets():
    def rows():
        scales = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0])
        return list(scales.map(lambda scale: pooled(TABLE * scale), num_parallel_calls=2))

    assert_ours(rows, SparseSegmentMean=3)


def test_sessions():
    def run():
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            return session.run(tf.compat.v1.sparse_segment_sum(TABLE_VALUES, IDS.numpy(), BAGS.numpy()))

    assert_ours(run, SparseSegmentSum=1)


TABLE_VALUES = TABLE.numpy()


def test_look_ups():
    def lookup():
        return tf.nn.safe_embedding_lookup_sparse(TABLE, SPARSE, combiner="mean")

    assert_ours(lookup, SparseSegmentMean=1, SparseFillEmptyRows=1)


def test_sparse_tensors():
    def filled_and_cut():
        tensor = tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [4, 3])
        filled, empty = tf.sparse.fill_empty_rows(tensor, 7.0)
        return filled.values, empty, tf.sparse.slice(filled, [1, 0], [2, 3]).values

    assert_ours(filled_and_cut, SparseFillEmptyRows=1, SparseSlice=1)


def test_vectorized_map():
    def mapped():
        return tf.vectorized_map(lambda scale: pooled(TABLE * scale), tf.constant([1.0, 2.0]))

    ours, stock = mapped(), on_stock(mapped)
    assert_same(ours.numpy(), stock.numpy())


def test_keras_fit():
    """Both train to the same weights."""

    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.table = self.add_weight(shape=(50, 4), initializer=lambda shape, dtype: tf.constant(TABLE_VALUES))

        def call(self, inputs):
            return pooled(tf.convert_to_tensor(self.table), num_segments=8) * tf.reduce_mean(inputs)

    def fit(**want):
        model = Model()
        model.compile("sgd", "mse", jit_compile=False)
        with counted(**want):
            model.fit(np.ones((32, 1), np.float32), np.zeros((32, 4), np.float32), batch_size=8, epochs=2, verbose=0)
        return model.get_weights()[0]

    ours = fit(SparseSegmentMeanWithNumSegments=8, SparseSegmentMeanGrad=8)
    with gradbag.tensorflow.stock():
        stock = fit()
    assert_same(ours, stock)
    assert (ours != TABLE_VALUES).any()


def test_eight_threads_half_of_them_wrong():
    bad = tf.constant(np.full(30, 77))
    want = on_stock(pooled).numpy()
    refused, answers = [], []

    def work():
        for _ in range(25):
            answers.append(pooled().numpy())
            with pytest.raises(tf.errors.InvalidArgumentError, match="77"):
                tf.sparse.segment_mean(TABLE, bad, BAGS)
            refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    with counted(SparseSegmentMean=200):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(refused) == len(answers) == 200
    for answer in answers:
        assert_same(answer, want)


def test_large_outputs_lie_in_blocks_that_are_used_again():
    table = tf.constant(rng.standard_normal((3000, 128)).astype(np.float32))
    ids, bags = rng.integers(0, 3000, 9000), np.sort(rng.integers(0, 2500, 9000))

    def large():
        return tf.sparse.segment_sum(table, ids, bags)

    addresses = {np.asarray(large()).__array_interface__["data"][0] for _ in range(10)}
    assert len(addresses) < 5
    assert_ours(large, SparseSegmentSum=1)


# ------------------------------------------------------------------ refusals, and what TensorFlow gets wrong
def message(function):
    with pytest.raises((tf.errors.OpError, ValueError)) as caught:
        function()
    return type(caught.value), str(caught.value)


REFUSED = {
    "index": lambda: tf.sparse.segment_sum(TABLE, [0, 50], [0, 0]),
    "order": lambda: tf.sparse.segment_sum(TABLE, [0, 1], [1, 0]),
    "lengths": lambda: tf.sparse.segment_sum(TABLE, [0, 1], [0]),
    "row": lambda: tf.raw_ops.SparseFillEmptyRows(
        indices=tf.constant([[9, 0]], tf.int64),
        values=[1.0],
        dense_shape=tf.constant([2, 2], tf.int64),
        default_value=0.0,
    ),
    "internal": lambda: tf.raw_ops.SparseSliceGrad(
        backprop_val_grad=[1.0],
        input_indices=tf.constant([[1, 1]], tf.int64),
        input_start=tf.constant([0, 0], tf.int64),
        output_indices=tf.constant([[0, 0]], tf.int64),
    ),
}


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_refusals_have_tensorflows_words_and_classes(refused, traced):
    function = tf.function(refused) if traced else refused
    with counted():
        ours = message(function)
    assert ours == on_stock(message, function)


def test_a_table_without_rows_is_answered_as_tensorflow_does():
    def gradients():
        given = {"grad": tf.ones([3, 2]), "indices": [0, 99], "segment_ids": [0, 1]}
        return tf.raw_ops.SparseSegmentSumGrad(**given, output_dim0=0)

    with counted():
        assert gradients().shape == (0, 2)


def test_an_empty_batch_has_a_gradient_of_zeros():
    table = tf.Variable(np.ones((64, 512), np.float32))
    empty = tf.constant([], tf.int64)

    def gradient():
        for _ in range(4):  # leave something in the memory that the next answer may get
            tf.fill([64, 512], 7.0) + 1
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sparse.segment_mean(table, empty, empty, num_segments=3))
        return tape.gradient(loss, table).numpy().view(np.int32)  # of rubbish as floats NumPy may warn

    assert not any(gradient().any() for _ in range(100))
    assert any(on_stock(gradient).any() for _ in range(100))


# ------------------------------------------------------------------ the switch
def test_stock_nests_and_ends_with_an_error():
    def fail():
        with gradbag.tensorflow.stock():
            with gradbag.tensorflow.stock(), counted():
                pooled()
            with counted():
                pooled()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with counted(SparseSegmentMean=1):
        pooled()


def test_to_install_again_changes_nothing():
    before = gradbag.tensorflow.installed()
    gradbag.tensorflow.install()
    assert gradbag.tensorflow.installed() == before
    with counted(SparseSegmentMean=1):
        pooled()


def test_an_op_whose_types_are_all_served_is_registered_once():
    """TensorFlow compares every registration of an op in every eager call."""
    kernels = compat.KernelList.FromString(native.tensorflow.kernels_of("SparseSegmentMean")).kernel
    assert sum(kernel.priority == native.tensorflow.PRIORITY for kernel in kernels) == 1
    for dtype in (tf.float16, tf.bfloat16, tf.float32, tf.float64):
        assert_ours(lambda dtype=dtype: pooled(tf.cast(TABLE, dtype)), SparseSegmentMean=1)
