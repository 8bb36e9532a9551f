"""Random requests to a studio that runs: every route of the table answers, and never by failing inside."""

from __future__ import annotations

import atexit
import json
import re
import sys
import tempfile
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import loaders
import numpy as np
from starlette.routing import Route

from gradbag.studio import routes_files, routes_pages, routes_runs, routes_session

TABLE = [
    (method, route.path)
    for part in (routes_files, routes_pages, routes_runs, routes_session)
    for route in part.ROUTES
    if isinstance(route, Route)
    for method in sorted(route.methods or ())
    if method != "HEAD"
]
TO_COVER = len(TABLE)
PATHS = ["a.page.json", "b/c.page.json", "../x.page.json", "x.page.json\n", "untitled-1", "", "~"]
PATHS += ["example:double_gradient", "example:none"]
WORDS: list[Any] = [*loaders.STRANGE, "main", "output", ["a"], 3]
FIELDS = ("path", "to", "kind", "version", "force", "node", "port", "side", "nodes", "output", "inputs", "run")
FIELDS += ("targets", "steps", "client", "id", "index", "sequence")


def draw(random: np.random.Generator) -> dict[str, Any]:
    method, path = TABLE[random.integers(len(TABLE))]
    filled = re.sub(r"\{[^}]*\}", lambda _: quote(PATHS[random.integers(len(PATHS))], safe="/:"), path)
    body: dict[str, Any] = {}
    if random.integers(4):
        page = loaders.originals("page")[random.integers(len(loaders.originals("page")))]
        damaged = loaders.by_fields("page", page, random) if random.integers(2) else page
        body["page"] = json.loads(damaged)
    for field in random.choice(FIELDS, random.integers(0, 5), replace=False):
        body[str(field)] = PATHS[random.integers(len(PATHS))] if field in ("path", "to") else strange(random)
    return {"method": method, "route": path, "path": filled, "body": body}


def strange(random: np.random.Generator) -> Any:
    return deepcopy(WORDS[random.integers(len(WORDS))])


@cache
def studio() -> Any:
    """The studio that is asked, as its own tests start one."""
    from importlib.util import module_from_spec, spec_from_file_location

    place = Path(__file__).parent.parent / "studio" / "server"
    modules = {}
    for name in ("conforming", "served"):
        spec = spec_from_file_location(f"tests_server.{name}", place / f"{name}.py", submodule_search_locations=None)
        assert spec is not None
        assert spec.loader is not None
        modules[name] = module_from_spec(spec)
        sys.modules[f"tests_server.{name}"] = modules[name]
        spec.loader.exec_module(modules[name])
    base = Path(tempfile.mkdtemp())
    (base / "pages").mkdir()
    made = modules["served"].Served(base / "pages", base / "state", request_seconds=20.0, run_seconds=5)
    made.client.event_hooks = {"response": []}
    atexit.register(made.end)
    return made


def judge(case: dict[str, Any]) -> str | None:
    content = json.dumps(case["body"]).encode() if case["method"] != "GET" else None
    if case["method"] == "POST" and case["route"] == "/api/session":
        return None  # it would sign out
    try:
        answer = studio().client.request(case["method"], case["path"], content=content)
    except httpx.HTTPError as problem:
        return f"no answer: {type(problem).__name__}: {problem}"
    if answer.status_code >= 500 and answer.status_code not in (504, 507):
        return f"{answer.status_code}: {answer.text[:300]}"
    return None


def covered(case: dict[str, Any]) -> str:
    return f"{case['method']} {case['route']}"


def simpler(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The same request with one field less."""
    body = case["body"]
    return [{**case, "body": {k: v for k, v in body.items() if k != gone}} for gone in body]
