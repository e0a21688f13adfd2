"""The learning curve of networks: games against PubEval, exact bearoff positions, and self-play."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import layout_at
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES, BearoffArrays
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.pubeval import PubEval
from bgdata.game.codec import Boards
from bgdata.game.random import high_below, random_bits, random_stream
from bgdata.kernel import kernel
from bgdata.selfplay.games import play_games
from bgdata.selfplay.series import SeriesResult, result_of
from bgdata.training.networks import rounded_networks
from bgdata.training.temporal_difference.run import Trainer
from bgdata.training.temporal_difference.self_play import Record

SAMPLE = 2000  # bearoff positions
TEST_SEED = 0  # of the games against PubEval
COLUMNS = (
    "games",
    "rate",
    "turns_per_game",
    "gammon_share",
    "backgammon_share",
    "points_per_game",
    "standard_error",
    "bearoff_error",
)


class Tally(NamedTuple):
    """Counts of self-play since the last row of the learning curve; checkpoints save them."""

    counts: NDArray[np.int64]  # [games, gammons, backgammons, turns]

    def add(self, record: Record) -> None:
        """Count the games of a round."""
        points = np.abs(record.outcomes)
        self.counts[:] += [len(points), (points == 2).sum(), (points == 3).sum(), record.turns.sum()]

    def take(self) -> list[float]:
        """(turns per game, share of gammons, share of backgammons), and reset the counts."""
        games, gammons, backgammons, turns = self.counts.tolist()
        self.counts[:] = 0
        return [turns / games, gammons / games, backgammons / games]


class BearoffSample(NamedTuple):
    """Random positions of a two-sided table with their exact equities."""

    boards: Boards  # [n, 26]
    equities: NDArray[np.float32]  # [n] cubeless

    def error_of(self, networks: Networks) -> float:
        """Mean absolute error, in points, of the race network without tables."""
        found = evaluations(networks, NO_TABLES, self.boards)
        return float(np.abs(cubeless_equities(found.chances) - self.equities).astype(np.float64).mean())


def bearoff_sample(table: TwoSidedTable, seed: int) -> BearoffSample:
    """SAMPLE positions in which both sides have checkers, drawn uniformly by the seed."""
    layouts = int(len(table) ** 0.5 + 0.5)
    pairs = np.empty((SAMPLE, 2), np.int64)
    fill_indexes(np.uint64(random_stream(seed, 0)), layouts, pairs)
    boards = np.zeros((SAMPLE, 26), np.int8)
    for board, (on_roll, opponent) in zip(boards, pairs.tolist(), strict=True):
        board[1 : table.points + 1] += np.array(layout_at(on_roll, table.points), np.int8)
        board[24 : 24 - table.points : -1] -= np.array(layout_at(opponent, table.points), np.int8)
    return BearoffSample(boards, table.probe_many(*pairs.T)[:, 0])


@kernel()
def fill_indexes(stream: np.uint64, layouts: int, pairs: NDArray[np.int64]) -> None:
    """Fills pairs[row, side] with random position indexes above 0."""
    for row in range(len(pairs)):
        for side in range(2):
            pairs[row, side] = 1 + high_below(random_bits(stream, 2 * row + side), layouts - 1)


def result_against_pubeval(networks: Networks, tables: BearoffArrays, count: int) -> SeriesResult:
    """The result of the first `count` test games; the dice are the same for all networks."""
    return result_of(play_games(NetworkPlayer(networks, tables), PubEval(), count, seed=TEST_SEED))


def curve_row(trainer: Trainer, games: int, tally: Tally, sample: BearoffSample, test_games: int) -> list[float]:
    """One row of the learning curve, in the order of COLUMNS, after `games` games of self-play."""
    networks = rounded_networks(trainer.networks)
    result = result_against_pubeval(networks, trainer.tables, test_games)
    return [
        games,
        trainer.recipe.rate_after(games),
        *tally.take(),
        result.points_per_game,
        result.standard_error,
        sample.error_of(networks),
    ]
