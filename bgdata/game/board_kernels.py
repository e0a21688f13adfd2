"""Outcomes and classes of many boards, as functions and as kernels that other kernels call. `classes` contains the
definitions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.game.board import BAR, CHECKERS, HOME_POINTS, OPPONENT_BAR
from bgdata.game.classes import PASSED_PIPS, TWO_SIDED_CHECKERS, PositionClass, has_crashed
from bgdata.game.codec import Boards, check_boards
from bgdata.kernel import kernel

# PositionClass members as plain integers, for kernels
_OVER, _RACE = int(PositionClass.OVER), int(PositionClass.RACE)
_CRASHED, _CONTACT = int(PositionClass.CRASHED), int(PositionClass.CONTACT)
_TWO_SIDED, _ONE_SIDED = int(PositionClass.BEAROFF_TWO_SIDED), int(PositionClass.BEAROFF_ONE_SIDED)

is_crashed = kernel(borrows=True)(has_crashed)


def game_outcomes(boards: Boards, checkers: int = CHECKERS) -> NDArray[np.int8]:
    """Return the outcomes of int8[n, 26] boards for the player on roll as int8[n], 0 while the game goes on.
    `classes.game_outcome` defines them."""
    outcomes = np.empty(len(check_boards(boards)), np.int8)
    fill_outcomes(boards, checkers, outcomes)
    return outcomes


def position_classes(boards: Boards) -> NDArray[np.int8]:
    """Return the classes of int8[n, 26] boards as int8[n]. `classes.position_class` defines them."""
    classes = np.empty(len(check_boards(boards)), np.int8)
    fill_classes(boards, classes)
    return classes


@kernel(borrows=True)
def fill_outcomes(boards: Boards, checkers: int, outcomes: NDArray[np.int8]) -> None:
    """Fill outcomes[row] with the outcome of boards[row]: see `outcome_of`."""
    for row in range(len(boards)):
        outcomes[row] = outcome_of(boards[row], checkers)


@kernel(borrows=True)
def fill_classes(boards: Boards, classes: NDArray[np.int8]) -> None:
    """Fill classes[row] with the class of boards[row]."""
    for row in range(len(boards)):
        classes[row] = class_of(boards[row])


@kernel(borrows=True)
def outcome_of(board: Boards, checkers: int) -> int:
    """Return the points that the player on roll gets if the game is over, -3 to 3; 0 while the game goes on. Each side
    began the game with `checkers` checkers."""
    ours, theirs = int(board[25]), int(board[0])
    ours_behind, theirs_behind = ours, theirs  # checkers on the bar or in the other side's home board
    for point in range(1, 25):
        count = int(board[point])
        mine, other = max(count, 0), max(-count, 0)
        ours += mine
        theirs += other
        if point > 24 - HOME_POINTS:
            ours_behind += mine
        if point <= HOME_POINTS:
            theirs_behind += other
    if ours == 0:
        return 1 if theirs < checkers else (3 if theirs_behind else 2)
    if theirs == 0:
        return -1 if ours < checkers else (-3 if ours_behind else -2)
    return 0


@kernel(borrows=True)
def class_of(board: Boards) -> int:
    """Return the class of the position, as a `PositionClass` integer."""
    ours, theirs = int(board[25]), int(board[0])
    our_rearmost, their_rearmost = 25 * (ours > 0), 25 * (theirs > 0)
    for point in range(1, 25):
        count = int(board[point])
        if count > 0:
            ours += count
            our_rearmost = max(our_rearmost, point)
        elif count < 0:
            theirs -= count
            their_rearmost = max(their_rearmost, 25 - point)
    if ours == 0 or theirs == 0:
        return _OVER
    if our_rearmost + their_rearmost > PASSED_PIPS:
        if is_crashed(ours, board[1], board[2]) or is_crashed(theirs, -board[24], -board[23]):
            return _CRASHED
        return _CONTACT
    if max(our_rearmost, their_rearmost) > HOME_POINTS:
        return _RACE
    return _ONE_SIDED if max(ours, theirs) > TWO_SIDED_CHECKERS else _TWO_SIDED


@kernel(borrows=True)
def checkers_at(board: Boards, side: int, point: int) -> int:
    """Count the checkers that a side (0: on roll, 1: opponent) has on its own point `point`; 25 is its bar."""
    if point == BAR:
        return int(board[BAR]) if side == 0 else int(board[OPPONENT_BAR])
    count = int(board[point]) if side == 0 else -int(board[BAR - point])
    return max(count, 0)


@kernel(borrows=True)
def checkers_within(board: Boards, side: int, lowest: int, highest: int) -> int:
    """Count the checkers that a side (0: on roll, 1: opponent) has on its own points `lowest` to `highest`."""
    total = 0
    for point in range(lowest, highest + 1):
        total += checkers_at(board, side, point)
    return total
