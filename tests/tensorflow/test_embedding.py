"""The look-ups of embeddings against TensorFlow's functions of the same names."""

import time
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import gradbag
from gradbag.testing import assert_same

from .lookups import ULPS, LookUp, random_look_up


def wide(array: Any) -> Any:
    return np.asarray(array).astype(np.float64)


def assert_near(got: Any, expected: Any, ulps: float, what: str) -> None:
    """Within some ulps of the largest number of the answer."""
    assert got.dtype == expected.dtype, what
    assert got.shape == expected.shape, what
    scale = max(np.abs(wide(expected)).max(initial=0), 1.0)
    unit = ULPS[got.dtype.name] * scale
    np.testing.assert_allclose(wide(got), wide(expected), rtol=0, atol=ulps * unit, err_msg=what)


def compare(look_up: LookUp, seed: int) -> None:
    what = f"seed {seed}: {look_up}"
    tensors = [tf.constant(table) for table in look_up.tables]
    weights = None if look_up.weights is None else tf.constant(look_up.weights)
    with tf.GradientTape() as tape:
        for tensor in (*tensors, *([] if weights is None else [weights])):
            tape.watch(tensor)
        expected = look_up.theirs(tensors, weights)
        factors = np.random.default_rng(seed).uniform(0.5, 2, expected.shape)
        loss = tf.reduce_sum(expected * tf.cast(factors, expected.dtype))
    got = look_up.ours(look_up.tables, look_up.weights)
    if look_up.form == "ragged" and not look_up.safe:  # bags at the end count, unless they are TensorFlow's
        assert not wide(got)[len(expected) :].any(), what
        got = got[: len(expected)]
    if look_up.exact:
        assert_same(got, expected.numpy())
    else:
        assert_near(got, expected.numpy(), 4, what)
    if not len(look_up.ids):
        return  # TensorFlow's gradient is garbage then

    def loss_of(*leaves: Any) -> Any:
        tables = list(leaves[: len(tensors)])
        found = look_up.ours(tables, leaves[len(tensors)] if weights is not None else None)[: len(factors)]
        return (found * factors.astype(found.dtype)).sum()

    leaves = [*look_up.tables, *([] if weights is None else [look_up.weights])]
    ours = gradbag.grad(loss_of, argnums=tuple(range(len(leaves))))(*leaves)
    theirs = tape.gradient(loss, [*tensors, *([] if weights is None else [weights])])
    for mine, other, leaf in zip(ours, theirs, leaves, strict=True):
        dense = np.zeros_like(leaf) if other is None else tf.convert_to_tensor(other).numpy()
        narrow = look_up.tables[0].dtype.name in ("float16", "bfloat16")
        unit = ULPS[look_up.tables[0].dtype.name] * max(np.abs(wide(dense)).max(initial=0), 1.0)
        np.testing.assert_allclose(wide(mine), wide(dense), rtol=0, atol=(16 if narrow else 64) * unit, err_msg=what)


BLOCKS = [pytest.param(block, marks=[pytest.mark.slow] if block >= 4 else []) for block in range(20)]


@pytest.mark.parametrize("block", BLOCKS)
def test_values_and_gradients_are_tensorflows(block: int) -> None:
    for seed in range(250 * block, 250 * (block + 1)):
        compare(random_look_up(seed), seed)


@pytest.mark.parametrize("block", range(4))
def test_tensors_of_tensorflow_are_taken_as_they_are(block: int) -> None:
    for seed in range(40 * block, 40 * (block + 1)):
        look_up = random_look_up(seed)
        expected = look_up.theirs(look_up.tables, look_up.weights)
        got = look_up.on_tensors([tf.constant(t) for t in look_up.tables], look_up.weights)
        assert_near(got.numpy(), expected.numpy(), 0 if look_up.exact else 4, f"seed {seed}: {look_up}")


@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_inside_a_function_with_unknown_sizes(seed: int) -> None:
    look_up = random_look_up(seed)
    ids, weights = look_up._tensors(look_up.weights)
    tables = [tf.constant(table) for table in look_up.tables]

    def loosely(value: Any) -> Any:
        if isinstance(value, tf.SparseTensor):
            return tf.SparseTensorSpec([None] * value.shape.rank, value.dtype)
        return tf.RaggedTensorSpec([None, None], value.dtype)

    given = [ids] if weights is None else [ids, weights]

    @tf.function(input_signature=[loosely(value) for value in given])
    def found(*entries: Any) -> Any:
        with tf.GradientTape() as tape:
            for table in tables:
                tape.watch(table)
            pooled = look_up._call(getattr(gradbag, look_up.name), tables, entries[0], *(entries[1:] or [None]))
            loss = tf.reduce_sum(pooled * pooled)
        return pooled, tape.gradient(loss, tables)

    got, gradients = found(*given)
    eager = look_up.on_tensors(tables, look_up.weights)
    assert_same(got.numpy(), eager.numpy())
    assert [g.shape for g in gradients] == [t.shape for t in tables]


def test_a_variable_gets_a_compact_gradient_if_asked_for() -> None:
    variable = tf.Variable(np.eye(4, dtype=np.float32))
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [2, -1, 2], [3, 2])
    with tf.GradientTape() as tape:
        pooled = gradbag.safe_embedding_lookup_sparse(variable, ids, sparse_gradient=True, default_id=1)
        loss = tf.reduce_sum(pooled)
    gradient = tape.gradient(loss, variable)
    assert isinstance(gradient, tf.IndexedSlices)
    assert gradient.indices.numpy().tolist() == [1, 2]
    np.testing.assert_array_equal(gradient.values.numpy(), [[1.0] * 4, [2.0] * 4])


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
def test_a_variable_is_not_copied(traced: bool) -> None:
    variable = tf.Variable(np.ones((400_000, 64), np.float32))  # 100 MB
    ids = tf.SparseTensor([[0, 0]], [3], [1, 1])
    call = lambda: gradbag.safe_embedding_lookup_sparse(variable, ids)  # noqa: E731
    call = tf.function(call) if traced else call
    np.testing.assert_array_equal(call().numpy(), np.ones((1, 64)))
    times = []
    for function in (call, variable.read_value):
        times.append(0.0)
        for _ in range(10):
            tf.gather(variable, [3])  # from here on a plain read is a copy
            before = time.process_time()
            function()
            times[-1] += time.process_time() - before
    assert times[0] < times[1] / 2


# ------------------------------------------------------------------ what is refused
TABLE = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)
IDS = gradbag.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 2, 3], [2, 2])


def changed(**parts: Any) -> Any:
    entries = {"indices": IDS.indices, "values": IDS.values, "dense_shape": IDS.dense_shape, **parts}
    return entries["indices"], entries["values"], entries["dense_shape"]


@pytest.mark.parametrize(
    ("safe", "parts", "settings", "message"),
    [
        (True, {"values": [1, 7, 3]}, {}, r"ids\[1\] == 7 out of range \[0, 7\)"),
        (False, {"values": [1, 7, 3]}, {}, r"ids\[1\] == 7 out of range \[0, 7\)"),
        (False, {"values": [1, -1, 3]}, {}, r"ids\[1\] == -1 out of range \[0, 7\)"),
        (False, {"indices": [[0, 0], [1, 1], [0, 0]]}, {}, r"indices\[1, 0\] == 1 out of range \[0, 1\)"),
        (True, {"indices": [[0, 0], [2, 1], [0, 0]]}, {}, r"indices\[1, 0\] == 2 out of range \[0, 2\)"),
        (True, {}, {"combiner": "max"}, "combiner must be one of 'sum', 'mean', 'sqrtn'"),
        (False, {}, {"combiner": "best"}, "combiner must be one of 'sum', 'mean', 'sqrtn'"),
    ],
)
def test_both_refuse(safe: bool, parts: Any, settings: Any, message: str) -> None:
    name = "safe_embedding_lookup_sparse" if safe else "embedding_lookup_sparse"
    with pytest.raises(gradbag.InvalidArgumentError, match=message):
        getattr(gradbag, name)(TABLE, gradbag.SparseTensor(*changed(**parts)), None, **settings)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        getattr(tf.nn, name)(TABLE, tf.SparseTensor(*changed(**parts)), None, **settings)


@pytest.mark.parametrize("params", [None, []])
def test_no_table_is_refused(params: Any) -> None:
    with pytest.raises(ValueError, match="at least one shard"):
        gradbag.safe_embedding_lookup_sparse(params, IDS)
    with pytest.raises(ValueError, match="Missing embedding_weights"):
        tf.nn.safe_embedding_lookup_sparse(params, tf.SparseTensor(*changed()))


def test_what_is_no_sparse_tensor_is_refused() -> None:
    for ids in ([1, 2], tf.constant([1, 2]), np.array([1, 2])):
        with pytest.raises(TypeError, match="SparseTensor"):
            gradbag.embedding_lookup_sparse(TABLE, ids)
    with pytest.raises(TypeError):
        tf.nn.embedding_lookup_sparse(TABLE, [1, 2], None)


def test_weights_of_another_kind_or_number_are_refused() -> None:
    ids = tf.SparseTensor(*changed())
    with pytest.raises(TypeError, match="weights must be SparseTensor like the ids; got RaggedTensor"):
        gradbag.embedding_lookup_sparse(TABLE, ids, tf.ragged.constant([[1.0]]))
    with pytest.raises(TypeError):
        tf.nn.embedding_lookup_sparse(TABLE, ids, tf.ragged.constant([[1.0]]))
    with pytest.raises(ValueError, match=r"weights must have shape \[nnz\] with nnz=3; got \[2\]"):
        gradbag.embedding_lookup_sparse(TABLE, IDS, np.ones(2, np.float32))


def test_a_default_that_the_table_lacks_is_refused() -> None:
    for default in (-1, 7):
        with pytest.raises(ValueError, match=rf"default_id == {default} out of range \[0, 7\)"):
            gradbag.safe_embedding_lookup_sparse(TABLE, IDS, default_id=default)


def test_an_unheard_of_strategy_is_refused() -> None:
    with pytest.raises(ValueError, match="partition_strategy must be one of 'div', 'mod'; got 'hash'"):
        gradbag.embedding_lookup_sparse([TABLE, TABLE], IDS, partition_strategy="hash")
    with pytest.raises(ValueError, match="Unrecognized partition strategy"):
        tf.compat.v1.nn.embedding_lookup_sparse([TABLE, TABLE], tf.SparseTensor(*changed()), None, "hash")


# ------------------------------------------------------------------ surprises
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_weighted_sums_of_narrow_tables_are_made_in_float32(dtype: str) -> None:
    places, shape = np.stack([np.zeros(40, int), np.arange(40)], 1), [1, 40]
    narrow = tf.cast(100 * TABLE, dtype)
    entries = (places, np.arange(40) % 7, shape)
    weights = (places, np.ones(40, np.float32), shape)
    expected = tf.nn.embedding_lookup_sparse(narrow, tf.SparseTensor(*entries), tf.SparseTensor(*weights))
    got = gradbag.embedding_lookup_sparse(
        narrow.numpy(), gradbag.SparseTensor(*entries), gradbag.SparseTensor(*weights)
    )
    assert_same(got, expected.numpy())


@pytest.mark.parametrize("default_id", [None, 1])
def test_an_empty_batch_is_zeros_or_the_default(default_id: int | None) -> None:
    nothing = (np.empty((0, 2), np.int64), np.empty(0, np.int64), [3, 2])
    expected = tf.nn.safe_embedding_lookup_sparse(TABLE, tf.SparseTensor(*nothing), default_id=default_id)
    ids = gradbag.SparseTensor(*nothing)
    assert_same(gradbag.safe_embedding_lookup_sparse(TABLE, ids, default_id=default_id), expected.numpy())
    assert gradbag.embedding_lookup_sparse(TABLE, ids).shape == (0, 3)


def test_weights_that_cancel_give_zeros() -> None:
    places, shape = [[0, 0], [0, 1]], [1, 2]
    ids, weights = (places, [1, 2], shape), (places, np.array([1, -1], np.float32), shape)
    expected = tf.nn.embedding_lookup_sparse(TABLE, tf.SparseTensor(*ids), tf.SparseTensor(*weights), combiner="mean")
    assert not expected.numpy().any()
    got = gradbag.embedding_lookup_sparse(TABLE, gradbag.SparseTensor(*ids), gradbag.SparseTensor(*weights))
    assert not got.any()
