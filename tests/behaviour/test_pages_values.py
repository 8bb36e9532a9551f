"""Literals and data files: exact, never pickled, never from outside the page's folder."""

import hashlib
import os
import pickle
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradbag
from gradbag import dtypes
from gradbag import page as pages
from gradbag.page import data_files, literals


# ------------------------------------------------------------------ literals
@pytest.mark.parametrize(
    ("array", "literal"),
    [
        (np.array([0.1, 1, -0.0, np.inf, -np.inf, np.nan], np.float32), [0.1, 1, -0.0, "inf", "-inf", "nan"]),
        (np.array([1 / 3, 5e-324, 1.7976931348623157e308]), [0.3333333333333333, 5e-324, 1.7976931348623157e308]),
        (np.array([0.1, 65504], np.float16), [0.1, 65504]),
        (np.array([0.1, 3.3895314e38], ml_dtypes.bfloat16), [0.1, 3.39e38]),
        (np.array([2**53, 2**53 + 1, -(2**63)]), [2**53, "9007199254740993", "-9223372036854775808"]),
        (np.array(2**64 - 1, np.uint64), "18446744073709551615"),
        (np.array([[1 + 2j, complex("nan-infj")]], np.complex64), [[[1, 2], ["nan", "-inf"]]]),
        (np.array([True, False]), [True, False]),
        (np.array(["é", b"abc"], object), ["é", "abc"]),
        (np.array([(3,)], dtypes.numpy_dtype("qint8")), [3]),
    ],
    ids=str,
)
def test_numbers_are_the_shortest_that_read_back_to_the_same_bits(array: Any, literal: Any) -> None:
    written = literals.to_json(array)
    assert repr(written) == repr(literal)
    back = literals.to_array(written, dtypes.name_of(array.dtype))
    if array.dtype == object:
        assert back.tolist() == [w.encode() if isinstance(w, str) else w for w in array.tolist()]
    else:
        assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_random_bits_survive(dtype: str) -> None:
    kind = dtypes.numpy_dtype(dtype)
    bits = np.random.default_rng(7).integers(0, 256, 300 * kind.itemsize, np.uint8).view(kind)
    finite = bits[np.isfinite(bits)]
    assert finite.size > 200
    assert literals.to_array(literals.to_json(finite), dtype).tobytes() == finite.tobytes()


@pytest.mark.parametrize(
    ("value", "dtype", "told"),
    [
        ([[1, 2], [3]], "int32", "lists of 1 and of 2 stand side by side"),
        ([1, [2]], "int32", "a list stands beside a single value"),
        ([1, None], "int32", "has None where a value should stand"),
        (300, "int8", "300 does not fit int8"),
        ("99999999999999999999", "int64", "does not fit int64"),
        (-1, "uint8", "does not fit uint8"),
        (1.5, "int32", "must be int32; 1.5 is not"),
        (True, "int32", "must be int32; True is not"),
        (1, "bool", "must be bool; 1 is not"),
        ("NaN", "float32", "'NaN' is no number"),
        (1e39, "float32", "does not fit float32"),
        (70000, "float16", "does not fit float16"),
        ([1, 2, 3], "complex64", "complex numbers as [re, im]"),
        (1, "string", "must be string; 1 is not"),
    ],
)
def test_a_literal_that_does_not_fit_says_why(value: Any, dtype: str, told: str) -> None:
    with pytest.raises(literals.LiteralError) as caught:
        literals.to_array(value, dtype)
    assert told in str(caught.value)


@pytest.mark.parametrize("shape", [(0,), (0, 2), (3, 0), (2, 0, 4)], ids=str)
def test_empty_arrays_keep_their_shape(shape: tuple[int, ...]) -> None:
    page = pages.Page()
    literal = page.literal(np.zeros(shape, np.int64), "x")
    back = page.array(literal, None)
    assert back is not None
    assert (back.shape, back.dtype) == (shape, np.int64)


def test_bytes_that_are_no_text_are_base64() -> None:
    page = pages.Page()
    literal = page.literal(np.array([b"\xff\x00", b"a"], object), "x")
    assert literal == {"base64": ["/wA=", "YQ=="], "dtype": "string"}
    back = page.array(literal, None)
    assert back is not None
    assert back.tolist() == [b"\xff\x00", b"a"]


# ------------------------------------------------------------------ data files
@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path


def refused(folder: Path, path: Any, sha256: Any = None) -> str:
    with pytest.raises(gradbag.Error) as caught:
        data_files.read_file(folder, path, sha256)
    return str(caught.value)


@pytest.mark.parametrize(
    "path",
    [
        "../x.npy",
        "data/../../x.npy",
        "/etc/x.npy",
        "data//x.npy",
        "./x.npy",
        "data\\x.npy",
        "c:/x.npy",
        "~/x.npy",
        "data/x\x00.npy",
        "",
        "data/",
        "x.npz",
        "x",
        "con.npy",
        "data/nul.npy",
        "a\n.npy",
        "x" * 2000 + ".npy",
        3,
        None,
        "//host/share/x.npy",
        "data/x .npy/x.npy ",
        "data./x.npy",
    ],
)
def test_paths_stay_inside_the_folder(path: Any, folder: Path) -> None:
    np.save(folder.parent / "x.npy", [1])
    assert "file" in refused(folder, path) or "folder" in refused(folder, path)


def test_links_out_of_the_folder_are_not_followed(folder: Path, tmp_path_factory: Any) -> None:
    outside = tmp_path_factory.mktemp("outside")
    np.save(outside / "secret.npy", [1])
    (folder / "data" / "x.npy").symlink_to(outside / "secret.npy")
    (folder / "there").symlink_to(outside)
    assert "outside the page's folder" in refused(folder, "data/x.npy")
    assert "outside the page's folder" in refused(folder, "there/secret.npy")


def test_a_pipe_does_not_keep_us_waiting(folder: Path) -> None:
    os.mkfifo(folder / "data" / "x.npy")
    assert "no ordinary file" in refused(folder, "data/x.npy")
    assert "No such file" in refused(folder, "data/y.npy")


def header(described: str, shape: str, order: str = "False", version: int = 1) -> bytes:
    text = f"{{'descr': {described}, 'fortran_order': {order}, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 if version == 1 else 4, "little") + text


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "does not begin like one"),
        (pickle.dumps([1]), "does not begin like one"),
        (header("'|O'", "(1,)") + pickle.dumps([1]), "only of numbers and bytes"),
        (header("[('a', '<i4')]", "(1,)") + b"\0" * 4, "only of numbers and bytes"),
        (header("'<M8[s]'", "(1,)") + b"\0" * 8, "only of numbers and bytes"),
        (header("'<U3'", "(1,)") + b"\0" * 12, "only of numbers and bytes"),
        (header("'<f8'", "(549755813888,)"), "its shape asks for 4398046511104 bytes, but 0 follow"),
        (header("'<f8'", "(1,)") + b"\0" * 9, "asks for 8 bytes, but 9 follow"),
        (header("'<f8'", "(-1,)") + b"\0" * 8, "it tells the shape"),
        (header("'<f8'", "(True,)") + b"\0" * 8, "it tells the shape"),
        (header("'<f8'", f"(0, {2**80})"), "no array has the shape"),
        (header("'<f8'", "(" + "1," * 40 + ")") + b"\0" * 8, "it tells the shape"),
        (header("'<f8'", "(1,)", "2") + b"\0" * 8, "its order is neither"),
        (header("'<f8'", "__import__('os').getcwd()"), "is no .npy file"),
        (header("'<f8'", "(" * 3000 + ")" * 3000), "is no .npy file"),
        (b"\x93NUMPY\x01\x00\xff\xff{}", "its header should have 65535 bytes"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", "its header should have"),
        (b"\x93NUMPY\x09\x00", "does not begin like one"),
    ],
)
def test_a_header_is_believed_only_as_far_as_the_bytes_reach(content: bytes, told: str, folder: Path) -> None:
    (folder / "data" / "x.npy").write_bytes(content)
    assert told in refused(folder, "data/x.npy")


def test_bytes_that_are_no_bool_are_made_one(folder: Path) -> None:
    (folder / "x.npy").write_bytes(header("'|b1'", "(3,)") + b"\0\1\7")
    assert data_files.read_file(folder, "x.npy").view(np.uint8).tolist() == [0, 1, 1]


@pytest.mark.parametrize("name", [*dtypes.NUMBER, "bool", "string"])
def test_numpy_reads_what_we_write_and_we_what_numpy_writes(name: str, folder: Path) -> None:
    kind = dtypes.numpy_dtype(name)
    array = np.array([[b"a", b"bc"]], object) if name == "string" else np.arange(6).reshape(2, 3).astype(kind)
    (folder / "x.npy").write_bytes(data_files.file_bytes(array))
    theirs = np.load(folder / "x.npy", allow_pickle=False)
    assert theirs.tobytes() == array.tobytes() or name == "string"
    back = data_files.read_file(folder, "x.npy")
    assert (back.dtype, back.tolist()) == (array.dtype, array.tolist())
    if name not in ("bfloat16", "string"):
        np.save(folder / "y.npy", np.asfortranarray(array).astype(kind.newbyteorder(">")))
        back = data_files.read_file(folder, "y.npy")
        assert (back.dtype, back.tolist()) == (array.dtype, array.tolist())


def test_a_changed_file_is_noticed(folder: Path) -> None:
    content = data_files.file_bytes(np.arange(100))
    (folder / "x.npy").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    assert data_files.read_file(folder, "x.npy", digest).sum() == 4950
    assert "has changed" in refused(folder, "x.npy", digest[::-1])
    assert "64 hexadecimal digits" in refused(folder, "x.npy", digest.upper())


def test_large_arrays_go_to_files_beside_the_page(folder: Path) -> None:
    from gradbag.graph import Scope, ops

    root = Scope.new_root_scope()
    ops.Const(root.with_op_name("small"), np.arange(64))
    ops.Const(root.with_op_name("large"), np.arange(65.0))
    page = pages.from_graph(root.graph)
    pages.save(page, folder / "x.page.json")
    assert [p.name for p in (folder / "data").iterdir()] == ["large.npy"]
    again = pages.load(folder / "x.page.json")
    assert again.nodes["large"]["attrs"]["value"]["file"] == "data/large.npy"
    assert pages.run(again).fetches["large"].tolist() == list(range(65))
    # Somewhere else, the file comes along.
    pages.save(again, folder / "data" / "y.page.json")
    assert pages.run(pages.load(folder / "data" / "y.page.json")).fetches["large"].sum() == 2080


def test_a_long_literal_goes_to_a_file_when_the_page_is_saved(folder: Path) -> None:
    ids = ", ".join(map(str, range(100)))
    text = (
        '{"format": "gradbag-page/1", "nodes": {"table": {"op": "Const", "attrs": {"dtype": "float32", "value": '
        f'[[1], [2]]}}}}, "sum": {{"op": "UnsortedSegmentSum", "in": {{"data": [{ids}], "segment_ids": [{ids}], '
        '"num_segments": 100}}}}'
    )
    page = pages.parse(text.encode())
    assert pages.check(page) == []
    before = pages.run(page).fetches["sum"]
    pages.save(page, folder / "x.page.json")
    again = pages.load(folder / "x.page.json")
    assert set(again.nodes["sum"]["in"]["data"]) == {"file", "sha256"}
    assert pages.run(again).fetches["sum"].tobytes() == before.tobytes()
    saved = (folder / "x.page.json").read_bytes()
    pages.save(again, folder / "x.page.json")
    assert (folder / "x.page.json").read_bytes() == saved


def test_a_save_that_fails_leaves_the_old_page(folder: Path, monkeypatch: Any) -> None:
    page = pages.Page()
    pages.save(page, folder / "x.page.json")
    before = (folder / "x.page.json").read_bytes()
    page.document["title"] = "new"

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(data_files.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        pages.save(page, folder / "x.page.json")
    assert (folder / "x.page.json").read_bytes() == before
    assert sorted(p.name for p in folder.iterdir()) == ["data", "x.page.json"]
