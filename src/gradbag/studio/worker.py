"""A process that computes, for one of two roles: `check` answers questions about pages, `run` runs them.

It has a memory limit, a low priority and no way to the network; it reads data files of the folder and writes nothing.
Whatever happens to it, the web process is not hurt.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from .. import errors, memory
from . import wire
from .messages import Refusal

# What a page needs none of: other machines, other programs, other files than those it reads.
FORBIDDEN = ("socket.connect", "socket.bind", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork")
NICER = 5
Answer = Any  # JSON, or bytes that are JSON already
Handlers = dict[str, Callable[[dict[str, Any]], Answer]]


class Desk:
    """Where messages come in and answers go out; `at_once` are the kinds that do not wait for the one being done."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._lock = threading.Lock()
        self._waiting: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._aside: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def tell(self, message: dict[str, Any]) -> None:
        with self._lock:
            try:
                wire.send(self._writing, message)
            except BrokenPipeError:
                os._exit(0)  # nobody is left to hear it

    def serve(self, handlers: Handlers, aside: Handlers, at_once: Handlers) -> None:
        """Until the other side is gone: `handlers` one after the other, `aside` in a second thread beside them."""
        threading.Thread(target=self._read, args=(aside, at_once), daemon=True).start()
        threading.Thread(target=self._work, args=(self._aside, aside), daemon=True).start()
        self._work(self._waiting, handlers)

    def _read(self, aside: Handlers, at_once: Handlers) -> None:
        while True:
            try:
                message = wire.receive(self._reading)
            except OSError:
                message = None
            if message is None:
                os._exit(0)  # nobody is left to hear a result
            kind = message["kind"]
            if kind in at_once:
                at_once[kind](message)
            else:
                (self._aside if kind in aside else self._waiting).put(message)

    def _work(self, messages: queue.SimpleQueue[dict[str, Any] | None], handlers: Handlers) -> None:
        while (message := messages.get()) is not None:
            self.tell({"id": message["id"], **answered(handlers[message["kind"]], message)})


def answered(handler: Callable[[dict[str, Any]], Answer], message: dict[str, Any]) -> dict[str, Any]:
    """What a handler gives, or the error it raises, in words."""
    try:
        made = handler(message)
        return {"ok": made if isinstance(made, (bytes, wire.Parts)) else msgspec.json.encode(made)}
    except Exception as problem:  # noqa: BLE001  # told to the one who asked
        return {"error": told(problem)}


def told(problem: BaseException) -> Refusal:
    """An error as the page shows it."""
    if isinstance(problem, errors.Error):
        kind = {
            errors.ResourceExhaustedError: "memory",
            errors.UnsupportedTypeError: "dtype",
            errors.CancelledError: "cancelled",
        }.get(type(problem), getattr(problem, "kind", "invalid"))
        return Refusal(kind=kind, text=str(problem), node=problem.node, port=problem.argument)
    if isinstance(problem, MemoryError):
        return Refusal(kind="memory", text="There is not enough memory for this.", node="", port="")
    if isinstance(problem, RecursionError):
        return Refusal(kind="invalid", text="This is nested too deeply.", node="", port="")
    text = f"Something went wrong inside the studio ({type(problem).__name__})."
    return Refusal(kind="internal", text=text, node="", port="")


# ------------------------------------------------------------------ confinement
def confine(budget: int) -> None:
    """Give up what is not needed. `budget` bytes may be taken beyond what the process has now."""
    with suppress(OSError):
        os.nice(NICER)
    try:
        import resource
    except ModuleNotFoundError:  # Windows has none
        pass
    else:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError, ValueError):
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
            limit = pages * os.sysconf("SC_PAGE_SIZE") + budget + (256 << 20)  # stacks of threads count too
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    memory.set_memory_limit(budget // 2)

    def refuse(event: str, _: Any) -> None:
        if event in FORBIDDEN:
            raise PermissionError(f"{event} is not allowed here")

    sys.addaudithook(refuse)


def limit_processor(seconds: int) -> None:
    """From now on this many seconds of processor time; then the process is ended."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds + 1, hard))


def budget(most: int) -> int:
    """What a worker may take: the machine must stay usable."""
    return min(most, memory.get_memory_limit() * 3 // 4)


def main(role: str) -> None:
    """Talk over standard input and output, which nothing else may then write to."""
    reading, writing = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the web process, which tells us
    desk = Desk(reading, writing)
    first = wire.receive(reading)
    if first is None:
        return
    if role == "check":
        from .checker import Checker

        confine(budget(first["memory"]))
        desk.tell({"ready": True})
        desk.serve(Checker().handlers, {}, {})
    else:
        from .runner import Runner

        limit = budget(first["memory"])
        confine(limit)
        desk.tell({"ready": True})
        runner = Runner(desk, limit, first["run_seconds"])
        desk.serve(runner.handlers, runner.aside, runner.at_once)


if __name__ == "__main__":
    main(sys.argv[1])
