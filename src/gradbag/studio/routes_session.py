"""The first things a tab asks for: the page itself, and to be let in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

import gradbag

from .answers import Refused, json, read
from .messages import Session
from .studio import studio_of

STATIC = Path(__file__).parent / "static"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_ASSET = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,120}")
NOT_BUILT = """<!doctype html>
<html lang="en">
<title>gradbag studio</title>
<h1>The page is not built yet</h1>
<p>The server runs, but the part of it that a browser shows is missing. Build it with</p>
<pre>make web</pre>
<p>in gradbag's folder, then load this page again. (A wheel of gradbag has it inside.)</p>
</html>
"""


@dataclass
class Token:
    token: str


async def shell(request: Request) -> Response:
    found = _static("index.html", "no-cache")
    return found or Response(NOT_BUILT, headers={"Cache-Control": "no-cache"}, media_type="text/html")


async def favicon(request: Request) -> Response:
    return _static("favicon.svg", "no-cache") or Response(status_code=204)


async def asset(request: Request) -> Response:
    """Their names carry a digest of their content, so a browser may keep them for ever."""
    name = request.path_params["name"]
    found = _static(f"assets/{name}", "max-age=31536000, immutable") if _ASSET.fullmatch(name) else None
    if found is None:
        raise Refused(404, "missing", "There is no such part of the page.")
    return found


def _static(name: str, caching: str) -> Response | None:
    place = STATIC / name
    kind = TYPES.get(place.suffix)
    if kind is None or not place.is_file():
        return None
    return Response(place.read_bytes(), headers={"Cache-Control": caching}, media_type=kind)


async def sign_in(request: Request) -> Response:
    session = studio_of(request).session
    asked = await read(request, Token, 4096)
    if not session.opens(asked.token):
        raise Refused(403, "token", "This address is from another start of the studio: open the one it shows now.")
    return json(_about(request), headers={"Set-Cookie": session.cookie()})


async def about(request: Request) -> Response:
    return json(_about(request))


def _about(request: Request) -> Session:
    studio = studio_of(request)
    return Session(
        key=studio.session.key,
        version=gradbag.__version__,
        folder=str(studio.folder.root),
        readonly=studio.folder.readonly,
    )


async def events(socket: WebSocket) -> None:
    await socket.app.state.studio.events.listen(socket)


ROUTES = [
    Route("/", shell, methods=["GET"]),
    Route("/favicon.svg", favicon, methods=["GET"]),
    Route("/assets/{name}", asset, methods=["GET"]),
    Route("/api/session", sign_in, methods=["POST"]),
    Route("/api/session", about, methods=["GET"]),
    WebSocketRoute("/api/events", events),
]
