"""Rows for ids: what they are, admission, eviction, uses; in every form in which ids may come."""

import doctest
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gradbag
from gradbag import InvalidArgumentError, UnsupportedTypeError, Vocabulary, hashing, vocabulary

EXTREME = [0, -1, 1, 2**63 - 1, -(2**63), 2**32, -(2**32)]
WORDS = ["", "a", "ä", "\0", "a\0", "\0a", "日本語", "x" * 15, "x" * 16, "x" * 17, "x" * 1000, "🙂"]


class Model:
    """The same in a few lines of Python: what rows must be."""

    def __init__(self, capacity: float = float("inf"), admit_after: int = 1) -> None:
        self.rows: dict[Any, int] = {}
        self.free: list[int] = []
        self.seen: dict[Any, int] = {}
        self.capacity, self.admit_after, self.given = capacity, admit_after, 0

    def add(self, ids: list[Any]) -> list[int]:
        return [self.row(item) for item in ids]

    def row(self, item: Any) -> int:
        if item in self.rows:
            return self.rows[item]
        self.seen[item] = min(self.seen.get(item, 0) + 1, self.admit_after)
        if self.seen[item] < self.admit_after or len(self.rows) >= self.capacity:
            return -1
        del self.seen[item]
        if self.free:
            self.rows[item] = self.free.pop(0)
        else:
            self.rows[item] = self.given
            self.given += 1
        return self.rows[item]

    def evict(self, ids: list[Any]) -> list[int]:
        freed = [self.rows.pop(item) for item in dict.fromkeys(ids)]
        self.free = freed + self.free
        return freed


def name_of(number: int, kind: str) -> Any:
    return number if kind == "int64" else f"id {number * 7919}"


# ------------------------------------------------------------------ rows
@pytest.mark.parametrize("kind", ["int64", "string"])
@pytest.mark.parametrize(("capacity", "admit_after"), [(None, 1), (None, 3), (40, 1), (40, 2)])
def test_rows_are_those_of_a_dict_in_any_order_of_calls(kind: Any, capacity: int | None, admit_after: int) -> None:
    rng = np.random.default_rng(7)
    model = Model(capacity or float("inf"), admit_after)
    vocabulary = Vocabulary(kind, capacity, admit_after)
    for turn in range(120):
        drawn = [name_of(int(number), kind) for number in rng.zipf(1.3, rng.integers(0, 60)) % 500]
        if turn % 5 == 4 and model.rows:
            known = list(model.rows)
            chosen = [known[k] for k in rng.integers(0, len(known), 6)]  # some of them twice
            assert vocabulary.evict(ids=chosen).tolist() == model.evict(chosen)
        elif turn % 7 == 6:
            assert vocabulary.lookup(drawn).tolist() == [model.rows.get(item, -1) for item in drawn]
        else:
            assert vocabulary.add(drawn).tolist() == model.add(drawn)
        assert len(vocabulary) == len(model.rows)
        assert vocabulary.freed().tolist() == model.free
    assert vocabulary.num_rows == model.given > 30
    in_order = sorted(model.rows, key=model.rows.__getitem__)
    assert list(vocabulary) == in_order
    assert vocabulary.rows().tolist() == sorted(model.rows.values())
    if admit_after > 1 and capacity is None:
        assert vocabulary.pending == len(model.seen) > 10
        vocabulary.forget_pending()
        assert vocabulary.pending == 0


@pytest.mark.parametrize("step", [1, 2**16, 2**32, 2**44, -(2**33), 982451653])
def test_ids_in_patterns_are_found_as_fast_as_any(step: int) -> None:
    """With a hash that keeps the pattern, so many would take minutes."""
    ids = np.arange(200_000, dtype=np.int64) * step
    vocabulary = Vocabulary()
    assert (vocabulary.add(ids) == np.arange(ids.size)).all()
    assert (vocabulary.lookup(ids[::-1]) == np.arange(ids.size)[::-1]).all()


def test_extreme_ids() -> None:
    vocabulary = Vocabulary()
    assert vocabulary.add(EXTREME).tolist() == list(range(len(EXTREME)))
    assert vocabulary.ids().tolist() == EXTREME
    assert [item in vocabulary for item in (2**63 - 1, 5)] == [True, False]
    assert vocabulary.ids([[1, 0], [4, 3]]).tolist() == [[-1, 0], [-(2**63), 2**63 - 1]]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("kind", ["int64", "string"])
def test_rows_do_not_depend_on_threads(kind: Any, threads: int) -> None:
    rng = np.random.default_rng(3)
    drawn = rng.integers(0, 60_000, (3, 50_000))
    vocabulary = Vocabulary(kind)
    with gradbag.set_num_threads(threads):
        for batch in drawn:
            ids = batch if kind == "int64" else batch.astype("S")
            _, first, inverse = np.unique(drawn.reshape(-1), return_index=True, return_inverse=True)
            order = np.argsort(np.argsort(first))
            rows = vocabulary.add(ids)
            at = np.flatnonzero((drawn == batch).all(1))[0]
            assert (rows == order[inverse].reshape(drawn.shape)[at]).all()


@pytest.mark.parametrize("make", [int, lambda number: f"user {number}"], ids=["int64", "string"])
def test_threads_may_call_at_the_same_time(make: Any) -> None:
    vocabulary = Vocabulary("int64" if make is int else "string", track=True)
    problems: list[BaseException] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for _ in range(60):
                ids = [make(number) for number in rng.integers(0, 3000, 400)]
                assert (vocabulary.add(ids) >= 0).all()
                vocabulary.lookup(ids)
                if seed % 3 == 0:
                    vocabulary.evict(vocabulary.least_recent(20))
                vocabulary.state_dict()
        except BaseException as problem:  # noqa: BLE001  # told in the main thread
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # What one has found to be the least recent, another may have evicted meanwhile.
    assert all("is not in use" in str(problem) for problem in problems)
    found = vocabulary.lookup(vocabulary.ids())
    assert (found == vocabulary.rows()).all()
    assert sorted([*found.tolist(), *vocabulary.freed().tolist()]) == list(range(vocabulary.num_rows))


# ------------------------------------------------------------------ admission and room
def test_an_id_gets_its_row_when_it_is_seen_often_enough() -> None:
    vocabulary = Vocabulary(admit_after=3)
    assert vocabulary.add([5, 5, 6, 5, 5]).tolist() == [-1, -1, -1, 0, 0]
    assert vocabulary.add([6, 7], default=99).tolist() == [99, 99]
    assert vocabulary.lookup([6, 6, 6]).tolist() == [-1, -1, -1]
    assert vocabulary.pending == 2
    assert vocabulary.add([6]).tolist() == [1]
    vocabulary.evict(ids=[5])
    assert vocabulary.add([5, 5, 5]).tolist() == [-1, -1, 0]


def test_a_full_vocabulary_gives_no_rows_until_one_is_free() -> None:
    vocabulary = Vocabulary("string", capacity=2)
    assert vocabulary.add(["a", "b", "c", "a"]).tolist() == [0, 1, -1, 0]
    assert vocabulary.evict([0]).tolist() == [0]
    assert vocabulary.add(["c", "a"]).tolist() == [0, -1]
    assert repr(vocabulary) == "Vocabulary('string', 2 of at most 2 ids)"
    assert Vocabulary(capacity=0).add([1]).tolist() == [-1]


# ------------------------------------------------------------------ uses
def test_uses_are_kept() -> None:
    vocabulary = Vocabulary(track=True)
    vocabulary.add([10, 20, 20, 30])
    vocabulary.add([20, 40])
    vocabulary.add([10, 50], step=9)
    assert vocabulary.step == 9
    steps, counts = vocabulary.uses()
    assert steps.tolist() == [9, 2, 1, 2, 9]
    assert counts.tolist() == [2, 3, 1, 1, 1]
    assert vocabulary.uses([3])[0].tolist() == [2]
    assert vocabulary.rows_since(1).tolist() == [0, 1, 3, 4]
    assert vocabulary.rows_since(9).tolist() == []
    assert vocabulary.least_recent(3).tolist() == [2, 1, 3]
    assert vocabulary.least_frequent(4).tolist() == [2, 3, 4, 0]
    assert vocabulary.least_frequent(99).tolist() == [2, 3, 4, 0, 1]
    assert vocabulary.least_recent(0).tolist() == []
    vocabulary.evict(vocabulary.least_recent(1))
    assert vocabulary.add([60]).tolist() == [2]
    assert vocabulary.uses([2])[1].tolist() == [1]
    with pytest.raises(gradbag.Error, match="track=True"):
        Vocabulary().rows_since(0)


# ------------------------------------------------------------------ forms of ids
def forms(words: list[Any]) -> list[Any]:
    padded = pa.array(["no", None, *words, "no"])
    return [
        words,
        tuple(words),
        [word.encode() for word in words],
        np.array(words, object),
        np.array(words, np.dtypes.StringDType()),
        pa.array(words),
        pa.array(words, pa.large_string()),
        pa.array([word.encode() for word in words]),
        pa.array(words, pa.string_view()),
        padded[2:-1],
        pa.chunked_array([words[:3], words[3:]]),
        pa.chunked_array([words]),
        pl.Series(words),
        pd.Series(words),
        np.repeat(np.array(words, object), 2)[::2],
    ]


def test_strings_in_all_forms() -> None:
    vocabulary = Vocabulary("string")
    expected = vocabulary.add(WORDS).tolist()
    assert expected == list(range(len(WORDS)))
    for form in forms(WORDS):
        assert vocabulary.lookup(form).tolist() == expected, type(form)
    no_zeros = [word for word in WORDS if not word.endswith("\0")]  # NumPy cuts them off
    rows = vocabulary.lookup(no_zeros).tolist()
    for array in (np.array(no_zeros), np.array(no_zeros).astype(">U1000"), np.char.encode(np.array(no_zeros), "utf-8")):
        assert vocabulary.lookup(array).tolist() == rows
    assert vocabulary.lookup(np.array([WORDS[:4], WORDS[4:8]], object)).tolist() == [expected[:4], expected[4:8]]
    assert vocabulary.lookup([WORDS[:2], WORDS[2:4]]).tolist() == [expected[:2], expected[2:4]]
    assert vocabulary.lookup("ä") == vocabulary.lookup(np.str_("ä")) == 2
    assert vocabulary.ids().tolist() == WORDS


def test_bytes_that_are_no_text_come_back() -> None:
    vocabulary = Vocabulary("string")
    bad = [b"\xff", b"\xff\xfe\x00\x01", b"\xc3", "ä".encode() + b"\x80"]
    assert vocabulary.add(bad).tolist() == [0, 1, 2, 3]
    told = vocabulary.ids().tolist()
    assert [text.encode("utf-8", "surrogateescape") for text in told] == bad
    assert vocabulary.lookup(told).tolist() == [0, 1, 2, 3]
    assert vocabulary.lookup(np.array(told)).tolist() == [0, 1, 2, 3]


def test_a_null_has_no_row() -> None:
    vocabulary = Vocabulary("string")
    column = pa.array(["a", None, "b", "", None, "a"])
    assert vocabulary.add(column).tolist() == [0, -1, 1, 2, -1, 0]
    assert vocabulary.add(column[1:], default=7).tolist() == [7, 1, 2, 7, 0]
    assert vocabulary.add(["c", None]).tolist() == [3, -1]
    assert vocabulary.add(np.array(["d", None], np.dtypes.StringDType(na_object=None))).tolist() == [4, -1]
    assert len(vocabulary) == 5
    assert vocabulary.add(pa.nulls(3, pa.string())).tolist() == [-1] * 3
    assert vocabulary.add(pa.array([], pa.string())).tolist() == []


@pytest.mark.parametrize("ids", [np.array([3, 4], np.int32), (3, 4), np.array([3, 9, 4, 9])[::2]], ids=str)
def test_integers_in_all_forms(ids: Any) -> None:
    vocabulary = Vocabulary()
    vocabulary.add([[3], [4]])
    assert vocabulary.lookup(ids).tolist() == [0, 1]
    assert vocabulary.lookup([]).shape == (0,)


# ------------------------------------------------------------------ refusals
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Vocabulary("float"), InvalidArgumentError, "kind must be 'int64' or 'string'; got 'float'"),  # type: ignore[arg-type]
        (lambda: Vocabulary(capacity=-1), InvalidArgumentError, "capacity == -1 must not be negative"),
        (lambda: Vocabulary(capacity=2**40), InvalidArgumentError, "capacity must be at most 2147483648"),
        (lambda: Vocabulary(admit_after=0), InvalidArgumentError, "admit_after == 0 must be at least 1"),
        (lambda: Vocabulary(admit_after=10**6), InvalidArgumentError, "admit_after must be at most 65535"),
        (lambda: Vocabulary().add([1.5]), UnsupportedTypeError, "ids must be one of int32, int64; got float64"),
        (lambda: Vocabulary().add(["a"]), UnsupportedTypeError, "ids must be one of int32, int64"),
        (lambda: Vocabulary().add([2**63]), UnsupportedTypeError, "got uint64"),
        (lambda: Vocabulary().add([1], step=-1), InvalidArgumentError, "step == -1 must not be negative"),
        (lambda: Vocabulary().add([1], default=2**70), InvalidArgumentError, "default must be an int64"),
        (lambda: Vocabulary("string").add([1]), UnsupportedTypeError, r"ids\[0\] must be str or bytes; got int"),
        (
            lambda: Vocabulary("string").add(["a", 2.5]),
            UnsupportedTypeError,
            r"ids\[1\] must be str or bytes; got float",
        ),
        (
            lambda: Vocabulary("string").add(np.arange(3)),
            UnsupportedTypeError,
            "ids must be an Arrow column.*got int64",
        ),
        (lambda: Vocabulary("string").add(None), UnsupportedTypeError, "got NoneType"),
        (lambda: Vocabulary("string").add(["ok", "\ud800"]), InvalidArgumentError, r"ids\[1\] has a surrogate"),
        (lambda: Vocabulary("string").add(np.array(["\ud800"])), InvalidArgumentError, r"ids\[0\] has a surrogate"),
        (lambda: Vocabulary().ids([0]), InvalidArgumentError, r"rows\[0\] == 0 is not in use"),
        (lambda: Vocabulary().evict([3]), InvalidArgumentError, r"rows\[0\] == 3 is not in use"),
        (lambda: Vocabulary().evict([-1]), InvalidArgumentError, r"rows\[0\] == -1 is not in use"),
        (lambda: Vocabulary().evict(), InvalidArgumentError, "either rows or ids"),
        (lambda: Vocabulary().evict(ids=[8]), InvalidArgumentError, r"ids\[0\] is not in the vocabulary"),
        (lambda: Vocabulary(track=True).least_recent(-1), InvalidArgumentError, "k == -1 must not be negative"),
    ],
)
def test_what_is_refused(call: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("column", ["int64", "list", "dictionary", "struct"])
def test_arrow_columns_of_something_else_are_refused(column: str) -> None:
    given = {
        "int64": pa.array([1, 2]),
        "list": pa.array([["a"]]),
        "dictionary": pa.array(["a", "b"]).dictionary_encode(),
        "struct": pa.table({"x": ["a"]}),
    }[column]
    with pytest.raises(UnsupportedTypeError, match="must be an Arrow column of strings; got one of format"):
        Vocabulary("string").add(given)


def test_a_bad_row_among_good_ones_frees_nothing() -> None:
    vocabulary = Vocabulary("string")
    vocabulary.add(["a", "b", "c"])
    with pytest.raises(InvalidArgumentError, match=r"rows\[2\] == 3 is not in use; .* has given out 3 rows"):
        vocabulary.evict([0, 1, 3])
    with pytest.raises(InvalidArgumentError, match=r"ids\[1\] is not in the vocabulary"):
        vocabulary.evict(ids=["a", "z"])
    assert list(vocabulary) == ["a", "b", "c"]
    vocabulary.evict([1])
    with pytest.raises(InvalidArgumentError, match=r"rows\[1\] == 1 is not in use"):
        vocabulary.evict([0, 1])


# ------------------------------------------------------------------ memory
@pytest.mark.parametrize("kind", ["int64", "string"])
@pytest.mark.parametrize("admit_after", [1, 2])
def test_without_memory_nothing_changes(kind: Any, admit_after: int) -> None:
    vocabulary = Vocabulary(kind, admit_after=admit_after, track=True)
    few = np.arange(1000)
    many = np.repeat(np.arange(500, 200_000), 2)
    vocabulary.add(few if kind == "int64" else few.astype("S"))
    vocabulary.evict(vocabulary.rows()[:10])
    before = vocabulary.state_dict()
    ids = many if kind == "int64" else many.astype("S")
    limit = gradbag.get_memory_limit()
    try:
        for allowed in (ids.size * 8, ids.size * 8 + (1 << 20), ids.size * 8 + (5 << 20)):
            gradbag.set_memory_limit(allowed)
            with pytest.raises(gradbag.ResourceExhaustedError, match=r"larger table of ids .*set_memory_limit"):
                vocabulary.add(ids)
            after = vocabulary.state_dict()
            assert before.keys() == after.keys()
            for name, array in before.items():
                assert np.array_equal(np.sort(array), np.sort(after[name])) if array.ndim else array == after[name]
    finally:
        gradbag.set_memory_limit(None)
    assert limit > 1 << 20
    assert (vocabulary.add(ids)[1::2] >= 0).all()


def test_text_of_evicted_ids_is_given_up() -> None:
    vocabulary = Vocabulary("string")
    for turn in range(30):
        vocabulary.add([f"{turn} {number} {'x' * 100}" for number in range(1000)])
        vocabulary.evict(vocabulary.rows())
        vocabulary.add([f"kept {turn}"])
    assert vocabulary.nbytes < 1_500_000
    assert list(vocabulary) == ["kept 29"]
    assert vocabulary.lookup(["kept 29"]).tolist() == vocabulary.rows().tolist()


def test_the_documents_show_what_happens() -> None:
    page = Path(__file__).parents[2] / "docs/vocabulary.md"
    results = [doctest.testmod(module) for module in (vocabulary, hashing)]
    results.append(doctest.testfile(str(page), module_relative=False, encoding="utf-8"))
    assert [result.failed for result in results] == [0, 0, 0]
    assert all(result.attempted >= 8 for result in results)
