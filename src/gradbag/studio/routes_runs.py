"""Running pages, and looking at what came out."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .answers import Refused, attachment, json, read
from .files import EXAMPLE
from .journal import is_untitled
from .messages import RunStarted
from .studio import Studio, studio_of
from .trust import nodes_of

HASH = re.compile(r"[0-9a-f]{8,128}")


@dataclass
class Run:
    page: msgspec.Raw
    path: str | None = None
    run: str | None = None
    targets: list[str] | None = None
    steps: int = 1
    open: list[str] | None = None
    client: str = ""


@dataclass
class Step:
    page: msgspec.Raw
    path: str | None = None
    targets: list[str] | None = None
    open: list[str] | None = None
    id: str | None = None
    client: str = ""


@dataclass
class Stop:
    id: str


@dataclass
class Trusting:
    path: str | None = None


@dataclass
class Lens:
    page: msgspec.Raw
    path: str | None = None
    node: str = ""
    port: str = ""
    index: list[int] = field(default_factory=list)
    cell: list[int] | None = None
    client: str = ""


# ------------------------------------------------------------------ runs
async def run(request: Request) -> Response:
    studio = studio_of(request)
    asked = await read(request, Run, studio.limits.body)
    if not 1 <= asked.steps <= studio.limits.steps:
        raise Refused(400, "steps", f"A loop has from 1 to {studio.limits.steps} steps.")
    await check_trusted(studio, asked.page, asked.path)
    job = studio.runs.submit(
        "run",
        {
            **_about(studio, asked),
            "name": asked.run,
            "targets": asked.targets,
            "steps": asked.steps,
            "open": asked.open or [],
        },
    )
    made = json(RunStarted(id=job.id))
    made.background = BackgroundTask(_begin, studio, job)
    return made


async def _begin(studio: Studio, job: Any) -> None:
    studio.runs.begin(job)


async def step(request: Request) -> Response:
    studio = studio_of(request)
    asked = await read(request, Step, studio.limits.body)
    await check_trusted(studio, asked.page, asked.path)
    if asked.id is not None and not HASH.fullmatch(asked.id):
        raise Refused(400, "malformed", "This is no name of a run.")
    about = {**_about(studio, asked), "targets": asked.targets, "open": asked.open or []}
    job = studio.runs.submit("step", about, asked.id)
    studio.runs.begin(job)
    return json(await asyncio.shield(job.answer))


def _about(studio: Studio, asked: Any) -> dict[str, Any]:
    home = str(studio.folder.home_of(asked.path))
    return {"page": bytes(asked.page), "path": asked.path, "folder": home, "client": asked.client}


async def stop(request: Request) -> Response:
    studio = studio_of(request)
    asked = await read(request, Stop, studio.limits.body)
    await studio.runs.stop(asked.id)
    return json({})


@dataclass
class Looking:
    path: str | None = None
    client: str = ""
    round: int = 0


def at_rounds(kind: str) -> Any:
    """What the last loop of a page has left behind."""

    async def answer(request: Request) -> Response:
        studio = studio_of(request)
        asked = await read(request, Looking, studio.limits.body)
        said = {"path": asked.path, "client": asked.client, "round": asked.round}
        return json(await studio.runner.ask(kind, **said))

    return answer


# ------------------------------------------------------------------ trust
async def check_trusted(studio: Studio, page: Any, path: str | None) -> None:
    """A stranger's page does not run before the user has said so."""
    if path is not None and path.startswith(EXAMPLE):
        return
    if is_untitled(path):
        foreign = studio.trust.has_foreign(nodes_of(bytes(page)))
    else:
        foreign = not await asyncio.to_thread(_covered, studio, path)
    if foreign:
        text = "This page was not made here. Look at it first: running it computes what it says, with your memory."
        raise Refused(403, "untrusted", text)


def _covered(studio: Studio, path: str | None) -> bool:
    try:
        return studio.trust.covers(path)
    except Refused as problem:
        if problem.status == 404:  # not saved yet under this name
            return True
        raise


async def trust(request: Request) -> Response:
    studio = studio_of(request)
    asked = await read(request, Trusting, studio.limits.body)
    if is_untitled(asked.path):
        studio.trust.accept_opened()
    elif asked.path is not None and not asked.path.startswith(EXAMPLE):
        content = await asyncio.to_thread(studio.folder.read, asked.path)
        await asyncio.to_thread(studio.trust.add, content)
        studio.trust.accept_opened(nodes_of(content))
    return json({})


# ------------------------------------------------------------------ values
async def value(request: Request) -> Response:
    studio, name = studio_of(request), request.path_params["hash"]
    if name.endswith(".npy"):
        made = await studio.runner.ask("npy", hash=_hash(name.removesuffix(".npy")))
        return attachment(made["content"], "application/octet-stream", f"value-{name[:8]}.npy")
    asked = request.query_params
    columns = asked.get("columns")
    pair = None if not columns else [_whole(part, "columns") for part in columns.split(",")]
    if pair is not None and len(pair) != 2:
        raise Refused(400, "malformed", "columns must be two numbers: the first column, and how many.")
    return json(
        await studio.runner.ask(
            "value",
            hash=_hash(name),
            start=_whole(asked.get("start", "0"), "start"),
            count=_whole(asked.get("count", "100"), "count"),
            columns=pair,
            slice=asked.get("slice", "")[:1000],
        )
    )


def _hash(text: str) -> str:
    if not HASH.fullmatch(text):
        raise Refused(404, "missing", "There is no such value.")
    return text


def _whole(text: str, name: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise Refused(400, "malformed", f"{name} must be a whole number.")
    return int(text)


async def lens(request: Request) -> Response:
    studio = studio_of(request)
    asked = await read(request, Lens, studio.limits.body)
    return json(
        await studio.runner.ask(
            "lens", **_about(studio, asked), node=asked.node, port=asked.port, index=asked.index, cell=asked.cell
        )
    )


async def difference(request: Request) -> Response:
    studio = studio_of(request)
    asked = await read(request, Lens, studio.limits.body)
    await check_trusted(studio, asked.page, asked.path)
    return json(await studio.runner.ask("difference", **_about(studio, asked), node=asked.node, index=asked.index))


ROUTES = [
    Route("/api/run", run, methods=["POST"]),
    Route("/api/step", step, methods=["POST"]),
    Route("/api/stop", stop, methods=["POST"]),
    Route("/api/trust", trust, methods=["POST"]),
    Route("/api/lens", lens, methods=["POST"]),
    Route("/api/difference", difference, methods=["POST"]),
    Route("/api/rounds", at_rounds("rounds"), methods=["POST"]),
    Route("/api/round", at_rounds("round"), methods=["POST"]),
    Route("/api/value/{hash}", value, methods=["GET"]),
]
