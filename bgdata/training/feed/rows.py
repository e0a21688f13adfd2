"""The rows of a version that has labels: read in blocks, checked once, and those chosen that belong to a split."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import CheckFailedError
from bgdata.evaluation.chances import CHANCES, Chances
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards
from bgdata.game.position_hash import position_hashes
from bgdata.play.splits import splits_of_hashes
from bgdata.store.table import Table
from bgdata.training.feed.guard import Guard

ORDER_TOLERANCE = 0.0501  # rollouts are noisy: as imports and checks allow them
# by class as gnubg numbers them: as its files name them
FILE_CLASSES = np.zeros(max(PositionClass) + 1, np.uint8)
FILE_CLASSES[list(PositionClass)] = [entry.file_class for entry in PositionClass]


class Block(NamedTuple):
    """Some rows of a version as they are stored."""

    boards: Boards  # [rows, 26]
    targets: Chances  # [rows, 5]
    classes: NDArray[np.uint8]  # [rows] as gnubg numbers them


class Chosen(NamedTuple):
    """What a split takes of a block."""

    is_chosen: NDArray[np.bool_]  # [rows]
    guarded: int  # rows of the split that were left out for the guard


class LabelledRows:
    """One version, mapped or as Parquet."""

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
        """The rows from `begin` to before `end`, contiguous; views of the mapped arrays, or new arrays."""
        if self._reader is None:
            boards, chances, classes = map(self.table.array, ("boards", "chances", "classes"))
            return Block(boards[begin:end], chances[begin:end], classes[begin:end])
        columns = self._reader.read(("board", *CHANCES), begin, end)
        boards = columns.column("board").combine_chunks().flatten().to_numpy().reshape(-1, 26)
        targets = np.stack([columns.column(name).to_numpy() for name in CHANCES], axis=1)
        return Block(boards, targets, position_classes(boards).astype(np.uint8))

    def choose(self, block: Block, begin: int, split: int, guard: Guard | None) -> Chosen:
        """The rows of a split in a block that begins at this row, without those that are guarded."""
        hashes = position_hashes(block.boards)
        stated = self.splits
        splits = splits_of_hashes(hashes) if stated is None else np.asarray(stated[begin : begin + len(hashes)])
        is_chosen = splits == split
        if guard is None:
            return Chosen(is_chosen, 0)
        is_guarded = guard.contains(hashes) & is_chosen
        return Chosen(is_chosen & ~is_guarded, int(is_guarded.sum()))

    def check(self, block: Block, begin: int) -> None:
        """Raise CheckFailedError for targets that are no chances, with version and row."""
        row = first_flaw(block.targets)
        if row is not None:
            raise CheckFailedError(
                f"expected five chances from 0 to 1, each at most the one that contains it, in row {begin + row} of "
                f"{self.table.name}, found {block.targets[row].tolist()}; try: bgdata verify"
            )


def first_flaw(targets: Chances) -> int | None:
    """The first row of float32[n, 5] that is NaN, out of range, or out of order by more than noise; None without."""
    columns = np.ascontiguousarray(targets.T)
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = columns
    is_fine = (columns.min(axis=0) >= 0) & (columns.max(axis=0) <= 1)  # false for NaN
    for smaller, larger in (
        (win_gammon, win),
        (win_backgammon, win_gammon),
        (lose_gammon, np.float32(1) - win),
        (lose_backgammon, lose_gammon),
    ):
        is_fine &= smaller - larger <= np.float32(ORDER_TOLERANCE)
    return None if is_fine.all() else int(is_fine.argmin())
