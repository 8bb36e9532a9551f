"""Files of GraphDef: binary or text, of limited size and depth."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from pathlib import Path
from typing import Any

from ... import errors
from . import messages
from .weighing import weigh

DEEPEST_TEXT = 64
TEXT_LIMIT = 1 << 18  # fields, which take some two seconds to read
_TEXT = re.compile(rb"(\s|#[^\n]*\n)*(node|versions|version|library|debug_info)\s*[:{<]")
_BRACKETS = re.compile(rb'"(?:\\.|[^"\\\n])*"|' + rb"'(?:\\.|[^'\\\n])*'|#[^\n]*|[{<]|[}>]")


def read_message(name: str, path: Path, limit: int) -> Any:
    """A binary message other than a GraphDef in a file, of limited size."""
    with path.open("rb") as file:
        data = file.read(limit + 1)
    _check_size(data, str(path), limit)
    weigh(data, str(path))
    return parsed(name, data, path)


def parsed(name: str, data: bytes, where: Path) -> Any:
    """A message of some bytes of a file."""
    from google.protobuf.message import DecodeError

    try:
        return messages.message(name).FromString(data)
    except DecodeError as problem:
        raise errors.InvalidArgumentError(f"{where} is damaged: it has no {name} where it should ({problem})") from None


def _check_size(data: bytes, where: str, limit: int) -> None:
    if len(data) > limit:
        raise errors.ResourceExhaustedError(
            f"{where} is larger than {errors.in_bytes(limit)}, the largest that is read (file_limit)"
        )
    if not data:
        raise errors.InvalidArgumentError(f"{where} is empty")


def read(source: Any, limit: int) -> Any:
    """The message in a file or in bytes."""
    errors.check_natural("load_graphdef", "file_limit", limit)
    if isinstance(source, (bytes, bytearray, memoryview)):
        data, where, suffix = bytes(source), "the GraphDef", ""
    elif isinstance(source, (str, os.PathLike)):
        path = Path(source)
        where, suffix = str(path), path.suffix
        with path.open("rb") as file:
            data = file.read(limit + 1)  # what the file's size says may be wrong, or no size at all
    else:
        raise errors.wrong_type("load_graphdef", "source", ["a path or bytes"], type(source).__name__)
    _check_size(data, where, limit)
    proto = messages.message("GraphDef")()
    if suffix == ".pbtxt" or _TEXT.match(data):
        _merge_text(data, where, proto)
    else:
        from google.protobuf.message import DecodeError

        weigh(data, where)
        try:
            proto.ParseFromString(data)
        except DecodeError as problem:
            raise errors.InvalidArgumentError(f"{where} is no GraphDef: {problem}") from None
    if not proto.node and not proto.HasField("versions"):
        raise errors.InvalidArgumentError(
            f"{where} has no node; a saved model is no GraphDef: load_saved_model takes its folder"
        )
    return proto


def _merge_text(data: bytes, where: str, proto: Any) -> None:
    from google.protobuf import text_format

    fields = sum(data.count(mark) for mark in b":{<,")  # those in strings too, which saves reading them
    if fields > TEXT_LIMIT:
        raise errors.ResourceExhaustedError(
            f"{where} has about {fields:,} fields, more than the {TEXT_LIMIT:,} that are read from text: "
            f"a binary file may have more"
        )
    depth = 0
    for found in _BRACKETS.finditer(data):
        first = found[0][:1]
        depth += (first in b"{<") - (first in b"}>")
        if depth > DEEPEST_TEXT:
            raise errors.InvalidArgumentError(f"{where} is no GraphDef: it is nested deeper than {DEEPEST_TEXT}")
    try:
        # TensorFlow's own files have fields for debuggers, which no graph needs.
        text_format.Parse(data.decode(), proto, allow_unknown_field=True)
    except UnicodeDecodeError as problem:
        raise errors.InvalidArgumentError(f"{where} is no GraphDef: its text is not UTF-8: {problem.reason}") from None
    except (text_format.ParseError, ValueError, TypeError, RecursionError) as problem:
        raise errors.InvalidArgumentError(f"{where} is no GraphDef: {str(problem)[:300]}") from None


def in_text(proto: Any) -> bytes:
    from google.protobuf import text_format

    text: str = text_format.MessageToString(proto)
    return text.encode()


def write(path: Path, data: bytes) -> None:
    """Write beside the target, then take its place: nobody ever sees half of a file."""
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
    try:
        with beside.open("xb") as file:
            file.write(data)
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
