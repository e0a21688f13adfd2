"""The rules in a graph: outcomes, classes, and which chances a board allows, as in `game.board_kernels` and
`evaluation.chances`."""

from __future__ import annotations

import numpy as np

from bgdata.formats.onnx.graph import Value, joined
from bgdata.formats.onnx.sides import SLOTS, Side
from bgdata.game.board import CHECKERS, HOME_POINTS
from bgdata.game.classes import CRASHED_CHECKERS, PASSED_PIPS

_BEHIND = SLOTS > 24 - HOME_POINTS  # in the other side's home board, or on the bar
OVER = -1  # as a class; the others are places in NETWORK_CLASSES


def network_class(side: Side) -> Value:
    """int32[n, 1]: the place in NETWORK_CLASSES of the network for each board, OVER if the game is over."""
    other = side.other()
    in_contact = side.rearmost + other.rearmost > PASSED_PIPS
    contact = 2 - (is_crashed(side) | is_crashed(other)).to(np.int32)
    is_over = (side.checkers.at_most(other.checkers)) <= 0
    return is_over.where(side.ours.like(np.array([[OVER]])), in_contact.where(contact, 0))


def is_crashed(side: Side) -> Value:
    """bool[n, 1]: whether a side is crashed: see `board_kernels.is_crashed`."""
    ace, deuce = (side.ours.take(np.array([point])) for point in (1, 2))
    left = side.checkers
    by_deuce = (deuce >= 1) & (left - deuce < CRASHED_CHECKERS)
    on_ace = (left - ace <= CRASHED_CHECKERS) | ((deuce >= 2) & (left - ace - deuce < CRASHED_CHECKERS))
    return (left <= CRASHED_CHECKERS) | ((ace >= 2) & on_ace) | ((ace < 2) & by_deuce)


def outcome_chances(side: Side) -> Value:
    """float32[n, 5]: the chances of games that are over; of all others, zeros."""
    wins, loses = outcomes(side), outcomes(side.other())
    ours = [wins >= points for points in (1, 2, 3)]
    theirs = [(loses >= points) & (wins < 1) for points in (2, 3)]
    return joined([*ours, *theirs]).to(np.float32)


def outcomes(side: Side) -> Value:
    """int32[n, 1]: the points that a side without checkers has won, 0 for one with checkers."""
    other = side.other()
    gammon = (other.checkers >= CHECKERS).to(np.int32)
    backgammon = gammon * (other.weighed(_BEHIND) > 0).to(np.int32)
    return (side.checkers <= 0).to(np.int32) * (gammon + backgammon + 1)


def limited(side: Side, chances: Value) -> Value:
    """float32[n, 5]: chances that obey the rules: see `chances.limit_chances`."""
    win = chances.take(np.array([0]))
    win_gammon, win_backgammon = allowed(side.other(), chances, (1, 2), win)
    lose_gammon, lose_backgammon = allowed(side, chances, (3, 4), 1 - win)
    return joined([win, win_gammon, win_backgammon, lose_gammon, lose_backgammon])


def allowed(loser: Side, chances: Value, columns: tuple[int, int], most: Value) -> tuple[Value, Value]:
    """Gammons and backgammons that a side may lose, float32[n, 1] each, from two columns and the chance to lose."""
    gammon, backgammon = (chances.take(np.array([column])) for column in columns)
    has_all = loser.checkers.equals(CHECKERS)
    in_contact = loser.rearmost + loser.other().rearmost > PASSED_PIPS
    is_behind = in_contact | (loser.rearmost > 24 - HOME_POINTS)
    gammon = has_all.where(gammon.at_most(most), 0)
    return gammon, (has_all & is_behind).where(backgammon.at_most(gammon), 0)
