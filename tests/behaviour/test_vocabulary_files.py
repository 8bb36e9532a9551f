"""Vocabularies in files and in dicts: whole, damaged, written by a process that is killed; and interrupted calls."""

import contextlib
import copy
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import InvalidArgumentError, Vocabulary


def made(kind: Any, admit_after: int = 2) -> Vocabulary:
    """One with everything: free rows, ids that wait, uses, odd strings."""
    vocabulary = Vocabulary(kind, capacity=1000, admit_after=admit_after, track=True)
    names: list[Any] = [5, -7, 2**63 - 1, 11, 12] if kind == "int64" else ["", "a", "ä" * 40, b"\xff", "\0"]
    vocabulary.add([*names, *names[:4]] * admit_after)
    vocabulary.evict([1, 3])
    vocabulary.add([names[1]])
    return vocabulary


def assert_same(one: Vocabulary, other: Vocabulary) -> None:
    first, second = one.state_dict(), other.state_dict()
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert array.dtype == second[name].dtype, name
        assert np.array_equal(array, second[name]), name


@pytest.mark.parametrize("kind", ["int64", "string"])
@pytest.mark.parametrize("admit_after", [1, 2])
def test_a_file_brings_all_of_it_back(kind: Any, admit_after: int, tmp_path: Path) -> None:
    vocabulary = made(kind, admit_after)
    path = tmp_path / "ids.npz"
    vocabulary.save(path)
    loaded = Vocabulary.load(path)
    assert_same(vocabulary, loaded)
    assert (loaded.kind, loaded.capacity, loaded.admit_after, loaded.track, loaded.step) == (
        (kind, 1000, admit_after, True, 2)
    )
    assert os.listdir(tmp_path) == ["ids.npz"]
    more: list[Any] = [99, 98, 5, 98, 99] if kind == "int64" else ["x", "y", "", "y", "x"]
    assert loaded.add(more).tolist() == vocabulary.add(more).tolist()
    assert loaded.freed().tolist() == vocabulary.freed().tolist()
    assert_same(vocabulary, loaded)


def test_an_empty_one_and_a_large_one(tmp_path: Path) -> None:
    Vocabulary("string").save(tmp_path / "empty")
    assert len(Vocabulary.load(tmp_path / "empty")) == 0
    large = Vocabulary()
    ids = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 100_000)
    rows = large.add(ids)
    large.save(tmp_path / "large")
    assert (Vocabulary.load(tmp_path / "large").lookup(ids) == rows).all()


def test_a_copy_goes_its_own_way() -> None:
    vocabulary = made("string")
    copied = copy.deepcopy(vocabulary)
    assert_same(vocabulary, copied)
    copied.evict(copied.rows())
    assert len(copied) == 0 < len(vocabulary)


# ------------------------------------------------------------------ damage
@pytest.mark.parametrize("kind", ["int64", "string"])
def test_a_damaged_file_is_refused_or_is_what_it_was(kind: Any, tmp_path: Path) -> None:
    vocabulary = made(kind)
    path = tmp_path / "ids.npz"
    vocabulary.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(5)
    refused = 0
    cuts = [whole[:length] for length in [0, 1, 20, *rng.integers(1, len(whole), 60).tolist(), len(whole) - 1]]
    flips = []
    for place in rng.integers(0, len(whole), 400).tolist():
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        flips.append(bytes(flipped))
    for damaged in [*cuts, *flips, b"PK", b"\0" * 500, os.urandom(3000)]:
        path.write_bytes(damaged)
        with contextlib.suppress(InvalidArgumentError):
            assert_same(vocabulary, Vocabulary.load(path))  # it was a date or a comment of the archive
            continue
        refused += 1
    assert refused > len(cuts) + len(flips) // 2
    with pytest.raises(FileNotFoundError):
        Vocabulary.load(tmp_path / "nowhere")
    with pytest.raises(InvalidArgumentError, match="is no vocabulary, or damaged"):
        Vocabulary.load(tmp_path)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"version": np.int64(2)}, "has version 2"),
    ({"version": np.zeros(3, np.int64)}, r"has version of shape \[3\]"),
    ({"kind": np.bytes_(b"float")}, "kind must be"),
    ({"kind": np.array(["int64"], object)}, "has kind of object"),
    ({"settings": np.array([-5, 1, 0, 0])}, r"has settings \[-5, 1, 0, 0\]"),
    ({"settings": np.array([2, 2, 1, 0])}, "has more rows than its capacity"),
    ({"settings": np.array([9, 0, 1, 0])}, "admit_after == 0"),
    ({"rows": np.array([0, 2, 2])}, "lists a row twice"),
    ({"rows": np.array([0, 2, 5])}, "one that it does not have"),
    ({"rows": np.array([0, -2, 4])}, "one that it does not have"),
    ({"rows": np.array([0, 2])}, "has lists of different lengths"),
    ({"rows": np.array([0.0, 2, 4])}, "has rows of float64"),
    ({"rows": np.array([[0, 2, 4]])}, r"has rows of shape \[1, 3\]"),
    ({"freed": np.array([2**62])}, "one that it does not have"),
    ({"steps": np.array([1])}, "has lists of different lengths"),
    ({"sightings": np.array([1 << 20, 7], np.uint64)}, "counts sightings wrongly"),
]


@pytest.mark.parametrize(("change", "words"), WRONG, ids=[words for _, words in WRONG])
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(change: dict[str, Any], words: str) -> None:
    vocabulary = made("int64")
    before = made("string")
    reference = before.state_dict()
    with pytest.raises(InvalidArgumentError, match=words):
        before.load_state_dict({**vocabulary.state_dict(), **change})
    assert all(np.array_equal(array, reference[name]) for name, array in before.state_dict().items())


def test_states_of_strings_that_do_not_fit_are_refused() -> None:
    state = made("string").state_dict()
    ends = state["ids"]
    for wrong in (ends[::-1], ends + 1, ends - 1, np.full_like(ends, 2**62), np.full_like(ends, -1)):
        with pytest.raises(InvalidArgumentError, match=r"outside of its text|lists an id twice"):
            Vocabulary().load_state_dict({**state, "ids": wrong.copy()})
    for name in state:
        with pytest.raises(InvalidArgumentError, match=f"has no {name}"):
            Vocabulary().load_state_dict({other: array for other, array in state.items() if other != name})
    twice = made("int64").state_dict()
    twice["ids"][1] = twice["ids"][0]
    with pytest.raises(InvalidArgumentError, match="lists an id twice"):
        Vocabulary().load_state_dict(twice)


# ------------------------------------------------------------------ killed
SAVING = """
import sys
import gradbag
vocabulary = gradbag.Vocabulary("string", track=True)
for turn in range(10**6):
    vocabulary.add([f"{turn} {number}" for number in range(500)])
    vocabulary.save(sys.argv[1])
    print(turn, flush=True)
"""


@pytest.mark.slow
def test_a_file_survives_that_its_writer_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "ids.npz"
    rng = np.random.default_rng(1)
    for _ in range(8):
        with subprocess.Popen([sys.executable, "-c", SAVING, str(path)], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "0\n"
            time.sleep(float(rng.uniform(0, 0.15)))
            writer.kill()
            saved = len(writer.stdout.read().splitlines())
        loaded = Vocabulary.load(path)
        # The last that was told, or the one that was being told.
        assert len(loaded) // 500 in (saved + 1, saved + 2)
        assert (loaded.lookup(loaded.ids()) == np.arange(len(loaded))).all()


# ------------------------------------------------------------------ interrupted
def test_a_handler_that_comes_back_in_the_middle_is_refused_and_nothing_hangs() -> None:
    vocabulary = Vocabulary()
    ids = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 3_000_000)
    answers: list[str] = []

    def handler(number: int, frame: Any) -> None:
        try:
            answers.append(str(vocabulary.lookup([1]).tolist()))
        except gradbag.Error as problem:
            answers.append(str(problem))

    previous = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.003)
    try:
        rows = vocabulary.add(ids)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert (vocabulary.lookup(ids) == rows).all()
    assert "Vocabulary.lookup: the vocabulary is busy with the call that this one interrupts" in answers


def test_an_interrupted_call_has_changed_nothing() -> None:
    vocabulary = Vocabulary()
    vocabulary.add([1, 2, 3])
    ids = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 3_000_000)

    def handler(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        with pytest.raises(KeyboardInterrupt):
            vocabulary.add(ids)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert list(vocabulary) == [1, 2, 3]
    assert vocabulary.add(ids[:2]).tolist() == [3, 4]
