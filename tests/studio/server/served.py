"""A studio that runs, and what to ask it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import connect

from gradbag.studio import messages

from .conforming import check_reply, conforms

PROGRAM = """
import json, sys
from pathlib import Path
from gradbag.studio.launch import serve
from gradbag.studio.limits import Limits
settings = json.loads(sys.argv[3])
if "file_size" in settings:
    import resource
    size = settings.pop("file_size")
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
port = settings.pop("port", 0)
serve(Path(sys.argv[1]), port, browser=False, limits=Limits(**settings), state=Path(sys.argv[2]))
"""
PATIENCE = 30.0

MEAN_GRAD: dict[str, Any] = {
    "format": "gradbag-page/1",
    "title": "SparseSegmentMeanGrad",
    "nodes": {
        "grad": {"op": "Const", "attrs": {"dtype": "float64", "value": [[1, 2, 3], [4, 4, 2], [3, 1, 5]]}},
        "indices": {"op": "Const", "attrs": {"dtype": "int32", "value": [0, 1, 2]}},
        "ids": {"op": "Const", "attrs": {"dtype": "int32", "value": [2, 2, 2]}},
        "mean": {
            "op": "SparseSegmentMeanGrad",
            "in": {"grad": {"from": "grad"}, "indices": {"from": "indices"}, "segment_ids": {"from": "ids"}}
            | {"output_dim0": 3},
        },
    },
}


def page(**nodes: Any) -> dict[str, Any]:
    return {"format": "gradbag-page/1", "nodes": nodes}


def const(value: Any, dtype: str = "float32") -> dict[str, Any]:
    return {"op": "Const", "attrs": {"dtype": dtype, "value": value}}


def slow(size: int = 2000) -> dict[str, Any]:
    """A page whose one node takes many seconds, inside a single call that cannot be told to stop."""
    return page(
        ones={"op": "Fill", "in": {"dims": [size, size], "value": {"value": 1, "dtype": "int32"}}},
        slow={"op": "MatMul", "in": {"a": {"from": "ones"}, "b": {"from": "ones"}}},
    )


class Served:
    """A running server with a client that is signed in."""

    def __init__(self, folder: Path, state: Path, **settings: Any) -> None:
        self.folder, self.state = folder, state
        self.log = state.parent / f"log-{time.monotonic_ns()}"
        command = [sys.executable, "-c", PROGRAM, str(folder), str(state), json.dumps(settings)]
        began = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        assert self.process.stdout is not None
        self.banner = b""
        while self.banner.count(b"\n") < 2:
            assert select.select([self.process.stdout], [], [], PATIENCE)[0], self.log.read_text()
            chunk = os.read(self.process.stdout.fileno(), 4096)
            assert chunk, self.log.read_text()
            self.banner += chunk
        self.seconds = time.monotonic() - began
        found = re.search(rb"http://127\.0\.0\.1:(\d+)/#token=([\w-]+)", self.banner)
        assert found is not None
        self.port, self.token = int(found[1]), found[2].decode()
        self.base = f"http://127.0.0.1:{self.port}"
        self.headers = {"Origin": self.base, "X-Gradbag": "1", "Content-Type": "application/json"}
        hooks = {"response": [check_reply]}
        self.client = httpx.Client(
            base_url=self.base, headers=self.headers, timeout=PATIENCE, verify=False, event_hooks=hooks
        )
        self.stranger = httpx.Client(base_url=self.base, timeout=PATIENCE, verify=False)  # says what it is told to say
        answer = self.client.post("/api/session", json={"token": self.token})
        assert answer.status_code == 200
        self.session = answer.json()
        self.cookie = answer.headers["set-cookie"].partition(";")[0]

    def end(self) -> None:
        self.client.close()
        self.stranger.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()

    # ------------------------------------------------------------------ asking
    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.client.get(path, **more)

    def post(self, place: str, /, **body: Any) -> httpx.Response:
        return self.client.post(place, json=body)

    def put(self, path: str, document: Any, version: str | None = None, **more: Any) -> httpx.Response:
        return self.client.put(f"/api/file/{path}", json={"page": document, "version": version, **more})

    def raw(self, request: bytes) -> tuple[int, bytes]:
        """The status and the whole answer to what a client that knows no rules has written."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as connection:
            connection.sendall(request)
            connection.settimeout(PATIENCE)
            answer = b""
            while b"\r\n\r\n" not in answer and (chunk := connection.recv(65536)):
                answer += chunk
        status = re.match(rb"HTTP/1\.1 (\d{3})", answer)
        return (int(status[1]) if status else 0), answer

    # ------------------------------------------------------------------ events and runs
    @contextmanager
    def events(self, *, former: bool = False) -> Iterator[Events]:
        """What the server says from now on, or beginning with what it said of the latest runs."""
        address = f"ws://127.0.0.1:{self.port}/api/events"
        with connect(address, additional_headers={"Cookie": self.cookie}, origin=self.base, max_size=None) as listening:  # type: ignore[arg-type]
            listening.send(json.dumps({"key": self.session["key"]}))
            # The first message is read before anything that is asked for now.
            self.get("/api/session")
            time.sleep(0.05)
            found = Events(listening)
            if not former:
                found.skip()
            yield found

    def run(self, document: Any, path: str | None = None, **more: Any) -> str:
        body = {"page": document, "path": path, "run": None, "targets": None, "steps": 1, "client": "test", **more}
        answer = self.client.post("/api/run", json=body)
        assert answer.status_code == 200, answer.text
        found: str = answer.json()["id"]
        return found

    # ------------------------------------------------------------------ processes
    def workers(self) -> dict[str, int]:
        """The process of each role; of two that run, the later one waits to take over."""
        found: dict[str, int] = {}
        for place in sorted(Path("/proc").glob("[0-9]*"), key=lambda place: int(place.name)):
            try:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
                words = (place / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if int(fields[1]) == self.process.pid and fields[0] != "Z" and len(words) > 2:
                found.setdefault(words[-2].decode(), int(place.name))
        return found

    def wait_for_workers(self) -> dict[str, int]:
        self.get("/api/catalogue")
        deadline = time.monotonic() + PATIENCE
        while set(found := self.workers()) != {"check", "run"}:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return found

    def interrupt(self) -> float:
        """End it as Ctrl-C does, and give the seconds that takes."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)
        return time.monotonic() - began


class Events:
    """What the server says."""

    def __init__(self, listening: Any) -> None:
        self._listening = listening

    def next(self, seconds: float = PATIENCE) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._listening.recv(timeout=seconds))
        assert conforms(found, messages.StudioEvent), found
        return found

    def skip(self) -> None:
        with contextlib.suppress(TimeoutError):
            while True:
                self.next(0.1)

    def until(self, kind: str, **wanted: Any) -> list[dict[str, Any]]:
        """All events up to the first of a kind."""
        seen = []
        while True:
            seen.append(self.next())
            if seen[-1]["type"] == kind and all(seen[-1].get(name) == value for name, value in wanted.items()):
                return seen

    def of(self, run: str) -> list[dict[str, Any]]:
        """All events of a run, to its end."""
        return [event for event in self.until("finished", id=run) if event.get("id") == run]


def error(answer: httpx.Response) -> dict[str, Any]:
    """The error that an answer must be: in the one form, with a sentence, and with nothing of the program's insides."""
    assert 400 <= answer.status_code < 600, answer.text
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json()["error"]
    assert found["kind"]
    assert len(found["text"]) > 10
    assert "Traceback" not in answer.text
    assert ".py" not in answer.text
    return found
