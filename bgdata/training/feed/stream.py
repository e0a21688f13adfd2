"""Streams of rows in random order. One pool of their rows is in memory at a time.

A pool contains the same share of every version, to the row, and blocks from all parts of each version. A version is
divided into windows of as many blocks as there are pools, and each pool gets one block of every window. Batches take
rows of a pool in random order. So they are mixed as if they took rows from the whole version, even if similar rows are
close together in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import CheckFailedError
from bgdata.evaluation.chances import Chances
from bgdata.game.codec import Boards
from bgdata.game.random import high_below, random_bits, random_stream
from bgdata.kernel import kernel
from bgdata.training.feed.rows import Bytes, Choice, LabelledRows, check_rows, counted_place

Places = NDArray[np.int32]
BLOCKS = 1 << 33  # stands for a pool's number in keys of the order of blocks
RELEASED = 32  # blocks after which their memory pages are released: the system maps up to 2 MiB around each read


class Rows(NamedTuple):
    """Labelled rows in memory, with the version and row number that each comes from."""

    boards: Boards  # [n, 26]
    targets: Chances  # [n, 5]
    classes: Bytes  # [n] as gnubg numbers them
    versions: NDArray[np.uint16]  # [n] index in `Feed.versions`
    rows: NDArray[np.int64]  # [n] number of the row in the version

    def take(self, places: NDArray[np.integer]) -> Rows:
        """Return a copy of the rows with the indexes `places`."""
        return Rows._make(column.take(places, axis=0) for column in self)

    def part(self, begin: int, end: int) -> Rows:
        """Return views of the rows from `begin` to before `end`."""
        return Rows._make(column[begin:end] for column in self)


class Size(NamedTuple):
    """How large the pools of a stream are, and whether each pool mixes all versions."""

    block_rows: int
    pool_blocks: int
    is_even: bool  # whether every pool has its share of each version; else pools are whole blocks in random order


class Part(NamedTuple):
    """The chosen rows of one block that belong to one pool."""

    version: int
    block: int
    chosen: int  # number of all chosen rows of the block
    skipped: int  # number of chosen rows before the part
    taken: int


class Lane(NamedTuple):
    """Blocks in reading order, and the rows at which one pool ends and the next begins."""

    versions: NDArray[np.int64]  # [n] version of each block
    blocks: NDArray[np.int64]  # [n] number of each block
    ends: NDArray[np.int64]  # [n] number of chosen rows up to the end of each block
    cuts: NDArray[np.int64]  # [pools + 1] number of rows before each pool

    def parts(self, pool: int) -> list[Part]:
        """Return the parts of blocks that make up a pool. `pool` is its number."""
        begin, end = self.cuts[pool : pool + 2].tolist()
        first, last = np.searchsorted(self.ends, (begin, end - 1), side="right").tolist()
        found = []
        for place in range(first, last + 1 if end > begin else first):
            start, stop = int(self.ends[place - 1]) if place else 0, int(self.ends[place])
            low, high = max(start, begin), min(stop, end)
            found.append(
                Part(int(self.versions[place]), int(self.blocks[place]), stop - start, low - start, high - low)
            )
        return found


class Stream:
    """An endless stream of rows: all chosen rows in a random order, then again in another order, and so on. One pool of
    rows is in memory at a time. `taken` contains the number of chosen rows of each block, by version."""

    def __init__(
        self,
        versions: Sequence[LabelledRows],
        taken: Mapping[int, NDArray[np.integer]],
        choice: Choice,
        key: tuple[int, int],  # seed and number of the stream
        size: Size,
    ) -> None:
        blocks = [(np.flatnonzero(counts), version) for version, counts in sorted(taken.items())]
        self._blocks = np.concatenate([places for places, _ in blocks])
        self._of = np.repeat([version for _, version in blocks], [len(places) for places, _ in blocks])
        self._taken = np.concatenate([taken[version][places] for places, version in blocks]).astype(np.int64)
        self.count = int(self._taken.sum())
        self._versions, self._choice, self._key, self._size = versions, choice, key, size
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, without the pool in memory: another process reads a pool of its own."""
        state = dict(vars(self))
        for name in ("_ordered_at", "_lanes", "_ends", "_at", "_pool", "_places"):
            del state[name]
        return state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    def _forget(self) -> None:
        self._ordered_at: tuple[int, int] | None = None  # epoch and cycle
        self._lanes: list[Lane] = []
        self._ends: list[int] = []  # rows up to the end of each pool
        self._at: tuple[int, int, int] | None = None  # epoch, cycle and number of the pool in memory
        self._pool, self._places = new_rows(0), np.zeros(0, np.int32)

    def read(self, epoch: int, begin: int, end: int) -> Rows:
        """Return the rows from `begin` to before `end` of an epoch, copied from the pools. After the last chosen row,
        the rows of the epoch repeat in a new order. Raises CheckFailedError if rows are not legal, or differ from the
        rows that were counted."""
        parts = []
        while begin < end:
            cycle, place = divmod(begin, self.count)
            self._order(epoch, cycle)
            number = bisect_right(self._ends, place)
            self._fill(epoch, cycle, number)
            first, last = self._ends[number] - len(self._places), min(place + end - begin, self._ends[number])
            parts.append(self._pool.take(self._places[place - first : last - first]))
            begin += last - place
        return join_rows(parts)

    def _order(self, epoch: int, cycle: int) -> None:
        """Put the blocks of a cycle, one pass over all rows, into their order."""
        if self._ordered_at == (epoch, cycle):
            return
        key, (block_rows, pool_blocks, is_even) = (*self._key, epoch, cycle), self._size
        if is_even:
            pools = max(-(-self.count // (block_rows * pool_blocks)), 1)
            self._lanes = [
                self._lane(own[spread_order((*key, BLOCKS, version), len(own), pools)], pools)
                for version in np.unique(self._of).tolist()
                for own in [np.flatnonzero(self._of == version)]
            ]
        else:
            self._lanes = [self._lane(random_order(key, len(self._blocks)), 0)]
        self._ends = np.sum([lane.cuts[1:] for lane in self._lanes], axis=0).tolist()
        self._ordered_at = epoch, cycle

    def _lane(self, order: NDArray[np.integer], pools: int) -> Lane:
        """Divide the blocks in this order into equal parts for `pools` pools, or after every `pool_blocks` blocks if
        `pools` is 0."""
        ends = self._taken[order].cumsum()
        if pools:
            cuts = np.arange(pools + 1) * ends[-1] // pools
        else:
            cuts = np.unique([0, *ends[self._size.pool_blocks - 1 :: self._size.pool_blocks], ends[-1]])
        return Lane(self._of[order], self._blocks[order], ends, cuts)

    def _fill(self, epoch: int, cycle: int, number: int) -> None:
        """Read pool `number` of a cycle, unless it is in memory."""
        at = (epoch, cycle, number)
        if self._at == at:
            return
        self._at, self._pool = None, new_rows(0)  # free the last pool before the next is read
        parts = [part for lane in self._lanes for part in lane.parts(number)]
        if self._size.is_even:
            parts.sort()  # read in the order of the files
        pool, begin = new_rows(sum(part.taken for part in parts)), 0
        for n, part in enumerate(parts, 1):
            self._fill_part(part, pool.part(begin, begin + part.taken))
            begin += part.taken
            if n % RELEASED == 0 or n == len(parts):
                for version in {each.version for each in parts[n - RELEASED if n >= RELEASED else 0 : n]}:
                    self._versions[version].release()
        check_rows([version.table.name for version in self._versions], *pool)
        self._pool, self._places, self._at = pool, random_order((*self._key, *at), begin), at

    def _fill_part(self, part: Part, rows: Rows) -> None:
        """Copy the chosen rows of a part into `rows`."""
        version, choice = self._versions[part.version], self._choice
        begin = part.block * self._size.block_rows
        block = version.read(begin, min(begin + self._size.block_rows, len(version)), choice.guard)
        found = fill_chosen(*block, choice.split, choice.place, part.skipped, *rows[:3], rows.rows)
        if found != part.chosen:
            raise CheckFailedError(
                f"expected {part.chosen} rows of the split from row {begin} of {version.table.name} on, as when it was "
                f"opened, found {found}; try: bgdata verify"
            )
        rows.versions[:] = part.version
        rows.rows[:] += begin


@kernel()
def fill_chosen(
    boards: Boards, targets: Chances, classes: Bytes, splits: Bytes, is_guarded: NDArray[np.bool_],
    split: int, wanted: int, skipped: int,
    to_boards: Boards, to_targets: Chances, to_classes: Bytes, to_rows: NDArray[np.int64],
) -> int:  # fmt: skip
    """Copy the chosen rows of a block to to_boards[n, slot], to_targets[n, chance] and to_classes[n], and their row
    numbers to to_rows[n]. Rows are chosen if they are in `split`, are not guarded, and are of the class with index
    `wanted` (-1: of any class). The first `skipped` of them are left out. Returns the number of chosen rows, including
    skipped rows and rows for which there is no room."""
    count = 0
    for row in range(len(splits)):
        is_wanted = wanted < 0 or wanted == counted_place(classes[row])
        if is_wanted and splits[row] == split and not is_guarded[row]:
            place = count - skipped
            if 0 <= place < len(to_rows):
                for slot in range(26):
                    to_boards[place, slot] = boards[row, slot]
                for chance in range(5):
                    to_targets[place, chance] = targets[row, chance]
                to_classes[place] = classes[row]
                to_rows[place] = row
            count += 1
    return count


def new_rows(count: int) -> Rows:
    """Return `Rows` with `count` rows of uninitialised memory."""
    return Rows(
        np.empty((count, 26), np.int8),
        np.empty((count, 5), np.float32),
        np.empty(count, np.uint8),
        np.empty(count, np.uint16),
        np.empty(count, np.int64),
    )


def join_rows(parts: Sequence[Rows]) -> Rows:
    """Join the rows of all `parts`, one after another."""
    return parts[0] if len(parts) == 1 else Rows._make(map(np.concatenate, zip(*parts, strict=True)))


def spread_order(key: Sequence[int], count: int, pools: int) -> NDArray[np.int64]:
    """Return a random permutation of 0 to count - 1, as int64[count]. Each of `pools` equal parts of it contains one of
    every `pools` consecutive numbers."""
    windows = np.arange(count) // pools
    shuffled = np.lexsort((random_order(key, count), windows))  # within each window
    return shuffled[np.lexsort((windows, np.arange(count) % pools))]


def random_order(key: Sequence[int], count: int) -> Places:
    """Return a permutation of 0 to count - 1 that depends on `key` alone, as int32[count]. The numbers of a key are
    from 0 to 2^63 - 1."""
    places = np.arange(count, dtype=np.int32)
    _fill_shuffled(np.array(key, np.uint64), places)
    return places


@kernel()
def _fill_shuffled(key: NDArray[np.uint64], places: Places) -> None:
    """Shuffle places[n] in place (Fisher and Yates), by random numbers that follow from `key`."""
    stream = np.uint64(0)
    for part in key:
        stream = random_stream(stream + part, 0)
    for last in range(len(places) - 1, 0, -1):
        other = high_below(random_bits(stream, last), last + 1)
        places[last], places[other] = places[other], places[last]
