"""What needs a process of its own: calls before the installation, models from elsewhere, forks, signals, switches.

To import TensorFlow takes seconds, so one process shows several things, one after the other.
"""

import os
import subprocess
import sys
import textwrap

START = """
import gc, os, signal, threading, time
import numpy as np
import tensorflow as tf
import gradbag, gradbag.tensorflow
from gradbag.tensorflow import install, installed, stock

table = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)
ids, bags = np.array([1, 7, 7, 3, 49]), np.array([0, 0, 2, 2, 5])

def pooled(ids=ids):
    return tf.sparse.segment_mean(table, ids, bags)

def answered(op="SparseSegmentMean"):
    return installed()[op]

def assert_ours(function, want):
    before = answered()
    assert (function().numpy() == want).all()
    assert answered() == before + 1, function

class Model(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([5], tf.int64)])
    def __call__(self, ids):
        return pooled(ids)
"""


def run(script, **environment):
    """What a script prints, in a Python of its own."""
    made = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", START + textwrap.dedent(script)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return made.stdout.split()


def test_what_was_there_before_takes_our_kernels_too():
    """Eager calls, and functions that were traced or run before the installation. Threads follow TensorFlow's."""
    assert run("""
        tf.config.threading.set_intra_op_parallelism_threads(1)
        want = pooled().numpy()
        ran, traced = tf.function(pooled), tf.function(pooled)
        ran()
        traced.get_concrete_function()
        assert installed() == {}
        install()
        for function in (pooled, ran, traced):
            assert_ours(function, want)
        print(gradbag.get_num_threads(), tf.config.threading.get_intra_op_parallelism_threads())
    """) == ["1", "1"]


def test_models_that_were_saved(tmp_path):
    """One made without gradbag runs with it, one made with it runs without: the same bits, no mention of gradbag."""
    folders = {"STOCK": str(tmp_path / "stock"), "OURS": str(tmp_path / "ours")}
    made = run(
        "model = Model(); tf.saved_model.save(model, os.environ['STOCK']); print(pooled().numpy().tobytes().hex())",
        **folders,
    )
    assert b"radbag" not in (tmp_path / "stock" / "saved_model.pb").read_bytes()
    run(
        """
        want = tf.saved_model.load(os.environ["STOCK"])(ids).numpy()
        install()
        model = tf.saved_model.load(os.environ["STOCK"])
        assert_ours(lambda: model(ids), want)
        model = Model()
        assert_ours(lambda: model(ids), want)
        tf.saved_model.save(model, os.environ["OURS"])
    """,
        **folders,
    )
    assert b"radbag" not in (tmp_path / "ours" / "saved_model.pb").read_bytes()
    assert (
        run(
            """
        install()
        assert installed() == {}
        print(tf.saved_model.load(os.environ["OURS"])(ids).numpy().tobytes().hex())
    """,
            **folders,
            GRADBAG_TENSORFLOW="0",
        )
        == made
    )


def test_devices_forks_and_signals():
    """Devices can be configured after the installation. A forked child computes. Ctrl-C is KeyboardInterrupt, inside
    `fit` and where the kernel runs in Python's main thread, and TensorFlow goes on working."""
    assert run("""
        install()
        devices = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], devices)
        assert len(tf.config.list_logical_devices("CPU")) == 2

        want = pooled().numpy()
        child = os.fork()
        if child == 0:
            assert_ours(pooled, want)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

        count, entries = 100_000, 400_000
        picked, bag = np.random.default_rng(0).integers(0, count, entries), np.arange(entries) // 50

        class Pooling(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.table = self.add_weight(shape=(count, 32))

            def call(self, inputs):
                return tf.reduce_sum(tf.sparse.segment_sum(tf.convert_to_tensor(self.table), picked, bag)) * inputs

        model = Pooling()
        model.compile("sgd", "mse", jit_compile=False)

        def interrupted(work, begun=lambda: True):
            # A person presses Ctrl-C again if nothing happens: one may fall into code that cannot raise it.
            heard = threading.Event()

            def interrupt():
                while not heard.wait(0.5):
                    if begun():
                        os.kill(os.getpid(), signal.SIGINT)

            threading.Thread(target=interrupt, daemon=True).start()
            try:
                work()
            except KeyboardInterrupt:
                heard.set()
                return True
            return False

        def fit():
            model.fit(np.ones((100_000, 1)), np.ones((100_000, 1)), batch_size=1, verbose=0)

        if interrupted(fit, lambda: answered("SparseSegmentSumGrad") >= 4):
            print("stopped")
        given = [tf.ones([count, 32]), tf.constant(picked), tf.constant(bag)]

        def pool():
            while True:
                tf.sparse.segment_mean(*given)

        if interrupted(pool):
            print("interrupted")
        assert_ours(pooled, want)
    """) == ["stopped", "interrupted"]


def test_memory_stays_steady():
    """Results live in blocks until nobody has them; answers of kept kernels after refused ones leave nothing."""
    first, last = map(
        int,
        run("""
        install()

        def resident():
            gc.collect()
            return int(open("/proc/self/statm").read().split()[1]) * 4096

        rows = np.arange(1 << 20, dtype=np.float32).reshape(-1, 16)
        kept = [tf.sparse.segment_sum(rows + k, np.arange(len(rows)), np.arange(len(rows))) for k in range(4)]
        data, entries = tf.ones([20_000, 64]), {"indices": ids, "segment_ids": bags}

        def work(times):
            for _ in range(times):
                tf.sparse.segment_sum(data, ids, bags)
                tf.raw_ops.SparseSegmentSumGrad(grad=tf.ones([6, 64]), **entries, output_dim0=20_000)
                tf.raw_ops.SparseSegmentSumGrad(grad=tf.ones([6, 64]), **entries, output_dim0=0)
                with stock():
                    tf.sparse.segment_sum(data, ids, bags)

        work(200)
        before = resident()
        work(600)
        assert all((k.numpy() == rows + number).all() for number, k in enumerate(kept))
        print(before, resident())
    """),
    )
    assert last - first < 20e6


def test_where_tensorflow_is_not_served_it_says_so():
    """As for a library without these functions: a sentence, not a crash. This process never loads TensorFlow's."""
    made = subprocess.run(
        [sys.executable, "-c", "from gradbag.eager.program import native; print(native.tensorflow.find())"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout.strip() == "TF_NewStatus"


def test_a_model_of_tensorflow_1():
    """With v2 behaviour disabled a size is a Dimension. A model trains as it did, patched and installed."""
    assert run("""
        v1 = tf.compat.v1
        v1.disable_v2_behavior()

        def losses():
            with tf.Graph().as_default(), v1.Session() as session:
                rows = v1.get_variable("rows", initializer=np.arange(12, dtype=np.float32).reshape(6, 2))
                ids = v1.placeholder(tf.int64, [None])
                sparse = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ids, [4, 2])
                pooled = v1.nn.safe_embedding_lookup_sparse(rows, sparse, combiner="mean")
                count = rows.shape[0]
                assert isinstance(count, v1.Dimension)
                means = v1.sparse_segment_mean(rows, ids, [0, 0, 2], num_segments=count, name="means")
                assert means.op.name == "means"
                loss = tf.reduce_sum(pooled**2) + tf.reduce_sum(means**2)
                train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
                session.run(v1.global_variables_initializer())
                return [session.run([loss, train], {ids: [1, 5, 5]})[0] for _ in range(4)]

        want = losses()
        with gradbag.tensorflow.patch():
            np.testing.assert_allclose(losses(), want, rtol=1e-6)
        install()
        before = answered("SparseSegmentMeanWithNumSegments")
        assert losses() == want
        print(answered("SparseSegmentMeanWithNumSegments") - before, want[0] > want[-1])
    """) == ["4", "True"]
