"""Connections of the site that ask nothing: they are closed, or they would keep others from being accepted."""

from __future__ import annotations

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

PATIENCE_SECONDS = 30.0  # without a whole request, from the first byte to the last, or in which no answer is read
OTHER_FILES = 64  # open files of the process besides connections


def most_connections() -> int:
    """How many connections may be open at once: what the system lets a process open, less what else it needs."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(most // 4, most - OTHER_FILES) if most != resource.RLIM_INFINITY else 1 << 20


class Connection(H11Protocol):
    """A connection that is closed where no whole request comes in PATIENCE_SECONDS, where nobody reads the answer, or
    where too many are open."""

    _last: RequestResponseCycle | None = None  # the request at the last look
    _unread = 0  # bytes of answers that the other side had not made room for then
    _look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            transport.close()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._look:
            self._look.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._look = self.loop.call_later(PATIENCE_SECONDS, self._close_if_idle)

    def _close_if_idle(self) -> None:
        request: Any = self.cycle
        is_answering = request is not None and not request.response_complete
        unread = self.transport.get_write_buffer_size()
        if unread and unread == self._unread:
            self.transport.abort()  # to close it would wait for who reads what is left
            return
        if not is_answering and not unread and request is self._last:
            self.transport.close()
            return
        self._last, self._unread = request, unread
        self._wait()
