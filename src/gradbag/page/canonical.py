"""The text of a page file: a strict reader, and a writer that gives the same bytes for the same page.

The reader takes less than JSON allows, because a page also lives in a browser and comes from strangers: UTF-8 without a
mark, no key twice, no number that a browser would change, nothing nested deeply. What it refuses is no page at all;
what is wrong inside a page is for `checking` to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import errors
from ..graph.bulk import in_bulk

MOST_BYTES = 1 << 26
MOST_VALUES = 4_000_000
DEEPEST = 64
LARGEST_INTEGER = 1 << 53  # beyond it a browser's numbers have gaps
FORBIDDEN_KEYS = frozenset({"__proto__", "constructor", "prototype"})  # a browser's objects have them from birth

TOP = ("format", "title", "nodes", "runs", "expect", "layout", "groups", "notes")
NODE = ("op", "in", "attrs", "after")
RUN = ("fetch", "only", "feed", "mode", "steps", "seed")
LITERAL = ("from", "value", "base64", "file", "sha256", "shape", "dtype", "tolerance")
# Sections with one entry per line, and the order of the keys in an entry.
_SECTIONS: dict[str, tuple[str, ...]] = {
    "nodes": NODE,
    "runs": RUN,
    "expect": LITERAL,
    "layout": (),
    "groups": (),
    "notes": (),
}

# A string that never ends is taken to the end of the text, so that no part is looked at twice.
_STRING = re.compile(rb'"[^"\\]*+(?:\\(?:.|\Z)[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_UNUSUAL_NUMBER = re.compile(rb"[0-9]{16}|[0-9][eE]")
_UNUSUAL_KEYS = (b"\\u00", *(key.encode() for key in FORBIDDEN_KEYS))
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


# ------------------------------------------------------------------ reading
@in_bulk
def read_text(data: bytes, name: str = "the page") -> dict[str, Any]:
    """The object that a text holds, or an error that says where the text is wrong."""

    def refuse(why: str) -> errors.InvalidArgumentError:
        return errors.InvalidArgumentError(f"{name} {why}")

    if len(data) > MOST_BYTES:
        raise refuse(f"has {errors.in_bytes(len(data))}; at most {errors.in_bytes(MOST_BYTES)} are read")
    if data.startswith(b"\xef\xbb\xbf"):
        raise refuse("begins with a byte order mark; it must be plain UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise refuse(f"is not UTF-8: byte {problem.start} is {data[problem.start]:#04x}") from None
    # Numbers and brackets: sizes are checked before any number is made. Without escapes, every second part is a string.
    bare = b"".join(data.split(b'"')[::2]) if b"\\" not in data else _STRING.sub(b"", data)
    values = bare.count(b",") + bare.count(b"[") + bare.count(b"{")
    if values > MOST_VALUES:
        raise refuse(f"holds {values} values; at most {MOST_VALUES} are read, large arrays belong in data files")
    if _depth(bare) > DEEPEST:
        raise refuse(f"is nested deeper than {DEEPEST} levels")
    hooks: dict[str, Any] = {}
    if _UNUSUAL_NUMBER.search(bare):
        hooks = {"parse_int": _integer, "parse_float": _finite}
    try:
        objects: list[dict[str, Any]] = []

        def kept(one: dict[str, Any]) -> dict[str, Any]:
            objects.append(one)
            return one

        document = json.loads(text, object_hook=kept, parse_constant=_no_constant, **hooks)
        # A key that was there twice: the objects have fewer than the text has colons.
        if any(key in data for key in _UNUSUAL_KEYS) or sum(map(len, objects)) != bare.count(b":"):
            document = json.loads(text, object_pairs_hook=_object)  # says which key it is, if one is wrong
    except json.JSONDecodeError as problem:
        raise refuse(f"is no JSON: {problem.msg} at line {problem.lineno}, column {problem.colno}") from None
    except _Refused as problem:
        raise refuse(str(problem)) from None
    if not isinstance(document, dict):
        raise refuse("is no page: it must be a JSON object")
    if _SURROGATE.search(data):
        try:
            json.dumps(document, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise refuse("has half a surrogate pair in a string") from None
    return document


class _Refused(Exception):
    """JSON, but not what a page may say."""


def _depth(bare: bytes) -> int:
    brackets = np.frombuffer(bare.translate(None, _NOT_BRACKETS), np.uint8)
    if not brackets.size:
        return 0
    steps = np.where((brackets == ord("[")) | (brackets == ord("{")), 1, -1)
    return int(np.cumsum(steps).max())


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _Refused(f"has the key {twice[:80]!r} twice in one object")
    if not FORBIDDEN_KEYS.isdisjoint(made):
        raise _Refused(f"has the key {next(k for k in made if k in FORBIDDEN_KEYS)!r}, which no object may have")
    return made


def _integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > LARGEST_INTEGER:
        raise _Refused(f"has the integer {text[:40]}, beyond 2**53: write it as a string")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _Refused(f'has the number {text[:40]}, which is beyond a double; write "inf" if that is meant')
    return value


def _no_constant(text: str) -> None:
    words = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}
    raise _Refused(f'has {text}, which is not JSON; write the string "{words[text]}"')


# ------------------------------------------------------------------ writing
def write_text(document: Mapping[str, Any]) -> str:
    """The canonical text: a fixed order of keys, one node, one run and one position per line."""
    lines = [f"  {_encode(key)}: {_section(key, value)}" for key, value in ordered(document, TOP).items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n" if lines else "{}\n"
    try:
        read_text(text.encode(), "the page to be written")  # what cannot be read back is never written
    except UnicodeEncodeError:
        raise errors.InvalidArgumentError("the page to be written has half a surrogate pair in a string") from None
    return text


def ordered(mapping: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """The known keys first, in their order, then the others as they came."""
    known = {key: mapping[key] for key in keys if key in mapping}
    return {**known, **mapping}


def _section(key: str, value: Any) -> str:
    if key not in _SECTIONS or not isinstance(value, dict) or not value:
        return _encode(value)
    return "{\n" + ",\n".join(_entries(value, _SECTIONS[key])) + "\n  }"


def _entries(section: Mapping[str, Any], keys: Sequence[str]) -> Iterator[str]:
    for name, entry in section.items():
        if isinstance(entry, dict):
            entry = ordered(entry, keys)
            for part in ("in", "feed"):
                if isinstance(entry.get(part), dict):
                    entry[part] = {port: _literal(value) for port, value in entry[part].items()}
        yield f"    {_encode(name)}: {_encode(entry)}"


def _literal(value: Any) -> Any:
    if isinstance(value, dict):
        return ordered(value, LITERAL)
    if isinstance(value, list):
        return [ordered(v, LITERAL) if isinstance(v, dict) else v for v in value]
    return value


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def _encode(value: Any) -> str:
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError) as problem:
        raise errors.InvalidArgumentError(f"a page cannot hold {errors.shown(value)[:80]}: {problem}") from None
