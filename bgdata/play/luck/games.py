"""Games between two players and the luck of the dice in them, estimated by networks.

The same dice for both sides, in a pair of `games`, remove little luck once the two games differ. The luck-adjusted
result is the result less the luck of every roll (`roll_values`). Its mean is that of the results, however luck is
estimated, since the luck of each roll is 0 on average; the better the estimates, the less it varies (Zare, "Hedging
toward skill", GammonVillage 2000).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.choices import Chooser, require_networks
from bgdata.evaluation.player import Player
from bgdata.evaluation.roll_values import ALL_PLAYS
from bgdata.kernel import in_threads
from bgdata.play.corpus import fill_values, net_lucks
from bgdata.play.games import LOCKSTEP, Games, LockstepTurn, check_numbers, fill_results, turns_in_lockstep


def play_games_with_luck(
    first_player: Player, second_player: Player, estimator: Chooser, count: int, seed: int, first: int = 0
) -> tuple[Games, NDArray[np.float64]]:
    """The games of `games.play_games`, and the net luck float64[count] of the player named first, in points: its luck
    less that of the other player.

    Results are the same on any number of threads and in any batch. Estimating luck takes most of the time: about 20
    times as long as the games of kernel players. Raises UsageError for an estimator without networks, and what
    `play_games` raises.
    """
    check_numbers(count, seed, first)
    require_networks(estimator, "to estimate luck")
    numbers = np.arange(first, first + count, dtype=np.int64)
    games = Games(numbers, np.empty(count, np.int8), np.empty(count, np.int32), numbers % 2 == 0)
    lucks = np.empty(count)
    for start in range(0, count, LOCKSTEP):
        rows = slice(start, start + LOCKSTEP)
        turns = list(turns_in_lockstep((first_player, second_player), seed, numbers[rows]))
        fill_results(turns, games.outcomes[rows], games.turns[rows])
        lucks[rows] = _net_lucks(estimator, numbers[rows], games.turns[rows], turns)
    return games, lucks


def _net_lucks(
    estimator: Chooser, numbers: NDArray[np.int64], n_turns: NDArray[np.int32], turns: list[LockstepTurn]
) -> NDArray[np.float64]:
    """float64[games] from their turns, put in order of games first, as `fill_values` takes them."""
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(n_turns, dtype=np.int64)])
    boards, dice = np.empty((offsets[-1], 26), np.int8), np.empty((offsets[-1], 2), np.int8)
    for number, turn in enumerate(turns):
        places = offsets[turn.rows] + number
        boards[places], dice[places] = turn.boards, turn.rolls
    values = np.empty((2, len(boards)), np.float32)
    in_threads(fill_values, len(numbers), estimator, ALL_PLAYS, True, offsets, boards, dice, values)
    return net_lucks(numbers % 2, offsets, values[1])
