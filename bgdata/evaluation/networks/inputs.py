"""The inputs of a network: integers in units of 1/64, so that sums are exact in any order.

Every input set begins with Tesauro's 196 inputs (1992). Each point, as the player on roll numbers points, has four
inputs for the player on roll and four for the opponent: whether the side has at least 1, 2 and 3 checkers there, and
half of its checkers beyond 3. After the points come half of the checkers on the bar, ours and the opponent's, and the
fraction of the 15 checkers that is off, ours and the opponent's. Inputs after those of the points are called extras.
They are computed for each board, while the inputs of a point depend only on its checkers.
"""

from __future__ import annotations

import numpy as np

from bgdata.evaluation.networks.contact_inputs import (
    CONTACT_INPUTS,
    MAX_INPUT,
    UNIT,
    Inputs,
    NamedInput,
    bar_of,
    count_at,
    fill_many_contact_inputs,
)
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.products import copy_points, weigh_points
from bgdata.evaluation.networks.shots import ROLL_NUMBERS, SIDES, RollNumbers
from bgdata.game.board import CHECKERS
from bgdata.game.codec import Boards, check_boards
from bgdata.kernel import kernel, prange

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
RACE_SIDE_INPUTS = len(_SIDE)
RACE_INPUTS = _SIDE + tuple(NamedInput(f"opponent_{name}", f"opponent: {meaning}") for name, meaning in _SIDE)


@kernel(borrows=True)
def fill_race_inputs(board: Boards, inputs: Inputs) -> None:
    """Fill inputs[0:60] with the RACE_INPUTS of a board, for the player about to roll."""
    ours, theirs = fill_race_side(board, 1, inputs, 0), fill_race_side(board, -1, inputs, RACE_SIDE_INPUTS)
    for side in range(2):
        pips, others = (ours, theirs) if side == 0 else (theirs, ours)
        at, lead = side * RACE_SIDE_INPUTS + OFF_INPUTS, max(others - pips, 0)
        inputs[at + 1] = min(2 * lead, MAX_INPUT)
        inputs[at + 2] = min(4 * UNIT * lead // max(pips, 1), MAX_INPUT)


@kernel(borrows=True)
def fill_race_side(board: Boards, side: int, inputs: Inputs, at: int) -> int:
    """Fill inputs[at:at + 30] of a side (1: on roll, -1: opponent), except its leads. Returns its pip count."""
    base = 0 if side > 0 else 25
    bar = bar_of(board, side)
    left, pips, outside, crossovers, outside_pips = bar, 25 * bar, bar, 4 * bar, 19 * bar
    back, back_pips = bar, 7 * bar
    empty, lowest = 6, 6  # number of empty points of the home board, and the lowest occupied point
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
    inputs[at + 4] = min(4 * crossovers, MAX_INPUT)
    inputs[at + 5] = min(outside_pips, MAX_INPUT)
    inputs[at + 6] = min(4 * pips // max(left, 1), MAX_INPUT)
    inputs[at + 7] = UNIT * empty // 6 if left else 0
    inputs[at + 11] = UNIT * (left & 1)
    inputs[at + 12] = UNIT if is_gammon else 0
    inputs[at + 13] = min(outside_pips + lowest, MAX_INPUT) if is_gammon else 0
    inputs[at + 14] = min(16 * back, MAX_INPUT) if is_gammon else 0
    inputs[at + 15] = min(4 * back_pips, MAX_INPUT) if is_gammon else 0
    return pips


POINT_INPUTS = 24 * 8
BASE_EXTRAS = 4
MAX_BOARDS = SIDES // 2  # number of boards whose extras are computed together

# by input set: number of extras
EXTRAS = {
    InputSet.TESAURO_196: BASE_EXTRAS,
    InputSet.TESAURO_198: BASE_EXTRAS + 2,
    InputSet.RACE: BASE_EXTRAS + len(RACE_INPUTS),
    InputSet.CONTACT: BASE_EXTRAS + len(CONTACT_INPUTS),
}
MAX_INPUTS = POINT_INPUTS + max(EXTRAS.values())
_TESAURO_198, _RACE, _CONTACT = int(InputSet.TESAURO_198), int(InputSet.RACE), int(InputSet.CONTACT)


def input_count(input_set: InputSet) -> int:
    """The number of inputs in an input set: those of the points, then the extra ones."""
    return POINT_INPUTS + EXTRAS[input_set]


def _side_inputs(count: int) -> list[int]:
    """The four inputs for a point where a side has `count` checkers; zeros for a count below 1."""
    return [UNIT * (count >= 1), UNIT * (count >= 2), UNIT * (count >= 3), UNIT // 2 * max(count - 3, 0)]


# by count + 15: the eight inputs of a point
OF_COUNT = np.array([_side_inputs(count) + _side_inputs(-count) for count in range(-15, 16)], np.int16)
_ONES = np.ones((1, 25), np.int16)
# by checkers off: fraction of 15, to the nearest 1/64
OF_OFF = np.round(np.arange(CHECKERS + 1) * UNIT / CHECKERS).astype(np.int16)


def encode(input_set: InputSet, boards: Boards) -> Inputs:
    """Compute the inputs of a network, int16[n, input_count(input_set)] in units of 1/64, from int8[n, 26] boards for
    the player on roll. Raises InvalidPositionError for another shape or type. It is not checked whether the boards are
    legal."""
    inputs = np.empty((len(check_boards(boards)), input_count(input_set)), np.int16)
    fill_encoded(int(input_set), np.ascontiguousarray(boards), inputs)
    return inputs


@kernel(parallel=True)
def fill_encoded(input_set: int, boards: Boards, inputs: Inputs) -> None:
    """Fill inputs[row] with the inputs of boards[row]."""
    for block in prange((len(boards) + MAX_BOARDS - 1) // MAX_BOARDS):
        begin, end = block * MAX_BOARDS, min((block + 1) * MAX_BOARDS, len(boards))
        numbers = np.zeros(ROLL_NUMBERS, np.int32)
        fill_many_inputs(input_set, boards[begin:end], end - begin, numbers, inputs[begin:end])


@kernel(borrows=True)
def fill_many_inputs(input_set: int, boards: Boards, n: int, numbers: RollNumbers, inputs: Inputs) -> None:
    """Fill inputs[row] with all inputs of the first n boards, at most MAX_BOARDS. `numbers` is scratch,
    int32[ROLL_NUMBERS]."""
    for row in range(n):
        fill_without_contact(input_set, boards[row], inputs[row])
    if input_set == _CONTACT:
        fill_many_contact_inputs(boards, n, numbers, inputs[:, POINT_INPUTS + BASE_EXTRAS :])


@kernel(borrows=True)
def first_compared_input(input_set: int) -> int:
    """The first input that `nearest_recent` compares to find a similar board. If there are many extra inputs, comparing
    only these is enough, because they change with the inputs of the points."""
    return POINT_INPUTS if input_set in (_RACE, _CONTACT) else 0


@kernel(borrows=True)
def fill_without_contact(input_set: int, board: Boards, inputs: Inputs) -> None:
    """Fill the inputs of a board, except the CONTACT_INPUTS."""
    copy_points(OF_COUNT, board, inputs)
    extras = inputs[POINT_INPUTS:]
    ours, theirs = int(board[25]), int(board[0])
    extras[0], extras[1] = UNIT // 2 * ours, UNIT // 2 * theirs
    ours += weigh_points(board, 1, _ONES, 0)
    theirs += weigh_points(board, -1, _ONES, 0)
    extras[2], extras[3] = OF_OFF[CHECKERS - ours], OF_OFF[CHECKERS - theirs]
    if input_set == _TESAURO_198:
        extras[4], extras[5] = UNIT, 0
    elif input_set == _RACE:
        fill_race_inputs(board, extras[BASE_EXTRAS:])
