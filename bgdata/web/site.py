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


MAX_KEPT = 1000  # maximum number of cached answers; limited, because addresses may contain any number
T = TypeVar("T")
Row = dict[str, Any]  # a value by the name of its column


def folders_in(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    """Return the entries of a folder that are folders themselves, sorted by name. The list is empty if the folder is
    missing or cannot be read, such as `lost+found`. This is called for every page."""
    try:
        with os.scandir(folder) as found:
            return sorted((each for each in found if each.is_dir()), key=lambda each: each.name)
    except (FileNotFoundError, PermissionError):
        return []


class Site:
    """What all pages of a server share: the warehouse, a player, a database connection, and a cache. Pages run in
    several threads; an object that is not thread-safe is used by one of them at a time. Slow modules are imported where
    they are used, because the home page does not need them."""

    def __init__(self, warehouse: Warehouse, limits: Limits | None = None, *, is_limited: bool = False) -> None:
        """Store the warehouse without opening anything. If `is_limited` is true, each client has a budget of computing
        time."""
        self.warehouse, self.limits = warehouse, limits or Limits()
        self.budget = Budget(self.limits) if is_limited else None
        self._computing, self._reading, self._keeping = threading.Lock(), threading.Lock(), threading.Lock()
        self.streams = threading.BoundedSemaphore(self.limits.streams)
        self._stamp: object = None
        self._request = threading.local()  # the stamp when a request first asked for it, in its thread
        self._kept: dict[Any, Any] = {}
        self._connection: tuple[object, duckdb.DuckDBPyConnection] | None = None

    @contextmanager
    def request(self) -> Iterator[None]:
        """Inside the `with` block, which handles one request, check only once whether the warehouse has changed."""
        self._request.stamps = []
        try:
            yield
        finally:
            del self._request.stamps

    @property
    def stamp(self) -> object:
        """A value that changes when a version is added, deleted, or becomes current."""
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
        except FileNotFoundError:  # there is no warehouse, or a version is being removed
            return object() if kinds else None

    def charge(self, client: str, reserve: float = 0.0) -> AbstractContextManager[None]:
        """Charge the time of the `with` block to a client, if clients are limited. Raises TooBusyError if the client
        has at most `reserve` seconds left."""
        return self.budget.spending(client, reserve) if self.budget else nullcontext()

    def keep(self, key: object, make: Callable[[], T]) -> T:
        """Call `make` and cache its result under a key, or return the cached result. The result is dropped when the
        warehouse changes, or when MAX_KEPT others are newer. Two requests at the same time may both call `make`."""
        stamp = self.stamp
        with self._keeping:
            if stamp != self._stamp:
                self._stamp, self._kept = stamp, {}
            if key in self._kept:
                found: T = self._kept[key]
                self._kept[key] = self._kept.pop(key)  # the most recently used result is last
                return found
        made = make()
        with self._keeping:
            if stamp == self._stamp:
                self._kept[key] = made
                while len(self._kept) > MAX_KEPT:
                    del self._kept[next(iter(self._kept))]
        return made

    def kept_result(self, key: object) -> Any:
        """Return the result that `keep` has cached under this key; None if there is none, or if the warehouse has
        changed since."""
        stamp = self.stamp
        with self._keeping:
            return self._kept.get(key) if stamp == self._stamp else None

    @contextmanager
    def player(self, ply: int = 0) -> Iterator[LookaheadPlayer]:
        """Yield the player of the warehouse that looks `ply` rolls ahead. No other request uses it during the `with`
        block. Raises UsageError if the ply is above the site's limit, TooBusyError if other requests keep the player
        busy, and the errors of `map_player`."""
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
        """Return a player that uses the default network without bearoff tables. Call this only inside the `with` block
        of `player`."""
        from bgdata.evaluation.bearoff import BearoffEvaluator
        from bgdata.evaluation.lookahead_player import LookaheadPlayer
        from bgdata.evaluation.networks.player import MappedNetwork, find_network

        def make() -> LookaheadPlayer:
            table = find_network("network", self.warehouse)
            return LookaheadPlayer(MappedNetwork(table, BearoffEvaluator(), self.warehouse))

        return self.keep("bare player", make)

    def rows(self, query: str, given: Mapping[str, Any] | None = None) -> list[Row]:
        """Run an SQL query of the site itself, with the values `given` of its parameters, and return its rows as
        dictionaries by column. Raises QueryError if it fails, and TooBusyError if other requests keep the connection
        busy."""
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
        """Return the message of an error, in which `warehouse` replaces the path of the warehouse, which is private."""
        text, root = str(error), self.warehouse.root
        for place in (str(root.resolve()), str(root.absolute()), str(root)):
            text = text.replace(place, "warehouse")
        return text


@dataclass(frozen=True)
class Limits:
    """The limits of a single request, and of all requests of a client."""

    sql_seconds: float = 5.0
    sql_bytes: int = 1 << 30  # memory of DuckDB for tables; as much again for everything else
    sql_disk_bytes: int = 1 << 31  # temporary files, for data beyond that memory
    sql_rows: int = 1_000  # rows of a result on the page, or in JSON
    file_rows: int = 100_000  # rows of a result as CSV or Parquet
    upload_bytes: int = 1 << 26  # body of a request with match files, if the site takes files
    address_bytes: int = 8_192  # length of an address with its query
    threads: int = (
        16  # threads for requests: each needs memory for its stack; without it, Python may start one and wait forever
    )
    wait_seconds: float = 10.0  # time to wait for other requests to finish
    ply: int = 2  # maximum number of rolls looked ahead
    plays: int = 60  # maximum number of plays of a roll
    trials: int = 1_296  # trials of a rollout that a page waits for
    streams: int = 4  # rollouts watched at the same time
    stream_trials: int = 5_184  # trials of a watched rollout
    client_seconds: float = 30.0  # computing budget of a remote client
    client_share: float = 0.5  # part of the budget that returns each second
    client_reserve: float = 10.0  # seconds of the budget that a watched rollout leaves for other pages
    request_seconds: float = 1.0  # minimum cost of a request in progress
    seat_seconds: float = 3.0  # time to wait for a client's last rollout to end, for example after a reload


class Budget:
    """The seconds of computing that each client has left, and the clients that watch a rollout."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._changed = limits, threading.Condition()  # a reentrant lock
        self._left: dict[str, tuple[float, float]] = {}  # (seconds, time) by client
        self._begun: dict[str, list[float]] = {}  # start times of requests in progress, by client
        self._watching: set[str] = set()

    def seconds_left(self, client: str) -> float:
        """Return how many seconds a client has left, minus what its running requests have cost so far. So a client
        cannot start many requests at once before the first is charged."""
        with self._changed:
            now = time.monotonic()
            debts = (max(self._limits.request_seconds, now - begun) for begun in self._begun.get(client, ()))
            return self._balance(client) - sum(debts)

    def _balance(self, client: str) -> float:
        left, when = self._left.get(client, (self._limits.client_seconds, 0.0))
        return min(self._limits.client_seconds, left + (time.monotonic() - when) * self._limits.client_share)

    def spend(self, client: str, seconds: float) -> None:
        """Charge a finished request of this many seconds to a client, and forget clients whose budget is full again."""
        most, share = self._limits.client_seconds, self._limits.client_share
        with self._changed:
            now = time.monotonic()
            self._left[client] = self._balance(client) - seconds, now
            if len(self._left) > 10_000:
                self._left = {name: (x, t) for name, (x, t) in self._left.items() if x + (now - t) * share < most}

    @contextmanager
    def spending(self, client: str, reserve: float = 0.0) -> Iterator[None]:
        """Charge the time of the `with` block to a client. Raises TooBusyError if the client has at most `reserve`
        seconds left."""
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
        """Record that a client watches a rollout, until `leave` is called. Raises TooMuchAskedError if the client is
        still watching another rollout after a short wait."""
        with self._changed:
            if not self._changed.wait_for(lambda: client not in self._watching, self._limits.seat_seconds):
                raise TooMuchAskedError("expected one rollout at once for each reader, found another; leave its page")
            self._watching.add(client)

    def leave(self, client: str) -> None:
        """Record that a client no longer watches a rollout."""
        with self._changed:
            self._watching.discard(client)
            self._changed.notify_all()
