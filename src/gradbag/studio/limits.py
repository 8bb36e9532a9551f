"""How much is too much. Every limit is checked before the work, and tested at one more."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """The numbers of one studio; tests make them small."""

    body: int = 16 * MIB
    upload: int = 256 * MIB
    headers: int = 16 * 1024
    depth: int = 64  # of JSON; inside a page the reader of pages has the same
    request_seconds: float = 30.0
    header_seconds: float = 10.0  # until a request has begun
    queued_runs: int = 4
    sockets: int = 32
    socket_message: int = 4 * MIB
    socket_backlog: int = 16 * MIB  # of events that a slow reader has not taken yet
    shown: int = 1_000_000  # elements, in one answer
    pages: int = 2_000  # files that are listed
    folders: int = 2_000  # that are looked into for them: somebody may show all of a home
    page_file: int = 64 * MIB
    versions: int = 10  # of each page that are kept
    autosave: int = 512 * MIB  # what versions, journals and trash may take on the disk
    journal: int = 32 * MIB  # of one page; beyond it, only its last state is kept
    worker_memory: int = 8192 * MIB  # or three quarters of what the machine has, if that is less
    run_seconds: int = 600  # of processor time
    stop_seconds: float = 1.0  # how long a run may take to stop by itself
    steps: int = 1_000_000  # of a loop
