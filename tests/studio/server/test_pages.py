"""Questions about pages, over HTTP: the answers have their form. What they say is tested with the services."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gradbag import page as pages

from .served import MEAN_GRAD, Served, const, error, page


def test_catalogue_and_help(served: Served) -> None:
    found = served.get("/api/catalogue").json()
    assert {"version", "dtypes", "categories", "ops"} <= set(found)
    name = found["ops"][0]["name"]
    assert served.get(f"/api/help/{name}").json()["name"] == name
    assert error(served.get("/api/help/Nothing"))


def test_check_names_node_and_port(served: Served) -> None:
    wrong = {**MEAN_GRAD, "nodes": {**MEAN_GRAD["nodes"], "indices": const([0.5], "float32")}}
    found = served.post("/api/check", page=wrong, path=None).json()
    assert [(p["node"], p["port"]) for p in found["problems"]] == [("mean", "indices")]
    assert found["nodes"]["mean"]["key"] is None
    right = served.post("/api/check", page=MEAN_GRAD, path=None).json()
    assert right["problems"] == []
    assert right["nodes"]["mean"]["outputs"] == [{"name": "output", "dtype": "float64", "shape": [3, 3]}]


def test_fits(served: Served) -> None:
    found = served.post("/api/fits", page=MEAN_GRAD, path=None, node="grad", port="output", side="output").json()
    assert found["ports"]["mean.grad"] == ""
    assert found["ports"]["mean.indices"]
    assert found["ops"]


def test_layout(served: Served) -> None:
    found = served.post("/api/layout", page=MEAN_GRAD, nodes=None).json()
    assert set(found["layout"]) == set(MEAN_GRAD["nodes"])


def test_differentiate(served: Served) -> None:
    squares = page(x=const([1.0, 2.0]), y={"op": "Square", "in": {"x": {"from": "x"}}})
    choices = served.post("/api/differentiable", page=squares, path=None, output="y.y").json()
    assert [one["reason"] for one in choices["inputs"] if one["name"].startswith("x")] == [""]
    made = served.post("/api/differentiate", page=squares, path=None, output="y.y", inputs=["x.output"]).json()
    assert made.get("added"), made
    with served.events() as events:
        found = events.of(served.run(made["page"]))
    [gradient] = made["gradients"].values()
    node = gradient.partition(".")[0]
    assert [e["outputs"][0]["table"] for e in found if e.get("node") == node and "outputs" in e] == [[2, 4]]


def test_text_is_canonical(served: Served) -> None:
    mixed = dict(reversed(MEAN_GRAD.items()))
    assert served.post("/api/text", page=mixed).json()["text"] == pages.text(pages.Page(MEAN_GRAD))


@pytest.mark.parametrize("kind", ["page", "graphdef", "svg"])
def test_what_is_exported_can_be_opened(served: Served, kind: str) -> None:
    answer = served.post("/api/export", page=MEAN_GRAD, path=None, kind=kind)
    name = answer.headers["content-disposition"].partition('"')[2].strip('"')
    headers = {"Content-Type": "application/octet-stream"}
    opened = served.client.post(f"/api/open?name={name}", content=answer.content, headers=headers).json()
    assert set(opened) == {"page", "title", "notes"}
    assert served.post("/api/check", page=opened["page"], path=None).json()["problems"] == []
    served.post("/api/trust", path=None)


@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 100, b"{", b"<svg></svg>", b"\x89PNG\r\n\x1a\n", b"[1]", b"PK\x03\x04"]
)
def test_what_is_no_page_is_told(served: Served, content: bytes) -> None:
    headers = {"Content-Type": "application/octet-stream"}
    answer = served.client.post("/api/open?name=x", content=content, headers=headers)
    if answer.status_code != 200:  # an empty GraphDef is a page without nodes
        error(answer)
    else:
        assert answer.json()["page"]["nodes"] == {}


@pytest.mark.parametrize(
    "body",
    [
        b'{"page": {"format": "gradbag-page/1", "nodes": {}, "nodes": {}}}',
        b'{"page": {"format": "gradbag-page/1", "nodes": {"__proto__": {}}}}',
        b'{"page": {"format": "gradbag-page/1", "nodes": {"a": 12345678901234567890}}}',
        b'{"page": {"format": "gradbag-page/1", "nodes": {"a": NaN}}}',
        b'{"page": {"format": "gradbag-page/1", "nodes": {"a": "\\ud800"}}}',
        b'{"page": {"format": "gradbag-page/99", "nodes": {}}}',
        b'{"page": []}',
        b'{"page": null}',
        b"{}",
        b"null",
        b"",
        b'{"page": {}, "path": 3}',
        b'\xef\xbb\xbf{"page": {}}',
        '{"page": {}}'.encode("utf-16"),
    ],
)
def test_text_that_is_no_page_is_refused_everywhere(served: Served, body: bytes) -> None:
    for place in ("check", "text", "fits", "layout", "export", "differentiable", "lens"):
        answer = served.client.post(f"/api/{place}", content=body)
        assert answer.status_code in (400, 422), (place, answer.text)
        error(answer)
    assert served.client.put("/api/file/bad.page.json", content=body).status_code in (400, 422)
    assert not (served.folder / "bad.page.json").exists()


def test_data_files_stay_in_the_folder(served: Served) -> None:
    (served.folder.parent / "secret.npy").write_bytes(b"")
    for path in ("../secret.npy", "/etc/passwd", "data/../../secret.npy"):
        reading: Any = page(x={"op": "Const", "attrs": {"value": {"file": path}}})
        found = served.post("/api/check", page=reading, path=None).json()
        assert found["problems"]
        assert "passwd:" not in json.dumps(found)
