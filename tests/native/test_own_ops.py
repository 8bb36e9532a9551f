"""gradbag's own ops as ops of TensorFlow: the bits of gradbag's kernels, and of TensorFlow's functions of that name."""

from functools import partial
from itertools import islice

import numpy as np
import pytest
import tensorflow as tf

import gradbag
import gradbag.tensorflow
from gradbag import eager
from gradbag.adapters.tensorflow import own_ops
from gradbag.testing import assert_same, case_of

from ..tensorflow.both import to_tensor
from ..tensorflow.lookups import random_look_up
from .test_processes import run
from .who import counted, on_stock

OPS = own_ops.candidates()
ops = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
TABLE = np.random.default_rng(5).standard_normal((30, 3))
IDS = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [3, 0], [3, 1]], [4, 29, -1, 4, 4], [5, 2])


def cases(op, rng):
    """The example and samples, each in the next types."""
    for number, given in enumerate([op.example.inputs, *islice(op.samples(rng), 40)]):
        types = {variable: names[number % len(names)] for variable, names in op.types.items()}
        yield case_of(op, types, given, str(number))


def called(case):
    tensors = [None if array is None else to_tensor(array) for array in case.arrays]
    answer = getattr(gradbag.raw_ops, case.op.name)(
        **dict(zip(case.op.input_names, tensors, strict=True)), **case.attrs
    )
    return list(answer) if case.op.result else [answer]


# ------------------------------------------------------------------ every op
@ops
def test_calls_have_the_bits_of_numpy_calls(op, seed):
    """Eagerly and as a node, with every optional input given and left out."""
    for case in cases(op, np.random.default_rng(seed)):
        want = eager.run(op, case.arrays, dict(case.attrs))
        with counted(**{own_ops.PREFIX + op.name: 1}):
            found = called(case)
        node = tf.function(partial(called, case), autograph=False).get_concrete_function()
        assert {own_ops.PREFIX + op.name} == {n.type for n in node.graph.get_operations() if ">" in n.type}
        traced = node()
        for one, other, expected in zip(found, traced, want, strict=True):
            assert_same(one.numpy(), expected)
            assert_same(other.numpy(), expected)


@ops
def test_refusals_are_invalid_arguments_in_our_words(op):
    refused = 0
    types = {variable: names[-1] for variable, names in op.types.items()}
    for reject in op.rejects:
        if set(reject.change) & set(op.attr_defaults):
            continue
        case = case_of(op, types, {**op.example.inputs, **reject.change}, "")
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=reject.message), counted():
            called(case)
        refused += 1
    assert refused or not op.rejects


# ------------------------------------------------------------------ look-ups
@pytest.mark.parametrize("block", range(4))
def test_look_ups_have_the_bits_of_tensorflows(block):
    """Negative ids, empty rows, defaults, combiners, ragged ids, shards: all but long bags with weights."""
    compared = 0
    for seed in range(60 * block, 60 * (block + 1)):
        look_up = random_look_up(seed)
        if not look_up.exact or len(look_up.tables) > 1:
            continue
        want = on_stock(look_up.theirs, look_up.tables, None)
        ids, _ = look_up._tensors(None)
        function = getattr(gradbag.tensorflow, look_up.name)
        before = gradbag.tensorflow.installed()["Gradbag>EmbeddingBag"]
        found = function(tf.constant(look_up.tables[0]), ids, **look_up.settings)
        assert gradbag.tensorflow.installed()["Gradbag>EmbeddingBag"] == before + 1
        assert_same(found.numpy(), want.numpy())
        compared += 1
    assert compared > 8


def looked_up(function, table, **more):
    with tf.GradientTape() as outer:
        outer.watch(table)
        with tf.GradientTape() as inner:
            inner.watch(table)
            loss = tf.reduce_sum(function(table, IDS, **more) ** 3)
        first = inner.gradient(loss, table)
        squared = tf.reduce_sum(tf.convert_to_tensor(first) ** 2)
    return loss, first, tf.convert_to_tensor(outer.gradient(squared, table))


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_gradients_are_compact_and_have_gradients(combiner, traced):
    table = tf.Variable(TABLE)
    identity = tf.eye(30, dtype=tf.float64)
    pooling = tf.nn.safe_embedding_lookup_sparse(identity, IDS, combiner=combiner).numpy()
    function = tf.function(looked_up) if traced else looked_up
    _, first, second = function(gradbag.tensorflow.safe_embedding_lookup_sparse, table, combiner=combiner)
    assert isinstance(first, tf.IndexedSlices)
    assert first.indices.numpy().tolist() == [4, 29]
    pooled = pooling @ TABLE
    gradient = pooling.T @ (3 * pooled**2)
    np.testing.assert_allclose(tf.convert_to_tensor(first), gradient, rtol=1e-12)
    np.testing.assert_allclose(second, pooling.T @ (6 * pooled * (pooling @ (2 * gradient))), rtol=1e-10)


def test_weights_have_gradients():
    weights = tf.Variable([0.5, 2.0, 1.0, 0.25, 3.0], dtype=tf.float64)

    def gradient(function):
        with tf.GradientTape() as tape:
            given = tf.SparseTensor(IDS.indices, tf.convert_to_tensor(weights), IDS.dense_shape)
            loss = tf.reduce_sum(function(tf.constant(TABLE), IDS, given, default_id=2) ** 2)
        return tf.convert_to_tensor(tape.gradient(loss, weights)).numpy()

    ours = gradient(gradbag.tensorflow.safe_embedding_lookup_sparse)
    np.testing.assert_allclose(ours, gradient(tf.nn.safe_embedding_lookup_sparse), rtol=1e-12)
    assert np.count_nonzero(ours) == 2  # where a bag has one row only, weights change nothing


def test_shapes_are_known_as_far_as_they_can_be():
    graph = tf.Graph()
    with graph.as_default():
        table = tf.compat.v1.placeholder(tf.float32, [None, 7])
        ids = tf.compat.v1.placeholder(tf.int64, [None])
        types = {"T": tf.float32, "Tidx": tf.int64, "Toffsets": tf.int64}
        attrs = {name: tf.compat.v1.AttrValue(type=t.as_datatype_enum) for name, t in types.items()}
        attrs["num_weights"] = tf.compat.v1.AttrValue(i=0)
        make = lambda *inputs: graph.create_op("Gradbag>EmbeddingBag", list(inputs), attrs=attrs).outputs[0]  # noqa: E731
        assert make(table, ids, tf.zeros([4], tf.int64)).shape.as_list() == [4, 7]
        assert make(table, ids, ids).shape.as_list() == [None, 7]
        assert make(tf.compat.v1.placeholder(tf.float32), ids, ids).shape.rank is None
        with pytest.raises(ValueError, match="rank 1"):
            make(table, tf.zeros([2, 2], tf.int64), ids)


# ------------------------------------------------------------------ saved models
MODEL = """
entries = tf.SparseTensor([[0, 0], [2, 1], [2, 0]], np.array([7, -1, 3]), [4, 2])

class Lookup(tf.Module):
    def __init__(self):
        self.table = tf.Variable(table)

    @tf.function(input_signature=[tf.SparseTensorSpec([None, 2], tf.int64)])
    def __call__(self, ids):
        return gradbag.tensorflow.safe_embedding_lookup_sparse(self.table, ids, combiner="sqrtn", default_id=5)

    @tf.function(input_signature=[tf.SparseTensorSpec([None, 2], tf.int64)])
    def step(self, ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(self(ids) ** 2)
        gradient = tape.gradient(loss, self.table)
        self.table.scatter_sub(tf.IndexedSlices(0.1 * gradient.values, gradient.indices))

def shown(model):
    before = answered("Gradbag>EmbeddingBag")
    model.step(entries)
    print(model(entries).numpy().tobytes().hex(), answered("Gradbag>EmbeddingBag") - before)
"""


def test_a_look_up_is_saved_and_loaded_in_another_process(tmp_path):
    """It goes on training there. Where gradbag is not installed, TensorFlow names the op that it does not know."""
    folder = {"FOLDER": str(tmp_path)}
    save = """
install()
model = Lookup()
options = tf.saved_model.SaveOptions(namespace_whitelist=["Gradbag"])
tf.saved_model.save(model, os.environ["FOLDER"], options=options)
shown(model)
"""
    made = run(MODEL + save, **folder)
    assert made[1] == "2"
    saved = (tmp_path / "saved_model.pb").read_bytes()
    assert b"Gradbag>EmbeddingBagGrad" in saved
    assert b"PyFunc" not in saved
    assert run(MODEL + 'install()\nshown(tf.saved_model.load(os.environ["FOLDER"]))', **folder) == made
    without = """
try:
    tf.saved_model.load(os.environ["FOLDER"])
except Exception as problem:
    print(type(problem).__name__, "Gradbag>" in str(problem), "not registered" in str(problem).lower())
"""
    assert run(without, **folder)[-2:] == ["True", "True"]
