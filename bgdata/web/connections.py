"""Closes idle connections of the site, because they would prevent new connections."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from bgdata.system import limit

PATIENCE_SECONDS = 30.0  # time for a whole request to arrive, or for part of an answer to be read
OTHER_FILES = 64  # maximum number of open files of the process besides connections


def most_connections() -> int:
    """Return how many connections may be open at once: the limit of open files of this process, minus those that it
    needs for other things."""
    most = limit("RLIMIT_NOFILE")
    return max(most // 4, most - OTHER_FILES) if most is not None else 1 << 20


class Connection(H11Protocol):
    """A connection of the server. It is closed if no whole request arrives, or nobody reads an answer, for
    PATIENCE_SECONDS, or if too many connections are open. While more than half of the possible connections are open,
    each is closed after one answer; otherwise clients that send hundreds of requests at once would occupy all
    connections."""

    _last: RequestResponseCycle | None = None  # the request at the last check
    _unread = 0  # bytes of answers that the client had not read at the last check
    _look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuse the connection if too many are open; else begin to watch it."""
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            transport.close()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching the connection, because it is closed."""
        if self._look:
            self._look.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """After an answer, close the connection if others may need its place; else wait for the next request."""
        if 2 * len(self.connections) > most_connections() and not self.transport.is_closing():
            self.shutdown()
        super().on_response_complete()

    def _wait(self) -> None:
        self._look = self.loop.call_later(PATIENCE_SECONDS, self._close_if_idle)

    def _close_if_idle(self) -> None:
        request: Any = self.cycle
        is_answering = request is not None and not request.response_complete
        unread = self.transport.get_write_buffer_size()
        if unread and unread == self._unread:
            self.transport.abort()  # `close` would wait for the client to read the rest
            return
        if not is_answering and not unread and request is self._last:
            self.transport.close()
            return
        self._last, self._unread = request, unread
        self._wait()
