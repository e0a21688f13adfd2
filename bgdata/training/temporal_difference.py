"""Temporal-difference learning by self-play (Tesauro, 1992): a position should be worth what the next one turns out to be.

A round is a batch of whole games of the networks against themselves, all with the same weights, followed by learning
from every position of it in a random order. Targets are lambda-returns; where a bearoff table knows the answer, the
answer is the target. Everything follows from the recipe: the same networks on any number of threads, and after a kill.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.evaluation.answers import network_of
from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.chances import Chances
from bgdata.evaluation.encoders import Encoder, encoder_named
from bgdata.game.board_kernels import class_of
from bgdata.game.codec import Boards
from bgdata.game.random import random_bits, random_stream
from bgdata.kernel import kernel
from bgdata.training.learning import FloatNetworks, learn, new_networks, rounded_networks
from bgdata.training.self_play import MOST_TURNS, Record, new_record, play_record, targets_of

NETWORKS = 3


@dataclass(frozen=True)
class Recipe:
    """What a training run does; all that its result depends on.

    Layers are numbers of hidden units such as "120" or "120-60". The learning rate falls from `rate` to `last_rate`, as
    1 / (1 + c x) of the share x of the games that were played.
    """

    games: int = 100_000
    seed: int = 1
    inputs: str = "contact"  # of the contact and crashed networks: a label of `encoders.Encoder`
    race_inputs: str = "race"
    hidden: str = "120"  # layers of the contact network
    crashed_hidden: str = "120"
    race_hidden: str = "80"
    trace: float = 0.0  # lambda: 0 learns from the next position, 1 from the outcome
    rate: float = 0.1
    last_rate: float = 0.1
    batch: int = 200  # games a round
    tables: int = 1  # 1: positions of the 6-point bearoff tables are played and taught by them

    def check(self) -> None:
        """Raise InvalidParameterError for a recipe that cannot be followed, UnknownEncoderError for unknown inputs."""
        self.encoders()
        self.layers()
        for name in ("games", "batch"):
            if getattr(self, name) < 1:
                raise InvalidParameterError(f"expected {name} of at least 1, got {getattr(self, name)}")
        if not 0 <= self.trace <= 1:
            raise InvalidParameterError(f"expected a trace from 0 to 1, got {self.trace}")
        if not 0 < self.last_rate <= self.rate <= 1:
            raise InvalidParameterError(
                f"expected 0 < last rate <= rate <= 1, got {self.last_rate} and {self.rate}"
            )
        if self.seed < 0:
            raise InvalidParameterError(f"expected a seed of at least 0, got {self.seed}")

    def encoders(self) -> tuple[Encoder, ...]:
        """Inputs of the networks, in the order of `answers.NETWORK_CLASSES`."""
        return encoder_named(self.race_inputs), encoder_named(self.inputs), encoder_named(self.inputs)

    def layers(self) -> tuple[tuple[int, ...], ...]:
        """Hidden units of the networks, in the same order."""
        return tuple(parse_layers(text) for text in (self.race_hidden, self.crashed_hidden, self.hidden))

    def rate_after(self, games: int) -> float:
        """Learning rate once so many games were played."""
        share = games / self.games
        return self.rate / (1.0 + (self.rate / self.last_rate - 1.0) * share)


def parse_layers(text: str) -> tuple[int, ...]:
    """Hidden units of "120" or "120-60". Raises InvalidParameterError."""
    parts = text.split("-")
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= 2048 for part in parts):
        raise InvalidParameterError(f"expected hidden units such as 120 or 120-60, each 1 to 2048, got {text!r}")
    return tuple(map(int, parts))


class Trainer:
    """A run of a recipe: networks that `play_round` after round makes better, in place."""

    def __init__(self, recipe: Recipe, tables: BearoffArrays) -> None:
        recipe.check()
        self.recipe = recipe
        self.tables = tables
        self.networks: FloatNetworks = new_networks(recipe.encoders(), recipe.layers(), recipe.seed)
        self.record: Record = new_record(recipe.batch)
        self._targets: Chances = np.zeros((recipe.batch, MOST_TURNS, 5), np.float32)

    @property
    def rounds(self) -> int:
        """Rounds of the whole run; the last one may play some games more than the recipe says."""
        return -(-self.recipe.games // self.recipe.batch)

    def play_round(self, number: int) -> None:
        """Play the games of a round with the present weights, and learn from them; `record` then holds them.

        Raises CheckFailedError when weights have become infinite or no numbers.
        """
        recipe, record = self.recipe, self.record
        first = number * recipe.batch
        play_record(rounded_networks(self.networks), self.tables, recipe.seed, first, record)
        targets_of(record, recipe.trace, self._targets)
        boards = record.boards.reshape(-1, 26)
        order, ends = learning_order(boards, record.turns, recipe.seed, number)
        rate = np.float32(recipe.rate_after(first))
        learn(*self.networks, boards, self._targets.reshape(-1, 5), order, ends, rate, False)
        if not np.isfinite(self.networks.biases).all():
            raise CheckFailedError(
                f"expected finite weights after {first} games, found others; try a learning rate below {recipe.rate}"
            )


def learning_order(
    boards: Boards, turns: NDArray[np.int32], seed: int, number: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(rows int64[n], ends int64[4]): rows of boards[game * MOST_TURNS + turn, slot] in a random order that is decided
    by the seed and the number of the round; those of network w are rows[ends[w]:ends[w + 1]]."""
    rows = np.flatnonzero(np.arange(MOST_TURNS) < turns[:, None])
    keys = np.empty(len(rows), np.uint64)
    counts = np.zeros(NETWORKS, np.int64)
    fill_keys(boards, rows, random_stream(seed, -1 - number), keys, counts)
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
