"""The web process's side of a process that computes: start it, ask it, and start it again when it has died."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from . import wire
from .answers import Refused

# A folder of pages may hold a numpy.py: -P keeps the current folder out of where modules come from.
BOOT = "import sys; sys.path.append(sys.argv[1]); from gradbag.studio.worker import main; main(sys.argv[2])"
PACKAGES = str(Path(__file__).parent.parent.parent)
BESIDE = ("value", "npy", "lens")  # asked while a run goes on, which is worth more than their answer
STATUS = {"memory": 413, "internal": 500, "gone": 410}


class Died(Exception):
    """The process ended before it had answered."""

    def __init__(self, code: int | None) -> None:
        super().__init__(f"ended with {code}")
        self.code = code


class Computing:
    """One process in one role. There is always one, or one on its way."""

    def __init__(
        self,
        role: str,
        settings: dict[str, Any],
        heard: Callable[[dict[str, Any]], None] | None = None,
        *,
        spare: bool = False,
    ) -> None:
        self._role, self._settings, self._heard = role, settings, heard
        self._keeps_spare = spare  # a second one, started ahead, that takes over at once
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._spare: asyncio.Task[asyncio.subprocess.Process] | None = None
        self._ready = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None
        self.restarts = 0
        self.restarted: Callable[[], None] | None = None

    def start(self) -> None:
        self._keeping = asyncio.create_task(self._keep())

    async def end(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeping
        spare = await self._take_spare()
        if spare is not None:
            spare.kill()
            await spare.wait()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    # ------------------------------------------------------------------ asking
    async def ask(self, kind: str, **fields: Any) -> Any:
        """What the process answers; its errors are refusals. Who does not wait any longer ends it."""
        await self._ready.wait()
        if self._spare is None and self._keeps_spare:
            self._spare = asyncio.create_task(self._spawn())
        number = next(self._numbers)
        future = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            await self._write({"id": number, "kind": kind, **fields})
            answer = await future
        except asyncio.CancelledError:
            if kind not in BESIDE:
                self.kill()  # it is still at it, and others wait behind
            raise
        finally:
            self._asked.pop(number, None)
        if "error" in answer:
            said = answer["error"]
            raise Refused(STATUS.get(said["kind"], 422), **said)
        return answer["ok"]

    async def tell(self, kind: str, **fields: Any) -> None:
        """Something that is not answered."""
        await self._write({"id": 0, "kind": kind, **fields})

    async def _write(self, message: dict[str, Any]) -> None:
        process = self._process
        if process is None or process.stdin is None:
            raise Died(None)
        try:
            process.stdin.write(wire.packed(message))
            await process.stdin.drain()
        except (ConnectionError, OSError):
            raise Died(process.returncode) from None

    def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                # Its own `kill` would look whether it has ended, and so take the exit code from the one who waits.
                os.kill(self._process.pid, signal.SIGKILL)

    # ------------------------------------------------------------------ keeping it alive
    async def _keep(self) -> None:
        pause = 0.0
        while True:
            started = asyncio.get_running_loop().time()
            try:
                await self._live()
            finally:
                self.kill()
                self._ready.clear()
                await self._bury()
            self.restarts += 1
            # One that dies at once would otherwise be started without end.
            lived = asyncio.get_running_loop().time() - started
            pause = min(pause * 2 + 0.1, 5.0) if lived < 1 else 0.0
            await asyncio.sleep(pause)

    async def _spawn(self) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-c", BOOT, PACKAGES, self._role),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdin is not None
        process.stdin.write(wire.packed(self._settings))
        return process

    async def _take_spare(self) -> asyncio.subprocess.Process | None:
        """The one that was started ahead, if it lives."""
        task, self._spare = self._spare, None
        process = None if task is None else await task
        return process if process is not None and process.returncode is None else None

    async def _live(self) -> None:
        self._process = process = await self._take_spare() or await self._spawn()
        assert process.stdout is not None
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                length = wire.length_of(await process.stdout.readexactly(wire.LENGTH))
                self._take(wire.unpacked(await process.stdout.readexactly(length)))

    def _take(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self._ready.set()
            if self.restarts and self.restarted is not None:
                self.restarted()
        elif "id" in message:
            future = self._asked.get(message["id"])
            if future is not None and not future.done():
                future.set_result(message)
        elif self._heard is not None:
            self._heard(message)

    async def _bury(self) -> None:
        code = None
        if self._process is not None:
            code = await self._process.wait()
        for future in self._asked.values():
            if not future.done():
                future.set_exception(Died(code))
        self._asked.clear()
