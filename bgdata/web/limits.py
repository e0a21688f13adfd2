"""What one request, and one client, may ask of a server, and who has asked how much."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one request, and one client, may ask of a server."""

    sql_seconds: float = 5.0
    sql_bytes: int = 1 << 30  # of memory
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


class Budget:
    """Seconds of computing that each client may still ask for."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._lock = limits, threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}  # (seconds, when)

    def left(self, client: str) -> float:
        """Seconds that a client has left now."""
        with self._lock:
            left, when = self._left.get(client, (self._limits.client_seconds, 0.0))
        return min(self._limits.client_seconds, left + (time.monotonic() - when) * self._limits.client_share)

    def spend(self, client: str, seconds: float) -> None:
        """Take what a request has cost; clients whose budget is full again are forgotten."""
        left, now = self.left(client) - seconds, time.monotonic()
        most, share = self._limits.client_seconds, self._limits.client_share
        with self._lock:
            self._left[client] = left, now
            if len(self._left) > 10_000:
                self._left = {name: (x, t) for name, (x, t) in self._left.items() if x + (now - t) * share < most}
