"""Exported scripts: names that collide, numbers that Python writes otherwise, any text; the bits are the page's."""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gradbag import page as pages
from gradbag.page.export_python import to_python
from gradbag.page.literals import to_array

FORMAT = "gradbag-page/1"


def page_of(nodes: dict[str, Any], **more: Any) -> Any:
    return pages.parse(json.dumps({"format": FORMAT, "nodes": nodes, **more}).encode())


def variables_of(page: Any) -> tuple[dict[str, Any], str]:
    """What a script leaves behind, and what it prints."""
    printed = io.StringIO()
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as script:
        script.write(to_python(page))
        script.flush()
        with contextlib.redirect_stdout(printed):
            found = runpy.run_path(script.name)
    return found, printed.getvalue()


def const(value: Any, dtype: str = "float32") -> dict[str, Any]:
    return {"op": "Const", "attrs": {"dtype": dtype, "value": value}}


TOP = {"op": "TopKV2", "in": {"input": {"value": [3, 9], "dtype": "float32"}, "k": 2}}


def test_results_whose_names_would_meet_are_kept_apart() -> None:
    fill = {
        "op": "SparseFillEmptyRows",
        "in": {"indices": [[0, 0]], "values": [7.0], "dense_shape": [2, 1], "default_value": -1},
    }
    runs = {"one": {"fetch": ["x.output_values"]}, "two": {"fetch": ["x_output.values"]}}
    _, printed = variables_of(page_of({"x": fill, "x_output": TOP}, runs=runs))
    assert "x.output_values = [7.0, -1.0]" in printed.splitlines()
    assert "x_output.values = [9.0, 3.0]" in printed.splitlines()


def test_a_node_may_be_called_like_a_result() -> None:
    nodes = {"y": const([1]), "y_output_value": const([2])}
    runs = {"one": {"fetch": ["y"]}, "two": {"fetch": ["y_output_value"]}}
    _, printed = variables_of(page_of(nodes, runs=runs))
    assert printed.splitlines() == ["y = [1.0]", "y_output_value = [2.0]"]


def test_a_path_beyond_the_first_plane_of_unicode(tmp_path: Path) -> None:
    folder = tmp_path / "\U0001f600 'quoted\" \\ folder"
    folder.mkdir()
    np.save(folder / "\U0001f4be.npy", np.arange(100.0))
    nodes = {"x": {"op": "Const", "attrs": {"value": {"file": "\U0001f4be.npy"}}}}
    (folder / "a.page.json").write_text(json.dumps({"format": FORMAT, "nodes": nodes}))
    found, _ = variables_of(pages.load(folder / "a.page.json"))
    np.testing.assert_array_equal(found["x"], np.arange(100.0))


NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, "inf", "-inf", "nan"]), st.floats(-1e30, 1e30, allow_nan=False).map(float)
)
NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,5}(_output|_value|_output_value|_2)?", fullmatch=True)


@st.composite
def drawn(draw: Any) -> dict[str, Any]:
    """Constants of every kind, some read by an Identity, fetched in one run or in two."""
    nodes: dict[str, Any] = {}
    for name in draw(st.lists(NAMES, min_size=1, max_size=5, unique=True)):
        dtype = draw(st.sampled_from(["float32", "float64", "complex64", "complex128", "bfloat16", "int64", "string"]))
        count = draw(st.integers(0, 3))
        if dtype.startswith("complex"):
            value: Any = [[draw(NUMBERS), draw(NUMBERS)] for _ in range(count)]
        elif dtype == "int64":
            value = [str(draw(st.integers(-(2**63), 2**63 - 1))) for _ in range(count)]
        elif dtype == "string":
            value = [draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=4)) for _ in range(count)]
        else:
            value = [draw(NUMBERS) for _ in range(count)]
        if count or not dtype.startswith("complex"):
            nodes[name] = const(value, dtype)
    page: dict[str, Any] = {"format": FORMAT, "title": draw(st.text(max_size=5)), "nodes": nodes or {"a": const(1)}}
    if draw(st.booleans()):
        page["runs"] = {f"run {k}": {"fetch": [name]} for k, name in enumerate(page["nodes"])}
    return page


def bits(array: Any) -> Any:
    array = np.asarray(array)
    if array.dtype.kind in "fc" or array.dtype.itemsize == 2:
        parts = np.stack([array.real, array.imag], -1) if array.dtype.kind == "c" else array
        wide = parts.astype(np.float64)
        return np.where(np.isnan(wide), "nan", np.char.add(np.signbit(wide).astype(str), wide.astype(str))).tolist()
    return array.tolist()


@settings(max_examples=150, deadline=None)
@given(drawn())
def test_a_script_makes_the_bits_of_its_page(content: dict[str, Any]) -> None:
    page = pages.parse(json.dumps(content).encode())
    found, printed = variables_of(page)
    lines = dict(line.split(" = ", 1) for line in printed.splitlines())
    for name, node in content["nodes"].items():
        want = to_array(node["attrs"]["value"], node["attrs"]["dtype"])
        assert lines[name] == str(want.tolist())
        if "runs" not in content:
            made = [value for value in found.values() if isinstance(value, np.ndarray) and value.shape == want.shape]
            assert any(value.dtype == want.dtype and bits(value) == bits(want) for value in made), (name, want)
