"""Whether what the server says has the form that messages.py gives it, as the page believes."""

from __future__ import annotations

import re
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import httpx

from gradbag.studio import messages

REPLIES = {
    "(GET|POST) /api/session": messages.Session,
    "GET /api/catalogue": messages.Catalogue,
    "POST /api/journal/.*": messages.Journaled,
    "GET /api/help/.*": messages.Help,
    "POST /api/check": messages.Check,
    "POST /api/fits": messages.Fits,
    "POST /api/layout": messages.Layout,
    "POST /api/differentiable": messages.Differentiable,
    "POST /api/differentiate": messages.Differentiated,
    "POST /api/restate": messages.Differentiated,
    "POST /api/lens": messages.Lens,
    "POST /api/rounds": messages.Rounds,
    "POST /api/round": messages.Round,
    "POST /api/text": messages.Text,
    "POST /api/run": messages.RunStarted,
    "POST /api/step": messages.Stepped,
    r"GET /api/value/[^.]*": messages.ValueRows,
    "GET /api/files": messages.FileList,
    "GET /api/file/.*": messages.OpenedFile,
    "PUT /api/file/.*": messages.SavedFile,
    "POST /api/open": messages.ImportedFile,
    "POST /api/difference": messages.Difference,
}


def check_reply(response: httpx.Response) -> None:
    """For every answer to a client of the tests."""
    response.read()
    if response.headers.get("content-type") != "application/json" or not response.content:
        return
    if "content-disposition" in response.headers:  # a file
        return
    said = response.json()
    if response.status_code != 200:
        assert conforms(said, messages.RefusedReply), said
        return
    asked = f"{response.request.method} {response.request.url.path}"
    found = [kind for pattern, kind in REPLIES.items() if re.fullmatch(pattern, asked)]
    assert conforms(said, found[0]) if found else said == {}, (asked, said)


def conforms(value: Any, kind: Any) -> bool:
    """Nothing is missing, nothing is too much, and all is of its type."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if is_typeddict(kind):
        hints = get_type_hints(kind)
        if not isinstance(value, dict) or not kind.__required_keys__ <= value.keys() <= hints.keys():
            return False
        return all(conforms(one, hints[name]) for name, one in value.items())
    if kind in (int, float):
        return type(value) in ((int,) if kind is int else (int, float))
    if kind in (str, bool, NoneType):
        return isinstance(value, kind)
    if origin is Literal:
        return value in parts
    if origin is list:
        return isinstance(value, list) and all(conforms(one, parts[0]) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(conforms(one, parts[1]) for one in value.values())
    assert origin in (Union, UnionType, Annotated), kind
    return any(conforms(value, part) for part in (parts if origin is not Annotated else parts[:1]))
