"""The events: one WebSocket for each tab, on which only the server speaks."""

from __future__ import annotations

import asyncio
from collections import deque

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from .limits import Limits
from .messages import RunEvent, StudioEvent
from .sessions import Session

PATIENCE = 5.0  # seconds for the first message
MOST_REPEATED = 1 << 21  # characters of events that a new connection is told once more
POLICY_VIOLATION, TOO_SLOW = 1008, 1013


class Events:
    """Whoever listens."""

    def __init__(self, session: Session, limits: Limits) -> None:
        self._session, self._limits = session, limits
        self._open = 0
        self._listeners: set[Listener] = set()
        self._recent: deque[str] = deque()
        self._recent_size = 0

    def __bool__(self) -> bool:
        return bool(self._listeners)

    def tell(self, event: StudioEvent | bytes) -> None:
        """Everybody gets it; who does not take what was told before is left behind."""
        text = (event if isinstance(event, bytes) else msgspec.json.encode(event)).decode()
        for listener in self._listeners:
            listener.add(text)

    def tell_of_run(self, event: RunEvent | bytes) -> None:
        """The same, and a tab that was away hears it when it is back."""
        body: bytes = event if isinstance(event, bytes) else msgspec.json.encode(event)
        self._recent.append(body.decode())
        self._recent_size += len(self._recent[-1])
        while self._recent_size > MOST_REPEATED:
            self._recent_size -= len(self._recent.popleft())
        self.tell(body)

    async def listen(self, socket: WebSocket) -> None:
        """A connection from its beginning to its end."""
        if self._open >= self._limits.sockets:
            await socket.close(POLICY_VIOLATION)
            return
        self._open += 1
        try:
            await socket.accept()
            if await self._knows_key(socket):
                await self._serve(socket)
            else:
                await socket.close(POLICY_VIOLATION)
        except (WebSocketDisconnect, RuntimeError):  # it went away, perhaps while it was being written to
            pass
        finally:
            self._open -= 1

    async def _knows_key(self, socket: WebSocket) -> bool:
        try:
            async with asyncio.timeout(PATIENCE):
                first = await socket.receive_text()
            said = msgspec.json.decode(first[:1024], type=dict[str, str])
        except (TimeoutError, KeyError, msgspec.DecodeError):
            return False
        return self._session.has_key(said.get("key", ""))

    async def _serve(self, socket: WebSocket) -> None:
        listener = Listener(self._limits.socket_backlog)
        for text in self._recent:
            listener.add(text)
        self._listeners.add(listener)
        writing = asyncio.create_task(listener.write(socket))
        reading = asyncio.create_task(socket.receive())
        try:
            await asyncio.wait({writing, reading}, return_when=asyncio.FIRST_COMPLETED)
            if reading.done() and reading.result()["type"] == "websocket.receive":
                await socket.close(POLICY_VIOLATION, "only the server speaks here")
            elif listener.left_behind:
                await socket.close(TOO_SLOW)
        finally:
            self._listeners.discard(listener)
            for task in (writing, reading):
                task.cancel()
            await asyncio.gather(writing, reading, return_exceptions=True)


class Listener:
    """What is still to be sent to one tab."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._texts: asyncio.Queue[str] = asyncio.Queue()
        self.left_behind = False

    def add(self, text: str) -> None:
        self._size += len(text)
        self.left_behind = self.left_behind or self._size > self._most
        if not self.left_behind:
            self._texts.put_nowait(text)

    async def write(self, socket: WebSocket) -> None:
        while not self.left_behind:
            text = await self._texts.get()
            await socket.send_text(text)
            self._size -= len(text)
