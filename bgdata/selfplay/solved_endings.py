"""The last rolls of a rollout with the cube: bearoffs of a few checkers a side, solved at the stakes of the rollout.

A trial that reaches such a bearoff ends there with its exact value. So a rollout does not inherit the errors of a cube
model in the last rolls, where they are largest.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.match_table import (
    WIN_CHANCE,
    MatchCube,
    States,
    money_states,
    reachable_states,
    start_states,
)
from bgdata.bearoff.match_two_sided import LANES, SolvedRace, slots_of
from bgdata.equity.cube import CubeRules, met_of
from bgdata.equity.curves import OWNER_CODES
from bgdata.equity.match_equity import MatchEquity
from bgdata.evaluation.bearoff_kernels import BearoffArrays, layout_indexes
from bgdata.game.codec import Boards
from bgdata.game.match import MatchScore, Money, Stakes
from bgdata.kernel import kernel
from bgdata.selfplay.cubeful_games import MAX_CUBE

POINTS, CHECKERS = 6, 6  # 30 to 90 MB, solved in half a second
DEAD = -1  # in `columns`: the cube is dead for both sides


class SolvedEndings(NamedTuple):
    """The values of all bearoffs of up to `checkers` checkers a side on 6 points; none if `checkers` is 0."""

    checkers: int
    slots: NDArray[np.int64]  # [position index] the slot of a layout in `cells`
    cells: NDArray[np.float64]  # [slot of the other side, tile, column, lane] of `match_two_sided.MatchPairs`
    columns: NDArray[np.int64]  # [side on roll, cube value, owner code] the column of a cube state, or DEAD


def endings_of(stakes: Stakes, rules: CubeRules, tables: BearoffArrays) -> SolvedEndings:
    """Solve the endings of games at these stakes, which are those of the player first on roll. The cube begins at its
    value in `stakes` and may rise.

    There are none if `tables` have the exact equities of money play, and none if a match is handled as money play, for
    comparison. Raises InvalidScoreError if in the match equity table a win is worth less than a loss."""
    is_in_tables = tables.two_sided_points >= POINTS and tables.two_sided_checkers >= CHECKERS
    if stakes.cube.value > MAX_CUBE or rules.as_money or (isinstance(stakes.score, Money) and is_in_tables):
        return SolvedEndings(0, np.zeros(0, np.int64), np.zeros((0, 0, 0, LANES)), np.zeros((2, 0, 3), np.int64))
    if isinstance(stakes.score, MatchScore):
        return _match_endings(stakes.score, stakes.cube.value, met_of(rules))
    return _money_endings()


@cache
def _money_endings() -> SolvedEndings:
    """Solve the endings for money. Values are (equity per unit cube + 1) / 2."""
    states = money_states()
    columns = np.empty((2, MAX_CUBE + 1, 3), np.int64)
    for column, state in enumerate(states.names, start=1):
        columns[:, :, OWNER_CODES[state.cube_owner]] = column
    return _solve(states, columns)


@lru_cache(maxsize=2)
def _match_endings(score: MatchScore, cube_value: int, met: MatchEquity) -> SolvedEndings:
    """Solve the endings at a match score. Values are mwc. Side 0 is the player whose score it is."""
    cube = MatchCube(score, met.at)
    states = reachable_states(cube, start_states(score, cube_value))
    columns = np.full((2, MAX_CUBE + 1, 3), DEAD)
    for column, state in enumerate(states.names, start=1):
        sides = slice(None) if cube.sides == 1 else state.side
        columns[sides, state.cube_value, OWNER_CODES[state.cube_owner]] = column
    return _solve(states, columns)


def _solve(states: States, columns: NDArray[np.int64]) -> SolvedEndings:
    slots, slot_of = slots_of(POINTS, CHECKERS)
    race = SolvedRace(slots, states, 2 * slots.most_pips, POINTS)
    return SolvedEndings(CHECKERS, slot_of, race.pairs.cells, columns)


@kernel(borrows=True)
def is_ending(endings: SolvedEndings, board: Boards) -> bool:
    """Return whether an unfinished game is one of the endings."""
    ours, theirs = 16 * int(board[25]), 16 * int(board[0])  # 16 for a checker on the bar, more than any ending has
    for point in range(1, 25):
        count = int(board[point])
        if (count > 0 and point > POINTS) or (count < 0 and point < 25 - POINTS):
            return False
        ours, theirs = ours + max(count, 0), theirs + max(-count, 0)
    return max(ours, theirs) <= endings.checkers


@kernel(borrows=True)
def ending_value(endings: SolvedEndings, board: Boards, column: int) -> float:
    """Return the value of an ending to the player on roll, who may double, in the unit of `endings`. With the column
    DEAD the value is the chance to win the game."""
    on_roll, opponent = layout_indexes(board, POINTS)
    slot, other = endings.slots[on_roll], endings.slots[opponent]
    return float(endings.cells[other, slot // LANES, max(column, WIN_CHANCE), slot % LANES])
