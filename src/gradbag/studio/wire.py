"""Messages between the web process and those that compute: a length, then MessagePack, which holds data and no code."""

from __future__ import annotations

import os
from typing import Any

import msgspec

LENGTH = 8
LONGEST = 1 << 31


class Parts(dict[str, Any]):
    """An answer that is for the web process itself; any other is for the page, as JSON."""


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder()


def packed(message: dict[str, Any]) -> bytes:
    body: bytes = _encoder.encode(message)
    return len(body).to_bytes(LENGTH, "little") + body


def length_of(head: bytes) -> int:
    length = int.from_bytes(head, "little")
    if length > LONGEST:
        raise ValueError("a message is too long")
    return length


def unpacked(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = _decoder.decode(body)
    return found


# ------------------------------------------------------------------ on the side that computes
def receive(descriptor: int) -> dict[str, Any] | None:
    """The next message; None when the other side is gone."""
    head = _exactly(descriptor, LENGTH)
    body = None if head is None else _exactly(descriptor, length_of(head))
    return None if body is None else unpacked(body)


def _exactly(descriptor: int, count: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        chunk = os.read(descriptor, min(count - len(parts), 1 << 20))
        if not chunk:
            return None
        parts += chunk
    return bytes(parts)


def send(descriptor: int, message: dict[str, Any]) -> None:
    rest = memoryview(packed(message))
    while rest:
        rest = rest[os.write(descriptor, rest) :]
