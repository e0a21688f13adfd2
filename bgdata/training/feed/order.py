"""The order of rows: blocks are shuffled, pools of them are read together, and the rows of a pool are shuffled.

The order depends on the key (seed, epoch, ...) alone, and any place in it can be reached without reading the rows
before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances
from bgdata.game.codec import Boards
from bgdata.game.random import high_below, random_bits, random_stream
from bgdata.kernel import kernel
from bgdata.training.feed.rows import FILE_CLASSES, Guard, LabelledRows

Places = NDArray[np.int32]


class Rows(NamedTuple):
    """Rows, with the version and row that each comes from."""

    boards: Boards  # [n, 26]
    targets: Chances  # [n, 5]
    classes: NDArray[np.uint8]  # [n] as gnubg numbers them
    versions: NDArray[np.uint16]  # [n] index of the feed's versions
    rows: NDArray[np.int64]  # [n] row of the version

    def take(self, places: NDArray[np.integer]) -> Rows:
        """The rows at these places, copied."""
        return Rows._make(column.take(places, axis=0) for column in self)


class Span(NamedTuple):
    """A block of a version, and how many of its rows a stream takes."""

    version: int
    begin: int
    end: int
    taken: int


class Choice(NamedTuple):
    """Which rows of a block belong to a stream."""

    split: int
    guard: Guard | None
    position_class: int | None  # as gnubg's files name it, None for any


class Stream:
    """An endless stream of rows: all chosen ones in one order, then in another, and so on; one pool of them is in
    memory."""

    def __init__(
        self,
        versions: Sequence[LabelledRows],
        spans: Sequence[Span],
        choice: Choice,
        key: tuple[int, int],  # seed and number of the stream
        pool_blocks: int,
    ) -> None:
        self.spans = [span for span in spans if span.taken]
        self.count = sum(span.taken for span in self.spans)
        self._versions, self._choice, self._key, self._pool_blocks = versions, choice, key, pool_blocks
        self._ordered_at: tuple[int, int] | None = None  # epoch and cycle
        self._ordered: tuple[list[list[Span]], list[int]] = [], []
        self._at: tuple[int, int, int] | None = None  # epoch, cycle and number of the pool in memory
        self._pool, self._places = new_rows(0), np.zeros(0, np.int32)

    def read(self, epoch: int, begin: int, end: int) -> Rows:
        """The rows from `begin` to before `end` of an epoch, in which the rows repeat in ever new orders."""
        parts = []
        while begin < end:
            cycle, place = divmod(begin, self.count)
            pools, ends = self._order(epoch, cycle)
            number = bisect_right(ends, place)
            self._fill(pools[number], (epoch, cycle, number))
            start, stop = ends[number] - len(self._places), min(place + end - begin, ends[number])
            parts.append(self._pool.take(self._places[place - start : stop - start]))
            begin += stop - place
        return join_rows(parts)

    def _order(self, epoch: int, cycle: int) -> tuple[list[list[Span]], list[int]]:
        """The blocks of a cycle by the pools that hold them, and the row after the last of each pool."""
        if self._ordered_at != (epoch, cycle):
            order = [self.spans[n] for n in shuffled((*self._key, epoch, cycle), len(self.spans)).tolist()]
            pools = [order[n : n + self._pool_blocks] for n in range(0, len(order), self._pool_blocks)]
            self._ordered = pools, list(accumulate(sum(span.taken for span in pool) for pool in pools))
            self._ordered_at = epoch, cycle
        return self._ordered

    def _fill(self, spans: Sequence[Span], at: tuple[int, int, int]) -> None:
        """Read a pool, unless it is in memory."""
        if self._at == at:
            return
        self._at, self._pool = None, new_rows(0)  # the last one goes before the next comes
        pool, begin = new_rows(sum(span.taken for span in spans)), 0
        for span in spans:
            self._fill_block(span, Rows._make(column[begin : begin + span.taken] for column in pool))
            begin += span.taken
        self._pool, self._places, self._at = pool, shuffled((*self._key, *at), begin), at

    def _fill_block(self, span: Span, rows: Rows) -> None:
        """Copy the chosen rows of a block into the pool."""
        version = self._versions[span.version]
        block = version.read(span.begin, span.end)
        is_chosen, _ = version.choose(block, span.begin, self._choice.split, self._choice.guard)
        if self._choice.position_class is not None:
            is_chosen = is_chosen & (FILE_CLASSES[block.classes] == self._choice.position_class)
        places = np.flatnonzero(is_chosen)
        columns: list[NDArray[Any]] = [rows.boards, rows.targets, rows.classes]
        stored: list[NDArray[Any]] = [block.boards, block.targets, block.classes]
        for values, column in zip(stored, columns, strict=True):
            np.take(values, places, axis=0, out=column, mode="clip")  # any other mode would copy once more
        rows.versions[:] = span.version
        np.add(places, span.begin, out=rows.rows)


def new_rows(count: int) -> Rows:
    """Uninitialised `Rows` of this length."""
    return Rows(
        np.empty((count, 26), np.int8),
        np.empty((count, 5), np.float32),
        np.empty(count, np.uint8),
        np.empty(count, np.uint16),
        np.empty(count, np.int64),
    )


def join_rows(parts: Sequence[Rows]) -> Rows:
    """`Rows` from several, one after another."""
    return parts[0] if len(parts) == 1 else Rows._make(map(np.concatenate, zip(*parts, strict=True)))


def shuffled(key: Sequence[int], count: int) -> Places:
    """int32[count]: 0 to count - 1 in an order that depends on the key alone; its numbers are from 0 to 2^63 - 1."""
    places = np.arange(count, dtype=np.int32)
    fill_shuffled(np.array(key, np.uint64), places)
    return places


@kernel()
def fill_shuffled(key: NDArray[np.uint64], places: Places) -> None:
    """Shuffles places[n] (Fisher and Yates), by the random numbers of a key."""
    stream = np.uint64(0)
    for part in key:
        stream = random_stream(stream + part, 0)
    for last in range(len(places) - 1, 0, -1):
        other = high_below(random_bits(stream, last), last + 1)
        places[last], places[other] = places[other], places[last]
