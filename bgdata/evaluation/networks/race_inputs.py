"""Inputs of a network for races: features that human players look at, besides the checkers.

As in `contact_inputs`: int16 in units of 1/64, first of the player on roll, then the same of the opponent.
"""

from __future__ import annotations

from bgdata.evaluation.networks.contact_inputs import MOST, UNIT, Inputs, NamedInput, bar_of, count_at
from bgdata.game.codec import Boards
from bgdata.kernel import kernel

OFF_INPUTS = 14
_SIDE = (
    *(NamedInput(f"off_{off}_or_more", f"1 if {off} checkers or more are off") for off in range(1, OFF_INPUTS + 1)),
    NamedInput("pips", "pip count, of 64, at most 3"),
    NamedInput("race_lead", "pips ahead in the race, of 32, at most 2; 0 when behind"),
    NamedInput("relative_lead", "pips ahead by the own pip count, of 1/4, at most 2; 0 when behind"),
    NamedInput("outside", "checkers not home yet, of 8"),
    NamedInput("crossovers", "quarters of the board that these still have to cross to come home, of 16, at most 2"),
    NamedInput("outside_pips", "pips until all checkers are home, of 64, at most 2"),
    NamedInput("average_distance", "pip count by checkers left, of 16, at most 2"),
    NamedInput("gaps", "empty points among 1 to 6 while checkers are left, of 6"),
    NamedInput("ace_stack", "checkers on point 1, of 8"),
    NamedInput("deuce_stack", "checkers on point 2, of 8"),
    NamedInput("three_stack", "checkers on point 3, of 8"),
    NamedInput("odd_checkers", "1 if an odd number of checkers is left: the last roll wastes half of itself"),
    NamedInput("gammon_possible", "1 if no checker is off: a gammon can be lost"),
    NamedInput(
        "gammon_pips",
        "pips until all are home and one is off the lowest point, of 64, at most 2; 0 once a checker is off",
    ),
    NamedInput("backgammon_checkers", "while no checker is off: checkers on points 19 and above, of 4, at most 2"),
    NamedInput("backgammon_pips", "while no checker is off: pips until none is there, of 16, at most 2"),
)
SIDE_INPUTS = len(_SIDE)
RACE_INPUTS = _SIDE + tuple(NamedInput(f"opponent_{name}", f"opponent: {meaning}") for name, meaning in _SIDE)


@kernel(borrows=True)
def fill_race_inputs(board: Boards, inputs: Inputs) -> None:
    """Fills inputs[0:60], in the order of RACE_INPUTS, from board[slot] of the player about to roll."""
    ours, theirs = fill_race_side(board, 1, inputs, 0), fill_race_side(board, -1, inputs, SIDE_INPUTS)
    for side in range(2):
        pips, others = (ours, theirs) if side == 0 else (theirs, ours)
        at, lead = side * SIDE_INPUTS + OFF_INPUTS, max(others - pips, 0)
        inputs[at + 1] = min(2 * lead, MOST)
        inputs[at + 2] = min(4 * UNIT * lead // max(pips, 1), MOST)


@kernel(borrows=True)
def fill_race_side(board: Boards, side: int, inputs: Inputs, at: int) -> int:
    """Fills inputs[at:at + 30] of a side but for its leads; returns its pip count."""
    base = 0 if side > 0 else 25
    bar = bar_of(board, side)
    left, pips, outside, crossovers, outside_pips = bar, 25 * bar, bar, 4 * bar, 19 * bar
    back, back_pips = bar, 7 * bar
    empty, lowest = 6, 6  # points of the home board without a checker, and the lowest one with one
    for point in range(24, 0, -1):
        count = count_at(board, side, base + side * point)
        left += count
        pips += count * point
        outside += count if point > 6 else 0
        crossovers += count * ((point > 6) + (point > 12) + (point > 18))
        outside_pips += count * max(point - 6, 0)
        back += count if point > 18 else 0
        back_pips += count * max(point - 18, 0)
        if point <= 6 and count > 0:
            empty, lowest = empty - 1, point
        if point <= 3:
            inputs[at + OFF_INPUTS + 7 + point] = 8 * count
    off = 15 - left
    is_gammon = off == 0
    for threshold in range(OFF_INPUTS):
        inputs[at + threshold] = UNIT if off > threshold else 0
    at += OFF_INPUTS
    inputs[at] = min(pips, 3 * UNIT)
    inputs[at + 3] = 8 * outside
    inputs[at + 4] = min(4 * crossovers, MOST)
    inputs[at + 5] = min(outside_pips, MOST)
    inputs[at + 6] = min(4 * pips // max(left, 1), MOST)
    inputs[at + 7] = UNIT * empty // 6 if left else 0
    inputs[at + 11] = UNIT * (left & 1)
    inputs[at + 12] = UNIT if is_gammon else 0
    inputs[at + 13] = min(outside_pips + lowest, MOST) if is_gammon else 0
    inputs[at + 14] = min(16 * back, MOST) if is_gammon else 0
    inputs[at + 15] = min(4 * back_pips, MOST) if is_gammon else 0
    return pips
