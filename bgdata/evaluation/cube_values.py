"""What a position is worth with the cube: the value that plays are chosen by where there is one.

The value is that of the position before the roll and before the cube is turned, both sides turning it best: points per
unit cube in money play, mwc in a match. It is exact in money play where an exact table covers both sides, elsewhere
by a cube model from the five chances. To choose a play by it takes 1.01 to 1.11 times as long as by cubeless equity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bgdata.equity.curves import CENTERED, ON_ROLL, OPPONENT
from bgdata.equity.doubling import (
    NOT_ALLOWED,
    CubeEquities,
    Strategy,
    best_equity,
    money_equities,
)
from bgdata.equity.match_cube import Cells, MatchGame, match_equities
from bgdata.evaluation.bearoff_kernels import BearoffArrays, exact_cell, exact_equity
from bgdata.evaluation.chances import Chances, equity_of
from bgdata.evaluation.evaluator import AnswerSource
from bgdata.game.codec import Boards
from bgdata.kernel import kernel

CUBELESS, MONEY, MATCH = 0, 1, 2  # units
_EXACT = int(AnswerSource.EXACT)
_COLUMNS = np.array([2, 1, 3], np.int64)  # by owner code: where the two-sided table has the equity, from the cubeless


class CubeStakes(NamedTuple):
    """What a game is played for, seen by the player on roll, and the model of its cube."""

    unit: int  # CUBELESS: cubeless equity, whatever the cube; MONEY: points per unit cube; MATCH: mwc
    strategy: Strategy
    is_jacoby: bool  # in money play
    cells: Cells  # of a match equity table; any in money play
    game: MatchGame  # of any meaning in a match only
    cube_value: int
    owner: int  # a code of `equity.curves`


@kernel(borrows=True)
def model_equities(stakes: CubeStakes, chances: Chances) -> CubeEquities:
    """The equity of each cube action for the player on roll by the model, from chances[0:5]."""
    if stakes.unit == MATCH:
        return match_equities(stakes.strategy, stakes.cells, stakes.game, stakes.cube_value, stakes.owner, chances)
    return money_equities(stakes.strategy, chances, stakes.owner, stakes.is_jacoby, False)


@kernel(borrows=True)
def exact_equities(tables: BearoffArrays, board: Boards, owner: int) -> CubeEquities:
    """The equity of each cube action in money play, points per unit cube, for board[slot] of an exact table."""
    cell = exact_cell(tables, board)
    now = exact_equity(tables, cell + _COLUMNS[owner])
    if owner == OPPONENT:
        return CubeEquities(now, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED)
    taken = 2.0 * exact_equity(tables, cell + _COLUMNS[OPPONENT])
    return CubeEquities(now, taken, taken, 1.0)


@kernel(borrows=True)
def value_of(stakes: CubeStakes | None, tables: BearoffArrays, board: Boards, source: int, chances: Chances) -> float:
    """What board[slot] is worth to the player on roll, from its chances[0:5] and the number of the `AnswerSource` they
    come from: cubeless equity without stakes, which compiles no model of the cube."""
    if stakes is None:
        return equity_of(chances)
    if stakes.unit == CUBELESS:
        return float(np.float64(equity_of(chances)))
    if stakes.unit == MONEY and source == _EXACT:
        return best_equity(exact_equities(tables, board, stakes.owner))
    return best_equity(model_equities(stakes, chances))


@kernel(borrows=True)
def turned_owner(owner: int) -> int:
    """The owner of the cube as seen by the other player."""
    if owner == CENTERED:
        return CENTERED
    return OPPONENT if owner == ON_ROLL else ON_ROLL
