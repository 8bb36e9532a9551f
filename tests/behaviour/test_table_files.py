"""Tables in safetensors files: with the real library, damaged, hostile, on a full disk, written by who is killed."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy

import gradbag
from gradbag import InvalidArgumentError, QuantizedTable, Table, optim


def made(optimizer: Any = None, dtype: str = "float32") -> Table:
    table = Table(40, 3, optimizer or optim.Adam(0.1, bias_correction="row"), dtype=dtype, seed=5)
    table.step([[3, 7], [7]], np.ones((2, 3), table.computing))
    return table


def assert_same(one: Table, other: Table) -> None:
    first, second = one.state_dict(), other.state_dict()
    assert first.keys() == second.keys()
    assert (one.optimizer, one.dtype) == (other.optimizer, other.dtype)
    for name, kept in first.items():
        assert np.asarray(kept).tobytes() == np.asarray(second[name]).tobytes(), name


# ------------------------------------------------------------------ round trips
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_a_file_brings_all_of_it_back(dtype: str, tmp_path: Path) -> None:
    path = tmp_path / "table.safetensors"
    for optimizer in (optim.RowAdagrad(0.1), optim.AdamW(0.1, weight_decay=0.1, decay="lazy"), optim.SGD(0.5)):
        table = made(optimizer, dtype)
        table.save(path)
        loaded = Table.load(path)
        assert_same(table, loaded)
        for one in (table, loaded):
            one.step([[3, 1]], np.ones((1, 3), one.computing))
        assert_same(table, loaded)
    assert os.listdir(tmp_path) == [path.name]
    Table(0, 4).save(path)
    assert Table.load(path).shape == (0, 4)


def test_the_real_library_reads_ours_and_we_read_its(tmp_path: Path) -> None:
    path = tmp_path / "table.safetensors"
    for dtype in ("float32", "bfloat16", "float16", "float64"):
        table = made(dtype=dtype)
        table.save(path)
        theirs = safetensors.numpy.load_file(path)
        assert theirs.keys() == {"values", "mean", "square", "steps"}
        for name, array in theirs.items():
            own = table.state_dict()[name]
            assert array.dtype == own.dtype
            assert array.tobytes() == own.tobytes()
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    for given in (rows, rows.astype(ml_dtypes.bfloat16), rows.astype(np.float64)):
        safetensors.numpy.save_file({"model.embed.weight": given, "other": np.arange(5)}, path, {"by": "others"})
        table = Table.load(path, optim.SGD(1.0), name="model.embed.weight")
        assert table.dtype == given.dtype
        assert np.array_equal(table.values, given)
        with pytest.raises(
            InvalidArgumentError, match=r"name must be one of the arrays of .*\[.*other.*\]; got 'values'"
        ):
            Table.load(path)


def test_learning_rates_that_are_functions_are_given_again(tmp_path: Path) -> None:
    path = tmp_path / "table"
    table = made(optim.Adagrad(lambda step: 1 / step))
    table.save(path)
    with pytest.raises(InvalidArgumentError, match=r"optimizer must be given again \(Adagrad\), as a function"):
        Table.load(path)
    assert Table.load(path, optim.Adagrad(0.5)).step_count == 1
    with pytest.raises(InvalidArgumentError, match="state must be of values, mean, square, step; got no mean"):
        Table.load(path, optim.Adam(0.5))


@pytest.mark.parametrize("kind", ["uint8", "float8_e4m3fn"])
def test_quantized_tables_in_files_and_look_ups(kind: str, tmp_path: Path) -> None:
    table = Table(300, 20, seed=2)
    table.values[5] = 0
    table.values[6] = 7.5
    small = table.quantized(kind)
    small.save(tmp_path / "small")
    loaded = QuantizedTable.load(tmp_path / "small")
    assert (loaded.kind, loaded.shape, loaded.nbytes) == (kind, (300, 20), 300 * (28 if kind == "uint8" else 24))
    every = loaded.read(np.arange(300))
    reach = np.abs(table.values).max(1, keepdims=True)
    assert (np.abs(every - table.values) <= reach * (1 / 255 if kind == "uint8" else 1 / 16)).all()
    assert not every[5].any()
    assert every[6] == pytest.approx(7.5)
    bags = gradbag.Bags([1, -1, 6, 6], [0, 2, 2], np.array([1, 2, 3, 4], np.float32))
    for combiner in ("sum", "mean", "sqrtn"):
        want = Table.of(every).lookup(bags, combiner, default_id=3, max_norm=2.0)
        assert np.array_equal(loaded.lookup(bags, combiner, default_id=3, max_norm=2.0), want)
    with pytest.raises(InvalidArgumentError, match=r"QuantizedTable.lookup: ids\[0\] == 300 out of range \[0, 300\)"):
        loaded.lookup([[300]])
    table.values[7, 3] = np.inf
    with pytest.raises(InvalidArgumentError, match=r"array\[7, 3\] == inf is not finite"):
        table.quantized(kind)
    made().save(tmp_path / "other")
    with pytest.raises(InvalidArgumentError, match="a file of a quantized table"):
        QuantizedTable.load(tmp_path / "other")


# ------------------------------------------------------------------ damage
def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table"
    table = made()
    table.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(5)
    refused = 0
    cuts = [whole[:length] for length in [0, 1, 7, 8, 20, *rng.integers(1, len(whole), 60).tolist(), len(whole) - 1]]
    flips = []
    for place in rng.integers(0, len(whole), 600).tolist():
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        flips.append(bytes(flipped))
    for damaged in [*cuts, *flips, whole + b"\0", b"\xff" * 500, os.urandom(3000)]:
        path.write_bytes(damaged)
        with contextlib.suppress(gradbag.Error):
            loaded = Table.load(path)  # it was a setting, or nothing that matters
            assert loaded.values.tobytes() == table.values.tobytes()
            continue
        refused += 1
    assert refused > len(cuts) + len(flips) // 2
    with pytest.raises(FileNotFoundError):
        Table.load(tmp_path / "nowhere")
    with pytest.raises(InvalidArgumentError, match="is no safetensors file, or damaged"):
        Table.load(tmp_path)


def f32(*offsets: Any, shape: Any = (1,)) -> dict[str, Any]:
    return {"dtype": "F32", "shape": list(shape), "data_offsets": list(offsets)}


HOSTILE: list[tuple[Any, str]] = [
    ({"a": f32(0, 4), "b": f32(2, 6)}, "b begins at 2, and what comes before it ends at 4"),
    ({"a": f32(4, 8)}, "a begins at 4, and what comes before it ends at 0"),
    ({"a": f32(0, 4)}, "its arrays end at 4, and the file has 8 bytes for them"),
    ({"a": f32(0, 400, shape=[100])}, "its arrays end at 400, and the file has 8 bytes"),
    ({"a": f32(0, 8)}, r"a of shape \[1\] and F32 has 8 bytes"),
    ({"a": f32(0, -4)}, r"a has the data_offsets \[0, -4\]"),
    ({"a": f32(0, 4.0)}, r"a has the data_offsets \[0, 4.0\]"),
    ({"a": f32(0, 4, 8)}, r"a has the data_offsets \[0, 4, 8\]"),
    ({"a": f32(0, 4, shape=[-1])}, r"a has the shape \[-1\]"),
    ({"a": f32(0, 4, shape=[2**62, 2**62])}, "has 4 bytes"),
    ({"a": f32(0, 4, shape=[10**40])}, "a has the shape"),
    ({"a": f32(0, 4, shape=[1] * 40)}, "a has the shape"),
    ({"a": f32(0, 4, shape=[True])}, "a has the shape"),
    ({"a": {**f32(0, 4), "dtype": "F3"}}, "a has the dtype 'F3'; known are F64"),
    ({"a": {**f32(0, 4), "dtype": 7}}, "a has the dtype '7'"),
    ({"a": {"dtype": "F32"}}, "a must have dtype, shape and data_offsets, and nothing else"),
    ({"a": 7}, "a must have dtype, shape and data_offsets"),
    ({"__metadata__": {"x": 1}}, "its metadata are not texts by name"),
    ({"__metadata__": 3}, "its metadata are not texts by name"),
    ({"__metadata__": {"gradbag": "[]"}, "a": f32(0, 4), "b": f32(4, 8)}, "its metadata are not what we write"),
    ([1], "its header is no object, but a list"),
    (b'{"a": 1, "a": 2}', "its header has a name twice"),
    (b"[" * 100_000, "is no safetensors file, or damaged"),
    (b'{"a', "is no safetensors file, or damaged"),
    (b"\xff\xfe", "is no safetensors file, or damaged"),
]


@pytest.mark.parametrize(("header", "words"), HOSTILE, ids=[words for _, words in HOSTILE])
def test_a_hostile_header_is_refused(header: Any, words: str, tmp_path: Path) -> None:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = tmp_path / "file"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))
    with pytest.raises(InvalidArgumentError, match=words):
        Table.load(path)


def test_a_header_longer_than_the_file_or_than_allowed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes((2**63).to_bytes(8, "little") + b"{}")
    with pytest.raises(InvalidArgumentError, match=r"its header of \d+ bytes is longer than its 2 bytes"):
        Table.load(path)
    with open(path, "r+b") as file:
        file.truncate(200_000_000)  # a file of nothing
        file.write((150_000_000).to_bytes(8, "little"))
    with pytest.raises(InvalidArgumentError, match="longer than 100000000 bytes, the most there may be"):
        Table.load(path)


# ------------------------------------------------------------------ a full disk, a killed writer
def test_a_full_disk_leaves_the_last_file(tmp_path: Path) -> None:
    path = tmp_path / "table"
    table = made()
    table.save(path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            Table(1000, 8).save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert_same(Table.load(path), table)
    assert os.listdir(tmp_path) == ["table"]


SAVING = """
import sys
import numpy as np
import gradbag
table = gradbag.Table(20_000, 16, gradbag.optim.SGD(1.0), init="zeros")
bags, grad = gradbag.Bags(np.arange(20_000), np.arange(20_000)), np.full((20_000, 16), -1, np.float32)
for turn in range(10**6):
    table.step(bags, grad, "sum")
    table.save(sys.argv[1])
    print(turn, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kills", [8, pytest.param(50, marks=pytest.mark.kills)])
def test_a_file_survives_that_its_writer_is_killed(kills: int, tmp_path: Path) -> None:
    path = tmp_path / "table"
    rng = np.random.default_rng(1)
    for _ in range(kills):
        with subprocess.Popen([sys.executable, "-c", SAVING, str(path)], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "0\n"
            time.sleep(float(rng.uniform(0, 0.05)))
            writer.send_signal(signal.SIGKILL)
            saved = 1 + len(writer.stdout.read().splitlines())
        table = Table.load(path)
        assert table.step_count in (saved, saved + 1)
        assert (table.values == table.step_count).all()
