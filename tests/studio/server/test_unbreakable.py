"""What is said badly, slowly, or by two studios at once."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from .conftest import Start
from .served import Served, const, page

FOREIGN = ["../outside/x.page.json", "linked/x.page.json", "/etc/x.page.json", "a/../../outside/x.page.json"]
# Every route that takes a page beside its path, with what else it wants.
ASKING: dict[str, dict[str, Any]] = {
    "check": {},
    "export": {"kind": "python"},
    "text": {},
    "fits": {"node": "x", "port": "output"},
    "layout": {},
    "differentiable": {"output": "x"},
    "differentiate": {"output": "x", "inputs": []},
    "run": {},
    "step": {},
    "lens": {"node": "x", "port": "output", "row": 0},
}


def test_two_studios_on_one_folder_lose_no_save(start: Start) -> None:
    """Both save from the same version at the same moment, again and again: one of them is told that it is stale."""
    first = start()
    second = start(folder=first.folder)
    version = None
    for turn in range(40):
        ready = threading.Barrier(2)
        made = {studio.port: page(x=const([turn * 2.0 + k])) for k, studio in enumerate((first, second))}
        bodies = {port: {"page": content, "version": version} for port, content in made.items()}

        def save(studio: Served, ready: Any = ready, body: Any = bodies) -> Any:
            ready.wait()
            return studio.client.put("/api/file/both.page.json", json=body[studio.port])

        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(save, (first, second)))
        codes = sorted(answer.status_code for answer in answers)
        assert codes == [200, 409], f"turn {turn}: {[answer.text[:200] for answer in answers]}"
        version = next(answer.json()["version"] for answer in answers if answer.status_code == 200)


@pytest.mark.parametrize("route", ASKING)
def test_no_question_reads_data_outside_the_folder(route: str, start: Start) -> None:
    studio = start()
    outside = studio.folder.parent / "outside"
    outside.mkdir(exist_ok=True)
    np.save(outside / "secret.npy", np.full(100, 4711.0))
    (studio.folder / "linked").symlink_to(outside)
    asked = page(x={"op": "Const", "attrs": {"value": {"file": "secret.npy"}}})
    for path in FOREIGN:
        answer = studio.client.post(f"/api/{route}", json={"page": asked, "path": path, **ASKING[route]})
        assert answer.status_code in (400, 403), (path, answer.status_code, answer.text[:200])
        assert "4711" not in answer.text


def test_a_name_does_not_end_with_a_line_end(start: Start) -> None:
    studio = start()
    answer = studio.client.put("/api/file/x.page.json%0A", json={"page": page(x=const([1]))})
    assert answer.status_code == 400
    assert not (studio.folder / "x.page.json").exists()


def test_half_a_request_is_not_waited_for_for_ever(start: Start) -> None:
    studio = start(header_seconds=0.5)
    halves = [b"", b"GET / HTT", b"GET /api/files HTTP/1.1\r\nHost: 127.0.0.1\r\n"]
    for half in halves:
        with socket.create_connection(("127.0.0.1", studio.port), 10) as caller:
            caller.sendall(half)
            caller.settimeout(10)
            while caller.recv(4096):
                pass  # an error may be told first; then it is closed
    began = time.monotonic()
    assert studio.get("/api/files").status_code == 200  # a connection that is kept open between requests stays
    time.sleep(max(0.0, began + 1.0 - time.monotonic()))
    assert studio.get("/api/files").status_code == 200


def test_text_on_a_socket_that_is_none_prints_no_traceback(start: Start) -> None:
    studio = start()
    with socket.create_connection(("127.0.0.1", studio.port), 10) as caller:
        lines = [
            "GET /api/events HTTP/1.1",
            f"Host: 127.0.0.1:{studio.port}",
            f"Origin: {studio.base}",
            f"Cookie: {studio.cookie}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]
        caller.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        assert b"101" in caller.recv(4096)
        caller.sendall(bytes([0x81, 0x82, 0, 0, 0, 0, 0xFF, 0xFE]))
        caller.settimeout(10)
        while caller.recv(4096):
            pass
    assert studio.get("/api/files").status_code == 200
    assert "Traceback" not in studio.log.read_text()
