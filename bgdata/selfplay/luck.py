"""Luck and skill of recorded games, turn by turn, and luck-adjusted results.

The luck of a roll is the value after its best play, minus the mean of that value over all rolls, by the same evaluator
at the same ply. Luck averages to zero exactly, however accurate the evaluator is. The skill of a play is the value
after it, minus the value after the best play of its roll; it is at most 0. The first roll of a game decides who begins,
so the mean of its values is 0: with the dice swapped, the other side would have gained as much.

The value before a roll is the mean over all rolls. This mean differs a little from the value after the previous play,
because the evaluator now looks one roll further, and at the end of the game the mean may be far from the result. This
difference is `drift`. Then, from one player's point of view,

    final - initial = net luck + net skill + net drift

exactly, and there is no drift where values are exact. The luck-adjusted result, final - net luck, is an unbiased
estimate of net skill, whatever the drift (Douglas Zare, "Hedging toward skill", GammonVillage 2000). All values are
cubeless money equities in points per unit cube; cube actions are not valued."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import fill_play_chances
from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.chances import Evaluator, cubeless_equities, equity_of
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.player import as_evaluator
from bgdata.evaluation.roll_values import ALL_PLAYS, fill_roll_values, new_roll_scratch, roll_place
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.game.position import START
from bgdata.game.rolls import CHANCES, DICE
from bgdata.kernel import in_threads, kernel

Values = NDArray[np.float64]
_START = np.array(START.board, np.int8)


class TurnValues(NamedTuple):
    """Cubeless equities for the player who rolls, one row for each turn: before the roll, after the best play and after
    the play made."""

    before: Values  # [n] before the roll: the mean of `best` over all rolls
    best: Values  # [n] after the best play of the roll
    after: Values  # [n] after the play that was made; equals `best` if no play was made


class RecordedGame(NamedTuple):
    """The rolls of one game, of both players in turn."""

    players: NDArray[np.int8]  # [n] who rolls: 0 or 1
    boards: Boards  # [n, 26] before the roll, for the player who rolls
    dice: NDArray[np.int8]  # [n, 2]
    after_play: Boards  # [n, 26] after the play, for the same player; equals `boards` if no play was made
    result: float  # points to player 0 per unit cube; NaN for an unfinished game


class GameLuck(NamedTuple):
    """Luck, skill and drift of one game, in points to the player who rolls, one row for each turn."""

    values: TurnValues
    luck: Values  # [n]
    skill: Values  # [n] 0 or negative
    drift: Values  # [n] value before the roll minus the value after the previous play; 0 in the first row
    settlement: float  # result minus the last value, in points to player 0; NaN for an unfinished game


class LuckTotals(NamedTuple):
    """The totals of one game, in points per unit cube. Pairs are (player 0, player 1), each from that player's side;
    single numbers are from the side of player 0."""

    result: float  # NaN for an unfinished game; net_drift and luck_adjusted are then NaN too
    initial: float  # value before the first roll
    luck: tuple[float, float]
    skill: tuple[float, float]
    net_luck: float
    net_skill: float
    net_drift: float
    luck_adjusted: float  # result minus net luck


def game_luck(evaluator: Evaluator, game: RecordedGame) -> GameLuck:
    """Return luck, skill and drift of every turn of a game. Raises UsageError if the evaluator does not evaluate
    positions."""
    values = turn_values(evaluator, game.boards, game.dice, game.after_play)
    if len(game.boards) and np.array_equal(game.boards[0], _START):
        values.before[0] = 0.0
    sides = player_signs(game.players)
    drift = np.zeros(len(sides))
    drift[1:] = values.before[1:] - sides[1:] * sides[:-1] * values.after[:-1]
    last = float(sides[-1] * values.after[-1]) if len(sides) else 0.0
    return GameLuck(values, values.best - values.before, values.after - values.best, drift, game.result - last)


def luck_totals(game: RecordedGame, found: GameLuck) -> LuckTotals:
    """Return the sums of luck, skill and drift over all turns of a game. `found` is the result of `game_luck`."""
    sides = player_signs(game.players)
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


def player_signs(players: NDArray[np.int8]) -> Values:
    """Return 1 where the player is player 0 and -1 where it is player 1, as float64[n]."""
    return 1.0 - 2.0 * players.astype(np.float64)


def turn_values(evaluator: Evaluator, boards: Boards, dice: NDArray[np.int8], after_play: Boards) -> TurnValues:
    """Return the values before and after each turn for the player who moves, from int8[n, 26] boards, int8[n, 2] dice,
    and int8[n, 26] boards after the play. Networks at 0-ply are evaluated in a kernel, about a hundred times faster.
    Raises UsageError if the evaluator does not evaluate positions."""
    as_evaluator(getattr(evaluator, "label", type(evaluator).__name__), evaluator)
    values = np.empty((3, len(boards)))
    if isinstance(evaluator, NetworkPlayer):
        arrays = boards, dice, after_play, values
        in_threads(fill_turn_values, len(boards), evaluator.networks, evaluator.tables, *arrays)
    else:
        for turn in range(len(boards)):
            offsets, plays = batch_plays(boards[turn : turn + 1].repeat(len(DICE), 0), DICE)
            after = flip_boards(np.concatenate([plays, after_play[turn : turn + 1]]))
            equities = -cubeless_equities(evaluator.evaluate_many(after).chances).astype(np.float64)
            best = np.maximum.reduceat(equities[:-1], offsets[:-1])
            values[:, turn] = best @ CHANCES, best[roll_place(*dice[turn])], equities[-1]
    is_unplayed = (boards == after_play).all(axis=1)
    values[2, is_unplayed] = values[1, is_unplayed]
    return TurnValues(*values)


@kernel()
def fill_turn_values(
    begin: int,
    end: int,
    networks: Networks,
    tables: BearoffArrays,
    boards: Boards,
    dice: NDArray[np.int8],
    after_play: Boards,
    values: Values,
) -> None:
    """Fill values[0, turn] with the mean over all rolls from boards[turn, slot], values[1, turn] with the value after
    the best play of dice[turn, 0:2], and values[2, turn] with the value of after_play[turn, slot], for turns
    begin:end."""
    scratch = new_roll_scratch(networks)
    opponent = scratch.evaluation.chances[1]
    for turn in range(begin, end):
        fill_roll_values(networks, tables, ALL_PLAYS, boards[turn], scratch)
        mean = scratch.mean
        values[0, turn] = 2.0 * mean[0] - 1.0 + mean[1] + mean[2] - mean[3] - mean[4]
        fill_play_chances(
            networks, tables, scratch.best[roll_place(dice[turn, 0], dice[turn, 1])], scratch.evaluation, opponent
        )
        values[1, turn] = -equity_of(opponent)
        fill_play_chances(networks, tables, after_play[turn], scratch.evaluation, opponent)
        values[2, turn] = -equity_of(opponent)
