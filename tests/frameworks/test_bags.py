"""Bags from and to TensorFlow, PyTorch and TorchRec: the same memory where it can be, the same numbers everywhere."""

import doctest
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import gradbag
from gradbag import Bags

LISTS = [[7, 2, 2], [], [5]]
WEIGHTS = [[0.5, 1.0, 2.0], [], [4.0]]
BAGS = Bags.from_lists(LISTS, WEIGHTS)
TYPE, VALUE = gradbag.UnsupportedTypeError, gradbag.InvalidArgumentError


# ------------------------------------------------------------------ TensorFlow
@pytest.mark.parametrize("splits", [tf.int32, tf.int64])
def test_a_ragged_tensor_is_not_copied(splits: Any) -> None:
    ragged = tf.ragged.constant(LISTS, tf.int32, row_splits_dtype=splits)
    bags = Bags.of(ragged)
    assert bags.to_lists() == LISTS
    assert np.shares_memory(bags.ids, np.asarray(ragged.values))
    assert np.shares_memory(bags.offsets, np.asarray(ragged.row_splits))
    assert (bags.ids.dtype, bags.offsets.dtype) == (np.int32, splits.as_numpy_dtype)
    assert Bags.of(ragged, tf.ragged.constant(WEIGHTS, tf.float32)) == BAGS


def test_to_a_ragged_tensor() -> None:
    ragged = BAGS.to_ragged()
    assert (ragged.to_list(), ragged.dtype, ragged.row_splits.dtype) == (LISTS, tf.int64, tf.int64)
    assert BAGS.to_ragged("weights").to_list() == WEIGHTS
    assert BAGS.astype(weights="bfloat16").to_ragged("weights").dtype == tf.bfloat16
    assert Bags.from_lists(LISTS).to_ragged("weights") is None


def test_a_sparse_tensor_of_tensorflow() -> None:
    ragged = BAGS.to_ragged()
    sparse = ragged.to_sparse()
    bags = Bags.of(sparse, BAGS.to_ragged("weights").to_sparse())
    assert bags == BAGS
    assert np.shares_memory(bags.ids, np.asarray(sparse.values))
    ours = BAGS.to_sparse()
    for part in ("indices", "values", "dense_shape"):
        np.testing.assert_array_equal(getattr(ours, part), getattr(sparse, part))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: tf.constant([1]),
            TYPE,
            "Bags.from_ragged: ids must be a RaggedTensor with one ragged axis; got EagerT",
        ),
        (
            lambda: tf.ragged.constant([[[1]], [[2, 3]]]),
            TYPE,
            "Bags.from_ragged: ids must be a RaggedTensor with one ra",
        ),
        (lambda: tf.RaggedTensor.from_row_splits([[1]], [0, 1]), VALUE, "Bags: ids must have shape [n]; got [1, 1]"),
        (lambda: tf.ragged.constant([[1.5]]), TYPE, "Bags: ids must be one of int32, int64; got float32"),
        (lambda: tf.ragged.constant([["a"]]), TYPE, "Bags: ids must be one of int32, int64; got string"),
        (
            lambda: tf.RaggedTensor.from_row_splits([1], [0, 9], validate=False),
            VALUE,
            "Bags: offsets[1] == 9 must be the end of the last bag: there are 1 ids",
        ),
        (
            lambda: tf.RaggedTensor.from_row_splits([1, 2], [0, 2, 1, 2], validate=False),
            VALUE,
            "Bags: offsets[2] == 1 follows 2",
        ),
    ],
)
def test_ragged_tensors_that_are_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match="^" + re.escape(message)):
        Bags.from_ragged(make())


def test_what_has_no_numbers_yet_is_refused_in_words() -> None:
    @tf.function(autograph=False)
    def traced(ids: Any) -> Any:
        with pytest.raises(gradbag.Error, match=r"^Bags: ids must be an array; got "):
            Bags(ids, [0])
        with pytest.raises(gradbag.Error, match=r"^Bags\.from_sparse: dense_shape must be an array; got "):
            Bags.from_sparse(tf.SparseTensor(tf.reshape(ids, [1, 1]), ids, [1]))
        return ids

    traced(tf.constant([1], tf.int64))


# ------------------------------------------------------------------ PyTorch
def test_plain_tensors_and_jax_arrays_are_arrays() -> None:
    ids, offsets, weights = torch.arange(3), torch.tensor([0, 2]), torch.ones(3)
    bags = Bags(ids, offsets, weights)
    for mine, theirs in zip(bags.to_offsets(), (ids, offsets, weights), strict=True):
        assert np.shares_memory(mine, theirs.numpy())  # type: ignore[arg-type]
    assert Bags(jnp.arange(3), jnp.array([0, 2])).to_lists() == [[0, 1], [2]]
    with pytest.raises(VALUE, match=r"^Bags: weights must be an array; got Tensor: .*requires grad"):
        Bags(ids, offsets, weights.requires_grad_())


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_a_nested_tensor_is_not_copied(dtype: Any) -> None:
    nested = torch.nested.nested_tensor_from_jagged(torch.tensor([7, 2, 2, 5], dtype=dtype), torch.tensor([0, 3, 3, 4]))
    bags = Bags.of(nested)
    assert bags.to_lists() == LISTS
    assert bags.ids.dtype == (np.int32 if dtype is torch.int32 else np.int64)
    assert np.shares_memory(bags.ids, nested.values().numpy())
    assert np.shares_memory(bags.offsets, nested.offsets().numpy())
    assert Bags.of(nested, BAGS.to_nested("weights")) == BAGS


def test_to_a_nested_tensor_without_a_copy_or_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nested = BAGS.to_nested()
    assert nested.layout is torch.jagged
    assert [row.tolist() for row in nested.unbind()] == LISTS
    assert np.shares_memory(nested.values().numpy(), BAGS.ids)
    for name in gradbag.dtypes.FLOAT:
        bags = BAGS.astype(weights=name)
        weights = bags.to_nested("weights")
        assert weights.dtype is getattr(torch, name)
        assert Bags.from_nested(nested, weights) == bags


def test_rows_with_room_between_them() -> None:
    nested = torch.nested.nested_tensor_from_jagged(
        torch.tensor([7, 2, 9, 9, 5, 9]), torch.tensor([0, 4, 4, 6]), torch.tensor([2, 0, 1])
    )
    assert Bags.from_nested(nested).to_lists() == [[7, 2], [], [5]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: torch.arange(3), "ids must be a nested tensor with two axes in the jagged layout; got Tensor"),
        (
            lambda: torch.nested.nested_tensor_from_jagged(torch.zeros(2, 2), torch.tensor([0, 2])),
            "ids must be a nested",
        ),
        (
            lambda: torch.nested.nested_tensor_from_jagged(torch.ones(2, requires_grad=True), torch.tensor([0, 2])),
            "ids must be without a gradient: detach it, or give it to the look-up itself; got one with",
        ),
        (
            lambda: torch.nested.nested_tensor_from_jagged(
                torch.arange(3), torch.tensor([0, 2, 3]), torch.tensor([2, 9])
            ),
            "ids.lengths[1] == 9 out of range [0, 2)",
        ),
    ],
)
def test_nested_tensors_that_are_refused(make: Any, message: str) -> None:
    with pytest.raises(gradbag.Error, match="^" + re.escape(f"Bags.from_nested: {message}")):
        Bags.from_nested(make())


# ------------------------------------------------------------------ TorchRec
class Jagged:
    """What is read of a KeyedJaggedTensor, and nothing else."""

    def __init__(self, values: Any, lengths: Any, stride: int, keys: tuple[str, ...] = ("a", "b")) -> None:
        self.parts = values, lengths, stride, keys

    def keys(self) -> Any:
        return self.parts[3]

    def values(self) -> Any:
        return self.parts[0]

    def lengths(self) -> Any:
        return self.parts[1]

    def stride(self) -> int:
        return self.parts[2]

    def weights_or_none(self) -> None:
        return None


@pytest.fixture(scope="module")
def keyed_jagged_tensor() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what FBGEMM and TorchRec have to say about themselves
        return pytest.importorskip("torchrec.sparse.jagged_tensor").KeyedJaggedTensor


def test_several_features_are_not_copied(keyed_jagged_tensor: Any) -> None:
    values, weights = torch.arange(5), torch.rand(5)
    keyed = keyed_jagged_tensor(["a", "b"], values, weights, lengths=torch.tensor([2, 0, 1, 2]))
    features = Bags.from_keyed_jagged(keyed)
    assert {key: bags.to_lists() for key, bags in features.items()} == {"a": [[0, 1], []], "b": [[2], [3, 4]]}
    for bags in features.values():
        assert np.shares_memory(bags.ids, values.numpy())
        assert np.shares_memory(bags.weights, weights.numpy())
    assert features["b"].to_lists("weights") == [weights[2:3].tolist(), weights[3:].tolist()]


def test_features_with_strides_of_their_own(keyed_jagged_tensor: Any) -> None:
    keyed = keyed_jagged_tensor(
        ["a", "b"], torch.arange(4), lengths=torch.tensor([2, 1, 1]), stride_per_key_per_rank=[[1], [2]]
    )
    lists = {key: bags.to_lists() for key, bags in Bags.from_keyed_jagged(keyed).items()}
    assert lists == {"a": [[0, 1]], "b": [[2], [3]]}


def test_there_and_back(keyed_jagged_tensor: Any) -> None:
    features = {"a": BAGS, "b": BAGS[::-1]}
    keyed = Bags.to_keyed_jagged(features)
    assert isinstance(keyed, keyed_jagged_tensor)
    assert (keyed.keys(), keyed.stride()) == (["a", "b"], 3)
    assert keyed["b"].to_dense()[0].tolist() == [5]
    assert Bags.from_keyed_jagged(keyed) == features
    assert Bags.of(Bags.to_keyed_jagged({"a": BAGS})) == BAGS
    with pytest.raises(
        VALUE, match=r"^Bags\.of: value must be one feature; from_keyed_jagged takes several; got \[a, b\]"
    ):
        Bags.of(keyed)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"a": BAGS, "b": BAGS[1:]}, "Bags.to_keyed_jagged: features must be of one number of bags; got [3, 2]"),
        ({}, "Bags.to_keyed_jagged: features must be of one number of bags; got []"),
        (
            {"a": BAGS, "b": Bags.from_lists(LISTS)},
            "Bags.concatenate: parts[1] must be all with weights, or all without",
        ),
    ],
)
def test_features_that_do_not_fit_together(keyed_jagged_tensor: Any, features: Any, message: str) -> None:
    with pytest.raises(VALUE, match="^" + re.escape(message)):
        Bags.to_keyed_jagged(features)


@pytest.mark.parametrize(
    ("keyed", "message"),
    [
        (
            Jagged(torch.arange(3), torch.tensor([1, 2, 0]), 2),
            "Bags.from_keyed_jagged: lengths must be one for each bag of",
        ),
        (
            Jagged(torch.arange(3), torch.tensor([1, 1]), 1),
            "Bags.from_lengths: lengths must be 3 in all, as many as ids",
        ),
        (Jagged(torch.arange(3), torch.tensor([4, -1]), 1), "Bags.from_lengths: lengths[0] == 4 out of range [0, 4)"),
        ({"a": BAGS}, "Bags.from_keyed_jagged: features must be a KeyedJaggedTensor; got dict"),
        (Jagged(torch.ones(3), torch.tensor([1, 2]), 1), "Bags: ids must be one of int32, int64; got float32"),
        (
            Jagged([1, 2, 3], torch.tensor([1, 2]), 1),
            "Bags.from_keyed_jagged: values must be a tensor on the CPU; got list",
        ),
        (
            Jagged(torch.arange(3, device="meta"), torch.tensor([1, 2]), 1),
            "Bags.from_keyed_jagged: values must be a tensor on the CPU; got one on meta",
        ),
    ],
)
def test_jagged_tensors_that_lie(keyed: Any, message: str) -> None:
    with pytest.raises(gradbag.Error, match="^" + re.escape(message)):
        Bags.from_keyed_jagged(keyed)


def test_whatever_has_the_methods_is_a_keyed_jagged_tensor() -> None:
    features = Bags.from_keyed_jagged(Jagged(torch.arange(3), torch.tensor([1, 2]), 1))
    assert {key: bags.to_lists() for key, bags in features.items()} == {"a": [[0]], "b": [[1, 2]]}


# ------------------------------------------------------------------ there and back
def trip_nested(bags: Bags) -> Bags:
    return Bags.of(bags.to_nested(), bags.to_nested("weights"))


def trip_ragged(bags: Bags) -> Bags:
    return Bags.of(bags.to_ragged(), bags.to_ragged("weights"))


def trip_keyed(bags: Bags) -> Bags:
    return Bags.from_keyed_jagged(Bags.to_keyed_jagged({"other": bags, "this": bags}))["this"]


@pytest.mark.parametrize("trip", [trip_nested, trip_ragged, trip_keyed])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_round_trip(trip: Callable[[Bags], Bags], weighted: bool, request: pytest.FixtureRequest) -> None:
    if trip is trip_keyed:
        request.getfixturevalue("keyed_jagged_tensor")

    @settings(max_examples=50, deadline=None)
    @given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5), min_size=1, max_size=6))
    def check(lists: list[list[int]]) -> None:
        weights = [[place / 8 for place in range(len(items))] for items in lists] if weighted else None
        bags = Bags.from_lists(lists, weights)
        assert trip(bags) == bags

    check()


def test_what_the_page_shows_of_frameworks_is_what_happens(keyed_jagged_tensor: Any) -> None:
    text = (Path(__file__).parents[2] / "docs" / "bags.md").read_text(encoding="utf-8")
    blocks = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "import t" in block]
    parsed = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "bags.md", None, 0)
    assert len(parsed.examples) >= 6
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(parsed).failed == 0
