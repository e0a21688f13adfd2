"""Temporal-difference learning by self-play (Tesauro, 1992): the value of a position should equal that of the next one.

A round is a batch of whole games of the networks against themselves, all with the same weights, followed by learning
from every position of it in a random order. Targets are lambda-returns; where a bearoff table covers a position, the
target is from the table. The result depends on the recipe alone: it is the same on any number of threads, and after a
kill.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import CheckFailedError
from bgdata.evaluation.answers import network_of
from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.chances import Chances
from bgdata.game.board_kernels import class_of
from bgdata.game.codec import Boards
from bgdata.game.random import random_bits, random_stream
from bgdata.kernel import kernel
from bgdata.training.networks import FloatNetworks, new_networks, rounded_networks
from bgdata.training.temporal_difference.learning import learn
from bgdata.training.temporal_difference.recipe import TemporalDifferenceRecipe
from bgdata.training.temporal_difference.self_play import MOST_TURNS, Record, new_record, play_record, targets_of

NETWORKS = 3


class Trainer:
    """A run of a recipe: each call of `play_round` trains the networks for one round, in place."""

    def __init__(
        self, recipe: TemporalDifferenceRecipe, tables: BearoffArrays, networks: FloatNetworks | None = None
    ) -> None:
        """Start from the given networks, or from new ones."""
        recipe.check()
        self.recipe = recipe
        self.tables = tables
        self.networks = networks or new_networks(recipe.input_sets(), recipe.layers(), recipe.seed)
        self.record: Record = new_record(recipe.round_games)
        self._targets: Chances = np.zeros((recipe.round_games, MOST_TURNS, 5), np.float32)

    def play_round(self, number: int) -> None:
        """Play the games of a round with the present weights, and learn from them; `record` then holds the games.

        Raises CheckFailedError if weights are no longer finite.
        """
        recipe, record = self.recipe, self.record
        first = number * recipe.round_games
        play_record(rounded_networks(self.networks), self.tables, recipe.seed, first, record)
        targets_of(record, recipe.td_lambda, self._targets)
        boards = record.boards.reshape(-1, 26)
        order, ends = learning_order(boards, record.turns, recipe.seed, number)
        rate = np.float32(recipe.rate_after(first))
        learn(*self.networks, boards, self._targets.reshape(-1, 5), order, ends, rate, False)
        if not (np.isfinite(self.networks.weights).all() and np.isfinite(self.networks.biases).all()):
            raise CheckFailedError(
                f"expected finite weights after {first} games, found others; "
                f"try a learning rate below {recipe.learning_rate}"
            )


def learning_order(
    boards: Boards, turns: NDArray[np.int32], seed: int, number: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(rows int64[n], ends int64[4]): rows of boards[game * MOST_TURNS + turn, slot] in a random order that is decided
    by the seed and the number of the round; those of network w are rows[ends[w]:ends[w + 1]]."""
    rows = np.flatnonzero(np.arange(MOST_TURNS) < turns[:, None])
    keys = np.empty(len(rows), np.uint64)
    counts = np.zeros(NETWORKS, np.int64)
    fill_keys(boards, rows, np.uint64(random_stream(seed, -1 - number)), keys, counts)
    return rows[np.argsort(keys, kind="stable")], np.concatenate([[0], np.cumsum(counts)])


@kernel()
def fill_keys(
    boards: Boards, rows: NDArray[np.int64], stream: np.uint64, keys: NDArray[np.uint64], counts: NDArray[np.int64]
) -> None:
    """Fills keys[item] with random numbers that sort boards[rows[item], slot] by network first, and counts[network]."""
    for item in range(len(rows)):
        which = network_of(class_of(boards[rows[item]]))
        counts[which] += 1
        keys[item] = (np.uint64(which) << np.uint64(62)) | (random_bits(stream, item) >> np.uint64(2))
