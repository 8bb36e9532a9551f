"""Saving a page: large values into data files first, then the page; each file as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .. import errors
from . import data_files, literals
from .checking import inspect, outputs
from .model import Page, text

Array = np.ndarray[Any, Any]


def save(page: Page, path: str | os.PathLike[str]) -> None:
    """Write a page and its new data files. What is too long for the page's text moves to a data file."""
    where = Path(path)
    move_large(page)
    content = text(page).encode()
    files = {name: data_files.file_bytes(array) for name, array in page.data.items()}
    if page.folder is not None and os.path.realpath(page.folder) != os.path.realpath(where.parent):
        files = {**_brought(page, page.folder), **files}
    for name, array_bytes in files.items():
        target = where.parent / data_files.check_path(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        data_files.write_whole(target, array_bytes)
    data_files.write_whole(where, content)
    page.folder, page.data = where.parent, {}


def holders(page: Page) -> Iterator[tuple[str, str, str, Any, Any]]:
    """Every place where a literal may stand: section, entry, part, and the object or list and the key in it."""
    for name, entry in page.nodes.items():
        for part in ("in", "attrs"):
            held = entry.get(part) if isinstance(entry, dict) else None
            if isinstance(held, dict):
                for key, value in held.items():
                    if isinstance(value, list) and any(isinstance(one, dict) for one in value):
                        yield from (("nodes", name, f"{key}[{k}]", value, k) for k in range(len(value)))
                    else:
                        yield "nodes", name, key, held, key
    for name, run in page.section("runs").items():
        feed = run.get("feed") if isinstance(run, dict) else None
        if isinstance(feed, dict):
            yield from (("feed", fed, f"{name}_{fed}", feed, fed) for fed in feed)
    expected = page.section("expect")
    yield from (("expect", name, f"{name}_expected", expected, name) for name in expected)


def move_large(page: Page) -> None:
    """Take what is too long for the page's text out of it, into `page.data`."""
    large = [place for place in holders(page) if _size(place[3][place[4]]) > literals.MOST_INLINE]
    if not large:
        return
    drawn = inspect(page)
    graph = drawn.graph
    for section, name, part, held, key in large:
        literal = held[key]
        array: Array | None = None
        if section == "nodes":
            if name in graph:  # else something is wrong with the node, and it stays as it is
                node = graph.node(name)
                ports = dict(zip(node.ports, node.inputs, strict=True))
                array = ports[part].node.attrs["value"] if part in ports else node.attrs.get(part)
                if name in drawn.parts:  # the weights of a gradient
                    array = page.array(literal, next(o.dtype for o in outputs(page, graph, _source(page, name))))
            label = f"{name}_{part}" if part != "value" else name
        else:
            found = outputs(page, graph, name) if name.rpartition(".")[0] in graph or name in graph else []
            if len(found) == 1:
                array = page.array(literal, found[0].dtype)
            label = part
        if isinstance(array, np.ndarray):
            rest = (
                {k: v for k, v in literal.items() if k not in ("value", "shape")} if isinstance(literal, dict) else {}
            )
            held[key] = {**page.literal(array, label), **rest}


def _source(page: Page, gradient: str) -> str:
    return str(page.nodes[gradient]["in"]["of"]["from"])


def _size(literal: Any) -> int:
    value = literal.get("value") if isinstance(literal, dict) else literal
    return literals.count(value) if isinstance(value, list) else 1


def _brought(page: Page, folder: Path) -> dict[str, bytes]:
    """The data files that a page reads, for its new folder."""
    found = {}
    for *_, held, key in holders(page):
        literal = held[key]
        if isinstance(literal, dict) and "file" in literal and literal["file"] not in page.data:
            try:
                found[literal["file"]] = data_files.file_content(folder, literal["file"], literal.get("sha256"))
            except errors.Error:  # it was missing before
                continue
    return found
