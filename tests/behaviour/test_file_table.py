"""Tables in files: the same bits as in memory, bounded memory, checkpoints and what is refused."""

import copy
import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import Bags, FileTable, InvalidArgumentError, Table, optim

OPTIMIZERS = [
    None,
    optim.SGD(0.1),
    optim.Momentum(0.1),
    optim.Adagrad(0.1, initial_accumulator=0.5),
    optim.RowAdagrad(0.1),
    optim.Adam(0.1, bias_correction="row"),
    optim.AdamW(0.1, weight_decay=0.1, decay="lazy"),
    optim.Ftrl(0.1, l1=0.01),
]
NAMES = [type(o).__name__ for o in OPTIMIZERS]


def batch(number: int, rows: int) -> Bags:
    rng = np.random.default_rng(number)
    lengths = rng.integers(0, 5, 20)
    ids = np.where(rng.random(lengths.sum()) < 0.1, -1, rng.integers(0, rows, lengths.sum()))
    return Bags.from_lengths(ids, lengths, rng.random(len(ids)).astype(np.float32) if number % 2 else None)


def gradient(number: int, columns: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(number).normal(size=(20, columns)).astype(dtype)


def assert_same(file: FileTable, table: Table) -> None:
    assert file.read(np.arange(table.rows)).tobytes() == table.values.astype(table.computing).tobytes()
    assert file.step_count == table.step_count


# ------------------------------------------------------------------ what it computes
@pytest.mark.parametrize(
    ("optimizer", "dtype"),
    [(o, "float32") for o in OPTIMIZERS] + [(OPTIMIZERS[3], dtype) for dtype in ("float64", "bfloat16", "float16")],
    ids=[*NAMES, "float64", "bfloat16", "float16"],
)
def test_a_file_has_the_bits_of_memory(optimizer: Any, dtype: str, tmp_path: Path) -> None:
    rounding = "stochastic" if "16" in dtype else "nearest"
    settings: dict[str, Any] = {"dtype": dtype, "rounding": rounding, "seed": 3}
    table, path = Table(60, 5, optimizer, **settings), tmp_path / "rows"
    file = FileTable.create(path, 60, 5, optimizer, **settings)
    assert_same(file, table)
    for number in range(12 if optimizer else 0):
        bags, grad = batch(number, 60), gradient(number, 5, table.computing)
        assert np.array_equal(file.lookup(bags, "sqrtn", 2, 0.5), table.lookup(bags, "sqrtn", 2, 0.5))
        file.prefetch(batch(number + 1, 60))
        for one in (file, table):
            one.step(bags, grad, "sum" if number % 3 else "mean", max_norm=0.4 if number == 7 else None)
            one.apply((np.array([number, 3, number]), np.ones((3, 5), one.computing)))
        if number in (2, 5):
            file.checkpoint()
        if number == 8:
            file.checkpoint()
            file.close()
            file = FileTable.open(path)
            assert file.optimizer == optimizer
    assert_same(file, table)
    file.checkpoint()
    file.close()
    with FileTable.open(path) as again:
        assert_same(again, table)
        assert again.changed == 0


def test_a_table_larger_than_any_disk_is_made_at_once(tmp_path: Path) -> None:
    with FileTable.create(tmp_path / "rows", 10**10, 32, optim.RowAdagrad(0.1)) as table:
        table.step([[10**10 - 1, 5], [5]], np.ones((2, 32), np.float32))
        assert table.changed == 2
        table.checkpoint()
        assert table.lookup([[10**10 - 1]]).shape == (1, 32)
    assert os.stat(tmp_path / "rows").st_size > 10**12
    assert os.stat(tmp_path / "rows").st_blocks * 512 < 10**6


def test_closing_and_rolling_back_return_to_the_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    with FileTable.create(path, 50, 4, optim.Adam(0.1)) as table:
        before = table.read(np.arange(50))
        table.step(batch(1, 50), gradient(1, 4))
        assert table.changed
        table.rollback()
        assert (table.changed, table.step_count) == (0, 0)
        assert np.array_equal(table.read(np.arange(50)), before)
        table.step(batch(1, 50), gradient(1, 4))
        table.checkpoint()
        after = table.read(np.arange(50))
        table.step(batch(2, 50), gradient(2, 4))
    with FileTable.open(path) as table:
        assert np.array_equal(table.read(np.arange(50)), after)
        assert table.step_count == 1
    assert repr(table) == f"FileTable({str(path)!r}, closed)"
    for call in (table.checkpoint, table.rollback, lambda: table.lookup([[1]]), lambda: table.prefetch([[1]])):
        with pytest.raises(gradbag.Error, match="is closed"):
            call()
    table.close()


def test_functions_are_given_again(tmp_path: Path) -> None:
    path = tmp_path / "rows"

    def ones(rows: Any, columns: int) -> Any:
        return np.ones((len(rows), columns))

    FileTable.create(path, 50, 4, optim.Adagrad(lambda step: 1 / step), init=ones).close()
    with pytest.raises(InvalidArgumentError, match=r"optimizer must be given again \(Adagrad\), as a function"):
        FileTable.open(path, init=ones)
    with pytest.raises(InvalidArgumentError, match="init must be given again, as it is a function; got None"):
        FileTable.open(path, optim.Adagrad(0.1))
    with pytest.raises(InvalidArgumentError, match="optimizer must be one that keeps what Adagrad keeps; got Adam"):
        FileTable.open(path, optim.Adam(0.1), init=ones)
    with FileTable.open(path, optim.Adagrad(0.5), init=ones) as table:
        assert table.lookup([[7, 8]]).tolist() == [[1, 1, 1, 1]]


# ------------------------------------------------------------------ memory
def test_memory_is_that_of_a_batch() -> None:
    program = """
import resource, tempfile, numpy as np, gradbag
with tempfile.TemporaryDirectory() as folder:
    table = gradbag.FileTable.create(folder + "/rows", 10**7, 64, gradbag.optim.Adagrad(0.1))
    rng = np.random.default_rng(0)
    def train(batches, steps):
        for number in range(batches):
            bags = gradbag.Bags(rng.integers(0, 10**7, 2000), np.arange(0, 2000, 10))
            table.prefetch(bags)
            table.lookup(bags)
            if number < steps:
                table.step(bags, np.ones((200, 64), np.float32))
    train(2, 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    train(200, 2)
    table.checkpoint()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    # KiB. All that was looked up has 200,000, a batch 1,000; NumPy and the journal have theirs.
    assert int(answer.stdout) < 30_000


# ------------------------------------------------------------------ refusals
def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    table = FileTable.create(path, 50, 4, optim.SGD(0.1))
    wrong: list[tuple[Any, str]] = [
        (lambda: FileTable(), r"use FileTable.create or FileTable.open"),
        (lambda: table.lookup([[1, 50]]), r"FileTable.lookup: ids\[1\] == 50 out of range \[0, 50\)"),
        (lambda: table.prefetch([[1, 50]]), r"FileTable.prefetch: ids\[1\] == 50 out of range \[0, 50\)"),
        (lambda: table.step([[50]], np.ones((1, 4), np.float32)), r"FileTable.step: ids\[0\] == 50 out of range"),
        (lambda: table.step([[5]], np.ones((1, 4))), "grad must be float32 like table; got float64"),
        (lambda: FileTable.open(path), "FileTable.open: .* is open already, here or in another process"),
        (lambda: FileTable.create(tmp_path / "x", -1, 4), "FileTable.create: rows == -1"),
        (
            lambda: FileTable.create(tmp_path / "x", 2**47, 2**30),
            r"columns must be few enough for records below 2\*\*30 bytes; got 1073741824",
        ),
        (lambda: FileTable.create(tmp_path / "x", 2**47, 2**20), r"rows, columns must be below 2\*\*62 bytes"),
    ]
    for call, words in wrong:
        with pytest.raises(gradbag.Error, match=words):
            call()
    with pytest.raises(FileExistsError):
        FileTable.create(path, 50, 4)
    with pytest.raises(FileNotFoundError):
        FileTable.open(tmp_path / "nowhere")
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.copy(table)
    assert (table.step_count, table.changed) == (0, 0)
    assert not (tmp_path / "x").exists()


def test_damaged_files_are_refused_or_have_their_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    with FileTable.create(path, 50, 4, optim.SGD(0.1)) as table:
        table.step(batch(1, 50), gradient(1, 4))
        table.checkpoint()
        after = table.read(np.arange(50))
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    headers = [bytes(8192) + whole[8192:], whole[:4096] * 2 + whole[8192:], os.urandom(9000), b"", whole[:5000]]
    flips = []
    for place in rng.integers(0, 8192, 300).tolist():
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        flips.append(bytes(flipped))
    for damaged in [*headers, whole[:-1], whole + b"\0", *flips]:
        path.write_bytes(damaged)
        try:
            with FileTable.open(path) as table:
                if table.step_count:  # else its younger header was damaged
                    assert np.array_equal(table.read(np.arange(50)), after)
        except InvalidArgumentError:
            refused += 1
    assert refused >= 6


def test_a_journal_that_is_needed_and_is_not_there_is_missed(tmp_path: Path) -> None:
    from gradbag.table import journal

    path = tmp_path / "rows"
    with FileTable.create(path, 50, 4, optim.SGD(0.1)) as table:
        table.checkpoint()
    with open(path, "r+b") as file:
        header = journal.read_header(path, file.fileno())
        journal.write_header(file.fileno(), {**header, "epoch": header["epoch"] + 1, "journal": 3, "checksum": 5})
    with pytest.raises(InvalidArgumentError, match=r"rows.journal is not the one that the last checkpoint of .* needs"):
        FileTable.open(path)


# ------------------------------------------------------------------ a full disk
@pytest.mark.parametrize("during", ["step", "checkpoint"])
@pytest.mark.parametrize("reopened", [False, True])
def test_a_full_disk_leaves_the_last_checkpoint(during: str, reopened: bool, tmp_path: Path) -> None:
    path = tmp_path / "rows"
    table, memory = FileTable.create(path, 5000, 8, optim.Adagrad(0.1)), Table(5000, 8, optim.Adagrad(0.1))
    bags, grad = Bags(np.arange(4000, 4400), np.arange(400)), np.ones((400, 8), np.float32)
    for one in (table, memory):
        one.step(bags, grad)
    table.checkpoint()
    if during == "checkpoint":
        for one in (table, memory):
            one.step(bags, grad)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))  # headers fit, rows that lie behind do not
    try:
        with pytest.raises(OSError, match="File too large"):
            table.step(bags, grad) if during == "step" else table.checkpoint()
        with pytest.raises(gradbag.Error, match=r"not .*; rollback\(\) returns to the last checkpoint"):
            table.step(bags, grad)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    if reopened:
        table.close()
        table = FileTable.open(path)
    else:
        table.rollback()
    assert_same(table, memory)
    for one in (table, memory):
        one.step(bags, grad)
    assert_same(table, memory)


# ------------------------------------------------------------------ others who are there
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rows": 51}, r"has \d+ bytes in place of"),
        ({"rows": -1}, "neither header can be read"),
        ({"columns": 2**31}, r"rows, columns must be below"),
        ({"columns": 2**30}, "columns must be few enough"),
        ({"step": 2**70}, "neither header can be read"),
        ({"dtype": "int8"}, "dtype must be one of"),
        ({"dtype": None}, "dtype must be one of"),
        ({"rounding": 5}, "rounding must be one of"),
        ({"init": [1]}, "init must be"),
        ({"optimizer": {"name": "os", "settings": {}}}, "optimizer must be given"),
        ({"optimizer": {"name": "SGD", "settings": {"lr": "x"}}}, "lr must be a number"),
        ({"optimizer": {"name": "SGD", "settings": {"x": 1}}}, "the optimizer of the file is not known here"),
        ({"optimizer": 7}, "nothing that can be read about its optimizer"),
        ({"version": 2}, "has version 2, and only 1 can be read"),
        ({"journal": 1}, "journal is not the one"),
    ],
    ids=str,
)
def test_a_header_that_lies_is_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    from gradbag.table import journal

    path = tmp_path / "rows"
    FileTable.create(path, 50, 4, optim.SGD(0.1)).close()
    with open(path, "r+b") as file:
        header = {**journal.read_header(path, file.fileno()), **change}
        for epoch in (0, 1):
            journal.write_header(file.fileno(), {**header, "epoch": epoch})
    with pytest.raises(gradbag.Error, match=words):
        FileTable.open(path)


def test_threads_take_turns(tmp_path: Path) -> None:
    ones, bags = np.ones((50, 4), np.float32), Bags(np.arange(50), np.arange(50))
    with FileTable.create(tmp_path / "rows", 50, 4, optim.SGD(1.0), init="zeros") as table:

        def work(number: int) -> bool:
            table.prefetch(bags)
            if number % 7 == 3:
                table.checkpoint()
            table.step(bags, ones, "sum")
            found = table.lookup(bags, "sum")
            return bool((found == found[0, 0]).all())

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(work, range(60)))
        assert (table.read(np.arange(50)) == -60).all()
        assert table.step_count == 60
