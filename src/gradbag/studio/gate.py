"""The door in front of everything, for HTTP and for WebSocket: what is not allowed here by name is refused.

Others can make a browser send requests to this port: a web page on another site, one that has bound its own name to
this address, another program's page on another port. They cannot read the token, choose the Host and Origin headers,
or add headers of their own without being asked first, and that is what is looked at.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .answers import Refused, too_long
from .limits import Limits
from .sessions import Session

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# What may be asked for without the cookie: the empty page and its parts, and the exchange of the token.
PUBLIC = {("GET", "/"), ("HEAD", "/"), ("GET", "/favicon.svg"), ("POST", "/api/session")}
PUBLIC_FOLDER = "/assets/"
UPLOADS = {"/api/open"}
log = logging.getLogger("gradbag.studio")


class Gate:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, session: Session, port: int, limits: Limits) -> None:
        self.app, self.session, self.limits = app, session, limits
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"}
        self.origins = {f"http://{host}" for host in self.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            try:
                self._check_socket(Asked(scope))
            except Refused:
                await send({"type": "websocket.close", "code": 1008})  # before the handshake: answered with 403
            else:
                await self.app(scope, receive, send)

    # ------------------------------------------------------------------ HTTP
    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = Answer(send)
        try:
            asked = Asked(scope)
            self._check(asked)
            body = Body(receive, self.limits.upload if asked.path in UPLOADS else self.limits.body)
            async with asyncio.timeout(self.limits.request_seconds):
                await self.app(scope, body, answer)
        except Refused as problem:
            await answer.refuse(scope, receive, problem)
        except TimeoutError:
            text = f"This took longer than {self.limits.request_seconds:g} seconds and was given up."
            await answer.refuse(scope, receive, Refused(504, "timeout", text))
        except Exception as problem:  # nothing may end the server, or tell its insides
            where = f"{scope['method']} {scope['path'][:80]!r}"
            log.error("%s failed: %s", where, type(problem).__name__, exc_info=problem)
            await answer.refuse(scope, receive, Refused(500, "internal", "Something went wrong inside the studio."))

    def _check(self, asked: Asked) -> None:
        if asked.size > self.limits.headers:
            raise Refused(431, "too-large", "The headers of the request are too long.")
        if asked.all("host") not in [[host] for host in self.hosts]:
            raise Refused(421, "host", "This address is not the studio's.")
        if not asked.path.isprintable():  # a line end after a name would be taken for nothing
            raise Refused(400, "name", "The address holds characters that no name has.")
        changes = asked.method not in ("GET", "HEAD")
        origins = asked.all("origin")
        if (origins or changes) and (len(origins) != 1 or origins[0] not in self.origins):
            raise Refused(403, "origin", "Only the studio's own page may ask for this.")
        site, opens_page = asked.one("sec-fetch-site"), asked.path == "/" and asked.one("sec-fetch-mode") == "navigate"
        if site not in ("", "same-origin", "none") and not (opens_page and not changes):
            raise Refused(403, "origin", "Only the studio's own page may ask for this.")
        public = (asked.method, asked.path) in PUBLIC or (not changes and asked.path.startswith(PUBLIC_FOLDER))
        if not public and not self.session.knows(asked.one("cookie")):
            raise Refused(401, "session", "This tab is not signed in: open the address that `gradbag studio` shows.")
        if changes:
            self._check_change(asked)

    def _check_change(self, asked: Asked) -> None:
        """A form or an image on another site can send neither this type of content nor this header."""
        if asked.one("x-gradbag") != "1":
            raise Refused(403, "header", "The request lacks the header X-Gradbag.")
        wanted = "application/octet-stream" if asked.path in UPLOADS else "application/json"
        bare = asked.method == "DELETE" and not asked.one("content-type")
        if not bare and asked.one("content-type").partition(";")[0].strip().lower() != wanted:
            raise Refused(415, "content-type", f"The content of this request must be {wanted}.")
        length = asked.one("content-length")
        most = self.limits.upload if asked.path in UPLOADS else self.limits.body
        if length.isdecimal() and int(length) > most:
            raise too_long(most)

    # ------------------------------------------------------------------ WebSocket
    def _check_socket(self, asked: Asked) -> None:
        if asked.size > self.limits.headers or asked.all("host") not in [[host] for host in self.hosts]:
            raise Refused(421, "host", "")
        origins = asked.all("origin")
        if len(origins) != 1 or origins[0] not in self.origins:
            raise Refused(403, "origin", "")
        if asked.one("sec-fetch-site") not in ("", "same-origin"):
            raise Refused(403, "origin", "")
        if not self.session.knows(asked.one("cookie")):
            raise Refused(401, "session", "")


class Asked:
    """What a request says about itself."""

    def __init__(self, scope: Scope) -> None:
        self.path: str = scope["path"]
        self.method: str = scope.get("method", "GET")
        self._headers: list[tuple[bytes, bytes]] = list(scope["headers"])
        self.size = sum(len(name) + len(value) + 4 for name, value in self._headers)
        self.size += len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"")

    def all(self, name: str) -> list[str]:
        return [value.decode("latin-1") for key, value in self._headers if key == name.encode()]

    def one(self, name: str) -> str:
        """A header that should be there once; said twice, it counts as wrong."""
        return ", ".join(self.all(name))


class Body:
    """Counts what comes in."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._most, self._count = receive, most, 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._count += len(message.get("body", b""))
        if self._count > self._most:
            raise too_long(self._most)
        return message


class Answer:
    """Adds the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self._send, self._started = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            there = {name.lower() for name, _ in message.get("headers", [])}
            added: list[Any] = [
                (name.lower().encode(), value.encode())
                for name, value in SECURITY_HEADERS.items()
                if name.lower().encode() not in there
            ]
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await self._send(message)

    async def refuse(self, scope: Scope, receive: Receive, problem: Refused) -> None:
        if not self._started:
            await problem.response()(scope, receive, self)
