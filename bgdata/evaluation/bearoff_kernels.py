"""Chances of positions in mapped tables of bearoffs and contact endgames, for arrays of boards and for other kernels.

Chances are exact where a two-sided or contact endgame table covers both sides. Elsewhere two one-sided distributions
are combined, as if each side raced alone. The player on roll rolls first: if it needs n rolls, it wins against an
opponent who needs n or more, and an opponent who needs n rolls wins if it needs n + 1 or more. A side with all 15
checkers may lose a gammon: the chance of that comes from the rolls until its first checker is off. Backgammons are
impossible: the own point p of a side is the other side's point 25 - p, which is in the other home board only from p =
19 on, and no one-sided table has points above 18.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import MAX_CHECKERS
from bgdata.bearoff.layouts import BINOMIAL
from bgdata.endgames.layouts import MAX_CHECKERS as MAX_ENDGAME_CHECKERS
from bgdata.endgames.layouts import POINTS as ANYWHERE
from bgdata.evaluation.chances import Chances
from bgdata.game.classes import PASSED_PIPS, PositionClass
from bgdata.game.codec import Boards
from bgdata.kernel import kernel, prange, read_only

BLOCK = 64  # number of boards that a thread processes at a time


class BearoffSource(IntEnum):
    """The kind of bearoff table that answers for a position."""

    NONE = 0  # no table: a side has no checkers, or no table covers the position
    EXACT = 1  # the two-sided table, or the table of contact endgames
    COMBINED = 2  # two one-sided distributions, an approximation


# BearoffSource members as plain integers, for kernels
_NONE, _EXACT, _COMBINED = int(BearoffSource.NONE), int(BearoffSource.EXACT), int(BearoffSource.COMBINED)
_RACE = int(PositionClass.RACE)


class BearoffArrays(NamedTuple):
    """The bearoff tables of one warehouse, read-only. A missing table has `points` of 0 and empty arrays.

    Two-sided equities are in `equities` or in `codes`, and the other array is empty; so kernels are compiled only once.
    The cells of the two-sided table are numbered first, then those of the contact endgames. The fields are flat because
    Numba's parallel loops accept no nested tuples."""

    two_sided_points: int
    two_sided_checkers: int
    two_sided_layouts: int
    two_sided_limit: float  # equity = code * limit / 32767.5 - limit
    equities: NDArray[np.float32]  # [layouts * layouts * 4] by on roll, opponent, column; the first column is cubeless
    codes: NDArray[np.uint16]  # like `equities`
    one_sided_points: int
    one_sided_offsets: NDArray[np.uint32]  # [positions + 1] start of each row in `chances`
    one_sided_first_roll: NDArray[np.uint8]  # [positions] number of rolls of its first chance
    one_sided_chances: NDArray[np.float32]  # packed
    gammon_points: int  # as in the one-sided table; 0 without a gammon table
    gammon_first_index: int  # position index of row 0
    gammon_offsets: NDArray[np.uint32]
    gammon_first_roll: NDArray[np.uint8]
    gammon_chances: NDArray[np.float32]
    endgame_checkers: int
    endgame_layouts: int
    endgames: NDArray[np.float32]  # [layouts * layouts * 4] like `equities`


def _no_tables() -> BearoffArrays:
    dtypes = (np.float32, np.uint16, np.float32, np.uint32, np.uint8, np.float32, np.uint32, np.uint8, np.float32)
    equities, codes, endgames, *race = (read_only(np.empty(0, dtype)) for dtype in dtypes)
    offsets, first_roll, chances, gammon_offsets, gammon_first, gammon_chances = race
    return BearoffArrays(
        0, 0, 0, 1.0, equities, codes,
        0, offsets, first_roll, chances,
        0, 0, gammon_offsets, gammon_first, gammon_chances,
        0, 0, endgames,
    )  # fmt: skip


NO_TABLES = _no_tables()


class RaceArrays(NamedTuple):
    """Distributions of the number of rolls until all checkers, or the first checker, are off: the arrays of
    `tables.RaceTable`."""

    offsets: NDArray[np.uint32]
    first_roll: NDArray[np.uint8]
    chances: NDArray[np.float32]


@kernel(parallel=True)
def fill_bearoff(tables: BearoffArrays, boards: Boards, chances: Chances, sources: NDArray[np.int8]) -> None:
    """Fill chances[row] of each boards[row] that a table covers, and sources[row] of every row."""
    for block in prange((len(boards) + BLOCK - 1) // BLOCK):
        begin = block * BLOCK
        cells = np.empty(BLOCK, np.int64)
        fill_block(tables, boards, begin, min(begin + BLOCK, len(boards)), cells, chances, sources)


@kernel(borrows=True)
def fill_block(
    tables: BearoffArrays,
    boards: Boards,
    begin: int,
    end: int,
    cells: NDArray[np.int64],
    chances: Chances,
    sources: NDArray[np.int8],
) -> None:
    """Fill chances[row] and sources[row] for the rows begin to end - 1. cells[0:end - begin] is scratch: all cells are
    located before any is read, so that the waits for memory overlap, which take most of the time."""
    for row in range(begin, end):
        source = bearoff_source(tables, boards[row])
        sources[row] = source
        if source == _EXACT:
            cells[row - begin] = exact_cell(tables, boards[row])
        elif source == _COMBINED:
            fill_combined(tables, boards[row], chances[row])
    for row in range(begin, end):
        if sources[row] == _EXACT:
            fill_exact(tables, cells[row - begin], chances[row])


@kernel(borrows=True)
def fill_bearoff_chances(tables: BearoffArrays, board: Boards, chances: Chances) -> int:
    """Fill chances[0:5] (win, win_gammon, win_backgammon, lose_gammon, lose_backgammon of the player on roll) if a
    table covers `board`. Returns the `BearoffSource` number."""
    source = bearoff_source(tables, board)
    if source == _EXACT:
        fill_exact(tables, exact_cell(tables, board), chances)
    elif source == _COMBINED:
        fill_combined(tables, board, chances)
    return source


@kernel(borrows=True)
def may_cover(tables: BearoffArrays, position_class: int) -> bool:
    """Whether a table may cover unfinished positions of this class. This test is faster than `bearoff_source`."""
    return bool(position_class <= _RACE or tables.endgame_checkers > 0)


@kernel(borrows=True)
def bearoff_source(tables: BearoffArrays, board: Boards) -> int:
    """The `BearoffSource` number of the table that covers `board`. No table is read."""
    ours, theirs = int(board[25]), int(board[0])  # checkers on the bar
    if ours < 0 or theirs < 0:
        return _NONE
    our_rearmost, their_rearmost = 25 * int(ours > 0), 25 * int(theirs > 0)
    for point in range(1, 25):  # without branches: eight points at a time, and no mispredictions
        count = int(board[point])
        ours += max(count, 0)
        theirs -= min(count, 0)
        our_rearmost = max(our_rearmost, point * int(count > 0))
        their_rearmost = max(their_rearmost, (25 - point) * int(count < 0))
    reach, most = max(our_rearmost, their_rearmost), max(ours, theirs)
    if min(ours, theirs) == 0 or most > MAX_CHECKERS:
        return _NONE
    is_race = our_rearmost + their_rearmost <= PASSED_PIPS
    if most <= tables.endgame_checkers:
        return _EXACT
    if not is_race or (most == MAX_CHECKERS and tables.gammon_points == 0):
        return _NONE
    # with gammons, equities do not determine winning chances
    if most < MAX_CHECKERS and reach <= tables.two_sided_points and most <= tables.two_sided_checkers:
        return _EXACT
    return _COMBINED if reach <= tables.one_sided_points else _NONE


@kernel(borrows=True)
def exact_cell(tables: BearoffArrays, board: Boards) -> int:
    """The number of the cell with the cubeless equity of `board` in an exact table, which must cover it."""
    if tables.endgame_checkers:
        ours, theirs, on_roll, opponent = endgame_indexes(board)
        if max(ours, theirs) <= tables.endgame_checkers:
            cells = tables.two_sided_layouts * tables.two_sided_layouts
            return 4 * (cells + on_roll * tables.endgame_layouts + opponent)
    on_roll, opponent = layout_indexes(board, tables.two_sided_points)
    return 4 * (on_roll * tables.two_sided_layouts + opponent)


@kernel(borrows=True)
def exact_equity(tables: BearoffArrays, cell: int) -> float:
    """Read the equity of the player on roll in a cell of an exact table."""
    after = cell - 4 * tables.two_sided_layouts * tables.two_sided_layouts
    if after >= 0:
        return float(np.float64(tables.endgames[after]))
    if len(tables.codes):
        limit = tables.two_sided_limit
        return float(np.float64(tables.codes[cell]) * (limit / 32767.5) - limit)
    return float(np.float64(tables.equities[cell]))


@kernel(borrows=True)
def fill_exact(tables: BearoffArrays, cell: int, chances: Chances) -> None:
    """Fill chances[0:5] from the cubeless equity in a cell: without gammons, it is the winning chance minus the losing
    chance."""
    chances[0] = min(max(0.5 + 0.5 * exact_equity(tables, cell), 0.0), 1.0)
    chances[1:5] = 0.0


@kernel(borrows=True)
def fill_combined(tables: BearoffArrays, board: Boards, chances: Chances) -> None:
    """Fill chances[0:5] from both sides' distributions of rolls in one-sided tables, which must cover `board`."""
    on_roll, opponent = layout_indexes(board, tables.one_sided_points)
    all_off = RaceArrays(tables.one_sided_offsets, tables.one_sided_first_roll, tables.one_sided_chances)
    first_off = RaceArrays(tables.gammon_offsets, tables.gammon_first_roll, tables.gammon_chances)
    win = np.float32(min(off_first(all_off, on_roll, all_off, opponent, 0), 1.0))
    chances[0] = win
    chances[1:5] = 0.0
    if tables.gammon_points:  # indexes are sorted by checkers first: from here on layouts have all 15
        begin = tables.gammon_first_index
        if opponent >= begin:
            chances[1] = min(np.float32(off_first(all_off, on_roll, first_off, opponent - begin, 0)), win)
        if on_roll >= begin:
            lost = np.float32(off_first(all_off, opponent, first_off, on_roll - begin, 1))
            chances[3] = min(lost, np.float32(1.0) - win)


@kernel(borrows=True)
def off_first(first: RaceArrays, row: int, second: RaceArrays, other_row: int, delay: int) -> float:
    """Compute the chance that one side bears off before another. It is the sum, over n, of the chance that the side in
    row `row` of table `first` needs n rolls, times the chance that the side in row `other_row` of table `second` needs
    n + delay rolls or more. `delay` is 0 if `first` rolls first, otherwise 1. The sum is in double precision, from the
    most rolls down."""
    start, other_start = np.int64(first.offsets[row]), np.int64(second.offsets[other_row])
    begin, other_begin = np.int64(first.first_roll[row]), np.int64(second.first_roll[other_row])
    n_chances: Any = np.int64(first.offsets[row + 1]) - start
    later: Any = other_begin + np.int64(second.offsets[other_row + 1]) - other_start - 1
    total, tail = 0.0, 0.0
    for n in range(begin + n_chances - 1, begin - 1, -1):
        while later >= max(n + delay, other_begin):
            tail += second.chances[other_start + later - other_begin]
            later -= 1
        total += first.chances[start + n - begin] * tail
    return total


@kernel(borrows=True)
def layout_indexes(board: Boards, points: int) -> tuple[int, int]:
    """The position indexes (see `position_index`) of both sides' checkers on the first `points` points, the player on
    roll first."""
    index, other, above, other_above = 0, 0, 0, 0
    for column in range(1, points + 1):
        point = points + 1 - column
        above += max(int(board[point]), 0)
        other_above += max(-int(board[25 - point]), 0)
        index += BINOMIAL[above + column - 1, column]
        other += BINOMIAL[other_above + column - 1, column]
    return index, other


@kernel(borrows=True)
def endgame_indexes(board: Boards) -> tuple[int, int, int, int]:
    """Return four numbers: the checkers of the player on roll and of the opponent, then the indexes of their layouts on
    24 points and the bar (see `endgames.layouts.layout_rank`). The indexes are meaningless if a side has more checkers
    than the contact endgames."""
    index, other = 0, 0
    ours, theirs = int(board[25]), int(board[0])
    for column in range(1, ANYWHERE + 1):
        point = ANYWHERE + 1 - column
        if point < ANYWHERE:
            ours += max(int(board[point]), 0)
            theirs += max(-int(board[ANYWHERE - point]), 0)
        if max(ours, theirs) > MAX_ENDGAME_CHECKERS:
            return ours, theirs, 0, 0
        index += BINOMIAL[ours + column - 1, column]
        other += BINOMIAL[theirs + column - 1, column]
    return ours, theirs, index, other
