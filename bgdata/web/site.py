"""State shared by all pages of a server: warehouse, player, connection for queries, and cache."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from bgdata.errors import TooBusyError, TooMuchAskedError, UsageError
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb

    from bgdata.evaluation.lookahead_player import LookaheadPlayer


MAX_KEPT = 1000  # cached answers; addresses may contain any number
T = TypeVar("T")
Row = dict[str, Any]  # a value by the name of its column


def folders_in(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    """The folders in a folder, by name; empty if the folder is missing or unreadable, such as `lost+found`. This
    function is called often."""
    try:
        with os.scandir(folder) as found:
            return sorted((each for each in found if each.is_dir()), key=lambda each: each.name)
    except (FileNotFoundError, PermissionError):
        return []


class Site:
    """The warehouse of a server, for pages in several threads. Objects that are not thread-safe are used by one thread
    at a time. Modules that are slow to load are imported where they are used, because the home page does not need
    them."""

    def __init__(self, warehouse: Warehouse, limits: Limits | None = None, *, is_limited: bool = False) -> None:
        """Open nothing yet. `is_limited` says whether the computing of each client is limited."""
        self.warehouse, self.limits = warehouse, limits or Limits()
        self.budget = Budget(self.limits) if is_limited else None
        self._computing, self._reading, self._keeping = threading.Lock(), threading.Lock(), threading.Lock()
        self.streams = threading.BoundedSemaphore(self.limits.streams)
        self._stamp: object = None
        self._request = threading.local()  # with the stamp at the first look of a request, in its thread
        self._kept: dict[Any, Any] = {}
        self._connection: tuple[object, duckdb.DuckDBPyConnection] | None = None

    @contextmanager
    def request(self) -> Iterator[None]:
        """Look once, during the block and in this thread, whether the warehouse has changed."""
        self._request.stamps = []
        try:
            yield
        finally:
            del self._request.stamps

    @property
    def stamp(self) -> object:
        """A value that changes whenever a version is added, removed, or becomes current."""
        stamps: list[object] | None = getattr(self._request, "stamps", None)
        if stamps is None:
            return self._current_stamp()
        if not stamps:
            stamps.append(self._current_stamp())
        return stamps[0]

    def _current_stamp(self) -> object:
        root = self.warehouse.root
        kinds = [each for each in folders_in(root) if each.name in self.warehouse.kinds]
        variants = [each for kind in kinds for each in folders_in(kind)]
        try:
            folders = [(each.path, each.stat().st_mtime_ns) for each in (*kinds, *variants)]
            return root.stat().st_mtime_ns, *folders
        except FileNotFoundError:  # no warehouse, or a version is being removed
            return object() if kinds else None

    def charge(self, client: str, reserve: float = 0.0) -> AbstractContextManager[None]:
        """Charge the time of the `with` block to a client, if limited. Raises TooBusyError if the client has no more
        than `reserve` seconds left."""
        return self.budget.spending(client, reserve) if self.budget else nullcontext()

    def keep(self, key: object, make: Callable[[], T]) -> T:
        """The result of `make`, cached until the warehouse changes, or MAX_KEPT newer results replace it. Two
        concurrent requests may both call `make`."""
        stamp = self.stamp
        with self._keeping:
            if stamp != self._stamp:
                self._stamp, self._kept = stamp, {}
            if key in self._kept:
                found: T = self._kept[key]
                self._kept[key] = self._kept.pop(key)  # most recently used last
                return found
        made = make()
        with self._keeping:
            if stamp == self._stamp:
                self._kept[key] = made
                while len(self._kept) > MAX_KEPT:
                    del self._kept[next(iter(self._kept))]
        return made

    def kept_result(self, key: object) -> Any:
        """What `keep` cached under this key; None if there is nothing, or the warehouse has changed."""
        stamp = self.stamp
        with self._keeping:
            return self._kept.get(key) if stamp == self._stamp else None

    @contextmanager
    def player(self, ply: int = 0) -> Iterator[LookaheadPlayer]:
        """The player of the warehouse, for exclusive use in this request. Raises UsageError if the ply is above the
        limit, TooBusyError if the player stays busy, and the errors of `map_player`."""
        if not 0 <= ply <= self.limits.ply:
            raise UsageError(f"expected a ply from 0 to {self.limits.ply} on this site, got {ply}")
        from bgdata.evaluation.lookahead_player import LookaheadPlayer
        from bgdata.evaluation.networks.player import map_player

        def make() -> LookaheadPlayer:
            static = self.keep("player", lambda: map_player(self.warehouse))
            return LookaheadPlayer(static.evaluator, ply, cubes=static.cubes) if ply else static

        with self._alone(self._computing):
            yield self.keep(("player", ply), make)

    def bare_player(self) -> LookaheadPlayer:
        """The network without tables; use only within `player`."""
        from bgdata.evaluation.bearoff import BearoffEvaluator
        from bgdata.evaluation.lookahead_player import LookaheadPlayer
        from bgdata.evaluation.networks.player import MappedNetwork, find_network

        def make() -> LookaheadPlayer:
            table = find_network("network", self.warehouse)
            return LookaheadPlayer(MappedNetwork(table, BearoffEvaluator(), self.warehouse))

        return self.keep("bare player", make)

    def rows(self, query: str, given: Mapping[str, Any] | None = None) -> list[Row]:
        """The rows of a trusted query, with the parameters `given`. Raises QueryError if it fails, and TooBusyError if
        the connection stays busy."""
        from bgdata.store.locked_sql import QueryLimits, run_query

        with self._alone(self._reading):
            stamp = self.stamp
            if self._connection is None or self._connection[0] != stamp:
                if self._connection:
                    self._connection[1].close()
                self._connection = None
                limits = QueryLimits(self.limits.sql_seconds, self.limits.sql_bytes)
                self._connection = stamp, self.warehouse.connect(limits=limits, mend=False)
            names, rows = run_query(self._connection[1], query, given or {})
        return [dict(zip(names, row, strict=True)) for row in rows]

    @contextmanager
    def _alone(self, lock: threading.Lock) -> Iterator[None]:
        if not lock.acquire(timeout=self.limits.wait_seconds):
            raise TooBusyError(f"expected an answer within {self.limits.wait_seconds:g} seconds, found others at work")
        try:
            yield
        finally:
            lock.release()

    def public(self, error: Exception | str) -> str:
        """The message of an error, without the private folder of the warehouse."""
        text, root = str(error), self.warehouse.root
        for place in (str(root.resolve()), str(root.absolute()), str(root)):
            text = text.replace(place, "warehouse")
        return text


@dataclass(frozen=True)
class Limits:
    """Limits of a request, and of a client."""

    sql_seconds: float = 5.0
    sql_bytes: int = 1 << 30  # memory of DuckDB for tables; as much again for everything else
    sql_disk_bytes: int = 1 << 31  # temporary files, for data beyond that memory
    sql_rows: int = 1_000  # shown, or in JSON
    file_rows: int = 100_000  # rows of a result as CSV or Parquet
    upload_bytes: int = 1 << 26  # body of a request with match files, where the site takes any
    address_bytes: int = 8_192  # length of an address with its query
    threads: int = (
        16  # of requests: the stack of each takes memory, without which Python can start one and wait forever
    )
    wait_seconds: float = 10.0  # for other requests to finish
    ply: int = 2  # rolls looked ahead
    plays: int = 60  # plays of a roll
    trials: int = 1_296  # trials of a rollout that a page waits for
    streams: int = 4  # watched rollouts at once
    stream_trials: int = 5_184  # trials of a watched rollout
    client_seconds: float = 30.0  # computing budget of a remote client
    client_share: float = 0.5  # part of the budget that returns each second
    client_reserve: float = 10.0  # seconds of the budget that a watched rollout leaves for other pages
    request_seconds: float = 1.0  # least cost of a request in progress
    seat_seconds: float = 3.0  # wait for a client's last rollout to end, for example after a reload


class Budget:
    """Remaining seconds of computing of each client, and the clients that watch a rollout."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._changed = limits, threading.Condition()  # a reentrant lock
        self._left: dict[str, tuple[float, float]] = {}  # (seconds, time) by client
        self._begun: dict[str, list[float]] = {}  # start times of requests in progress, by client
        self._watching: set[str] = set()

    def seconds_left(self, client: str) -> float:
        """Seconds that a client has left, minus the cost so far of its requests in progress. This keeps many concurrent
        requests from passing before the first is charged."""
        with self._changed:
            now = time.monotonic()
            debts = (max(self._limits.request_seconds, now - begun) for begun in self._begun.get(client, ()))
            return self._balance(client) - sum(debts)

    def _balance(self, client: str) -> float:
        left, when = self._left.get(client, (self._limits.client_seconds, 0.0))
        return min(self._limits.client_seconds, left + (time.monotonic() - when) * self._limits.client_share)

    def spend(self, client: str, seconds: float) -> None:
        """Subtract the cost of a request, and forget clients with a full budget."""
        most, share = self._limits.client_seconds, self._limits.client_share
        with self._changed:
            now = time.monotonic()
            self._left[client] = self._balance(client) - seconds, now
            if len(self._left) > 10_000:
                self._left = {name: (x, t) for name, (x, t) in self._left.items() if x + (now - t) * share < most}

    @contextmanager
    def spending(self, client: str, reserve: float = 0.0) -> Iterator[None]:
        """Charge a client for the time of the `with` block. Raises TooBusyError if the client has no more than
        `reserve` seconds left."""
        with self._changed:
            if self.seconds_left(client) <= reserve:
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
        """Let a client watch a rollout, until `leave`. Raises TooMuchAskedError if the client watches another rollout
        that does not end soon."""
        with self._changed:
            if not self._changed.wait_for(lambda: client not in self._watching, self._limits.seat_seconds):
                raise TooMuchAskedError("expected one rollout at once for each reader, found another; leave its page")
            self._watching.add(client)

    def leave(self, client: str) -> None:
        """End the watching that `watch` began."""
        with self._changed:
            self._watching.discard(client)
            self._changed.notify_all()
