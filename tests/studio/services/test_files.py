"""Pages out of the studio and in again: text, script, GraphDef, drawings with the page inside."""

from __future__ import annotations

import base64
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradbag import errors
from gradbag import page as pages
from gradbag.page.import_graphdef import from_graphdef
from gradbag.studio.services import opening
from gradbag.studio.services.exporting import KINDS, exported
from gradbag.studio.services.opening import opened
from gradbag.studio.services.pictures import page_of as page_inside
from gradbag.studio.services.pictures import with_page

Make = Callable[..., pages.Page]


@pytest.mark.parametrize("kind", ["page", "svg"])
def test_a_page_comes_back_as_it_was(shipped: pages.Page, kind: str) -> None:
    content, _, name = exported(shipped, kind)
    back = opened(content, name)
    assert back["page"] == shipped.document
    assert back["title"] == shipped.title


def test_a_graphdef_comes_back_and_computes_the_same(shipped: pages.Page) -> None:
    content, _, name = exported(shipped, "graphdef")
    back = pages.Page(opened(content, name)["page"])
    assert pages.check(back) == []
    back.document["runs"] = shipped.section("runs")
    one, other = pages.run(shipped).fetches, pages.run(back).fetches
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_the_script_runs(shipped_as: Callable[[str], pages.Page], tmp_path: Path) -> None:
    content, _, name = exported(shipped_as("sparse_segment_mean_grad"), "python")
    (tmp_path / name).write_bytes(content)
    done = subprocess.run([sys.executable, str(tmp_path / name)], capture_output=True, text=True, check=True)
    assert "mean_grad" in done.stdout


def test_file_names_are_plain(page_of: Make) -> None:
    page = page_of({}, title='../../"x"\r\n ü 1')
    for kind in KINDS:
        name = exported(page, kind)[2]
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_."), name
    with pytest.raises(errors.InvalidArgumentError, match="cannot become 'exe'"):
        exported(page, "exe")


def test_data_files_travel_inside(tmp_path: Path, page_of: Make) -> None:
    table = np.arange(200, dtype=np.float32).reshape(50, 4)
    page = page_of({"t": {"op": "Const", "attrs": {"dtype": "float32", "value": table.tolist()}}})
    pages.save(page, tmp_path / "p.page.json")
    saved = pages.load(tmp_path / "p.page.json")
    assert "file" in saved.nodes["t"]["attrs"]["value"]
    for kind in ("page", "svg"):
        back = opened(exported(saved, kind)[0], f"p.{kind}")
        assert back["notes"] == ([] if kind == "page" else ["taken from the picture p.svg"])
        assert np.array_equal(pages.run(pages.Page(back["page"])).fetches["t"], table)


def test_a_missing_data_file_is_told(page_of: Make) -> None:
    literal = {"file": "data/t.npy", "sha256": "0" * 64}
    text = pages.text(page_of({"t": {"op": "Const", "attrs": {"dtype": "float32", "value": literal}}}))
    assert any("data/t.npy" in note for note in opened(text.encode(), "p.page.json")["notes"])


# ------------------------------------------------------------------ groups and notes
FRAMES: dict[str, dict[str, Any]] = {
    "groups": {"g": {"title": "Both <b>", "nodes": ["a", "gone"], "color": 5}, "empty": {"title": "None", "nodes": []}},
    "notes": {"n": {"text": "first & last\n" + "word " * 50, "at": [-300, -200], "size": [200, 100]}},
}


def test_groups_and_notes_are_drawn_and_come_back(page_of: Make) -> None:
    page = page_of({"a": {"op": "Neg", "in": {"x": 1.5}}}, layout={"a": [0, 0]}, **FRAMES)
    assert pages.check(page) == []
    content, _, name = exported(page, "svg")
    assert opened(content, name)["page"] == page.document
    drawing = content.decode()
    assert "Both &lt;b&gt;" in drawing
    assert "first &amp; last" in drawing
    assert ">None<" not in drawing
    assert drawing.count("word") < 50  # what does not fit into the note is cut
    assert 'viewBox="-332 ' in drawing


@pytest.mark.parametrize("section", ["groups", "notes"])
@pytest.mark.parametrize(
    "entry",
    [
        3,
        [],
        {"nodes": []},
        {"title": "x", "nodes": [1], "color": 6},
        {"title": "x", "nodes": {}, "color": "red"},
        {"text": "x"},
        {"text": "x", "at": [0], "size": [1, 1]},
        {"text": "x", "at": [0, 0], "size": [1, -1]},
        {"text": "x", "at": [0, 1e300], "size": [1, 1]},
        {"text": 1, "at": [0, 0], "size": [1, 1]},
        {"text": "x", "at": [0, 0], "size": [0, 0], "color": -1},
    ],
)
def test_groups_and_notes_of_another_kind_stop_nothing(page_of: Make, section: str, entry: Any) -> None:
    for page in (page_of({}, **{section: {"one": entry}}), page_of({}, **{section: entry})):
        assert pages.check(page) == []
        assert opened(*exported(page, "svg")[::2])["page"] == page.document


# ------------------------------------------------------------------ pictures
def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(*chunks: bytes) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + chunk(b"IEND", b"")


@pytest.mark.parametrize("packed", [False, True])
def test_a_page_inside_a_png(shipped: pages.Page, packed: bool) -> None:
    text = pages.text(shipped).encode()
    content = b"gradbag-page\0" + bytes([packed, 0]) + b"\0\0" + (zlib.compress(text) if packed else text)
    data = png(chunk(b"IHDR", b"\0" * 13), chunk(b"iTXt", content))
    assert opened(data, "x.png")["page"] == shipped.document


def test_a_png_without_a_page_and_broken_ones() -> None:
    for data in (png(), png(chunk(b"iTXt", b"other\0\0\0\0\0x")), png()[:9], b"\x89PNG\r\n\x1a\n" + b"\xff" * 100):
        assert page_inside(data) is None
        with pytest.raises(errors.InvalidArgumentError, match="without a page inside"):
            opened(data, "x.png")
    with pytest.raises(errors.InvalidArgumentError, match="damaged"):
        opened(png(chunk(b"iTXt", b"gradbag-page\0\1\0\0\0no zlib")), "x.png")


def test_a_png_that_would_unpack_to_too_much() -> None:
    bomb = zlib.compress(b"\0" * (1 << 27))
    start = time.monotonic()
    with pytest.raises(errors.ResourceExhaustedError, match="more than"):
        opened(png(chunk(b"iTXt", b"gradbag-page\0\1\0\0\0" + bomb)), "x.png")
    assert time.monotonic() - start < 5


def test_the_metadata_of_a_drawing_is_no_script(page_of: Make) -> None:
    page = page_of({}, title="</metadata><script>alert(1)</script>")
    drawing = with_page('<svg xmlns="http://www.w3.org/2000/svg"></svg>', page)
    assert "script" not in drawing
    assert page_inside(drawing.encode()) == pages.text(page).encode()


def test_entities_are_never_expanded() -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "b"><!ENTITY c "&a;&a;&a;">]><svg><text>&c;</text></svg>'
    with pytest.raises(errors.InvalidArgumentError, match="without a page inside"):
        opened(bomb, "x.svg")


def test_a_drawing_with_a_damaged_page() -> None:
    for inside in (b"%%%", base64.b64encode(b"no json"), b""):
        with pytest.raises(errors.Error):
            opened(b'<svg><metadata id="gradbag-page">' + inside + b"</metadata></svg>", "x.svg")
    with pytest.raises(errors.InvalidArgumentError, match="ends within"):
        opened(b'<svg><metadata id="gradbag-page">aGFs', "x.svg")


# ------------------------------------------------------------------ what strangers bring
@pytest.mark.parametrize("data", [b"", b"{", b"\0" * 100, b"\xff\xfe", b"[1]", b"node {", b"hello"])
@pytest.mark.parametrize("name", ["x.page.json", "x.pb", "x.pbtxt", "x", "../../x.svg"])
def test_what_is_nothing_gives_a_sentence(data: bytes, name: str) -> None:
    with pytest.raises(errors.Error) as problem:
        opened(data, name)
    assert len(str(problem.value)) > 10


def test_a_file_that_is_too_large_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MOST_OPENED", 100)
    with pytest.raises(errors.ResourceExhaustedError, match="at most 100 bytes"):
        opened(b"{" + b" " * 100, "x.page.json")


def test_a_page_with_faults_opens_and_says_so(page_of: Make) -> None:
    text = pages.text(page_of({"a": {"op": "Neg", "in": {"x": {"from": "b"}}}}))
    notes = opened(text.encode(), "x.page.json")["notes"]
    assert notes == ["it has 1 problem; the first is a.x: is wired to 'b', which is not on the page"]


# ------------------------------------------------------------------ GraphDefs with unknown ops
UNKNOWN = b"""
node { name: "x" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value {
    tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 1 float_val: 2 } } } }
node { name: "odd" op: "NotOfThisWorld" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "k" value { i: 3 } } attr { key: "name" value { s: "a" } } attr { key: "f" value { f: inf } } }
node { name: "sum" op: "AddN" input: "x" input: "odd:1" attr { key: "N" value { i: 2 } }
  attr { key: "T" value { type: DT_FLOAT } } }
node { name: "top" op: "TopKV2" input: "x" input: "k" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "k" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }
node { name: "neg" op: "Neg" input: "top" input: "^odd" attr { key: "T" value { type: DT_FLOAT } } }
versions { producer: 1000 }
"""


def test_a_graph_with_unknown_ops_is_a_page_all_the_same() -> None:
    found = opened(UNKNOWN, "strange.pbtxt")
    nodes = found["page"]["nodes"]
    assert any("NotOfThisWorld" in note for note in found["notes"])
    assert nodes["odd"]["in"] == {"input_0": {"from": "x"}, "input_1": {"from": "x"}}
    assert nodes["odd"]["attrs"] == {"T": "float32", "k": 3, "name": "a", "f": "inf"}
    assert nodes["sum"]["in"] == {"inputs": [{"from": "x"}, {"from": "odd.output_1"}]}
    assert nodes["neg"] == {"op": "Neg", "in": {"x": {"from": "top.values"}}, "after": ["odd"]}
    page = pages.Page(found["page"])
    assert [p.node for p in pages.check(page)] == ["odd"]
    assert pages.parse(pages.text(page).encode()).document == found["page"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'input: "odd:1"', b'input: "nowhere"'),
        (b'name: "k" op', b'name: "x" op'),
        (b'input: "top" input', b'input: "top:7" input'),
        (b'input: "top" input', b'input: "top" input: "x" input'),
        (b"producer", b"nothing: { producer"),
    ],
)
def test_what_cannot_even_be_drawn_says_why(old: bytes, new: bytes) -> None:
    assert old in UNKNOWN
    with pytest.raises(errors.InvalidArgumentError):
        opened(UNKNOWN.replace(old, new), "strange.pbtxt")


def test_known_graphs_are_drawn_in_the_same_words(shipped: pages.Page) -> None:
    content, _, name = exported(shipped, "graphdef")
    built = pages.Page(opened(content, name)["page"])
    drawn = from_graphdef(content)
    one, other = (p.nodes for p in (built, drawn))
    assert one.keys() <= other.keys()  # values in ports are Consts there
    assert {n: e["op"] for n, e in one.items()} == {n: other[n]["op"] for n in one}
    assert {n: e.get("attrs") for n, e in one.items()} == {n: other[n].get("attrs") for n in one}
    assert pages.check(drawn) == []
