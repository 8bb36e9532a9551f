"""Starting and ending: what is printed, what is refused, rows 2 and 16 of the defences."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from gradbag.studio import launch, routes_session

from .conftest import Start
from .served import MEAN_GRAD, PATIENCE, Served, slow


def command(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "gradbag", "studio", *arguments]
    return subprocess.run(program, capture_output=True, text=True, timeout=60, **more)


# ------------------------------------------------------------------ what cannot be
def test_missing_folder_is_told() -> None:
    done = command("no/such/folder")
    assert done.returncode == 2
    assert done.stderr == "gradbag: no/such/folder: there is no such folder\n"


@pytest.mark.parametrize("port", ["-1", "65536"])
def test_no_such_port_is_told(port: str, tmp_path: Path) -> None:
    done = command(str(tmp_path), "--port", port)
    assert done.returncode == 2
    assert "65535" in done.stderr


def test_taken_port_is_told(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = command(str(tmp_path), "--port", str(port), "--no-browser")
    assert done.returncode == 2
    assert done.stderr == (
        f"gradbag: port {port} cannot be used: another program has it; without --port a free one is found\n"
    )
    assert done.stdout == ""


def test_missing_extra_is_told(tmp_path: Path) -> None:
    program = "import sys; sys.modules['uvicorn'] = None; from gradbag.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", program, "studio", str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr == "gradbag: the studio is not installed: pip install 'gradbag[studio]'\n"


def test_without_a_port_the_usual_one_or_a_free_one() -> None:
    first = launch.listen(None)
    second = launch.listen(None)
    assert first.getsockname()[1] != second.getsockname()[1]
    assert {first.getsockname()[0], second.getsockname()[0]} == {"127.0.0.1"}
    first.close()
    second.close()


def test_small_answers_do_not_wait() -> None:
    with launch.listen(0) as listening:
        assert listening.proto == socket.IPPROTO_TCP


# ------------------------------------------------------------------ what is shown
def test_banner_is_two_lines(start: Start) -> None:
    served = start()
    first, second, _ = served.banner.decode().split("\n")
    assert first == f"gradbag studio shows {served.folder} at {served.base}/#token={served.token}"
    assert second == "Ctrl-C ends it; what is not saved is kept."


def test_browser_gets_the_token_through_a_private_file(tmp_path: Path) -> None:
    """The browser here is a script that writes down how it was called."""
    seen = tmp_path / "seen"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {seen}.part\nmv {seen}.part {seen}\n')
    script.chmod(0o755)
    (tmp_path / "pages").mkdir()
    environment = {**os.environ, "BROWSER": f"{script} %s", "XDG_STATE_HOME": str(tmp_path / "state")}
    program = [sys.executable, "-m", "gradbag", "studio", str(tmp_path / "pages"), "--port", "0"]
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as started:
        deadline = time.monotonic() + PATIENCE
        while not seen.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        address = seen.read_text().strip()
        place = Path(address.removeprefix("file://"))
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
        found = re.search(r"http://127\.0\.0\.1:\d+/#token=([\w-]+)", place.read_text())
        assert found is not None
        assert found[1] not in address
        started.send_signal(signal.SIGINT)
        printed = started.communicate(timeout=PATIENCE)[0]
        assert started.returncode == 0
    assert found[1] not in printed  # standard output is a file here, not a terminal
    assert not place.exists()


def test_page_that_is_not_built_says_so(start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(routes_session, "STATIC", tmp_path)
    assert routes_session._static("index.html", "") is None
    assert "make web" in routes_session.NOT_BUILT
    answer = httpx.get(f"{start().base}/")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")


def test_assets_are_served_by_their_names_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets/page-1.js").write_text("1")
    (tmp_path / "assets/secret.py").write_text("1")
    monkeypatch.setattr(routes_session, "STATIC", tmp_path)
    found = routes_session._static("assets/page-1.js", "")
    assert found is not None
    assert found.media_type == "text/javascript; charset=utf-8"
    assert routes_session._static("assets/secret.py", "") is None
    for name in ("../x.js", ".x.js", "a/b.js", "%2e.js", "", "a" * 200):
        assert routes_session._ASSET.fullmatch(name) is None


# ------------------------------------------------------------------ the end
def test_ctrl_c_ends_it_soon_and_keeps_what_is_unsaved(start: Start) -> None:
    served = start()
    served.put("a.page.json", MEAN_GRAD)
    unsaved = {**MEAN_GRAD, "title": "unsaved"}
    with served.events() as events:
        served.run(slow())
        events.until("node", node="slow", state="running")
        workers = served.workers()
        served.post("/api/journal/a.page.json", page=unsaved, sequence=1)
        assert served.interrupt() < 2
    assert served.process.returncode == 0
    for pid in workers.values():
        assert not Path(f"/proc/{pid}").exists()
    assert "Traceback" not in served.log.read_text()
    again = start()
    assert again.get("/api/file/a.page.json").json()["recovered"]["page"] == unsaved


def test_workers_end_with_a_killed_server(start: Start) -> None:
    served = start()
    workers = served.wait_for_workers()
    served.process.kill()
    served.process.wait()
    deadline = time.monotonic() + 5
    while any(Path(f"/proc/{pid}/cmdline").exists() and not _is_dead(pid) for pid in workers.values()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_cookie_is_of_one_folder_and_one_port(tmp_path: Path, start: Start) -> None:
    served = start()
    cookie = served.cookie.partition("=")[2]

    def asked(other: Served) -> int:
        return httpx.get(f"{other.base}/api/files", headers={"Cookie": f"gradbag-{other.port}={cookie}"}).status_code

    assert asked(served) == 200
    served.end()
    (tmp_path / "other").mkdir()
    for again in (start(), start(folder=tmp_path / "other", port=served.port)):
        assert asked(again) == 401
        again.end()
    assert asked(start(port=served.port)) == 200


def test_modules_in_the_folder_are_not_imported(tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's folder may hold files that are called as modules are."""
    for name in ("numpy.py", "msgspec.py", "json.py"):
        (tmp_path / "pages").mkdir(exist_ok=True)
        (tmp_path / "pages" / name).write_text("raise SystemExit('a stranger was imported')")
    from gradbag.studio.processes import BOOT, PACKAGES

    done = subprocess.run(
        [sys.executable, "-P", "-c", BOOT, PACKAGES, "check"],
        cwd=tmp_path / "pages",
        input=b"",
        capture_output=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert done.returncode == 0
    assert b"stranger" not in done.stderr


@pytest.mark.parametrize("seconds", [0, 0.02, 0.05, 0.1, 0.2])
def test_ctrl_c_while_it_starts_ends_it(tmp_path: Path, seconds: float) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    program = [sys.executable, "-m", "gradbag", "studio", str(tmp_path), "--port", "0", "--no-browser"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=environment) as started:
        assert started.stdout is not None
        assert "#token=" in next(started.stdout)
        time.sleep(seconds)
        started.send_signal(signal.SIGINT)
        try:
            assert started.wait(timeout=60) == 0
        finally:
            started.kill()


def test_without_a_browser_the_address_is_printed(tmp_path: Path) -> None:
    bare = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")}
    environment = {**bare, "PATH": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    program = [sys.executable, "-m", "gradbag", "studio", str(tmp_path), "--port", "0"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=environment) as started:
        assert started.stdout is not None
        assert any("#token=" in line for line in started.stdout)
        started.send_signal(signal.SIGINT)
