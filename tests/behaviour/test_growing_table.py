"""Growing tables: any id, the same rows as a table in memory, admission, eviction, deltas and files."""

import copy
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gradbag
from gradbag import Bags, GrowingTable, InvalidArgumentError, Table, optim

OPTIMIZERS = [optim.SGD(0.1), optim.Adagrad(0.1, initial_accumulator=0.5), optim.Adam(0.1, bias_correction="row")]


def batch(number: int, ids: Any) -> tuple[Bags, Any]:
    rng = np.random.default_rng(number)
    lengths = rng.integers(0, 5, 20)
    bags = Bags.from_lengths(rng.choice(ids, lengths.sum()), lengths)
    return bags, rng.normal(size=(20, 3)).astype(np.float32)


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=[type(o).__name__ for o in OPTIMIZERS])
@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_it_is_a_table_whose_rows_are_found_by_ids(optimizer: Any, combiner: str) -> None:
    ids = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 300)
    growing = GrowingTable(3, optimizer, seed=2)
    start = growing.read(ids)
    assert len(growing) == 0
    memory = Table.of(start.copy(), optimizer)
    order = np.argsort(ids)
    for number in range(15):
        bags, grad = batch(number, ids[: 20 * (number + 1)])
        rows = Bags(order[np.searchsorted(ids[order], bags.ids)], bags.offsets)
        np.testing.assert_allclose(growing.lookup(bags, combiner), memory.lookup(rows, combiner), rtol=1e-6, atol=1e-6)
        growing.step(bags, grad, combiner)
        memory.step(rows, grad, combiner)
    np.testing.assert_allclose(growing.read(ids), memory.values, rtol=1e-5, atol=1e-6)
    assert 200 < len(growing) <= 300
    assert growing.step_count == 15


@pytest.mark.parametrize("unknown", ["initial", "skip"])
@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_a_step_fits_the_look_up_where_ids_have_no_row_yet(unknown: Any, combiner: str) -> None:
    """Of 1 and 2, which have rows, and 3, which has none, a step moves 1 and 2 down the slope of the look-up."""

    def made() -> GrowingTable:
        table = GrowingTable(2, optim.SGD(1.0), admit_after=3, unknown=unknown, dtype="float64")
        for _ in range(3):
            table.step([[1, 2]], np.zeros((1, 2)))
        return table

    bags, grad = [[1, 3, 2], [3], [2]], np.array([[1.0, 2.0], [5.0, 5.0], [3.0, -1.0]])
    table = made()
    start = table.read([1, 2])
    table.step(bags, grad, combiner)
    assert 3 not in table
    moved = start - table.read([1, 2])
    for place in np.ndindex(2, 2):
        slopes = []
        for sign in (1, -1):
            nudged = made()
            values = start.copy()
            values[place] += sign * 1e-6
            nudged.put([1, 2], values)
            slopes.append((nudged.lookup(bags, combiner) * grad).sum())
        assert moved[place] == pytest.approx((slopes[0] - slopes[1]) / 2e-6, abs=1e-8)
    table.step([[3]], np.zeros((1, 2)))
    assert 3 in table
    if unknown == "initial":
        assert np.array_equal(table.read([3]), made().read([3]))


def test_unknown_ids_are_their_beginning_or_are_left_out() -> None:
    kept, skipped = GrowingTable(4, optim.SGD(1.0), seed=1), GrowingTable(4, optim.SGD(1.0), seed=1, unknown="skip")
    for table in (kept, skipped):
        table.step([[5]], np.zeros((1, 4), np.float32))
    five, six = kept.read([5, 6])
    assert six.any()
    np.testing.assert_allclose(kept.lookup([[5, 6]]), [(five + six) / 2], rtol=1e-6)
    assert np.array_equal(skipped.lookup([[5, 6], [6]]), [five, np.zeros(4)])
    kept.step([[6]], np.zeros((1, 4), np.float32))
    assert np.array_equal(kept.read([6])[0], six)
    kept.evict([6])
    assert 6 not in kept
    kept.step([[7, 6]], np.zeros((1, 4), np.float32))
    assert np.array_equal(kept.read([6])[0], six)
    assert not np.array_equal(kept.read([7])[0], six)


# ------------------------------------------------------------------ strings
@pytest.mark.parametrize("form", ["lists", "arrow", "chunks", "flat list", "flat array", "flat arrow"])
def test_strings_in_all_forms(form: str) -> None:
    lists = [["cat", "dog"], [], ["dog", "äöü", "cat"]]
    flat, offsets = [word for words in lists for word in words], [0, 2, 2]
    forms: dict[str, Any] = {
        "lists": (lists, None),
        "arrow": (pa.array([lists[0], None, lists[2]]), None),
        "chunks": (pa.chunked_array([lists[:1], lists[1:]]), None),
        "flat list": (flat, offsets),
        "flat array": (np.array(flat), offsets),
        "flat arrow": (pa.array(flat), offsets),
    }
    bags, given = forms[form]
    table, usual = (GrowingTable(2, optim.SGD(1.0), kind="string", seed=3) for _ in range(2))
    grad = np.arange(6, dtype=np.float32).reshape(3, 2)
    for _ in range(2):
        assert np.array_equal(table.lookup(bags, offsets=given), usual.lookup(lists))
        table.step(bags, grad, offsets=given)
        usual.step(lists, grad)
    assert list(table.vocabulary) == ["cat", "dog", "äöü"]
    assert np.array_equal(table.read(["dog", "new"]), usual.read(["dog", "new"]))


def test_a_null_is_nothing() -> None:
    table = GrowingTable(2, optim.SGD(1.0), kind="string", seed=3)
    bags = pa.array([["a", None], [None], ["b"]])
    assert np.array_equal(table.lookup(bags), table.lookup([["a"], [], ["b"]]))
    table.step(bags, np.ones((3, 2), np.float32))
    assert list(table.vocabulary) == ["a", "b"]


def test_weights() -> None:
    table = GrowingTable(2, optim.SGD(1.0), init="normal")
    one, two = table.read([1, 2])
    bags = Bags([1, 2], [0], np.array([3, 1], np.float32))
    np.testing.assert_allclose(table.lookup(bags), [(3 * one + two) / 4], rtol=1e-6)
    words = GrowingTable(2, optim.SGD(1.0), kind="string")
    first, second = words.read(["a", "b"])
    got = words.lookup([["a"], ["a", "b"]], "sum", weights=[[2.0], [3.0, 1.0]])
    np.testing.assert_allclose(got, [2 * first, 3 * first + second], rtol=1e-6)


# ------------------------------------------------------------------ what comes and goes
def test_what_an_optimizer_keeps_begins_anew_in_a_row_that_is_given_out_again() -> None:
    table = GrowingTable(2, optim.Adagrad(0.1), init="zeros")
    for _ in range(5):
        table.step([[1]], np.ones((1, 2), np.float32))
    table.evict([1])
    table.step([[2]], np.ones((1, 2), np.float32))
    fresh = GrowingTable(2, optim.Adagrad(0.1), init="zeros")
    fresh.step([[2]], np.ones((1, 2), np.float32))
    assert np.array_equal(table.read([2]), fresh.read([2]))
    with pytest.raises(InvalidArgumentError, match=r"ids\[0\] is not in the vocabulary"):
        table.evict([1])


def test_deltas_keep_a_second_table_equal() -> None:
    ids = np.arange(1000) * 7919
    trained, served = GrowingTable(3, optim.Adagrad(0.1)), GrowingTable(3, admit_after=3)
    for number in range(10):
        before = trained.step_count
        bags, grad = batch(number, ids)
        trained.step(bags, grad)
        changed, rows = trained.rows_since(before)
        assert sorted(changed) == sorted(set(bags.ids.tolist()))
        served.put(changed, rows)
    every = list(trained.vocabulary)
    assert np.array_equal(served.read(every), trained.read(every))


def test_a_full_table_gives_no_more_rows() -> None:
    table = GrowingTable(2, optim.SGD(1.0), capacity=2)
    table.step([[1, 2, 3]], np.ones((1, 2), np.float32))
    assert list(table.vocabulary) == [1, 2]
    with pytest.raises(InvalidArgumentError, match=r"GrowingTable.put: ids\[1\] gets no row: .* capacity is reached"):
        table.put([1, 9], np.ones((2, 2)))


# ------------------------------------------------------------------ files and copies
@pytest.mark.parametrize("kind", ["int64", "string"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_file_brings_all_of_it_back(kind: Any, dtype: str, tmp_path: Path) -> None:
    path = tmp_path / "table"
    bags: list[list[Any]] = [[5, -7, 5], [2**62]] if kind == "int64" else [["a", "b", "a"], ["ä"]]
    more: list[list[Any]] = [[5, 99], [100, 101]] if kind == "int64" else [["a", "x"], ["y", "z"]]
    table = GrowingTable(3, optim.Adam(0.1), kind=kind, dtype=dtype, admit_after=2, unknown="skip", seed=4)
    for _ in range(3):
        table.step(bags, np.ones((2, 3), np.float32))
    table.evict([bags[1][0]])
    table.save(path)
    assert os.listdir(tmp_path) == ["table"]
    copies = [GrowingTable.load(path), copy.deepcopy(table), pickle.loads(pickle.dumps(table))]  # noqa: S301
    for one in copies:
        assert repr(one) == repr(table)
    for one in [table, *copies]:
        for _ in range(2):
            one.step(more, np.ones((2, 3), np.float32))
    for one in copies:
        every = list(table.vocabulary)
        assert list(one.vocabulary) == every
        assert one.read(every).tobytes() == table.read(every).tobytes()
        assert one.vocabulary.rows_since(3).tolist() == table.vocabulary.rows_since(3).tolist()


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "table"
    Table(3, 2).save(path)
    with pytest.raises(InvalidArgumentError, match="path must be a file of a growing table"):
        GrowingTable.load(path)
    GrowingTable(2, init=lambda keys, columns: np.ones((len(keys), columns))).save(path)
    with pytest.raises(InvalidArgumentError, match="init must be given again, as it is a function"):
        GrowingTable.load(path)
    with pytest.raises(gradbag.Error):
        Table.load(path, name="vocabulary.ids")


# ------------------------------------------------------------------ refusals
def test_what_is_wrong_is_told_and_changes_nothing() -> None:
    table = GrowingTable(2, optim.SGD(1.0))
    right = np.ones((1, 2), np.float32)
    wrong: list[tuple[Any, str]] = [
        (lambda: GrowingTable(-1), "GrowingTable: columns == -1 must not be negative"),
        (lambda: GrowingTable(2, kind="float"), "kind must be 'int64' or 'string'; got 'float'"),  # type: ignore[arg-type]
        (lambda: GrowingTable(2, unknown="x"), "unknown must be 'initial' or 'skip'; got 'x'"),  # type: ignore[arg-type]
        (lambda: GrowingTable(2).step([[1]], right), "GrowingTable.step: the table has no optimizer"),
        (
            lambda: table.step([[1]], np.ones((2, 2), np.float32)),
            r"grad must have shape \[bags columns\] with \[1, 2\]",
        ),
        (lambda: table.step([[1]], np.ones((1, 2))), "GrowingTable.step: grad must be float32; got float64"),
        (lambda: table.step([[1]], right, "max"), "GrowingTable.step: combiner must be one of"),
        (lambda: table.step([["a"]], right), r"ids\[0\]\[0\] must be an int; got str"),
        (lambda: table.put([1], [[1.0]]), r"values must have shape \[ids columns\] with \[1, 2\]; got \[1, 1\]"),
        (lambda: GrowingTable(2, kind="string").lookup(["ab"]), r"bags\[0\] must be a list of strings; got str"),
        (lambda: GrowingTable(2, kind="string").lookup([[1]]), "ids"),
        (lambda: table.lookup([1, 2], offsets=[0, 3]), r"offsets\[1\] == 3 out of range \[0, 3\)"),
    ]
    for call, words in wrong:
        with pytest.raises(gradbag.Error, match=words):
            call()
    assert (len(table), table.step_count) == (0, 0)
