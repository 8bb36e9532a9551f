"""gradbag.tensorflow.patch(): TensorFlow's own functions, answered by gradbag, and put back afterwards."""

import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import gradbag.tensorflow
from gradbag.testing import assert_same, cases
from gradbag.testing.cases import usual_types

from .both import Call, shared_ops, to_array, to_tensor
from .differences import DIFFERENCES

DOCUMENT = Path(__file__).parents[2] / "docs/frameworks.md"


def held():
    """What TensorFlow's modules have under the names of the ops: where it is, and the function itself."""
    names = {name for op in shared_ops() for name in (op.name, op.python_name)}
    return {
        (module, name): value
        for module, found in list(sys.modules.items())
        if module.startswith("tensorflow.")
        for name, value in list(getattr(found, "__dict__", {}).items())
        if name in names
    }


def is_ours(function):
    return function.__module__ == "gradbag.tensorflow"


# ------------------------------------------------------------------ what is replaced
@pytest.mark.parametrize("op", shared_ops(), ids=lambda op: op.name)
def test_raw_ops_inside_give_the_bits_of_those_outside(op):
    """By name as raw ops, and by position as the functions behind them; arrays go in as they do in TensorFlow."""
    theirs = getattr(tf.raw_ops, op.name)
    chosen = [
        case
        for case in cases(op, {**usual_types(op), "T": "float32"})
        if not any(differs(Call(op, dict(case.inputs), dict(case.attrs))) for differs in DIFFERENCES)
    ]
    assert chosen or op.name.endswith("FillEmptyRowsGrad")  # whose sums TensorFlow adds in another order
    tensors = [{name: to_tensor(array) for name, array in case.inputs.items()} for case in chosen]
    wanted = [theirs(**given) for given in tensors]
    with gradbag.tensorflow.patch():
        raw, behind = getattr(tf.raw_ops, op.name), getattr(sys.modules[theirs.__module__], op.python_name)
        assert is_ours(raw)
        for case, given, want in zip(chosen, tensors, wanted, strict=True):
            arrays = [np.array(array) for array in case.inputs.values()]
            for answer in (raw(**given, name="x"), behind(*given.values()), behind(*arrays)):
                for name in [arg.name for arg in op.outputs]:
                    a, b = (getattr(y, name) if op.result is not None else y for y in (answer, want))
                    assert isinstance(a, tf.Tensor)
                    assert_same(to_array(a), to_array(b), f"{case}: {name}")


def test_every_place_is_restored():
    before = held()
    assert len(before) > 3 * len(shared_ops())
    with gradbag.tensorflow.patch():
        inside = held()
        assert inside.keys() == before.keys()
        assert is_ours(tf.raw_ops.SparseSegmentMean)
        assert is_ours(tf.compat.v1.raw_ops.SparseSegmentMean)
    assert held() == before
    assert not any(is_ours(function) for function in before.values())


def test_restored_after_an_error():
    before = held()
    with pytest.raises(RuntimeError, match="in the model"), gradbag.tensorflow.patch():
        raise RuntimeError("in the model")
    assert held() == before


def test_patches_nest_and_may_end_in_any_order():
    before = held()
    with gradbag.tensorflow.patch():
        with gradbag.tensorflow.patch():
            pass
        assert is_ours(tf.raw_ops.SparseSlice)
    assert held() == before
    inside, leave = threading.Event(), threading.Event()

    def other():
        with gradbag.tensorflow.patch():
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    with gradbag.tensorflow.patch():
        thread.start()
        inside.wait(30)
    assert is_ours(tf.raw_ops.SparseSlice)
    leave.set()
    thread.join()
    assert held() == before


def test_a_refusal_has_tensorflows_class_and_gradbags_words():
    with (
        gradbag.tensorflow.patch(),
        pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] == 5 out of range"),
    ):
        tf.sparse.segment_sum(tf.ones([2, 1]), [5], [0])


def test_nodes_have_the_names_that_were_asked_for():
    with gradbag.tensorflow.patch(), tf.Graph().as_default() as graph:
        tf.compat.v1.sparse_segment_sum(np.ones((2, 1), np.float32), [1], [0], name="pooled")
        tf.raw_ops.SparseSegmentSumGradV2(
            grad=np.ones((2, 1), np.float32), indices=[1], segment_ids=[0], dense_output_dim0=2, name="gradient"
        )
        assert graph.get_tensor_by_name("pooled:0").shape.as_list() == [None, 1]
        assert graph.get_tensor_by_name("gradient:1").dtype == tf.int32


def test_sizes_of_the_kind_of_tensorflow_1():
    size, shape = tf.compat.v1.Dimension(3), tf.TensorShape([2, 2])
    with gradbag.tensorflow.patch():
        entries = {"grad": tf.ones([1, 1]), "indices": tf.constant([1]), "segment_ids": tf.constant([0])}
        assert tf.raw_ops.SparseSegmentSumGrad(**entries, output_dim0=size).shape == (3, 1)
        filled = tf.raw_ops.SparseFillEmptyRows(
            indices=np.array([[0, 1]]), values=tf.constant([1.0]), dense_shape=shape, default_value=tf.constant(7.0)
        )
        assert filled.output_values.numpy().tolist() == [1.0, 7.0]


# ------------------------------------------------------------------ what is built of them
SPARSE = tf.SparseTensor([[0, 0], [0, 2], [2, 1]], tf.constant([1, 3, 3], tf.int64), [4, 3])
WEIGHTS = tf.SparseTensor(SPARSE.indices, tf.constant([0.5, 2.0, 1.0]), SPARSE.dense_shape)
USERS = {
    "segment_sum": lambda t: tf.sparse.segment_sum(t, [0, 1, 1], [0, 0, 2]),
    "segment_mean": lambda t: tf.sparse.segment_mean(t, [0, 1, 1], [0, 0, 2], num_segments=4),
    "segment_sqrt_n": lambda t: tf.sparse.segment_sqrt_n(t, [0, 1, 1], [0, 0, 2], sparse_gradient=True),
    "fill_empty_rows": lambda t: (
        tf.sparse.fill_empty_rows(tf.SparseTensor([[1, 0]], t[0, :1], [3, 1]), t[1, 0])[0].values
    ),
    "slice": lambda t: tf.sparse.slice(tf.SparseTensor([[0, 1], [2, 0]], t[0, :2], [3, 2]), [1, 0], [2, 2]).values,
    "embedding_lookup_sparse": lambda t: tf.nn.embedding_lookup_sparse(t, SPARSE, None, combiner="mean"),
    # With weights, TensorFlow pools by other ops; only what fills the rows is ours.
    "with weights": lambda t: tf.nn.safe_embedding_lookup_sparse(t, SPARSE, WEIGHTS, combiner="sqrtn"),
    "with the sparse gradient": lambda t: tf.nn.embedding_lookup_sparse(
        t, SPARSE, None, combiner="sum", allow_fast_lookup=True
    ),
    "safe_embedding_lookup_sparse": lambda t: tf.nn.safe_embedding_lookup_sparse(t, SPARSE, default_id=4),
    "safe without a default": lambda t: tf.nn.safe_embedding_lookup_sparse(t, SPARSE),
    "compat.v1": lambda t: tf.compat.v1.sparse_segment_sum(t, [0, 1, 1], [0, 0, 2]),
}


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
def test_functions_that_are_built_of_them(user, traced, monkeypatch):
    """The same values and gradients inside; and gradbag has answered, which is counted."""
    calls = []
    interpret = gradbag.tensorflow.interpret
    monkeypatch.setattr(gradbag.tensorflow, "interpret", lambda *given: calls.append(given) or interpret(*given))
    table = tf.constant(np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32))

    def value_and_gradient(table):
        with tf.GradientTape() as tape:
            tape.watch(table)
            value = user(table)
            loss = tf.reduce_sum(value**2)
        return value, tf.convert_to_tensor(tape.gradient(loss, table))

    want = value_and_gradient(table)
    with gradbag.tensorflow.patch():
        got = (tf.function(value_and_gradient) if traced else value_and_gradient)(table)
    assert calls
    for a, b in zip(got, want, strict=True):
        assert_same(a.numpy(), b.numpy())


# ------------------------------------------------------------------ a model
def train(ids, labels, steps=5):
    """A bag of embeddings under a dense layer; the loss of each step and the last gradients."""
    rng = np.random.default_rng(7)
    table = tf.Variable(rng.standard_normal((20, 4)).astype(np.float32))
    weights = tf.Variable(rng.standard_normal((4, 1)).astype(np.float32))
    losses = []

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            pooled = tf.nn.safe_embedding_lookup_sparse(table, ids, combiner="sqrtn", default_id=0)
            loss = tf.reduce_mean((tf.matmul(pooled, weights) - labels) ** 2)
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, [table, weights])]
        for variable, gradient in zip([table, weights], gradients, strict=True):
            variable.assign_sub(0.05 * gradient)
        return loss, gradients

    for _ in range(steps):
        loss, gradients = step()
        losses.append(loss.numpy())
    return losses, [g.numpy() for g in gradients]


def test_a_model_trains_to_the_same_losses_and_gradients():
    rng = np.random.default_rng(3)
    rows = np.sort(rng.integers(0, 8, 30))
    indices = np.stack([rows, np.arange(30)], 1)
    ids = tf.SparseTensor(indices, rng.integers(0, 20, 30), [8, 30])
    labels = rng.standard_normal((8, 1)).astype(np.float32)
    losses, gradients = train(ids, labels)
    with gradbag.tensorflow.patch():
        patched_losses, patched = train(ids, labels)
    assert patched_losses == losses
    assert losses[-1] < losses[0]
    for a, b in zip(patched, gradients, strict=True):
        assert_same(a, b)


def test_an_empty_batch_leaves_the_table_alone():
    """No ids in a batch: TensorFlow gives the table a gradient of memory that nobody has written."""
    table = tf.Variable(np.ones((64, 512), np.float32))
    empty = tf.constant([], tf.int64)

    def gradient():
        for _ in range(4):  # leave something in the memory that the next answer may get
            tf.fill([64, 512], 7.0) + 1
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sparse.segment_mean(table, empty, empty, num_segments=3))
        return tape.gradient(loss, table).numpy()

    assert any(gradient().any() for _ in range(100))
    with gradbag.tensorflow.patch():
        assert not any(gradient().any() for _ in range(100))


def test_a_function_stays_what_it_was_traced_as():
    refused = (gradbag.InvalidArgumentError, tf.errors.InvalidArgumentError)

    def message(function):
        with pytest.raises(refused) as caught:
            function(tf.constant([5]))
        return str(caught.value)

    def made():
        return tf.function(lambda ids: tf.sparse.segment_sum(tf.ones([2, 1]), ids, [0]))

    outside = made()
    assert "SparseSegmentSum: indices" not in message(outside)
    with gradbag.tensorflow.patch():
        assert "SparseSegmentSum: indices" not in message(outside)
        inside = made()
        assert "SparseSegmentSum: indices[0] == 5 out of range" in message(inside)
    assert "SparseSegmentSum: indices[0] == 5 out of range" in message(inside)


def test_the_document_runs_as_printed():
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    (block,) = [block for block in blocks if "import tensorflow" in block]
    names = {}
    exec(compile(block, "frameworks.md", "exec"), names)  # noqa: S102  # our own text
    assert isinstance(names["gradient"], tf.IndexedSlices)
    assert names["gradient"].indices.numpy().tolist() == [3, 17]


def test_second_derivatives_of_a_patched_model():
    table = tf.constant(np.random.default_rng(0).standard_normal((5, 3)))

    def penalty():
        with tf.GradientTape() as outer:
            outer.watch(table)
            with tf.GradientTape() as inner:
                inner.watch(table)
                loss = tf.reduce_sum(tf.nn.embedding_lookup_sparse(table, SPARSE, None, combiner="mean") ** 3)
            squared = tf.reduce_sum(tf.convert_to_tensor(inner.gradient(loss, table)) ** 2)
        return outer.gradient(squared, table)

    with pytest.raises(LookupError):
        penalty()
    with gradbag.tensorflow.patch():
        assert np.abs(tf.convert_to_tensor(penalty())).max() > 0
