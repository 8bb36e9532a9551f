"""Strings to buckets, by hashes that TensorFlow promises to keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ... import hashing
from ...errors import Fault
from ...spec import REQUIRED, Arg, Attr, Example, Reject, op

WORDS = ["Hello", "TensorFlow", "2.x"]
NUM_BUCKETS = Attr("num_buckets", REQUIRED, "How many buckets there are, at least 1.", "int")
OUTPUT = Arg("output", "int64", "*shape", "The bucket of each string, from 0 to `num_buckets` - 1.")


def words(name: str, **attrs: Any) -> Callable[[np.random.Generator], Iterator[dict[str, Any]]]:
    """Strings of every length that a hash treats by itself, in arrays of every rank, some empty."""

    def samples(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
        lengths = [0, 1, 3, 4, 7, 8, 16, 17, 32, 33, 64, 65, 128, 200]
        texts = np.array([bytes(rng.integers(0, 256, length, np.uint8)) for length in lengths], object)
        for array in (texts, texts.reshape(2, 7), texts[:1].reshape(()), texts[:0]):
            yield {name: array, "num_buckets": 1000, **attrs}

    return samples


def check_count(num_buckets: int) -> None:
    if num_buckets < 1:
        raise Fault("rule", "num_buckets", (), num_buckets, hint="must be at least 1")


# ------------------------------------------------------------------ StringToHashBucketFast
@op(
    "StringToHashBucketFast",
    inputs=[Arg("input", "string", "*shape", "Strings; str is hashed as UTF-8.")],
    outputs=[OUTPUT],
    attrs=[NUM_BUCKETS],
    example=Example({"input": WORDS, "num_buckets": 3}, {"output": [0, 2, 2]}),
    types={},
    samples=words("input"),
    rejects=[Reject({"num_buckets": 0}, "num_buckets == 0 must be at least 1")],
)
def string_to_hash_bucket_fast(input: Any, num_buckets: int) -> Any:
    """The bucket of each string by FarmHash's Fingerprint64: quick, and for anybody to find strings that share one."""
    return hashing.string_to_hash_bucket_fast(input, num_buckets)


@string_to_hash_bucket_fast.check
def _(input: Any, num_buckets: int) -> None:
    check_count(num_buckets)


# ------------------------------------------------------------------ StringToHashBucketStrong
@op(
    "StringToHashBucketStrong",
    inputs=[Arg("input", "string", "*shape", "Strings; str is hashed as UTF-8.")],
    outputs=[OUTPUT],
    attrs=[NUM_BUCKETS, Attr("key", REQUIRED, "Two numbers that should be secret.", "ints")],
    example=Example({"input": WORDS[:2], "num_buckets": 3, "key": [1, 2]}, {"output": [2, 2]}),
    types={},
    samples=words("input", key=[7, -9]),
    rejects=[
        Reject({"num_buckets": -2}, "num_buckets == -2 must be at least 1"),
        Reject({"key": [1]}, r"key == \[1\] must be two numbers"),
    ],
)
def string_to_hash_bucket_strong(input: Any, num_buckets: int, key: Any) -> Any:
    """The bucket of each string by SipHash with a key: who does not know it cannot choose strings that share one."""
    return hashing.string_to_hash_bucket_strong(input, num_buckets, key)


@string_to_hash_bucket_strong.check
def _(input: Any, num_buckets: int, key: Any) -> None:
    check_count(num_buckets)
    if len(key) != 2:
        raise Fault("rule", "key", (), list(key), hint="must be two numbers")


# ------------------------------------------------------------------ StringToHashBucket
@op(
    "StringToHashBucket",
    inputs=[Arg("string_tensor", "string", "*shape", "Strings; str is hashed as UTF-8.")],
    outputs=[OUTPUT],
    attrs=[NUM_BUCKETS],
    example=Example({"string_tensor": WORDS, "num_buckets": 3}, {"output": [2, 0, 1]}),
    types={},
    samples=words("string_tensor"),
    rejects=[Reject({"num_buckets": 0}, "num_buckets == 0 must be at least 1")],
)
def string_to_hash_bucket(string_tensor: Any, num_buckets: int) -> Any:
    """The bucket of each string by TensorFlow's first hash, for models that were trained with it."""
    return hashing.string_to_hash_bucket(string_tensor, num_buckets)


@string_to_hash_bucket.check
def _(string_tensor: Any, num_buckets: int) -> None:
    check_count(num_buckets)
