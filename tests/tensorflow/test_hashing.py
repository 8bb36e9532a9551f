"""Hash buckets, bit for bit TensorFlow's and Keras's."""

from functools import partial
from typing import Any

import keras
import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf

import gradbag
from gradbag import hashing, raw_ops

KEYS = [(0, 0), (1, 2), (-5, 2**62), (2**63 - 1, -(2**63))]
COUNTS = [1, 2, 7, 1000, 2**31, 2**62 + 1, 2**63 - 1]


@pytest.fixture(scope="module")
def texts() -> Any:
    """Bytes of every length from 0 to 300: random ones, zeros, and text."""
    rng = np.random.default_rng(20260101)
    random = [rng.bytes(length) for length in rng.integers(0, 301, 100_000)]
    regular = [pattern * length for length in range(301) for pattern in (b"\0", b"a", b"\xff")]
    return np.array([*random, *regular, "straße".encode(), "日本語".encode()], object)


@pytest.mark.parametrize("count", COUNTS)
def test_strings(texts: Any, count: int) -> None:
    ours, theirs = gradbag.string_to_hash_bucket_fast(texts, count), tf.strings.to_hash_bucket_fast(texts, count)
    assert np.array_equal(ours, theirs.numpy())
    ours, theirs = gradbag.string_to_hash_bucket(texts, count), tf.strings.to_hash_bucket(texts, count)
    assert np.array_equal(ours, theirs.numpy())
    for key in KEYS:
        theirs = tf.strings.to_hash_bucket_strong(texts, count, list(key))
        assert np.array_equal(gradbag.string_to_hash_bucket_strong(texts, count, key), theirs.numpy())


def test_what_runs_without_compiled_code(texts: Any) -> None:
    few = [*texts[:3000], *texts[-905:]]
    count = 2**62 + 1
    for plain, function in [
        (hashing.farm_fingerprint, gradbag.string_to_hash_bucket_fast),
        (hashing.murmur_hash, gradbag.string_to_hash_bucket),
        (partial(hashing.sip_hash, key=(1, 2)), partial(gradbag.string_to_hash_bucket_strong, key=(1, 2))),
    ]:
        assert [plain(text) % count for text in few] == function(few, count).tolist()


def test_every_form_of_strings_has_the_same_buckets() -> None:
    words = ["", "a", "straße", "日本語", "x" * 70, "tail"]
    expected = tf.strings.to_hash_bucket_fast(words, 10**9).numpy()
    for form in (
        words,
        np.array(words),
        np.array(words, object),
        np.array(words, np.dtypes.StringDType()),
        np.array([word.encode() for word in words]),
        pa.array(words),
        pa.array(["cut", *words, None], pa.large_string())[1:-1],
        pa.chunked_array([words[:2], words[2:]]),
        tf.constant(words),
    ):
        assert np.array_equal(gradbag.string_to_hash_bucket_fast(form, 10**9), expected)
    square = np.array(words, object).reshape(2, 3)
    assert np.array_equal(gradbag.string_to_hash_bucket_fast(square, 10**9), expected.reshape(2, 3))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_buckets_do_not_depend_on_threads(texts: Any, threads: int) -> None:
    with gradbag.set_num_threads(threads):
        ours = gradbag.string_to_hash_bucket_fast(texts, 12345)
    assert np.array_equal(ours, tf.strings.to_hash_bucket_fast(texts, 12345).numpy())


def test_ids() -> None:
    rng = np.random.default_rng(3)
    ids = np.concatenate([rng.integers(-(2**63), 2**63 - 1, 10_000), np.arange(-300, 300), [2**63 - 1, -(2**63)]])
    digits = tf.strings.as_string(ids)
    for count in (1, 10, 12345):
        ours = gradbag.hash_ids(ids, count)
        assert np.array_equal(ours, tf.strings.to_hash_bucket_fast(digits, count).numpy())
        assert np.array_equal(ours, np.asarray(keras.layers.Hashing(num_bins=count)(ids)))
    narrow = np.arange(-300, 300, dtype=np.int32)
    assert np.array_equal(gradbag.hash_ids(narrow, 99), gradbag.hash_ids(narrow.astype(np.int64), 99))


def test_a_tensor_and_a_function_take_the_ops() -> None:
    words = tf.constant([["Hello", "TensorFlow"], ["", "2.x"]])
    expected = tf.raw_ops.StringToHashBucketFast(input=words, num_buckets=97).numpy()
    assert np.array_equal(raw_ops.StringToHashBucketFast(input=words, num_buckets=97), expected)
    traced = tf.function(lambda text: raw_ops.StringToHashBucketFast(input=text, num_buckets=97))
    assert np.array_equal(traced(words), expected)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gradbag.string_to_hash_bucket_fast(["a"], 0), "num_buckets == 0 must be at least 1"),
        (lambda: gradbag.string_to_hash_bucket_fast(["a"], 2**63), "num_buckets must be below"),
        (lambda: gradbag.string_to_hash_bucket_fast(["a"], 2.0), "num_buckets must be an int; got float"),
        (lambda: gradbag.string_to_hash_bucket_fast(["a", None], 5), r"strings\[1\] is null, which has no bucket"),
        (lambda: gradbag.string_to_hash_bucket_fast(["a", 3], 5), r"strings\[1\] must be str or bytes; got int"),
        (lambda: gradbag.string_to_hash_bucket_fast(np.arange(3), 5), "strings must be an Arrow column"),
        (lambda: gradbag.string_to_hash_bucket_fast(["\ud8ff"], 5), r"strings\[0\] has a surrogate"),
        (lambda: gradbag.string_to_hash_bucket_strong(["a"], 5, [1]), r"key must be two numbers; got \[1\]"),
        (lambda: gradbag.string_to_hash_bucket_strong(["a"], 5, [1, 2**64]), r"key\[1\] must be of 64 bits"),
        (lambda: gradbag.string_to_hash_bucket_strong(["a"], 5, [1, 0.5]), r"key\[1\] must be an int; got float"),
        (lambda: gradbag.hash_ids([1.5], 5), "ids must be one of int32, int64; got float64"),
    ],
)
def test_what_is_refused(call: Any, words: str) -> None:
    with pytest.raises(gradbag.Error, match=words):
        call()


def test_the_first_of_many_nulls_is_named() -> None:
    words = np.array(["a"] * 100_000, object)
    words[[70_000, 30_001, 99_999]] = None
    with pytest.raises(gradbag.InvalidArgumentError, match=r"strings\[30001\] is null"):
        gradbag.string_to_hash_bucket_fast(words, 5)
