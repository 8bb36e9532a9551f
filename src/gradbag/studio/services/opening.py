"""A file that somebody brings: a page, a GraphDef, a picture with a page inside, or numbers."""

from __future__ import annotations

from pathlib import PurePosixPath

from ... import errors
from ...graph.graphdef import load_graphdef
from ...page.canonical import MOST_BYTES
from ...page.checking import inspect
from ...page.import_graph import from_graph
from ...page.import_graphdef import from_graphdef
from ...page.model import Page, parse
from ..messages import ImportedFile
from .carrying import MOST_ELEMENTS, whole
from .data_import import data_page
from .pictures import page_of

MOST_OPENED = 1 << 26
MOST_CONSTANTS = 8 * MOST_ELEMENTS  # bytes
PICTURES = (b"\x89PNG", b"<svg", b"<?xml", b"<!--")


def opened(data: bytes, name: str) -> ImportedFile:
    """The page of a file, which is told by its content; `name` is for its title and for messages."""
    shown = PurePosixPath(name.replace("\\", "/")).name[:80] or "the file"
    if len(data) > MOST_OPENED:
        most = errors.in_bytes(MOST_OPENED)
        raise errors.ResourceExhaustedError(f"{shown} has {errors.in_bytes(len(data))}; at most {most} are opened")
    start = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(PICTURES) or shown.lower().endswith((".svg", ".png")):
        return _from_picture(data, shown)
    if start.startswith(b"{") or shown.lower().endswith(".json"):
        return _answer(parse(data, None, shown), [])
    numbers = data_page(data, shown)
    return _from_graphdef(data, shown) if numbers is None else _answer(numbers, [])


def _answer(page: Page, notes: list[str]) -> ImportedFile:
    document, missing = whole(page)
    drawn = inspect(Page(document))
    if drawn.problems:
        count = len(drawn.problems)
        notes = [*notes, f"it has {count} problem{'s' if count > 1 else ''}; the first is {drawn.problems[0]}"]
    return ImportedFile(page=document, title=page.title, notes=[*notes, *missing])


def _from_picture(data: bytes, name: str) -> ImportedFile:
    text = page_of(data)
    if text is None:
        raise errors.InvalidArgumentError(f"{name} is a picture without a page inside; export it from the studio again")
    if len(text) > MOST_BYTES:
        raise errors.ResourceExhaustedError(f"the page inside {name} has more than {errors.in_bytes(MOST_BYTES)}")
    return _answer(parse(text, None, f"the page inside {name}"), [f"taken from the picture {name}"])


def _from_graphdef(data: bytes, name: str) -> ImportedFile:
    title = name.removesuffix(".pbtxt").removesuffix(".pb")
    notes = []
    try:
        page = from_graph(load_graphdef(data, file_limit=MOST_OPENED, constant_limit=MOST_CONSTANTS), title)
    except errors.InvalidArgumentError as problem:
        # Something that cannot be built; if it can be drawn, people can see what it is.
        page = _drawn_anyway(data, title, problem)
        notes.append(str(problem))
    return _answer(page, [f"{name} has {len(page.nodes)} blocks", *notes])


def _drawn_anyway(data: bytes, title: str, problem: errors.Error) -> Page:
    try:
        page = from_graphdef(data, title, file_limit=MOST_OPENED, constant_limit=MOST_CONSTANTS)
    except errors.Error:
        text = str(problem).removeprefix("the GraphDef is no GraphDef: ")
        if text == str(problem):
            raise problem from None
        kinds = "neither a page, a picture with a page inside, numbers (.npy, .npz, .csv, .parquet) nor a GraphDef"
        raise errors.InvalidArgumentError(f"{title} is {kinds}: {text}") from None
    return page
