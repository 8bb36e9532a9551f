"""Questions about ops and pages: what there is, what is wrong, what fits, how it looks."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .answers import Refused, attachment, json, read, too_long
from .routes_runs import check_trusted
from .studio import studio_of


@dataclass
class OnPage:
    page: msgspec.Raw
    path: str | None = None


@dataclass
class Check(OnPage):
    open: list[str] | None = None


@dataclass
class Fits(OnPage):
    node: str = ""
    port: str = ""
    side: str = "output"


@dataclass
class Layout(OnPage):
    nodes: list[str] | None = None


@dataclass
class Differentiable(OnPage):
    output: str = ""


@dataclass
class Differentiate(Differentiable):
    inputs: list[str] | None = None
    ports: list[str] | None = None


@dataclass
class Export(OnPage):
    kind: str = "page"


async def catalogue(request: Request) -> Response:
    return json(await studio_of(request).checker.ask("catalogue"))


async def help_page(request: Request) -> Response:
    return json(await studio_of(request).checker.ask("help", op=request.path_params["op"]))


def question(kind: str, wanted: type) -> Any:
    """A route that hands its request on as it is."""

    async def answer(request: Request) -> Response:
        studio = studio_of(request)
        asked = await read(request, wanted, studio.limits.body)
        # Not by `vars`: what a request leaves out stands in the class.
        fields = {one.name: getattr(asked, one.name) for one in dataclass_fields(wanted)}
        fields = {name: value for name, value in fields.items() if name not in ("page", "path")}
        async with studio.asking:  # one at a time: what nobody waits for any more is not worked out
            if await request.is_disconnected():
                return Response(status_code=204)
            return json(await studio.check(kind, asked.page, asked.path, **fields))

    return answer


async def export(request: Request) -> Response:
    studio = studio_of(request)
    asked = await read(request, Export, studio.limits.body)
    if asked.kind == "html":  # it shows what the page computes
        await check_trusted(studio, asked.page, asked.path)
        home = str(studio.folder.home_of(asked.path))
        made = await studio.runner.ask("web_page", page=bytes(asked.page), path=asked.path, folder=home)
    else:
        made = await studio.check("export", asked.page, asked.path, form=asked.kind)
    return attachment(made["content"], made["media_type"], made["name"])


async def open_file(request: Request) -> Response:
    """A file from anywhere, on its way through a temporary one; its page is a stranger's until it is trusted."""
    studio = studio_of(request)
    name = request.query_params.get("name", "")
    if len(name) > 255 or not re.fullmatch(r"[^\x00-\x1f/\\]*", name):
        raise Refused(400, "name", "This is no name of a file.")
    place = await _stored(request, studio.limits.upload)
    try:
        made = await studio.checker.ask("open", file=place, name=name or "the file", most=studio.limits.upload)
    finally:
        os.unlink(place)
    if any(node.get("op") != "Const" for node in made["nodes"].values()):  # numbers alone do nothing
        studio.trust.remember_opened(made["nodes"])
    return json(made["answer"])


async def _stored(request: Request, most: int) -> str:
    descriptor, place = tempfile.mkstemp(prefix="gradbag-upload-")
    count = 0
    with open(descriptor, "wb") as file:
        try:
            async for chunk in request.stream():
                count += len(chunk)
                if count > most:
                    raise too_long(most)
                file.write(chunk)
        except BaseException:
            os.unlink(place)
            raise
    return place


ROUTES = [
    Route("/api/catalogue", catalogue, methods=["GET"]),
    Route("/api/help/{op}", help_page, methods=["GET"]),
    Route("/api/check", question("check", Check), methods=["POST"]),
    Route("/api/fits", question("fits", Fits), methods=["POST"]),
    Route("/api/layout", question("layout", Layout), methods=["POST"]),
    Route("/api/differentiable", question("differentiable", Differentiable), methods=["POST"]),
    Route("/api/differentiate", question("differentiate", Differentiate), methods=["POST"]),
    Route("/api/restate", question("restate", OnPage), methods=["POST"]),
    Route("/api/text", question("text", OnPage), methods=["POST"]),
    Route("/api/export", export, methods=["POST"]),
    Route("/api/open", open_file, methods=["POST"]),
]
