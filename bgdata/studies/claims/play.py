"""Answers claims about the course of games from self-play.

Every function of READINGS takes the tables as first argument, by dataset/variant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.networks.player import NetworkPlayer, open_networks
from bgdata.store.table import Table
from bgdata.studies.claims.bearoff import Tables, open_table
from bgdata.studies.claims.definitions import FoundAnswer

WINDOWS = ((0.2, 0.35), (0.65, 0.8))  # ranges of winning chances, near the take and the cash point
ROUND = 2  # turns from a player's roll to its next roll


def volatility_percent(tables: Tables, games: str, network: str) -> FoundAnswer:
    """Return the mean absolute change of the winning chance between a player's roll and its next roll, in percent. A
    network evaluates positions at 0-ply; only chances in WINDOWS count. The standard error treats games as
    observations, since the turns of a game are correlated."""
    table = open_table(tables, games)
    wins = 100 * win_chances(table, open_table(tables, network))
    first = table.array("first_turns")
    game = np.repeat(np.arange(len(first) - 1), np.diff(first))
    before, after = wins[:-ROUND], wins[ROUND:]
    chosen = is_near_a_cube_point(before / 100) & (game[:-ROUND] == game[ROUND:])
    return mean_by_game(np.abs(after - before)[chosen], game[:-ROUND][chosen], len(first) - 1)


def win_chances(games: Table, network: Table) -> NDArray[np.float64]:
    """Return the cubeless winning chance of the player on roll in each turn, by a network without bearoff tables, as
    float64[turns]."""
    player = NetworkPlayer(open_networks(network), BearoffEvaluator().arrays)
    return player.evaluate_many(games.array("turn_boards")).chances[:, 0].astype(np.float64)


def is_near_a_cube_point(chances: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether each chance is in one of WINDOWS, near the take point or the cash point, as bool[n]."""
    return np.asarray(np.any([(low < chances) & (chances < high) for low, high in WINDOWS], axis=0))


def mean_by_game(values: NDArray[np.float64], game: NDArray[np.int64], games: int) -> FoundAnswer:
    """Return the mean of all values, with the standard error of a ratio of sums over games. `game` is the number of
    each value's game."""
    sums, counts = np.bincount(game, values, games), np.bincount(game, minlength=games)
    mean = sums.sum() / counts.sum()
    error = np.sqrt(((sums - mean * counts) ** 2).sum()) / counts.sum()
    return FoundAnswer(float(mean), float(error), games)


READINGS: dict[str, Callable[..., Any]] = {volatility_percent.__name__: volatility_percent}
