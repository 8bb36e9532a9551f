"""The folder's pages: list, open, save, rename, throw away; and what is not saved yet."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from . import files
from .answers import Refused, json, read
from .files import CAPTURE, EXAMPLE, Stale
from .journal import Entry, checked_journal, is_untitled
from .messages import Current, FileList, Journaled, Notice, OpenedFile, Recovered, SavedFile
from .studio import Studio, studio_of
from .trust import nodes_of


@dataclass
class Save:
    page: msgspec.Raw
    version: str | None = None
    force: bool = False
    client: str = ""
    seen: str = ""


@dataclass
class State:
    page: msgspec.Raw
    sequence: int = 0
    client: str = ""
    seen: str = ""  # a former tab, whose work was recovered here


@dataclass
class Rename:
    path: str
    to: str


async def listing(request: Request) -> Response:
    studio = studio_of(request)
    pages, captures, shipped, recovered = await asyncio.gather(
        asyncio.to_thread(studio.folder.pages),
        asyncio.to_thread(studio.folder.captures),
        asyncio.to_thread(files.example_pages),
        asyncio.to_thread(studio.journal.unsaved),
    )
    return json(FileList(pages=pages, captures=captures, examples=shipped, recovered=recovered))


async def captured(request: Request) -> Response:
    """What a record shows: all tables, and the largest rows of one step."""
    studio, path = studio_of(request), request.path_params["path"]
    step = request.query_params.get("step", "")
    if step and not (step.isdecimal() and len(step) < 16):
        raise Refused(400, "malformed", "step must be a whole number.")
    content = await asyncio.to_thread(studio.folder.read, path, CAPTURE)
    return json(await studio.checker.ask("capture", content=content, name=path, step=int(step) if step else None))


# ------------------------------------------------------------------ one page
async def open_page(request: Request) -> Response:
    studio, path = studio_of(request), request.path_params["path"]
    if is_untitled(path) and not path.startswith(EXAMPLE):
        return json(await _unsaved(studio, path))
    try:
        content = await asyncio.to_thread(studio.folder.read, path)
    except Refused as problem:
        if problem.status == 404 and not path.startswith(EXAMPLE):
            return json(await _unsaved(studio, path))
        raise
    page = await studio.check("document", content, path)
    entry = None if path.startswith(EXAMPLE) else await asyncio.to_thread(studio.journal.last, path)
    trusted = path.startswith(EXAMPLE) or studio.trust.knows(content)
    if not trusted:
        studio.trust.remember_opened(nodes_of(content))
    return json(
        OpenedFile(
            page=msgspec.Raw(page),
            path=path,
            version=files.digest(content),
            trusted=trusted,
            recovered=await _recovered(studio, path, entry, page),
        )
    )


async def _unsaved(studio: Studio, path: str) -> OpenedFile:
    """A page that has no file, but a journal."""
    entry = await asyncio.to_thread(studio.journal.last, checked_journal(path))
    found = None if entry is None else await _recovered(studio, path, entry, b"")
    if entry is None or found is None:
        raise Refused(404, "missing", f"There is no page {path[:80]}.")
    own = studio.journal.is_own(entry)
    if not own:
        studio.trust.remember_opened(nodes_of(bytes(entry.page)))
    return OpenedFile(page=found["page"], path=path, version="", trusted=own, recovered=found)


async def _recovered(studio: Studio, path: str, entry: Entry | None, page: bytes) -> Recovered | None:
    """The unsaved state of a page, where it can be read and is another one than the saved."""
    if entry is None:
        return None
    try:
        found = await studio.check("document", entry.page, None if is_untitled(path) else path)
    except Refused:
        return None
    return None if found == page else Recovered(page=msgspec.Raw(found), saved_at=entry.saved_at, client=entry.client)


async def save_page(request: Request) -> Response:
    studio, path = studio_of(request), request.path_params["path"]
    _check_writable(studio, path)
    files.checked_name(path)
    asked = await read(request, Save, studio.limits.body)
    made = await studio.check("prepare", asked.page, path)
    async with studio.writing:
        own = not studio.trust.has_foreign(made["nodes"]) and await _is_own(studio, path, asked.version)
        try:
            version = await asyncio.to_thread(
                studio.folder.write, path, made["text"], made["data"], asked.version, asked.force
            )
        except Stale as problem:
            raise await _stale(studio, path, problem.current) from None
        if own:
            await asyncio.to_thread(studio.trust.add, made["text"])
        await asyncio.to_thread(studio.journal.saved, path, asked.client, asked.seen)
    studio.events.tell(Notice(type="files"))
    return json(SavedFile(version=version, page=msgspec.Raw(made["page"])))


async def _is_own(studio: Studio, path: str, version: str | None) -> bool:
    """Whether what is saved was made here: a foreign page stays one when it is edited, until it is trusted."""
    if version is None:
        return True
    try:
        before = await asyncio.to_thread(studio.folder.read, path)
    except Refused:
        return True
    return studio.trust.knows(before)


async def _stale(studio: Studio, path: str, current: bytes | None) -> Refused:
    if current is None:
        return Refused(409, "stale", f"{path} is not there any more: save it again to make it anew.", current=None)
    try:
        page: Any = msgspec.Raw(await studio.check("document", current, path))
    except Refused:
        page = None
    text = f"{path} has been changed since this tab opened it."
    return Refused(409, "stale", text, current=Current(page=page, version=files.digest(current)))


async def discard_page(request: Request) -> Response:
    studio, path = studio_of(request), request.path_params["path"]
    _check_writable(studio, path)
    async with studio.writing:
        await asyncio.to_thread(studio.folder.discard, path)
        await asyncio.to_thread(studio.journal.drop, path)
    studio.events.tell(Notice(type="files"))
    return json({})


async def rename_page(request: Request) -> Response:
    studio = studio_of(request)
    asked = await read(request, Rename, studio.limits.body)
    _check_writable(studio, asked.path)
    _check_writable(studio, asked.to)
    async with studio.writing:
        await asyncio.to_thread(studio.folder.rename, asked.path, asked.to)
        await asyncio.to_thread(studio.journal.move, asked.path, asked.to)
    studio.events.tell(Notice(type="files"))
    return json({})


def _check_writable(studio: Studio, path: str) -> None:
    if path.startswith(EXAMPLE):
        raise Refused(403, "readonly", "An example cannot be changed: save it under a name of your own.")
    if studio.folder.readonly:
        raise Refused(403, "readonly", "This folder cannot be written to.")


# ------------------------------------------------------------------ what is not saved
async def add_to_journal(request: Request) -> Response:
    studio = studio_of(request)
    path = checked_journal(request.path_params["path"])
    _check_writable(studio, path)
    asked = await read(request, State, studio.limits.body)
    async with studio.writing:
        beside = await asyncio.to_thread(
            studio.journal.add, path, bytes(asked.page), asked.sequence, asked.client, asked.seen
        )
    return json(Journaled(beside=beside))


async def drop_journal(request: Request) -> Response:
    """All of it, or what one tab has written."""
    studio, path, client = studio_of(request), request.path_params["path"], request.query_params.get("client", "")
    async with studio.writing:
        await (
            asyncio.to_thread(studio.journal.left, path, client)
            if client
            else asyncio.to_thread(studio.journal.drop, path)
        )
    return json({})


ROUTES = [
    Route("/api/capture/{path:path}", captured, methods=["GET"]),
    Route("/api/files", listing, methods=["GET"]),
    Route("/api/file/{path:path}", open_page, methods=["GET"]),
    Route("/api/file/{path:path}", save_page, methods=["PUT"]),
    Route("/api/file/{path:path}", discard_page, methods=["DELETE"]),
    Route("/api/rename", rename_page, methods=["POST"]),
    Route("/api/journal/{path:path}", add_to_journal, methods=["POST"]),
    Route("/api/journal/{path:path}", drop_journal, methods=["DELETE"]),
]
