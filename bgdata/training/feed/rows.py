"""Versions with labels, and their rows: found by name, read in blocks, checked once, split, and guarded."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import CheckFailedError, MissingTableError, UsageError
from bgdata.evaluation.chances import CHANCES, Chances
from bgdata.game.board import Flaw
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, board_flaws
from bgdata.game.position_hash import Hashes, position_hashes
from bgdata.game.random import high_below, random_bits, random_stream
from bgdata.kernel import kernel
from bgdata.selfplay.splits import splits_of_hashes
from bgdata.store.table import Table
from bgdata.store.versions import Versions
from bgdata.training.feed import is_benchmark, is_labelled


def labelled_versions(warehouse: Versions, source: str) -> dict[str, str]:
    """Digests by `kind/variant/version` of a kind (the current versions of all its variants), a variant or a version.

    Raises UnknownKindError, UsageError for a kind without labels, and MissingTableError.
    """
    name, _, variant = source.partition("/")
    if not is_labelled(warehouse.kind(name)):
        labelled = ", ".join(kind.name for kind in warehouse.kinds.values() if is_labelled(kind))
        raise UsageError(f"expected a kind that has positions with chances: {labelled}, got {name}")
    variants = [variant] if variant else warehouse.variants(name) or ["any"]
    tables = [warehouse.open(name, *variant.split("/", 1)) for variant in variants]
    return {table.name: table.manifest.digest for table in tables}


def benchmark_versions(warehouse: Versions) -> dict[str, str]:
    """Digests by `kind/variant/version` of the current versions of benchmarks."""
    kinds = [kind.name for kind in warehouse.kinds.values() if is_benchmark(kind)]
    tables = [warehouse.open(kind, variant) for kind in kinds for variant in warehouse.variants(kind)]
    return {table.name: table.manifest.digest for table in tables}


def open_version(warehouse: Versions, version: str, digest: str) -> Table:
    """The version `kind/variant/version`. Raises MissingTableError, and UsageError where it has another digest."""
    table = warehouse.open_reference(version)
    if table.manifest.digest != digest:
        raise UsageError(f"expected {version} with the digest {digest}, found {table.manifest.digest}")
    return table


def splits_of(warehouse: Versions, table: Table) -> NDArray[np.uint8] | None:
    """uint8[rows]: places in `selfplay.splits.SPLITS`, of the version or the positions that it labels; None if neither
    has any. Raises MissingTableError if the version of these positions is missing, as splits would differ without."""
    if table.has_file("splits.npy"):
        return table.array("splits")
    source = table.manifest.inputs.get("source", "")
    name, _, digest = source.partition("@")
    kind, _, variant = name.partition("/")
    if not source or "splits" not in [array.name for array in warehouse.kind(kind).arrays]:
        return None
    for version in warehouse.versions(kind, variant):
        if version.manifest.digest == digest:
            return splits_of(warehouse, version)
    raise MissingTableError(f"expected {source}, whose games split {table.name}, found no such version")


class Guard:
    """Hashes of the positions of benchmarks, before their rolls and after their plays."""

    def __init__(self, tables: Iterable[Table]) -> None:
        hashes = []
        for table in tables:
            for name, boards in table.arrays().items():
                if name.endswith("boards"):
                    check_boards_of(table, boards)
                    hashes.append(position_hashes(np.ascontiguousarray(boards)))
        self.known = np.unique(np.concatenate([np.zeros(0, np.uint64), *hashes]))
        bits = max(len(self.known).bit_length(), 1)
        self._shift = np.uint64(64 - bits)
        buckets = np.arange(1 << bits, dtype=np.uint64) << self._shift
        self._starts = np.append(np.searchsorted(self.known, buckets), len(self.known))

    def contains(self, hashes: Hashes) -> NDArray[np.bool_]:
        """bool[n]: whether the positions with these hashes are guarded."""
        is_known = np.zeros(len(hashes), np.bool_)
        _fill_contained(hashes, self.known, self._starts, self._shift, is_known)
        return is_known


@kernel()
def _fill_contained(
    hashes: Hashes, known: Hashes, starts: NDArray[np.int64], shift: np.uint64, is_known: NDArray[np.bool_]
) -> None:
    """Fills is_known[row], all False before, with whether hashes[row] is among the ascending `known`, of which those
    with the upper bits b are known[starts[b]:starts[b + 1]]."""
    for row in range(len(hashes)):
        bucket = np.int64(hashes[row] >> shift)
        for place in range(starts[bucket], starts[bucket + 1]):
            is_known[row] |= known[place] == hashes[row]


ORDER_TOLERANCE = 0.0501  # rollouts are noisy: as imports and checks allow them
# by class as gnubg numbers them: as its files name them
FILE_CLASSES = np.zeros(max(PositionClass) + 1, np.uint8)
FILE_CLASSES[list(PositionClass)] = [entry.file_class for entry in PositionClass]


class Block(NamedTuple):
    """Some rows of a version in the form in which they are stored."""

    boards: Boards  # [rows, 26]
    targets: Chances  # [rows, 5]
    classes: NDArray[np.uint8]  # [rows] as gnubg numbers them


class Choice(NamedTuple):
    """Which rows of versions are read."""

    split: int
    guard: Guard | None
    position_class: int | None = None  # as gnubg's files name it, None for any


class Batch(NamedTuple):
    """A batch as contiguous arrays of its own, which `torch.from_numpy` takes without a copy."""

    boards: Boards  # int8[n, 26] of the player on roll
    features: NDArray[np.float32] | None  # [n, inputs] where asked for
    targets: Chances  # float32[n, 5]: win, win_gammon, win_backgammon, lose_gammon, lose_backgammon
    classes: NDArray[np.uint8]  # [n] as gnubg numbers them
    versions: NDArray[np.uint16]  # [n] which of `Feed.versions` a row is from
    rows: NDArray[np.int64]  # [n] and which row of it
    epoch: int
    number: int  # in the epoch, from 0


class LabelledRows:
    """The rows of one version, memory-mapped or read from Parquet."""

    def __init__(self, table: Table, splits: NDArray[np.uint8] | None, from_parquet: bool) -> None:
        self.table = table
        self.splits = splits  # where the version, or that of its positions, says
        self._reader = None
        if from_parquet:
            from bgdata.store.parquet import RowReader

            self._reader = RowReader(table.parquet)

    def __len__(self) -> int:
        return self.table.manifest.rows

    def read(self, begin: int, end: int) -> Block:
        """The rows from `begin` to before `end`, contiguous; views of the mapped arrays, or new arrays. Raises
        CheckFailedError for boards from Parquet that are not legal."""
        if self._reader is None:
            boards, chances, classes = map(self.table.array, ("boards", "chances", "classes"))
            return Block(boards[begin:end], chances[begin:end], classes[begin:end])
        columns = self._reader.read(("board", *CHANCES), begin, end)
        boards = columns.column("board").combine_chunks().flatten().to_numpy().reshape(-1, 26)
        check_boards_of(self.table, boards, begin)  # before a kernel reads them
        targets = np.stack([columns.column(name).to_numpy() for name in CHANCES], axis=1)
        return Block(boards, targets, position_classes(boards).astype(np.uint8))

    def choose(self, block: Block, begin: int, choice: Choice) -> tuple[NDArray[np.bool_], int]:
        """bool[rows]: the chosen rows of a block that begins at this row; and how many more of the split the guard
        leaves out."""
        hashes = position_hashes(block.boards)
        stated = self.splits
        splits = splits_of_hashes(hashes) if stated is None else np.asarray(stated[begin : begin + len(hashes)])
        is_chosen, guarded = splits == choice.split, 0
        if choice.guard is not None:
            is_guarded = choice.guard.contains(hashes) & is_chosen
            is_chosen, guarded = is_chosen & ~is_guarded, int(is_guarded.sum())
        if choice.position_class is not None:
            is_chosen = is_chosen & (FILE_CLASSES[block.classes] == choice.position_class)
        return is_chosen, guarded

    def check(self, block: Block, begin: int) -> None:
        """Raise CheckFailedError, with version and row, for boards that are not legal, of which kernels would read
        beyond their arrays, for numbers that are no class, and for targets that are not chances."""
        if len({len(values) for values in block}) > 1:
            raise CheckFailedError(
                f"expected as many boards as chances and classes in {self.table.name}, found "
                f"{', '.join(str(len(values)) for values in block)} from row {begin} on; try: bgdata verify"
            )
        check_boards_of(self.table, block.boards, begin)
        is_class = np.isin(block.classes, list(PositionClass))
        if not is_class.all():
            wrong = int(is_class.argmin())
            raise CheckFailedError(
                f"expected the number of a class in row {begin + wrong} of {self.table.name}, found "
                f"{block.classes[wrong]}; try: bgdata verify"
            )
        columns = np.ascontiguousarray(block.targets.T)
        win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = columns
        is_fine = (columns.min(axis=0) >= 0) & (columns.max(axis=0) <= 1)  # false for NaN
        for smaller, larger in (
            (win_gammon, win),
            (win_backgammon, win_gammon),
            (lose_gammon, np.float32(1) - win),
            (lose_backgammon, lose_gammon),
        ):
            is_fine &= smaller - larger <= np.float32(ORDER_TOLERANCE)
        if not is_fine.all():
            row = int(is_fine.argmin())
            raise CheckFailedError(
                f"expected five chances from 0 to 1, each at most the one that contains it, in row {begin + row} of "
                f"{self.table.name}, found {block.targets[row].tolist()}; try: bgdata verify"
            )


def check_boards_of(table: Table, boards: Boards, begin: int = 0) -> None:
    """Raise CheckFailedError, with version and row, unless all boards of a version from row `begin` on are legal."""
    flaws = board_flaws(np.ascontiguousarray(boards))
    if flaws.any():
        row = int((flaws > 0).argmax())
        raise CheckFailedError(
            f"{Flaw(flaws[row]).rule} in row {begin + row} of {table.name}, found {boards[row].tolist()}; "
            "try: bgdata verify"
        )


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
    """A block of a version, and how many of its rows are read."""

    version: int
    begin: int
    end: int
    by_class: NDArray[np.int64]  # rows of the split that the guard allows, by class as gnubg's files number them
    guarded: int  # rows of the split that it leaves out
    taken: int = 0  # rows of these that a stream reads


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
            order = [self.spans[n] for n in random_order((*self._key, epoch, cycle), len(self.spans)).tolist()]
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
        self._pool, self._places, self._at = pool, random_order((*self._key, *at), begin), at

    def _fill_block(self, span: Span, rows: Rows) -> None:
        """Copy the chosen rows of a block into the pool."""
        version = self._versions[span.version]
        block = version.read(span.begin, span.end)
        is_chosen, _ = version.choose(block, span.begin, self._choice)
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


def random_order(key: Sequence[int], count: int) -> Places:
    """int32[count]: 0 to count - 1 in an order that depends on the key alone; its numbers are from 0 to 2^63 - 1."""
    places = np.arange(count, dtype=np.int32)
    _fill_shuffled(np.array(key, np.uint64), places)
    return places


@kernel()
def _fill_shuffled(key: NDArray[np.uint64], places: Places) -> None:
    """Shuffles places[n] (Fisher and Yates), by the random numbers of a key."""
    stream = np.uint64(0)
    for part in key:
        stream = random_stream(stream + part, 0)
    for last in range(len(places) - 1, 0, -1):
        other = high_below(random_bits(stream, last), last + 1)
        places[last], places[other] = places[other], places[last]
