"""The parts of a running studio, which the routes share."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.requests import Request

from .events import Events
from .files import Folder
from .journal import Journal
from .limits import Limits
from .messages import Notice
from .processes import Computing
from .runs import Runs
from .sessions import Session
from .trust import Trust

BETWEEN_LOOKS = 2.0  # seconds, at the folder


class Studio:
    """Everything that lives as long as the server does."""

    def __init__(self, folder: Path, session: Session, limits: Limits, state: Path) -> None:
        self.session, self.limits = session, limits
        self.folder = Folder(folder, limits)
        self.trust = Trust(self.folder, state)
        self.journal = Journal(self.folder, self.trust.seal)
        self.events = Events(session, limits)
        settings = {"memory": limits.worker_memory, "run_seconds": limits.run_seconds}
        self.checker = Computing("check", settings)
        self.runner = Computing("run", settings, lambda message: self.runs.heard(message), spare=True)
        self.runner.restarted = lambda: self.events.tell(Notice(type="restarted"))
        self.runs = Runs(self.runner, self.events, limits)
        self.writing = asyncio.Lock()  # one save at a time: what is compared is still there when it is replaced
        self.asking = asyncio.Lock()
        self._looking: asyncio.Task[None] | None = None
        self._seen: object = None

    def start(self) -> None:
        self.checker.start()
        self.runner.start()
        self.runs.start()
        self._looking = asyncio.create_task(self._look())

    async def end(self) -> None:
        async with self.writing:  # what is being saved is saved
            pass
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
        await self.runs.end()
        await asyncio.gather(self.checker.end(), self.runner.end())

    async def _look(self) -> None:
        """Tell when a page in the folder has changed, by whomever."""
        while True:
            pause = BETWEEN_LOOKS
            if self.events:
                began = time.monotonic()
                state = await asyncio.to_thread(self.folder.state)
                pause = max(pause, 20 * (time.monotonic() - began))
                if state != self._seen:  # at the first look too: something may have come since the first tab asked
                    self.events.tell(Notice(type="files"))
                self._seen = state
            await asyncio.sleep(pause)

    async def check(self, kind: str, page: Any, path: str | None, **fields: Any) -> Any:
        """Ask about a page, which is JSON still."""
        home = str(self.folder.home_of(path))
        return await self.checker.ask(kind, page=bytes(page), path=path, folder=home, **fields)


def studio_of(request: Request) -> Studio:
    found: Studio = request.app.state.studio
    return found
