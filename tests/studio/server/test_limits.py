"""Row 13 of the defences: each limit, and one more."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from gradbag.studio.limits import Limits

from .conftest import Start
from .served import MEAN_GRAD, PATIENCE, Served, const, error, page, slow

LIMITS = Limits()


def padded(document: dict[str, Any], size: int) -> bytes:
    """A request of exactly `size` bytes."""
    body = json.dumps({"page": document, "path": None}).encode()
    return body[:-1] + b" " * (size - len(body)) + b"}"


def test_body(served: Served) -> None:
    most = LIMITS.body
    assert served.client.post("/api/check", content=padded(MEAN_GRAD, most)).status_code == 200
    answer = served.client.post("/api/check", content=padded(MEAN_GRAD, most + 1))
    assert answer.status_code == 413
    assert error(answer)["kind"] == "too-large"


def test_body_of_unknown_length(served: Served) -> None:
    def chunks() -> Any:
        for _ in range(17):
            yield b" " * (1 << 20)

    answer = served.client.post("/api/check", content=chunks())
    assert answer.status_code == 413


def test_upload(start: Start) -> None:
    served = start(upload=1 << 20)
    headers = {"Content-Type": "application/octet-stream"}
    body = json.dumps(MEAN_GRAD).encode()
    fits = served.client.post("/api/open?name=a.page.json", content=body.ljust(1 << 20), headers=headers)
    assert fits.status_code == 200
    late = served.client.post("/api/open?name=a.page.json", content=body.ljust((1 << 20) + 1), headers=headers)
    assert late.status_code == 413

    def chunks() -> Any:
        for _ in range(3):
            yield b" " * (1 << 19)

    assert served.client.post("/api/open?name=a.page.json", content=chunks(), headers=headers).status_code == 413


@pytest.mark.parametrize("way", ["one header", "many headers", "path"])
def test_headers(served: Served, way: str) -> None:
    def ask(size: int) -> int:
        path, more = "/api/session", ""
        if way == "one header":
            more = f"X: {'x' * size}\r\n"
        elif way == "many headers":
            more = "".join(f"X-{k}: {'x' * 90}\r\n" for k in range(size // 100))
        else:
            path += "?" + "x" * size
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nCookie: {served.cookie}\r\n{more}\r\n"
        return served.raw(head.encode())[0]

    assert ask(LIMITS.headers - 1000) == 200
    assert ask(LIMITS.headers + 1000) in (400, 431)
    assert ask(10 * LIMITS.headers) in (400, 431)


def nested(depth: int) -> Any:
    made: Any = 1
    for _ in range(depth):
        made = [made]
    return made


def test_depth(served: Served) -> None:
    # The document, its section, the entry and its attributes are four levels.
    def ask(depth: int) -> Any:
        return served.post("/api/check", page=page(x=const(nested(depth - 4))), path=None)

    assert ask(LIMITS.depth - 1).status_code == 200
    assert ask(LIMITS.depth).status_code == 200
    answer = ask(LIMITS.depth + 1)
    assert answer.status_code == 422
    assert "nested deeper than 64" in error(answer)["text"]
    deep = b'{"path": null, "page": ' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}"
    error(served.client.post("/api/check", content=deep))
    assert served.get("/api/session").status_code == 200


def test_nodes(served: Served) -> None:
    def ask(count: int) -> Any:
        # Not an op: only the counting is of interest here.
        nodes = ",".join(f'"{k}":{{"op":""}}' for k in range(count))
        body = f'{{"page":{{"format":"gradbag-page/1","nodes":{{{nodes}}}}},"path":null}}'
        return served.client.post("/api/check", content=body.encode())

    [problem] = ask(100_001).json()["problems"]
    assert "at most 100000" in problem["text"]


def test_elements_of_one_answer(served: Served) -> None:
    large = page(many={"op": "Fill", "in": {"dims": [2_000_000], "value": 1.0}})
    with served.events() as events:
        found = events.of(served.run(large))
    [value] = [event["outputs"][0] for event in found if "outputs" in event]
    assert value["table"] is None
    part = served.get(f"/api/value/{value['hash']}?start=0&count=99999999").json()
    assert len(part["table"]) <= LIMITS.shown
    assert part["shape"] == [2_000_000]


@pytest.mark.parametrize(
    "query",
    [
        "start=-1",
        "start=x",
        "count=1e9",
        "count=99999999999999999999",
        "columns=1",
        "columns=1,2,3",
        "columns=a,b",
        "slice=x",
    ],
)
def test_questions_about_values_make_sense(served: Served, query: str) -> None:
    with served.events() as events:
        found = events.of(served.run(MEAN_GRAD))
    name = next(event["outputs"][0]["hash"] for event in found if "outputs" in event)
    error(served.get(f"/api/value/{name}?{query}"))


@pytest.mark.parametrize("name", ["0" * 32, "zz", "..%2f..%2fetc", "0" * 200, "0" * 32 + ".npy", "x.npy"])
def test_values_that_are_not_there(served: Served, name: str) -> None:
    assert served.get(f"/api/value/{name}").status_code in (404, 410)


def test_request_time(start: Start) -> None:
    served = start(request_seconds=2.0)
    served.wait_for_workers()
    before = served.workers()["check"]
    heavy = page(**{f"n{k}": const(k) for k in range(90_000)})
    began = time.monotonic()
    answer = served.post("/api/check", page=heavy, path=None)
    assert answer.status_code == 504
    assert error(answer)["kind"] == "timeout"
    assert time.monotonic() - began < 8
    # The process that was still at it is a new one, and answers.
    deadline = time.monotonic() + PATIENCE
    while served.workers().get("check") in (None, before):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    deadline = time.monotonic() + PATIENCE
    while served.post("/api/check", page=MEAN_GRAD, path=None).status_code != 200:
        assert time.monotonic() < deadline


def test_queue(start: Start) -> None:
    served = start()
    with served.events() as events:
        first = served.run(slow())
        events.until("node", state="running")
        waiting = [served.run(MEAN_GRAD) for _ in range(LIMITS.queued_runs)]
        body = {"page": MEAN_GRAD, "path": None, "run": None, "targets": None, "steps": 1, "client": ""}
        answer = served.post("/api/run", **body)
        assert answer.status_code == 409
        assert error(answer)["kind"] == "busy"
        for run in (*waiting[1:], first):
            assert served.post("/api/stop", id=run).status_code == 200
        states = {}
        while len(states) < 5:
            event = events.next()
            if event["type"] == "finished":
                states[event["id"]] = event["state"]
        assert states == {first: "stopped", waiting[0]: "done", **dict.fromkeys(waiting[1:], "stopped")}


def test_steps(served: Served) -> None:
    body = {"page": MEAN_GRAD, "path": None, "run": None, "targets": None, "client": ""}
    for steps in (0, -1, LIMITS.steps + 1):
        assert served.post("/api/run", **body, steps=steps).status_code == 400
