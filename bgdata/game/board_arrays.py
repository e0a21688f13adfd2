"""Converts boards and rolls from users (integer arrays or lists) to the arrays that kernels take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError, InvalidRollError, cite
from bgdata.game.board import CHECKERS
from bgdata.game.codec import Boards, check_boards, check_legal_boards
from bgdata.game.dice import Roll, RollLike, to_roll
from bgdata.game.play_kernels import check_rolls
from bgdata.game.position import Position, PositionLike

BoardsLike: TypeAlias = NDArray[np.integer[Any]] | Sequence[PositionLike]
RollsLike: TypeAlias = NDArray[np.integer[Any]] | Sequence[RollLike]
_TEXTS = "OSUT"  # dtype kinds of text and Python objects, whose arrays are read like lists


def board_array(boards: BoardsLike) -> Boards:
    """Convert boards to a contiguous int8[n, 26] array. `boards` is an integer array [n, 26], or a list of anything
    that `Position` accepts, such as Position IDs and 26-integer boards. Raises InvalidPositionError for another shape
    or type. Raises it also for an illegal board, and then names the row."""
    if isinstance(boards, np.ndarray) and boards.dtype.kind not in _TEXTS:
        is_small = boards.dtype.kind in "iu" and bool(((boards >= -CHECKERS) & (boards <= CHECKERS)).all())
        rows: Any = boards.astype(np.int8, copy=False) if is_small else boards
        return check_legal_boards(np.ascontiguousarray(check_boards(rows)))
    if isinstance(boards, str | bytes | Position) or not isinstance(boards, Iterable):
        raise InvalidPositionError(f"expected boards as int8[n, 26] or a list of positions, got {cite(boards)}")
    found = [_board(position, row) for row, position in enumerate(boards)]
    return np.array(found, np.int8).reshape(-1, 26)


def dice_array(rolls: RollsLike, count: int) -> NDArray[np.int8]:
    """Convert rolls to an int8[count, 2] array of dice. `rolls` is an integer array [count, 2], or a list of rolls such
    as "31" or [3, 1]. Raises InvalidRollError if an item is not a roll."""
    if isinstance(rolls, np.ndarray) and rolls.dtype.kind not in _TEXTS:
        return check_rolls(rolls, count)
    if isinstance(rolls, str | bytes | Roll) or not isinstance(rolls, Iterable):
        raise InvalidRollError(f"expected rolls as integers[{count}, 2] or a list of rolls, got {cite(rolls)}")
    dice = [(each.high, each.low) for each in map(to_roll, rolls)]
    return check_rolls(np.array(dice, np.int64).reshape(-1, 2), count)


def _board(position: Any, row: int) -> tuple[int, ...]:
    try:
        return Position(position).board
    except InvalidPositionError as error:
        raise InvalidPositionError(f"{error}, in row {row}") from None
