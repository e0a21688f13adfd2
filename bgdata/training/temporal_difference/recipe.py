"""The recipe of a training run: all that its result depends on."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bgdata.errors import InvalidParameterError
from bgdata.evaluation.networks.input_sets import InputSet, input_set_named

MOST_UNITS = 2048  # of a hidden layer


@dataclass(frozen=True)
class TemporalDifferenceRecipe:
    """The recipe of a training run.

    Layers are numbers of hidden units such as "120" or "120-60". The learning rate falls from `learning_rate` to
    `final_learning_rate`, as 1 / (1 + c x) of the share x of the games that were played.
    """

    games: int = 100_000
    seed: int = 1
    inputs: str = "contact"  # of the contact and crashed networks: a label of `input_sets.InputSet`
    race_inputs: str = "race"
    hidden: str = "120"  # layers of the contact network
    crashed_hidden: str = "120"
    race_hidden: str = "80"
    td_lambda: float = 0.5  # 0 learns from the next position (and its errors swing), 1 from the outcome
    learning_rate: float = 0.1
    final_learning_rate: float = 0.1
    round_games: int = 200  # that are played with the same weights
    tables: int = 1  # 1: positions of the 6-point bearoff tables are played by the tables, and are their targets

    def check(self) -> None:
        """Raise InvalidParameterError for a recipe that cannot be followed, UnknownInputSetError for unknown inputs."""
        self.input_sets()
        self.layers()
        for name in ("games", "round_games"):
            if getattr(self, name) < 1:
                raise InvalidParameterError(f"expected {name} of at least 1, got {getattr(self, name)}")
        if not 0 <= self.td_lambda <= 1:
            raise InvalidParameterError(f"expected a td_lambda from 0 to 1, got {self.td_lambda}")
        if not 0 < self.final_learning_rate <= self.learning_rate <= 1:
            raise InvalidParameterError(
                "expected 0 < final_learning_rate <= learning_rate <= 1, "
                f"got {self.final_learning_rate} and {self.learning_rate}"
            )
        if not 0 <= self.seed < 1 << 63:
            raise InvalidParameterError(f"expected a seed from 0 to 2^63 - 1, got {self.seed}")

    @property
    def rounds(self) -> int:
        """The number of rounds of the whole run; the last one may go beyond `games`."""
        return -(-self.games // self.round_games)

    def input_sets(self) -> tuple[InputSet, ...]:
        """The input sets of the networks, in the order of `answers.NETWORK_CLASSES`."""
        return input_set_named(self.race_inputs), input_set_named(self.inputs), input_set_named(self.inputs)

    def layers(self) -> tuple[tuple[int, ...], ...]:
        """The hidden units of the networks, in the same order."""
        return tuple(parse_layers(text) for text in (self.race_hidden, self.crashed_hidden, self.hidden))

    def rate_after(self, games: int) -> float:
        """The learning rate after this many games."""
        share = games / self.games
        return self.learning_rate / (1.0 + (self.learning_rate / self.final_learning_rate - 1.0) * share)


def parse_layers(text: str) -> tuple[int, ...]:
    """The hidden units of a text such as "120" or "120-60". Raises InvalidParameterError."""
    parts = text.split("-")
    if not all(re.fullmatch("[0-9]{1,4}", part) and 1 <= int(part) <= MOST_UNITS for part in parts):
        raise InvalidParameterError(f"expected units such as 120 or 120-60, each from 1 to {MOST_UNITS}, got {text!r}")
    return tuple(map(int, parts))
