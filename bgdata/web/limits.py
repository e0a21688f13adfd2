"""What one request, and one client, may ask of a server, and who has asked how much."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bgdata.errors import TooBusyError, TooMuchAskedError


@dataclass(frozen=True)
class Limits:
    """What one request, and one client, may ask of a server."""

    sql_seconds: float = 5.0
    sql_bytes: int = 1 << 30  # of memory that DuckDB keeps tables in; as much again for all else
    sql_disk_bytes: int = 1 << 31  # for what does not fit into it
    sql_rows: int = 1_000  # shown, or in JSON
    file_rows: int = 100_000  # of a result as CSV or Parquet
    address_bytes: int = 8_192  # of an address with its query
    wait_seconds: float = 10.0  # for others to finish
    ply: int = 1  # rolls looked ahead
    plays: int = 60  # of a roll
    trials: int = 1_296  # of a rollout that a page waits for
    streams: int = 4  # rollouts that are watched at once
    stream_trials: int = 5_184  # of one of them
    client_seconds: float = 30.0  # of computing that a client from elsewhere may ask at once
    client_share: float = 0.5  # and what it gets back each second
    client_reserve: float = 10.0  # of these, that a rollout which is watched leaves for other pages
    request_seconds: float = 1.0  # of these, that a request in progress counts at least
    seat_seconds: float = 3.0  # that a client waits until its last rollout has ended, as where it reloads a page


class Budget:
    """Seconds of computing that each client may still ask for, and which of them watch a rollout."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._changed = limits, threading.Condition()
        self._left: dict[str, tuple[float, float]] = {}  # (seconds, when)
        self._begun: dict[str, list[float]] = {}  # when each request in progress began
        self._watching: set[str] = set()

    def seconds_left(self, client: str) -> float:
        """Seconds that a client has left now, less what its requests in progress have cost so far: many at once cannot
        all pass before the first is charged."""
        with self._changed:
            return self._balance(client) - self._debt(client)

    def _balance(self, client: str) -> float:
        left, when = self._left.get(client, (self._limits.client_seconds, 0.0))
        return min(self._limits.client_seconds, left + (time.monotonic() - when) * self._limits.client_share)

    def _debt(self, client: str) -> float:
        now = time.monotonic()
        return sum(max(self._limits.request_seconds, now - begun) for begun in self._begun.get(client, ()))

    def spend(self, client: str, seconds: float) -> None:
        """Take what a request has cost; clients whose budget is full again are forgotten."""
        most, share = self._limits.client_seconds, self._limits.client_share
        with self._changed:
            now = time.monotonic()
            self._left[client] = self._balance(client) - seconds, now
            if len(self._left) > 10_000:
                self._left = {name: (x, t) for name, (x, t) in self._left.items() if x + (now - t) * share < most}

    @contextmanager
    def spending(self, client: str, reserve: float = 0.0) -> Iterator[None]:
        """Charge a client for the time that passes inside. Raises TooBusyError where it has no more seconds left than
        the `reserve`."""
        with self._changed:
            if self._balance(client) - self._debt(client) <= reserve:
                raise TooBusyError("expected fewer questions at once; try again in a few seconds")
            begun = time.monotonic()
            self._begun.setdefault(client, []).append(begun)
        try:
            yield
        finally:
            with self._changed:
                self._begun[client].remove(begun)
                if not self._begun[client]:
                    del self._begun[client]
            self.spend(client, time.monotonic() - begun)

    def watch(self, client: str) -> None:
        """Let a client watch a rollout, until `leave`. Raises TooMuchAskedError where it watches another one, which
        does not end soon either."""
        with self._changed:
            if not self._changed.wait_for(lambda: client not in self._watching, self._limits.seat_seconds):
                raise TooMuchAskedError("expected one rollout at once for each reader, found another; leave its page")
            self._watching.add(client)

    def leave(self, client: str) -> None:
        """End what `watch` began."""
        with self._changed:
            self._watching.discard(client)
            self._changed.notify_all()
