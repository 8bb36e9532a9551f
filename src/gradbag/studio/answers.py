"""What the server says: JSON, and errors of one form, each with a sentence that a person can act on."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from .messages import Refusal

# Content that came from a user is saved by a browser, never shown by it.
ATTACHMENT_POLICY = "default-src 'none'; sandbox"


class Refused(Exception):
    """A request that is not fulfilled, and why."""

    def __init__(self, status: int, kind: str, text: str, **more: Any) -> None:
        super().__init__(text)
        self.status, self.kind, self.text, self.more = status, kind, text, more

    def response(self) -> Response:
        """`more` goes beside the error, except for what belongs to it: its node and its port."""
        error = Refusal(kind=self.kind, text=self.text)
        error |= {name: self.more[name] for name in ("node", "port") if self.more.get(name)}  # type: ignore[typeddict-item]
        beside = {name: value for name, value in self.more.items() if name not in ("node", "port")}
        return json({"error": error, **beside}, self.status)


def json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """`content` may hold `msgspec.Raw` parts, which are JSON already."""
    body = content if isinstance(content, bytes) else msgspec.json.encode(content)
    return Response(body, status, {"Cache-Control": "no-store", **(headers or {})}, "application/json")


def attachment(content: bytes, media_type: str, name: str) -> Response:
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)[:120] or "download"
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": f'attachment; filename="{plain}"',
        "Content-Security-Policy": ATTACHMENT_POLICY,
    }
    return Response(content, 200, headers, media_type)


# ------------------------------------------------------------------ requests
async def body_of(request: Request, most: int) -> bytes:
    """The whole body, if it is not longer than `most` bytes."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > most:
            raise too_long(most)
    return bytes(content)


def too_long(most: int) -> Refused:
    return Refused(413, "too-large", f"The request is longer than {most // (1 << 20) or 1} MiB, which is the most.")


async def read(request: Request, kind: type, most: int) -> Any:
    """The body as an object of a dataclass. A page in it stays text, for the process that works on it to read."""
    content = await body_of(request, most)
    try:
        return msgspec.json.decode(content, type=kind)
    except RecursionError:
        raise Refused(400, "malformed", "The request is nested too deeply.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Refused(400, "malformed", f"The request cannot be read: {problem}.") from None
