"""Luck and skill of recorded games, turn by turn, and luck-adjusted results.

The luck of a roll is the value after its best play less the mean of that over all rolls, found by the same evaluator at
the same ply: it averages to zero exactly, however well it evaluates. The skill of a play is the value after it less
that after the best play of its roll, 0 at most. The first roll of a game decides who begins, so its mean is 0: with the
dice swapped, the other side would have gained as much.

The value of a position before the roll, the mean over all rolls, differs a little from its value after the previous
play, because the evaluator now looks one roll further; at the end of the game it may have been far from the result.
This difference is `drift`. Then, seen by one player,

    final - initial = net luck + net skill + net drift        (exactly; no drift where values are exact)

The luck-adjusted result, final - net luck, is an unbiased estimate of net skill, whatever the drift (Douglas Zare,
"Hedging toward skill", GammonVillage 2000). Everything is cubeless money equity in points per unit cube: cube actions
are not valued.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.evaluator import Evaluator
from bgdata.game.codec import Boards
from bgdata.game.position import START
from bgdata.play.luck.turn_values import TurnValues, Values, turn_values

_START = np.array(START.board, np.int8)


class RecordedGame(NamedTuple):
    """The rolls of one game, of both players in turn."""

    players: NDArray[np.int8]  # [n] who rolls: 0 or 1
    boards: Boards  # [n, 26] before the roll, seen by who rolls
    dice: NDArray[np.int8]  # [n, 2]
    after_play: Boards  # [n, 26] still seen by who rolled; as before the roll where nothing was played
    result: float  # points to player 0 per unit cube; not a number in a game that was not finished


class GameLuck(NamedTuple):
    """Luck, skill and drift in points to the player who rolls, one row for each turn, and what the end of the game
    settled."""

    values: TurnValues
    luck: Values  # [n]
    skill: Values  # [n] 0 and down
    drift: Values  # [n] change of mind before the roll, 0 in the first row
    settlement: float  # points to player 0 that the result is above the last value; not a number if not finished


class LuckTotals(NamedTuple):
    """One game in points per unit cube. Pairs are (player 0, player 1), each seen by itself; the rest by player 0."""

    result: float  # not a number in a game that was not finished, and then nor are net_drift and luck_adjusted
    initial: float  # value before the first roll
    luck: tuple[float, float]
    skill: tuple[float, float]
    net_luck: float
    net_skill: float
    net_drift: float
    luck_adjusted: float  # result less net luck


def game_luck(evaluator: Evaluator, game: RecordedGame) -> GameLuck:
    """Luck, skill and drift of every turn. Raises UsageError for a player that does not evaluate positions."""
    values = turn_values(evaluator, game.boards, game.dice, game.after_play)
    if len(game.boards) and np.array_equal(game.boards[0], _START):
        values.before[0] = 0.0
    sides = signs(game.players)
    drift = np.zeros(len(sides))
    drift[1:] = values.before[1:] - sides[1:] * sides[:-1] * values.after[:-1]
    last = float(sides[-1] * values.after[-1]) if len(sides) else 0.0
    return GameLuck(values, values.best - values.before, values.after - values.best, drift, game.result - last)


def totals(game: RecordedGame, found: GameLuck) -> LuckTotals:
    """The totals of one game."""
    sides = signs(game.players)
    initial = float(sides[0] * found.values.before[0]) if len(sides) else 0.0
    luck, skill = (
        (float(turns[game.players == 0].sum()), float(turns[game.players == 1].sum()))
        for turns in (found.luck, found.skill)
    )
    net_luck = luck[0] - luck[1]
    net_drift = float((sides * found.drift).sum()) + found.settlement
    return LuckTotals(
        game.result, initial, luck, skill, net_luck, skill[0] - skill[1], net_drift, game.result - initial - net_luck
    )


def signs(players: NDArray[np.int8]) -> Values:
    """float64[n]: 1 for player 0, -1 for player 1."""
    return 1.0 - 2.0 * players.astype(np.float64)
