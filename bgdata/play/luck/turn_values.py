"""Values of turns of recorded games: before the roll, after its best play, and after the play that was made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import fill_play_chances
from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.chances import cubeless_equities, equity_of
from bgdata.evaluation.evaluator import Evaluator
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.player import as_evaluator
from bgdata.evaluation.roll_values import ALL_PLAYS, fill_roll_values, new_roll_scratch, roll_place
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.game.rolls import CHANCES, DICE
from bgdata.kernel import in_threads, kernel

Values = NDArray[np.float64]


class TurnValues(NamedTuple):
    """Cubeless equities of the player who rolls, one row for each turn."""

    before: Values  # [n] mean over all rolls of what follows
    best: Values  # [n] after the best play of the roll
    after: Values  # [n] after the play that was made; as `best` where nothing was played


def turn_values(evaluator: Evaluator, boards: Boards, dice: NDArray[np.int8], after_play: Boards) -> TurnValues:
    """Values of int8[n, 26] boards, int8[n, 2] dice, and int8[n, 26] positions after the play that was made, still seen
    by the player who moved. Networks at 0-ply are evaluated in a kernel, about a hundred times faster.

    Raises UsageError for a player that does not evaluate positions.
    """
    as_evaluator(getattr(evaluator, "label", type(evaluator).__name__), evaluator)
    values = np.empty((3, len(boards)))
    if isinstance(evaluator, NetworkPlayer):
        arrays = boards, dice, after_play, values
        in_threads(fill_turn_values, len(boards), evaluator.networks, evaluator.tables, *arrays)
    else:
        for turn in range(len(boards)):
            values[:, turn] = _values_of_turn(evaluator, boards[turn], dice[turn], after_play[turn])
    is_unplayed = (boards == after_play).all(axis=1)
    values[2, is_unplayed] = values[1, is_unplayed]
    return TurnValues(*values)


def _values_of_turn(
    evaluator: Evaluator, board: Boards, dice: NDArray[np.int8], after_play: Boards
) -> tuple[float, float, float]:
    """(mean over the rolls, best of this roll, after the play made), by any evaluator."""
    offsets, plays = batch_plays(board[None].repeat(len(DICE), 0), DICE)
    asked = flip_boards(np.concatenate([plays, after_play[None]]))
    equities = -cubeless_equities(evaluator.evaluate_many(asked).chances).astype(np.float64)
    best = np.maximum.reduceat(equities[:-1], offsets[:-1])
    return float(best @ CHANCES), float(best[roll_place(dice[0], dice[1])]), float(equities[-1])


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
    """Fills values[0, turn] with the mean over the rolls from boards[turn, slot], values[1, turn] with what the best
    play of dice[turn, 0:2] leads to, values[2, turn] with what after_play[turn, slot] is worth, for turns begin:end."""
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
