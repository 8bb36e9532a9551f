"""What uvicorn leaves to its users: requests whose headers never end, and text on a WebSocket that is none."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


def http_protocol(seconds: float) -> type[H11Protocol]:
    """HTTP as uvicorn has it; a connection whose request has not begun after so many seconds is closed."""

    class Impatient(H11Protocol):  # type: ignore[misc]
        waiting: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is h11.IDLE:
                self._wait()
            else:
                self._stop_waiting()

        def connection_lost(self, problem: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(problem)

        def _wait(self) -> None:
            if self.waiting is None:
                self.waiting = self.loop.call_later(seconds, self.transport.close)

        def _stop_waiting(self) -> None:
            if self.waiting is not None:
                self.waiting.cancel()
                self.waiting = None

    return Impatient


class EventsProtocol(WebSocketsSansIOProtocol):  # type: ignore[misc]
    """WebSockets as uvicorn has them; text that is none ends the connection, which is no error to be logged."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = logging.getLogger("gradbag.studio.sockets")
        self.logger.disabled = True
