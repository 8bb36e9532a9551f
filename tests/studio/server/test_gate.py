"""Who is let in: rows 1 to 8, 10 and 15 of the defences."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route, WebSocketRoute
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from gradbag.studio.app import ROUTES
from gradbag.studio.gate import PUBLIC, SECURITY_HEADERS

from .conftest import Start
from .served import MEAN_GRAD, Served, error

PLACES = [
    (method, route.path.replace("{path:path}", "a.page.json").replace("{op}", "Const").replace("{hash}", "0" * 32))
    for route in ROUTES
    if isinstance(route, Route)
    for method in sorted(route.methods or ())
]
ELSEWHERE = [("GET", "/api/nothing"), ("OPTIONS", "/api/run"), ("GET", "/x")]
PRIVATE = [(m, p) for m, p in PLACES if (m, p) not in PUBLIC and not p.startswith("/assets/") and p != "/favicon.svg"]


# ------------------------------------------------------------------ 1: this machine only
def test_listens_on_loopback_alone(served: Served) -> None:
    wanted = f"{served.port:04X}"
    listening = [
        line.split()[1]
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for line in Path(table).read_text().splitlines()[1:]
        if line.split()[1].endswith(f":{wanted}") and line.split()[3] == "0A"
    ]
    assert listening == [f"0100007F:{wanted}"]


def test_another_address_of_this_machine_is_not_answered(served: Served) -> None:
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", served.port), 2):  # noqa: PT011
        pass


def take(other: socket.socket, port: int) -> None:
    other.bind(("127.0.0.1", port))
    other.listen()


def test_a_second_program_cannot_share_the_port(served: Served) -> None:
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, option, 1)
            with pytest.raises(OSError, match="in use"):
                take(other, served.port)


# ------------------------------------------------------------------ 2: the token
def test_token_is_long_and_nowhere_to_be_seen(served: Served) -> None:
    assert len(served.token) >= 43  # 256 bits in base64
    for path in ("/api/nothing", "/api/file/..%2f", "/api/value/zz", "/"):
        assert served.token not in served.get(path).text
    served.post("/api/session", token="wrong")
    arguments = [Path(f"/proc/{pid}/cmdline") for pid in (served.process.pid, *served.workers().values())]
    environments = [Path(f"/proc/{pid}/environ") for pid in (served.process.pid, *served.workers().values())]
    for place in (*arguments, *environments):
        assert served.token.encode() not in place.read_bytes()
    assert served.token not in subprocess.run(["ps", "axww"], capture_output=True, text=True).stdout
    assert served.token not in served.log.read_text()


def test_cookie_is_for_this_port_and_out_of_reach(served: Served) -> None:
    answer = served.post("/api/session", token=served.token)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"gradbag-{served.port}=")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert served.token not in cookie


@pytest.mark.parametrize("body", [{"token": ""}, {"token": "x" * 43}, {}, {"token": None}, [], "token"])
def test_wrong_tokens_open_nothing(served: Served, body: Any) -> None:
    answer = served.stranger.post("/api/session", json=body, headers=served.headers)
    error(answer)
    assert answer.status_code in (400, 403)
    assert "set-cookie" not in answer.headers


# ------------------------------------------------------------------ 3: every route
def test_the_route_table_is_walked() -> None:
    assert len(PRIVATE) > 20
    assert sum(isinstance(route, WebSocketRoute) for route in ROUTES) == 1


@pytest.mark.parametrize(("method", "path"), [*PRIVATE, *ELSEWHERE])
def test_nothing_is_answered_without_the_cookie(served: Served, method: str, path: str) -> None:
    for cookie in ("", "other=1", f"gradbag-{served.port}=wrong", served.cookie.replace(str(served.port), "1")):
        answer = served.stranger.request(method, path, headers={**served.headers, "Cookie": cookie})
        assert answer.status_code in (401, 403)
        if method != "HEAD":
            error(answer)


@pytest.mark.parametrize(("method", "path"), PLACES)
def test_every_answer_has_the_headers(served: Served, method: str, path: str) -> None:
    answer = served.client.request(method, path, content=b"{}" if method not in ("GET", "HEAD") else None)
    for name, value in SECURITY_HEADERS.items():
        assert answer.headers[name] == value or "sandbox" in answer.headers["Content-Security-Policy"]
    assert not [name for name in answer.headers if name.startswith("access-control")]
    if path.startswith("/api/"):
        assert answer.headers["cache-control"] == "no-store"


# ------------------------------------------------------------------ 7 and 8: the headers, word for word
def test_headers_are_these(served: Served) -> None:
    found = served.get("/").headers
    assert found["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'"
    )
    assert found["cross-origin-opener-policy"] == "same-origin"
    assert found["cross-origin-resource-policy"] == "same-origin"
    assert found["x-content-type-options"] == "nosniff"
    assert found["x-frame-options"] == "DENY"
    assert found["referrer-policy"] == "no-referrer"
    assert "server" not in found


# ------------------------------------------------------------------ 4: the host
def hosts(port: int) -> list[str | None]:
    return [
        "evil.example",
        f"evil.example:{port}",
        f"127.0.0.1.evil.example:{port}",
        "localhost.evil.example",
        None,
        f"127.0.0.1:{port + 1}",
        "127.0.0.1",
        f"0.0.0.0:{port}",
        f"LOCALHOST:{port}",
        f"localhost.:{port}",
        f"localhost:{port}@evil",
        f"127.1:{port}",
        f"[::]:{port}",
        "",
    ]


@pytest.mark.parametrize("place", range(14))
@pytest.mark.parametrize("path", ["/", "/api/session", "/api/files", "/assets/x.js"])
def test_foreign_hosts_are_refused(served: Served, place: int, path: str) -> None:
    host = hosts(served.port)[place]
    line = b"" if host is None else f"Host: {host}\r\n".encode()
    status, _ = served.raw(b"GET %s HTTP/1.1\r\n%sCookie: %s\r\n\r\n" % (path.encode(), line, served.cookie.encode()))
    assert status in (400, 403, 421)


def test_two_hosts_are_refused(served: Served) -> None:
    good = f"Host: 127.0.0.1:{served.port}\r\n".encode()
    for second in (b"Host: evil.example\r\n", good):
        status, _ = served.raw(b"GET / HTTP/1.1\r\n" + good + second + b"\r\n")
        assert status in (400, 403, 421)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_own_hosts_are_answered(served: Served, host: str) -> None:
    status, _ = served.raw(f"GET / HTTP/1.1\r\nHost: {host}:{served.port}\r\n\r\n".encode())
    assert status == 200


# ------------------------------------------------------------------ 5: requests that change something
@pytest.mark.parametrize(
    "change",
    [
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Origin": "http://evil.example"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": None},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/jsonx"},
        {"Content-Type": None},
        {"X-Gradbag": None},
        {"X-Gradbag": "2"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=lambda change: "-".join(f"{k}-{v}" for k, v in change.items()),
)
@pytest.mark.parametrize("path", ["/api/session", "/api/check", "/api/run", "/api/journal/a.page.json"])
def test_simple_and_foreign_requests_are_refused(served: Served, path: str, change: dict[str, str | None]) -> None:
    headers = {**served.headers, "Cookie": served.cookie, **change}
    sent = {name: value.format(port=served.port) for name, value in headers.items() if value is not None}
    answer = served.stranger.post(path, content=b'{"page": {}, "token": "x"}', headers=sent)
    assert answer.status_code in (403, 415)
    error(answer)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_can_open_the_empty_page_and_nothing_else(served: Served, site: str) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    assert served.get("/", headers=headers).status_code == 200
    assert served.get("/api/files", headers=headers).status_code == 403
    assert served.get("/", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}).status_code == 403


def test_foreign_origin_reads_nothing(served: Served) -> None:
    assert served.get("/api/files", headers={"Origin": "http://evil.example"}).status_code == 403
    assert served.get("/api/files", headers={"Origin": "null"}).status_code == 403


# ------------------------------------------------------------------ 6: WebSocket
def socket_address(served: Served) -> str:
    return f"ws://127.0.0.1:{served.port}/api/events"


@pytest.mark.parametrize(
    ("cookie", "origin", "more"),
    [
        (False, True, {}),
        (True, "http://evil.example", {}),
        (True, "null", {}),
        (True, None, {}),
        (True, True, {"Sec-Fetch-Site": "cross-site"}),
    ],
)
def test_socket_is_refused_before_the_handshake(served: Served, cookie: bool, origin: Any, more: Any) -> None:
    headers = {**({"Cookie": served.cookie} if cookie else {}), **more}
    asked = served.base if origin is True else origin
    with (
        pytest.raises(InvalidStatus) as caught,
        connect(socket_address(served), additional_headers=headers, origin=asked),
    ):
        pass
    assert caught.value.response.status_code == 403


@pytest.mark.parametrize("place", range(14))
def test_socket_with_a_foreign_host_is_refused(served: Served, place: int) -> None:
    host = hosts(served.port)[place]
    lines = [
        "GET /api/events HTTP/1.1",
        *([] if host is None else [f"Host: {host}"]),
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        f"Cookie: {served.cookie}",
        f"Origin: {served.base}",
    ]
    status, _ = served.raw("\r\n".join([*lines, "", ""]).encode())
    assert status in (400, 403, 421)


@pytest.mark.parametrize("first", ["{}", '{"key": "wrong"}', "no json", "[1]", '{"key": 1}', b"\x00"])
def test_socket_without_the_key_is_closed(served: Served, first: str | bytes) -> None:
    headers = {"Cookie": served.cookie}
    with connect(socket_address(served), additional_headers=headers, origin=served.base) as listening:  # type: ignore[arg-type]
        listening.send(first)
        with pytest.raises(ConnectionClosed):
            listening.recv(timeout=10)


def say_much(listening: Any, message: str, count: int) -> None:
    for _ in range(count):
        listening.send(message)
    while True:
        listening.recv(timeout=10)


def test_oversized_and_countless_messages_close_the_socket(served: Served) -> None:
    headers = {"Cookie": served.cookie}
    for message, count in (("x" * ((4 << 20) + 1), 1), ("{}", 10_000)):
        with connect(socket_address(served), additional_headers=headers, origin=served.base) as listening:  # type: ignore[arg-type]
            listening.send(json.dumps({"key": served.session["key"]}))
            with pytest.raises(ConnectionClosed):
                say_much(listening, message, count)
    assert served.get("/api/session").status_code == 200


def test_connections_are_counted(start: Start) -> None:
    served = start(sockets=2)
    with served.events(), served.events(), pytest.raises(InvalidStatus), served.events():
        pass
    with served.events():
        pass


# ------------------------------------------------------------------ 8: what users wrote is never shown as a document
def test_exports_are_attachments_in_a_sandbox(served: Served) -> None:
    named = {**MEAN_GRAD, "title": '<img src=x onerror=alert(1)>"\r\nX: y'}
    for kind in ("svg", "python", "page", "graphdef"):
        answer = served.post("/api/export", page=named, path=None, kind=kind)
        assert answer.status_code == 200
        assert answer.headers["content-disposition"].startswith('attachment; filename="')
        assert "sandbox" in answer.headers["content-security-policy"]
        assert "<" not in answer.headers["content-disposition"]


# ------------------------------------------------------------------ 10: asking changes nothing
def test_a_crawler_changes_nothing(served: Served) -> None:
    served.put("crawled.page.json", MEAN_GRAD)
    served.post("/api/journal/crawled.page.json", page=MEAN_GRAD, sequence=1)

    def state() -> dict[str, tuple[int, int]]:
        every = [place for place in served.folder.rglob("*") if place.is_file()]
        return {str(place): (place.stat().st_mtime_ns, place.stat().st_size) for place in every}

    before = state()
    for method, path in PLACES:
        for query in ("", "?force=true&version=x&to=b.page.json&_method=DELETE"):
            if method in ("GET", "HEAD"):
                answer = served.client.request(method, path.replace("a.page", "crawled.page") + query)
                assert answer.status_code < 500
                assert "location" not in answer.headers
    for path in ("/api/run", "/api/rename", "/api/trust", "/api/journal/crawled.page.json", "/api/stop", "/api/open"):
        assert served.get(path).status_code == 405
    assert state() == before


# ------------------------------------------------------------------ errors have one form
def test_errors_have_one_form(served: Served) -> None:
    assert error(served.get("/api/nothing"))["kind"] == "missing"
    assert error(served.post("/api/files"))["kind"] == "method"
    assert error(served.client.put("/api/file/a.page.json", content=b"{"))["kind"] == "malformed"
    assert error(served.client.post("/api/check", content=b"\xff\xfe"))["kind"] == "malformed"
    assert error(served.post("/api/check", page=3, path=None))["kind"] == "invalid"


# ------------------------------------------------------------------ 15: nothing from elsewhere
def test_starts_without_a_network(tmp_path: Path, start: Start) -> None:
    """Every connection that the studio's processes make or accept is with this machine."""
    served = start()
    served.wait_for_workers()
    served.post("/api/check", page=MEAN_GRAD, path=None)
    for pid in (served.process.pid, *served.workers().values()):
        inodes = {
            os.readlink(place)[8:-1]
            for place in Path(f"/proc/{pid}/fd").iterdir()
            if os.readlink(place).startswith("socket:")
        }
        for table in ("tcp", "tcp6", "udp", "udp6"):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[9] in inodes:
                    assert fields[2].startswith(("0100007F", "00000000:0000"))
