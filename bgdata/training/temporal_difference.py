"""Temporal-difference learning by self-play (Tesauro, 1992), in which the value of a position should equal the value of
the next one.

In a round the networks play a batch of whole games against themselves, all with the same weights. Then they learn from
every position of the batch in random order. Targets are lambda-returns; where a bearoff table covers a position, the
target is from the table. The result depends on the recipe alone: it is the same on any number of threads, and after a
run that was killed and continued."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import layout_at
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.errors import CheckFailedError
from bgdata.evaluation.answers import evaluations, network_of
from bgdata.evaluation.bearoff_kernels import NO_TABLES, BearoffArrays
from bgdata.evaluation.chances import AnswerSource, Chances, cubeless_equities, fill_turned
from bgdata.evaluation.choices import Chooser, network_chooser
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.player import PubEval
from bgdata.game.board_kernels import class_of
from bgdata.game.codec import Boards
from bgdata.game.random import high_below, random_bits, random_stream
from bgdata.kernel import in_threads, kernel, prange
from bgdata.selfplay.games import (
    START,
    SeriesResult,
    Turns,
    new_game_scratch,
    nothing_recorded,
    play_game,
    play_games,
    result_of,
)
from bgdata.training.gradient import learn
from bgdata.training.networks import FloatNetworks, Integers, new_networks, rounded_networks
from bgdata.training.recipes import TemporalDifferenceRecipe

MAX_TURNS = 400  # untrained players may need thousands of turns; a game stopped here learns from its last value
SAMPLE = 2000  # number of bearoff positions in the test
TEST_SEED = 0  # seed of the games against PubEval
NETWORKS = 3
_EXACT, _COMBINED = int(AnswerSource.EXACT), int(AnswerSource.COMBINED)


class Record(NamedTuple):
    """The positions and outcomes of a batch of games. Row [g, t] is the position before turn t of game g, for the
    player on roll."""

    boards: Boards  # [games, MAX_TURNS, 26]
    chances: Chances  # [games, MAX_TURNS + 1, 5] by the player that chose the position; turn 0 is not filled
    sources: NDArray[np.int8]  # [games, MAX_TURNS + 1] source of these chances: a number of `evaluator.AnswerSource`
    turns: NDArray[np.int32]  # [games]
    outcomes: NDArray[np.int8]  # [games] points to the player who rolls first, 0 for a game stopped at MAX_TURNS


def new_record(games: int) -> Record:
    """Return an empty `Record` with room for `games` games."""
    return Record(
        np.zeros((games, MAX_TURNS, 26), np.int8),
        np.zeros((games, MAX_TURNS + 1, 5), np.float32),
        np.zeros((games, MAX_TURNS + 1), np.int8),
        np.zeros(games, np.int32),
        np.zeros(games, np.int8),
    )


def play_record(networks: Networks, tables: BearoffArrays, seed: int, first: int, record: Record) -> None:
    """Play games first, first + 1, ... of a seed, and fill `record` with them; they are the same on any number of
    threads. The first roll of a game is never a double."""
    in_threads(_fill_record, len(record.turns), network_chooser(networks, tables), seed, first, record)


@kernel()
def _fill_record(begin: int, end: int, chooser: Chooser, seed: int, first: int, record: Record) -> None:
    """Play games first + row of a seed for rows begin:end, and fill these rows of the record; player 0 begins."""
    scratch, nothing = new_game_scratch(chooser, chooser), nothing_recorded()
    for row in range(begin, end):
        turns = Turns(record.boards[row], nothing.dice, nothing.after_play, record.chances[row], record.sources[row])
        stream, most = random_stream(seed, first + row), record.boards.shape[1]
        record.outcomes[row], record.turns[row] = play_game(
            chooser, chooser, stream, first + row, 0, START.copy(), True, most, scratch, turns
        )


@kernel(parallel=True)
def fill_targets(record: Record, td_lambda: np.float32, targets: Chances) -> None:
    """Fill targets[game, turn, 0:5] with the lambda-return of the position before a turn, for the player on roll. If a
    table covers the position, the return is the chances from the table. Before the last turn it is the outcome of the
    game, or its last evaluation if the game was stopped. Otherwise it mixes the chances of the next position and its
    target, in shares 1 - td_lambda and td_lambda."""
    for game in prange(len(record.turns)):
        later, chances = np.empty(5, np.float32), record.chances[game]
        last = record.turns[game] - 1
        for turn in range(last, -1, -1):
            if turn > 0 and _EXACT <= record.sources[game, turn] <= _COMBINED:
                targets[game, turn] = chances[turn]
            else:
                for item in range(5):
                    value = chances[turn + 1, item]  # the outcome of a finished game
                    longer = targets[game, turn + 1, item] if turn < last else value
                    later[item] = value + td_lambda * (longer - value)
                fill_turned(later, targets[game, turn])


class BearoffSample(NamedTuple):
    """Random positions of a two-sided bearoff table with their exact equities."""

    boards: Boards  # [n, 26]
    equities: NDArray[np.float32]  # [n] cubeless

    def error_of(self, networks: Networks) -> float:
        """Return the mean absolute error of the race network on these positions, in points, without tables."""
        found = evaluations(networks, NO_TABLES, self.boards)
        return float(np.abs(cubeless_equities(found.chances) - self.equities).astype(np.float64).mean())


def bearoff_sample(table: TwoSidedTable, seed: int) -> BearoffSample:
    """Choose SAMPLE positions of a two-sided table uniformly at random by a seed. Both sides have checkers in each
    position."""
    layouts = int(len(table) ** 0.5 + 0.5)
    pairs = np.empty((SAMPLE, 2), np.int64)
    _fill_indexes(np.uint64(random_stream(seed, 0)), layouts, pairs)
    boards = np.zeros((SAMPLE, 26), np.int8)
    for board, (on_roll, opponent) in zip(boards, pairs.tolist(), strict=True):
        board[1 : table.points + 1] += np.array(layout_at(on_roll, table.points), np.int8)
        board[24 : 24 - table.points : -1] -= np.array(layout_at(opponent, table.points), np.int8)
    return BearoffSample(boards, table.probe_many(*pairs.T)[:, 0])


@kernel()
def _fill_indexes(stream: np.uint64, layouts: int, pairs: Integers) -> None:
    """Fill pairs[row, side] with random layout indexes from 1 to `layouts` - 1."""
    for row in range(len(pairs)):
        for side in range(2):
            pairs[row, side] = 1 + high_below(random_bits(stream, 2 * row + side), layouts - 1)


def result_against_pubeval(networks: Networks, tables: BearoffArrays, count: int) -> SeriesResult:
    """Return the result of the networks in the first `count` test games against PubEval. The dice are the same for all
    networks."""
    return result_of(play_games(NetworkPlayer(networks, tables), PubEval(), count, seed=TEST_SEED))


class Trainer:
    """A run of temporal-difference learning. Each call of `play_round` trains the networks for one round, in place."""

    def __init__(
        self, recipe: TemporalDifferenceRecipe, tables: BearoffArrays, networks: FloatNetworks | None = None
    ) -> None:
        """Begin a run with the given networks, or with new ones."""
        recipe.check()
        self.recipe = recipe
        self.tables = tables
        self.networks = networks or new_networks(recipe.input_sets(), recipe.layers(), recipe.seed)
        self.record: Record = new_record(recipe.round_games)
        self.tally = np.zeros(4, np.int64)  # games, gammons, backgammons, turns since the last row of the curve
        self._targets: Chances = np.zeros((recipe.round_games, MAX_TURNS, 5), np.float32)

    def play_round(self, number: int) -> None:
        """Play the games of round `number` with the present weights, and learn from them. `record` then contains the
        games. Raises CheckFailedError if weights are no longer finite."""
        recipe, record = self.recipe, self.record
        first = number * recipe.round_games
        play_record(rounded_networks(self.networks), self.tables, recipe.seed, first, record)
        fill_targets(record, np.float32(recipe.td_lambda), self._targets)
        boards = record.boards.reshape(-1, 26)
        order, ends = learning_order(boards, record.turns, recipe.seed, number)
        rate = np.float32(recipe.learning_rate_at(first))
        learn(self.networks, boards, self._targets.reshape(-1, 5), order, ends, rate, False)
        if not (np.isfinite(self.networks.weights).all() and np.isfinite(self.networks.biases).all()):
            raise CheckFailedError(
                f"expected finite weights after {first} games, found others; "
                f"try a learning rate below {recipe.learning_rate}"
            )
        points = np.abs(record.outcomes)
        self.tally += [len(points), (points == 2).sum(), (points == 3).sum(), record.turns.sum()]

    def curve_row(self, games: int, sample: BearoffSample, test_games: int) -> list[float]:
        """Return the row of the learning curve after `games` games of self-play, in the order of the columns of the
        kind `network`. Counting for the next row begins anew."""
        networks = rounded_networks(self.networks)
        result = result_against_pubeval(networks, self.tables, test_games)
        played, gammons, backgammons, turns = self.tally.tolist()
        self.tally[:] = 0
        means = turns / played, gammons / played, backgammons / played
        figures = result.points_per_game, result.standard_error, sample.error_of(networks)
        return [games, self.recipe.learning_rate_at(games), *means, *figures]


def learning_order(boards: Boards, turns: NDArray[np.int32], seed: int, number: int) -> tuple[Integers, Integers]:
    """Return the order in which networks learn the positions of a round, as rows int64[n] and ends int64[4]. The rows
    are those of boards[game * MAX_TURNS + turn, slot] in a random order by seed and round `number`. Network w learns
    rows[ends[w]:ends[w + 1]]."""
    rows = np.flatnonzero(np.arange(MAX_TURNS) < turns[:, None])
    keys = np.empty(len(rows), np.uint64)
    counts = np.zeros(NETWORKS, np.int64)
    _fill_keys(boards, rows, np.uint64(random_stream(seed, -1 - number)), keys, counts)
    return rows[np.argsort(keys, kind="stable")], np.concatenate([[0], np.cumsum(counts)])


@kernel()
def _fill_keys(boards: Boards, rows: Integers, stream: np.uint64, keys: NDArray[np.uint64], counts: Integers) -> None:
    """Fill keys[item] with random numbers whose order puts boards[rows[item], slot] of the same network together, and
    counts[network] with the number of boards for each network."""
    for item in range(len(rows)):
        which = network_of(class_of(boards[rows[item]]))
        counts[which] += 1
        keys[item] = (np.uint64(which) << np.uint64(62)) | (random_bits(stream, item) >> np.uint64(2))
