"""Starting the studio and ending it: the port, the token, the browser."""

from __future__ import annotations

import errno
import html
import logging
import os
import signal
import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import uvicorn

from ..commands import UsageError
from .app import make_app
from .limits import Limits
from .protocols import EventsProtocol, http_protocol
from .sessions import Session

ADDRESS = "127.0.0.1"
PREFERRED = 8571  # the same each time, so that a browser keeps what the user has chosen; else any free one
LAST_SECONDS = 1  # for what is under way when it ends


def serve(
    folder: Path,
    port: int | None = None,
    *,
    browser: bool = True,
    record: str = "",
    limits: Limits | None = None,
    state: Path | None = None,
) -> None:
    """Serve a folder until Ctrl-C; the first tab shows a record of it, if one is named."""
    limits, state = limits or Limits(), state or state_folder()
    listening = listen(port)
    chosen: int = listening.getsockname()[1]
    session = Session(chosen, folder, state)
    address = f"http://{ADDRESS}:{chosen}/"
    config = uvicorn.Config(
        make_app(folder, chosen, session, limits, state),
        http=http_protocol(limits.header_seconds),
        ws=EventsProtocol,
        ws_max_size=limits.socket_message,
        ws_per_message_deflate=False,
        h11_max_incomplete_event_size=limits.headers,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=LAST_SECONDS,
        timeout_keep_alive=30,
    )
    logging.basicConfig(level=logging.ERROR, format="gradbag studio: %(message)s")
    door = Door(state, address, session.token, record, shown=browser)
    server = uvicorn.Server(config)
    signal.signal(signal.SIGTERM, _end)
    # From here on Ctrl-C is noted and not raised, since code that is starting may swallow it.
    before = signal.signal(signal.SIGINT, server.handle_exit)
    print(f"gradbag studio shows {folder} at {door.printed}")
    print("Ctrl-C ends it; what is not saved is kept.", flush=True)
    threading.Thread(target=door.open, daemon=True).start()  # the socket listens: it will be answered
    try:
        server.run(sockets=[listening])
        if not server.started:
            raise UsageError(f"{folder} cannot be shown; what stands above tells why")
    finally:
        signal.signal(signal.SIGINT, before)
        door.close()
        listening.close()


def _end(number: int, _: object) -> None:
    """Ended by another program: the same way out as Ctrl-C, but told in the exit code."""
    raise SystemExit(128 + number)


class Door:
    """How the token gets into the browser: through a file that only this user reads.

    In an address on a command line, which is how browsers are started, everybody on this machine could read it.
    """

    def __init__(self, state: Path, address: str, token: str, record: str = "", *, shown: bool) -> None:
        self._file = state / f"open-{os.getpid()}.html"
        self._target = f"{address}#token={token}" + (f"&capture={quote(record)}" if record else "")
        self._wanted = shown
        # A terminal is for its user's eyes; a log may be for others'.
        self.printed = self._target if sys.stdout.isatty() or not shown else address

    def open(self) -> None:
        if not self._wanted:
            return
        page = f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(self._target)}">\n'
        with suppress(OSError, webbrowser.Error):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(page)
            if webbrowser.open(self._file.as_uri()):
                return
        if self.printed != self._target:
            print(f"No browser could be opened; this opens the studio in one: {self._target}", flush=True)

    def close(self) -> None:
        self._file.unlink(missing_ok=True)


def listen(port: int | None) -> socket.socket:
    """A socket on this machine alone: on the port that was asked for, else on the usual or any free one."""
    for wanted in (port,) if port is not None else (PREFERRED, 0):
        # Said in full, else asyncio leaves Nagle's algorithm on, and small answers wait 40 ms for a confirmation.
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows would let another program share the port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((ADDRESS, wanted))
            listening.listen(128)
        except OSError as problem:
            listening.close()
            if problem.errno == errno.EADDRINUSE and port is None:
                continue
            reason = "another program has it" if problem.errno == errno.EADDRINUSE else problem.strerror
            raise UsageError(f"port {wanted} cannot be used: {reason}; without --port a free one is found") from None
        return listening
    raise UsageError("there is no free port")


def state_folder() -> Path:
    """Where this user's programs keep what is not for others."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "gradbag"
