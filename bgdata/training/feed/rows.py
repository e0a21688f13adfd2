"""Versions with labels, and their rows. This module finds versions by name, reads their rows in blocks and checks them,
and says which split each row belongs to and which rows the guard leaves out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
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
from bgdata.kernel import kernel, read_only
from bgdata.selfplay.splits import splits_of_hashes
from bgdata.store.arrays import release_pages
from bgdata.store.table import Table
from bgdata.store.versions import Versions
from bgdata.training.feed import is_benchmark, is_labelled

Bytes = NDArray[np.uint8]


def labelled_versions(warehouse: Versions, source: str) -> dict[str, str]:
    """Return the digests of the versions that `source` names, by `kind/variant/version`. `source` is a version, a
    variant, or a kind, which stands for the current versions of all its variants. Raises UnknownKindError if there is
    no such kind, UsageError if it has no labels, and MissingTableError if there is no such version."""
    name, _, variant = source.partition("/")
    if not is_labelled(warehouse.kind(name)):
        labelled = ", ".join(kind.name for kind in warehouse.kinds.values() if is_labelled(kind))
        raise UsageError(f"expected a kind that has positions with chances: {labelled}, got {name}")
    variants = [variant] if variant else warehouse.variants(name) or ["any"]
    tables = [warehouse.open(name, *variant.split("/", 1)) for variant in variants]
    return {table.name: table.manifest.digest for table in tables}


def benchmark_versions(warehouse: Versions) -> dict[str, str]:
    """Return the digests of the current versions of all benchmarks, by `kind/variant/version`."""
    kinds = [kind.name for kind in warehouse.kinds.values() if is_benchmark(kind)]
    tables = [warehouse.open(kind, variant) for kind in kinds for variant in warehouse.variants(kind)]
    return {table.name: table.manifest.digest for table in tables}


def open_version(warehouse: Versions, version: str, digest: str) -> Table:
    """Open the version called `kind/variant/version`. Raises MissingTableError if it is missing, and UsageError if it
    has another digest."""
    table = warehouse.open_reference(version)
    if table.manifest.digest != digest:
        raise UsageError(f"expected {version} with the digest {digest}, found {table.manifest.digest}")
    return table


def splits_of(warehouse: Versions, table: Table) -> Table | None:
    """Return the version whose array `splits` says which split each row of `table` is in, as an index into
    `selfplay.splits.SPLITS`. It is `table` itself, or the version whose positions `table` labels; None if neither has
    splits. Raises MissingTableError if the labelled version is missing, because splits would differ without it."""
    if any(entry.name.endswith("splits.npy") for entry in table.manifest.files):  # one file, or one for each part
        return table
    source = table.manifest.inputs.get("source", "")
    if not source or "splits" not in [array.name for array in warehouse.kind(source.partition("/")[0]).arrays]:
        return None
    found = labelled_positions(warehouse, table)
    if found is None:
        raise MissingTableError(f"expected {source}, whose games split {table.name}, found no such version")
    return splits_of(warehouse, found)


def labelled_positions(warehouse: Versions, table: Table) -> Table | None:
    """Return the version whose positions `table` labels; None if `table` contains its own positions, or if that version
    is missing."""
    name, _, digest = table.manifest.inputs.get("source", "").partition("@")
    kind, _, variant = name.partition("/")
    versions = warehouse.versions(kind, variant) if name else ()
    return next((version for version in versions if version.manifest.digest == digest), None)


def games_of(warehouse: Versions, table: Table) -> str:
    """Return a string that identifies the games that the rows of a version are from, except how many there are: equal
    strings mean the same games. The string is empty for positions that are not from games, or whose games are
    unknown."""
    source = labelled_positions(warehouse, table)
    if source is not None:
        return games_of(warehouse, source)
    recipe = table.manifest.parameters
    if {"player", "version", "seed", "games"} <= set(recipe):  # a corpus, or a version made from one
        return f"games of {recipe['player']} {recipe['version']}".rstrip() + f" with the seed {recipe['seed']}"
    if {"seed", "games", "starts"} <= set(recipe):
        rest = {name: value for name, value in recipe.items() if name not in ("name", "games", "seed")}
        return f"{table.manifest.dataset} with the seed {recipe['seed']} and the recipe {rest}"
    return ""


class Guard:
    """Hashes of the positions of benchmarks, before their rolls and after their plays. Rows with these positions are
    left out of training."""

    def __init__(self, tables: Iterable[Table]) -> None:
        hashes = []
        for table in tables:
            for name, boards in table.arrays().items():
                if name.endswith("boards"):
                    check_boards_of(table, boards)
                    hashes.append(position_hashes(np.ascontiguousarray(boards)))
        self.known = read_only(np.unique(np.concatenate([np.zeros(0, np.uint64), *hashes])))
        bits = max(len(self.known).bit_length(), 1)
        self.shift = np.uint64(64 - bits)
        buckets = np.arange(1 << bits, dtype=np.uint64) << self.shift
        self.starts = read_only(np.append(np.searchsorted(self.known, buckets), len(self.known)))

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        read_only(self.known)
        read_only(self.starts)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 digest of all hashes."""
        return hashlib.sha256(self.known.tobytes()).hexdigest()

    def contains(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Return whether each hash belongs to a position in a benchmark, as bool[n]."""
        is_known = np.zeros(len(hashes), np.bool_)
        _fill_contained(hashes, self.known, self.starts, self.shift, is_known)
        return is_known


@kernel()
def _fill_contained(
    hashes: Hashes, known: Hashes, starts: NDArray[np.int64], shift: np.uint64, is_known: NDArray[np.bool_]
) -> None:
    """Fill is_known[row] with whether hashes[row] is among the ascending hashes in `known`; is_known[row] is False
    before. The hashes in `known` whose upper bits are b are known[starts[b]:starts[b + 1]]. `shift` moves the upper
    bits down."""
    for row in range(len(hashes)):
        bucket = np.int64(hashes[row] >> shift)
        for place in range(starts[bucket], starts[bucket + 1]):
            is_known[row] |= known[place] == hashes[row]


ORDER_TOLERANCE = 0.0501  # imports and checks allow the same, because rollouts are noisy
# the classes by which rows are counted, numbered as in gnubg's files; guarded rows are counted after them
COUNTED = (PositionClass.OVER, PositionClass.RACE, PositionClass.CRASHED, PositionClass.CONTACT)
GUARDED = len(COUNTED)
NO_CLASS = 255
PLACES = np.full(256, NO_CLASS, np.uint8)  # [gnubg's number of a class] its index in COUNTED
PLACES[list(PositionClass)] = [COUNTED.index(entry.file_class) for entry in PositionClass]


@kernel(inline=True)
def counted_place(number: int) -> int:
    """Return the index in COUNTED of the class with this number. A number that is not a class gives 0; reading refuses
    such a row."""
    return 0 if PLACES[number] == NO_CLASS else int(PLACES[number])


class Block(NamedTuple):
    """Consecutive rows of a version as they are stored, in read-only contiguous arrays."""

    boards: Boards  # [rows, 26]
    targets: Chances  # [rows, 5]
    classes: Bytes  # [rows] as gnubg numbers them
    splits: Bytes  # [rows] indexes into SPLITS
    is_guarded: NDArray[np.bool_]  # [rows] whether a guard leaves the row out


class Choice(NamedTuple):
    """Which rows of a version are read: those of a split and a class, except guarded ones."""

    split: int
    guard: Guard | None
    place: int = -1  # index of the class in COUNTED, -1 for any class


class Batch(NamedTuple):
    """A batch of labelled positions in contiguous arrays of its own, which `torch.from_numpy` takes without a copy."""

    boards: Boards  # int8[n, 26] of the player on roll
    features: NDArray[np.float32] | None  # [n, inputs] if the recipe names features
    targets: Chances  # float32[n, 5]: win, win_gammon, win_backgammon, lose_gammon, lose_backgammon
    classes: Bytes  # [n] as gnubg numbers them
    versions: NDArray[np.uint16]  # [n] index in `Feed.versions` of the version that a row is from
    rows: NDArray[np.int64]  # [n] number of the row in that version
    epoch: int
    number: int  # number of the batch in the epoch, from 0
    after: tuple[int, int]  # epoch and number at which all processes continue after each has read its batch


class LabelledRows:
    """The labelled rows of one version, memory-mapped or read from Parquet. A pickle of it contains only the names of
    the version's files."""

    def __init__(self, table: Table, splits: Table | None, from_parquet: bool) -> None:
        self.table = table
        self.splits = splits  # the version with the array `splits`; None if hashes decide the splits
        self.from_parquet = from_parquet
        rows = table.manifest.rows
        for version, name in [(table, "boards"), (table, "chances"), (table, "classes"), (splits, "splits")]:
            if version is not None and len(version.array(name)) != rows:
                raise CheckFailedError(
                    f"expected as many {name} in {version.name} as {table.name} has rows, {rows}, "
                    f"found {len(version.array(name))}; try: bgdata verify"
                )

    def __reduce__(self) -> tuple[Any, ...]:
        return LabelledRows, (self.table, self.splits, self.from_parquet)

    def __len__(self) -> int:
        return self.table.manifest.rows

    @cached_property
    def _reader(self) -> Any:
        from bgdata.store.parquet import RowReader

        return RowReader(*(self.table.folder / name for name in self.table.files_of(self.table.parquet.name)))

    def read(self, begin: int, end: int, guard: Guard | None = None) -> Block:
        """Read the rows from `begin` to before `end`. Raises CheckFailedError if boards from Parquet are not legal."""
        if self.from_parquet:
            columns = self._reader.read(("board", *CHANCES), begin, end)
            boards = columns.column("board").combine_chunks().flatten().to_numpy().reshape(-1, 26)
            check_boards_of(self.table, boards, begin)  # because a kernel reads them next
            targets = np.stack([columns.column(name).to_numpy() for name in CHANCES], axis=1)
            classes = position_classes(boards).astype(np.uint8)
        else:
            boards, targets, classes = (self.table.array(name)[begin:end] for name in ("boards", "chances", "classes"))
        boards = as_read_only(boards, np.int8)
        hashes = position_hashes(boards) if guard is not None or self.splits is None else np.zeros(0, np.uint64)
        splits = splits_of_hashes(hashes) if self.splits is None else self.splits.array("splits")[begin:end]
        is_guarded = np.zeros(len(boards), np.bool_) if guard is None else guard.contains(hashes)
        return Block(
            boards,
            as_read_only(targets, np.float32),
            as_read_only(classes, np.uint8),
            as_read_only(splits, np.uint8),
            read_only(is_guarded),
        )

    def release(self) -> None:
        """Release the memory pages that were read, because mapped pages count as memory of this process."""
        for name in () if self.from_parquet else ("boards", "chances", "classes"):
            release_pages(self.table.array(name))
        if self.splits is not None:
            release_pages(self.splits.array("splits"))


def as_read_only(values: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """Return the values as a read-only array of `dtype`. They are copied only if they are not such an array already."""
    return read_only(np.ascontiguousarray(values, dtype))


def check_rows(
    names: Sequence[str], boards: Boards, targets: Chances, classes: Bytes, versions: NDArray[np.uint16],
    rows: NDArray[np.int64],
) -> None:  # fmt: skip
    """Raise CheckFailedError if a board is not legal (kernels would read beyond their arrays), if a class number is
    invalid, or if targets are not chances. The error names version and row. The i-th board is row rows[i] of the
    version names[versions[i]]."""
    flaws = board_flaws(boards)
    if flaws.any():
        place = int((flaws > 0).argmax())
        raise CheckFailedError(
            f"{Flaw(flaws[place]).rule} in row {rows[place]} of {names[versions[place]]}, found "
            f"{boards[place].tolist()}; try: bgdata verify"
        )
    is_class = PLACES[classes] != NO_CLASS
    if not is_class.all():
        place = int(is_class.argmin())
        raise CheckFailedError(
            f"expected the number of a class in row {rows[place]} of {names[versions[place]]}, found {classes[place]}; "
            "try: bgdata verify"
        )
    is_fine = np.empty(len(targets), np.bool_)
    _fill_fine(targets, np.float32(ORDER_TOLERANCE), is_fine)
    if not is_fine.all():
        place = int(is_fine.argmin())
        raise CheckFailedError(
            f"expected five chances from 0 to 1, each at most the one that contains it, in row {rows[place]} of "
            f"{names[versions[place]]}, found {targets[place].tolist()}; try: bgdata verify"
        )


@kernel()
def _fill_fine(targets: Chances, tolerance: np.float32, is_fine: NDArray[np.bool_]) -> None:
    """Fill is_fine[row] with whether all targets[row, chance] are from 0 to 1, and none exceeds the chance that
    includes it by more than `tolerance`. Rows with a NaN are not fine."""
    for row in range(len(targets)):
        win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = targets[row]
        fine = True
        for chance in range(5):
            fine &= targets[row, chance] >= 0 and targets[row, chance] <= 1
        fine &= win_gammon - win <= tolerance and win_backgammon - win_gammon <= tolerance
        fine &= lose_gammon - (np.float32(1) - win) <= tolerance and lose_backgammon - lose_gammon <= tolerance
        is_fine[row] = fine


def check_boards_of(table: Table, boards: Boards, begin: int = 0) -> None:
    """Raise CheckFailedError if one of `boards` is not legal. The error names version and row. The boards are rows
    `begin` and later of the version."""
    flaws = board_flaws(np.ascontiguousarray(boards))
    if flaws.any():
        row = int((flaws > 0).argmax())
        raise CheckFailedError(
            f"{Flaw(flaws[row]).rule} in row {begin + row} of {table.name}, found {boards[row].tolist()}; "
            "try: bgdata verify"
        )
