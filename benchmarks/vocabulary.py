"""Nanoseconds an id: vocabularies and hash buckets beside pandas, dict, Keras and TensorFlow, as a table in Markdown.

One thread, processor time, the least of several rounds in which all take turns; what is timed was compared first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pandas as pd
import pyarrow as pa
import tensorflow as tf

import gradbag

Calls = dict[str, Callable[[], Any]]


def measure(title: str, count: int, calls: Calls, rounds: int, same: bool = True) -> None:
    """A row for each call; all must give what the first gives."""
    if same:
        answers = [np.asarray(call()) for call in calls.values()]
        for name, answer in zip(calls, answers, strict=True):
            if not np.array_equal(answer, answers[0]):
                raise SystemExit(f"{title}: {name} gives something else")
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.process_time()
            call()
            least[name] = min(least[name], time.process_time() - begin)
    for name, seconds in least.items():
        print(f"| {title} | {name} | {seconds / count * 1e9:.1f} |", flush=True)


def integers(count: int, rounds: int) -> None:
    rng = np.random.default_rng(0)
    ids = rng.permutation(np.arange(count, dtype=np.int64) * 982451653)
    asked = rng.permutation(ids)
    batches = [ids[begin : begin + 10_000] for begin in range(0, count, 10_000)]

    def in_batches() -> None:
        vocabulary = gradbag.Vocabulary()
        for batch in batches:
            vocabulary.add(batch)

    vocabulary, index = gradbag.Vocabulary(), pd.Index(ids)
    vocabulary.add(ids)
    index.get_indexer(ids[:1])
    title = f"{count:.0e} int64"
    build: Calls = {
        "gradbag, one call": lambda: gradbag.Vocabulary().add(ids),
        "gradbag, batches of 1e4": in_batches,
        "pandas Index": lambda: pd.Index(ids).get_indexer(ids[:1]),
    }
    look: Calls = {
        "gradbag lookup": lambda: vocabulary.lookup(asked),
        "gradbag add": lambda: vocabulary.add(asked),
        "pandas get_indexer": lambda: index.get_indexer(asked),
    }
    if count <= 10**6:
        table, listed = dict(zip(ids.tolist(), range(count), strict=True)), asked.tolist()
        build["dict"] = lambda: dict(zip(ids.tolist(), range(count), strict=True))
        look["dict, a list"] = lambda: [table[number] for number in listed]
        layer = keras.layers.IntegerLookup(vocabulary=ids, num_oov_indices=0)
        tensor = tf.constant(asked)
        look["Keras IntegerLookup"] = lambda: layer(tensor)
    measure(f"{title}, new", count, build, rounds, same=False)
    measure(f"{title}, known", count, look, rounds)


def strings(count: int, rounds: int) -> None:
    rng = np.random.default_rng(0)
    words = pa.array([f"user_{number}" for number in range(count)]).take(pa.array(rng.permutation(count)))
    asked = words.take(pa.array(rng.permutation(count)))
    vocabulary = gradbag.Vocabulary("string")
    vocabulary.add(words)
    title = f"{count:.0e} strings"
    measure(f"{title}, new", count, {"gradbag, Arrow": lambda: gradbag.Vocabulary("string").add(words)}, rounds)
    look: Calls = {
        "gradbag lookup, Arrow": lambda: vocabulary.lookup(asked),
        "gradbag add, Arrow": lambda: vocabulary.add(asked),
    }
    if count <= 10**6:
        listed = asked.to_pylist()
        objects, table = np.array(listed, object), {word: row for row, word in enumerate(words.to_pylist())}
        fixed, wide = np.array(listed, "S"), np.array(listed)
        own = np.array(listed, np.dtypes.StringDType())
        layer = keras.layers.StringLookup(vocabulary=words.to_pylist(), num_oov_indices=0)
        tensor = tf.constant(objects)
        look |= {
            "gradbag lookup, NumPy bytes": lambda: vocabulary.lookup(fixed),
            "gradbag lookup, StringDType": lambda: vocabulary.lookup(own),
            "gradbag lookup, NumPy str": lambda: vocabulary.lookup(wide),
            "gradbag lookup, objects": lambda: vocabulary.lookup(objects),
            "dict, a list": lambda: [table[word] for word in listed],
            "Keras StringLookup": lambda: layer(tensor),
        }
        buckets: Calls = {
            "gradbag fast, Arrow": lambda: gradbag.string_to_hash_bucket_fast(asked, 1000),
            "gradbag fast, NumPy bytes": lambda: gradbag.string_to_hash_bucket_fast(fixed, 1000),
            "TensorFlow fast": lambda: tf.strings.to_hash_bucket_fast(tensor, 1000),
        }
        strong: Calls = {
            "gradbag strong, Arrow": lambda: gradbag.string_to_hash_bucket_strong(asked, 1000, [1, 2]),
            "TensorFlow strong": lambda: tf.strings.to_hash_bucket_strong(tensor, 1000, [1, 2]),
        }
        numbers = np.arange(count) * 7919
        hashing, tensor_of_numbers = keras.layers.Hashing(1000), tf.constant(numbers)
        digits: Calls = {
            "gradbag hash_ids": lambda: gradbag.hash_ids(numbers, 1000),
            "Keras Hashing": lambda: hashing(tensor_of_numbers),
        }
        for calls, kind in ((buckets, "strings"), (strong, "strings"), (digits, "int64")):
            measure(f"buckets of {count:.0e} {kind}", count, calls, rounds)
    measure(f"{title}, known", count, look, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    gradbag.set_num_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    print("| ids | who | ns an id |\n|---|---|---:|")
    for count in given.counts:
        integers(count, given.rounds)
        strings(count, given.rounds)


if __name__ == "__main__":
    main()
