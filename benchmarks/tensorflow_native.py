"""TensorFlow on gradbag's kernels beside stock TensorFlow: small calls, large calls, whole steps of unedited models.

python benchmarks/tensorflow_native.py [--quick]

Two processes, one with `gradbag.tensorflow.install()` and one without, take turns; a ratio above one is quicker than
stock. Every timed call says who ran: gradbag's kernels count what they answer.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

ROUNDS, QUICK_ROUNDS = 9, 5
SECONDS = 0.15  # of one measurement


# ------------------------------------------------------------------ what is measured
def cases(tf: Any) -> dict[str, Callable[[], Callable[[], Any]]]:
    """Each makes a function without arguments."""
    rng = np.random.default_rng(0)

    def entries(count: int, rows: int, bags: int, skewed: bool = False) -> tuple[Any, Any]:
        ids = rng.zipf(1.2, count) % rows if skewed else rng.integers(0, rows, count)
        return tf.constant(ids, tf.int64), tf.constant(np.sort(rng.integers(0, bags, count)), tf.int64)

    def table(rows: int, columns: int) -> Any:
        return tf.constant(rng.standard_normal((rows, columns)).astype(np.float32))

    def raw(name: str, rows: int, skewed: bool) -> Callable[[], Any]:
        ids, bags = entries(400_000, rows, 20_000, skewed)
        grad, op = table(20_000, 64), getattr(tf.raw_ops, name)
        size = {"dense_output_dim0" if name.endswith("V2") else "output_dim0": rows}
        return lambda: op(grad=grad, indices=ids, segment_ids=bags, **size)

    def tiny(name: str) -> Callable[[], Any]:
        ids, bags = entries(10, 100, 4)
        if name.endswith("Grad"):
            grad, op = table(4, 8), getattr(tf.raw_ops, name)
            size = tf.constant(100)
            return lambda: op(grad=grad, indices=ids, segment_ids=bags, output_dim0=size)
        data, op = table(100, 8), getattr(tf.raw_ops, name)
        return lambda: op(data=data, indices=ids, segment_ids=bags)

    def chain() -> Callable[[], Any]:
        ids, bags = entries(10, 100, 4)
        data = table(100, 8)
        fifty = tf.constant(100)

        @tf.function
        def nodes() -> Any:
            rows = data
            for _ in range(50):
                rows = tf.raw_ops.SparseSegmentSumWithNumSegments(
                    data=rows, indices=ids, segment_ids=bags, num_segments=fifty
                )
            return rows

        return nodes

    def step(lookup: Callable[[Any], Any], rows: int = 300_000) -> Callable[[], Any]:
        """A look-up, a loss, its gradient and plain descent: what a training loop does, unedited."""
        variable = tf.Variable(table(rows, 64))

        @tf.function
        def train() -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(lookup(variable) ** 2)
            gradient = tape.gradient(loss, variable)
            if isinstance(gradient, tf.IndexedSlices):
                variable.scatter_sub(tf.IndexedSlices(gradient.values * 1e-6, gradient.indices))
            else:
                variable.assign_sub(gradient * 1e-6)
            return loss

        return train

    def segment_step(**more: Any) -> Callable[[], Any]:
        ids, bags = entries(400_000, 300_000, 20_000, True)
        return step(lambda variable: tf.sparse.segment_mean(tf.convert_to_tensor(variable), ids, bags, **more))

    def safe_step() -> Callable[[], Any]:
        ids, bags = entries(400_000, 300_000, 20_000, True)
        place = tf.stack([bags, tf.range(400_000, dtype=tf.int64)], 1)
        sparse = tf.SparseTensor(place, ids, [20_000, 400_000])
        return step(lambda variable: tf.nn.safe_embedding_lookup_sparse(variable, sparse, combiner="mean"))

    def fused_step() -> Callable[[], Any]:
        """The safe look-up with gradbag's function in place of TensorFlow's; stock TensorFlow has its own."""
        import gradbag.tensorflow

        ids, bags = entries(400_000, 300_000, 20_000, True)
        place = tf.stack([bags, tf.range(400_000, dtype=tf.int64)], 1)
        sparse = tf.SparseTensor(place, ids, [20_000, 400_000])
        lookup = (gradbag.tensorflow if gradbag.tensorflow.installed() else tf.nn).safe_embedding_lookup_sparse
        return step(lambda variable: lookup(variable, sparse, combiner="mean"))

    def keras_step() -> Callable[[], Any]:
        """Multi-hot ids through Keras' Embedding, the mean over the bag."""
        ids = tf.constant(rng.zipf(1.2, (20_000, 20)) % 300_000)
        layer = tf.keras.layers.Embedding(300_000, 64)
        layer(ids)

        @tf.function
        def train() -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.reduce_mean(layer(ids), 1) ** 2)
            gradient = tape.gradient(loss, layer.trainable_variables)[0]
            layer.embeddings.value.scatter_sub(tf.IndexedSlices(gradient.values * 1e-6, gradient.indices))
            return loss

        return train

    return {
        "10 ids, SparseSegmentMean, eager": lambda: tiny("SparseSegmentMean"),
        "10 ids, SparseSegmentMeanGrad, eager": lambda: tiny("SparseSegmentMeanGrad"),
        "10 ids, 50 nodes of a function": chain,
        "MeanGrad, 100k rows, uniform": lambda: raw("SparseSegmentMeanGrad", 100_000, False),
        "MeanGrad, 100k rows, zipf": lambda: raw("SparseSegmentMeanGrad", 100_000, True),
        "MeanGrad, 700k rows, uniform": lambda: raw("SparseSegmentMeanGrad", 700_000, False),
        "MeanGradV2, 100k rows, uniform": lambda: raw("SparseSegmentMeanGradV2", 100_000, False),
        "MeanGradV2, 700k rows, zipf": lambda: raw("SparseSegmentMeanGradV2", 700_000, True),
        "step: segment_mean": segment_step,
        "step: segment_mean(sparse_gradient=True)": lambda: segment_step(sparse_gradient=True),
        "step: safe_embedding_lookup_sparse": safe_step,
        "step: the fused look-up for it": fused_step,
        "step: Keras Embedding, multi-hot": keras_step,
    }


# ------------------------------------------------------------------ a process
def work(kind: str) -> None:
    """Answer every line, the name of a case, with the seconds of a call of it and who ran."""
    import tensorflow as tf

    import gradbag.tensorflow

    if kind == "gradbag":
        gradbag.tensorflow.install()
    all_cases, made, name = cases(tf), None, None
    print(json.dumps(list(all_cases)), flush=True)
    for line in sys.stdin:
        if line.strip() != name:
            made, name = None, line.strip()  # the tables of the one before are gone before the next are made
            made = all_cases[name]()
            made()
        before = sum(gradbag.tensorflow.installed().values())
        calls, start = 0, time.perf_counter()
        while calls < 3 or time.perf_counter() - start < SECONDS:
            made()
            calls += 1
        seconds = (time.perf_counter() - start) / calls
        answered = (sum(gradbag.tensorflow.installed().values()) - before) / calls
        print(json.dumps([seconds, answered]), flush=True)


class Worker:
    def __init__(self, kind: str) -> None:
        quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", **os.environ}
        command = [sys.executable, __file__, "--work", kind]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=quiet)
        self.names = self.answer()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, name: str) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        return self.answer()


def main() -> None:
    if "--work" in sys.argv:
        work(sys.argv[-1])
        return
    rounds = QUICK_ROUNDS if "--quick" in sys.argv else ROUNDS
    stock, ours = Worker("stock"), Worker("gradbag")
    print(f"{'':44} {'TensorFlow':>12} {'gradbag':>12} {'times as fast':>14} {'calls of ours':>14}")
    for name in ours.names:
        pairs = [(stock.ask(name), ours.ask(name)) for _ in range(rounds)]
        assert all(theirs[1] == 0 for theirs, _ in pairs)
        answered = {mine[1] for _, mine in pairs}
        ratio = statistics.median(theirs[0] / mine[0] for theirs, mine in pairs)
        one, other = (statistics.median(pair[side][0] for pair in pairs) * 1e6 for side in (0, 1))
        print(
            f"{name:44} {one:>9,.1f} us {other:>9,.1f} us {ratio:>14.2f} {'/'.join(map('{:g}'.format, answered)):>14}",
            flush=True,
        )


if __name__ == "__main__":
    main()
