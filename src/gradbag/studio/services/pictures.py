"""Pages inside pictures: an SVG keeps its page as metadata, a PNG as a text chunk.

Nothing here reads XML: the page is found by the mark that we write ourselves, so there is no entity to expand.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib

from ... import errors
from ...page.canonical import MOST_BYTES, write_text
from ...page.model import Page
from .carrying import whole

MARK = "gradbag-page"
MOST_CHUNKS = 10_000
_PNG = b"\x89PNG\r\n\x1a\n"
_OPENED = re.compile(rb"<metadata\s+id\s*=\s*[\"']" + MARK.encode() + rb"[\"'][^<>]{0,200}>")
_ROOT = re.compile(r"<svg\b[^<>]*>")


def with_page(svg: str, page: Page) -> str:
    """A drawing with the page that it shows inside it."""
    root = _ROOT.search(svg)
    if root is None:
        raise errors.InvalidArgumentError("the drawing is no SVG")
    text = base64.b64encode(write_text(whole(page)[0]).encode()).decode()
    return f'{svg[: root.end()]}\n<metadata id="{MARK}">{text}</metadata>{svg[root.end() :]}'


def page_of(data: bytes) -> bytes | None:
    """The text of the page inside a picture, or None where there is none."""
    return _in_png(data) if data.startswith(_PNG) else _in_svg(data)


def _in_svg(data: bytes) -> bytes | None:
    found = _OPENED.search(data)
    if found is None:
        return None
    end = data.find(b"<", found.end())
    if end < 0:
        raise errors.InvalidArgumentError("the SVG ends within the page that it holds")
    try:
        return base64.b64decode(b"".join(data[found.end() : end].split()), validate=True)
    except binascii.Error as problem:
        raise errors.InvalidArgumentError(f"the page inside the SVG is damaged: {problem}") from None


def _in_png(data: bytes) -> bytes | None:
    at = len(_PNG)
    for _ in range(MOST_CHUNKS):
        if at + 12 > len(data):
            return None
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        content = data[at + 8 : at + 8 + size]
        if len(content) < size or kind == b"IEND":
            return None
        if kind == b"iTXt" and content.startswith(MARK.encode() + b"\0"):
            return _text(content[len(MARK) + 1 :])
        at += size + 12
    return None


def _text(content: bytes) -> bytes:
    """The text of an iTXt chunk, behind two flags, a language and a translated keyword."""
    packed = content[:1] == b"\1"
    parts = content[2:].split(b"\0", 2)
    if len(parts) < 3:
        raise errors.InvalidArgumentError("the page inside the PNG is damaged")
    if not packed:
        return parts[2]
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(parts[2], MOST_BYTES + 1)
    except zlib.error as problem:
        raise errors.InvalidArgumentError(f"the page inside the PNG is damaged: {problem}") from None
    if len(text) > MOST_BYTES:
        raise errors.ResourceExhaustedError(f"the page inside the PNG has more than {errors.in_bytes(MOST_BYTES)}")
    return text
