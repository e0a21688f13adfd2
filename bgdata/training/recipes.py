"""Recipes of training runs. The result of a run depends on its recipe and on the labels, and on nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bgdata.errors import InvalidParameterError
from bgdata.evaluation.networks.input_sets import InputSet, input_set_named

MAX_UNITS = 2048  # limit of the units in a hidden layer
CHOICES = {
    "optimizer": ("adam", "sgd"),
    "schedule": ("smoothstep", "one-cycle", "cycles", "constant"),
    "loss": ("cross-entropy", "squared"),
    "trainer": ("kernels", "torch"),
    "device": ("cpu", "cuda"),
    "activation": ("logistic", "rectified"),
}
CYCLE = (1.0, 0.31622776601683794, 0.1, 0.031622776601683794)  # each rate is the one before divided by the root of 10
WARM_SHARE = 0.1  # share of a one-cycle run in which the rate rises
LAST_SHARE = 0.2  # share of a run in cycles at the lowest rate
RANGES = {
    "epochs": (1, (1 << 31) - 1),
    "epoch_rows": (0, (1 << 31) - 1),
    "batch_size": (1, 1 << 20),
    "feed_format": (1, 2),
    "validation_rows": (1, (1 << 31) - 1),
}
MAX_LEARNING_RATE = {"adam": 0.1, "sgd": 10.0}


@dataclass(frozen=True)
class TemporalDifferenceRecipe:
    """The settings of a run of temporal-difference learning. Layers are numbers of hidden units such as "120" or
    "120-60". The learning rate falls from `learning_rate` to `final_learning_rate`, as 1 / (1 + c x) of the share x of
    the games played."""

    games: int = 100_000
    seed: int = 1
    inputs: str = "contact"  # input set of the contact and crashed networks: a label of `input_sets.InputSet`
    race_inputs: str = "race"
    hidden: str = "120"  # layers of the contact network
    crashed_hidden: str = "120"
    race_hidden: str = "80"
    td_lambda: float = 0.5  # 0 learns from the next position (and errors oscillate), 1 from the outcome
    learning_rate: float = 0.1
    final_learning_rate: float = 0.1
    round_games: int = 200  # games played with the same weights
    tables: int = 1  # 1: the 6-point bearoff tables play the positions that they cover, and give the targets there

    def check(self) -> None:
        """Raise InvalidParameterError if a setting is invalid, and UnknownInputSetError if inputs are unknown."""
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
        _check_seed(self.seed)

    @property
    def rounds(self) -> int:
        """The number of rounds in the whole run. Because rounds are whole, the games played may exceed `games`."""
        return -(-self.games // self.round_games)

    def input_sets(self) -> tuple[InputSet, ...]:
        """Return the input sets of the networks, in the order of `answers.NETWORK_CLASSES`."""
        return input_set_named(self.race_inputs), input_set_named(self.inputs), input_set_named(self.inputs)

    def layers(self) -> tuple[tuple[int, ...], ...]:
        """Return the numbers of hidden units in each network, in the order of `input_sets`."""
        return tuple(map(parse_layers, (self.race_hidden, self.crashed_hidden, self.hidden)))

    def learning_rate_at(self, games: int) -> float:
        """Return the learning rate after `games` games."""
        share = games / self.games
        return self.learning_rate / (1.0 + (self.learning_rate / self.final_learning_rate - 1.0) * share)


@dataclass(frozen=True)
class SupervisedRecipe:
    """The settings of a run of supervised learning. Layers are numbers of hidden units such as "120" or "120-60", at
    least as many as in the networks to start from. An empty string means the layers of these networks."""

    epochs: int = 20
    epoch_rows: int = 0  # rows of an epoch; 0 for all rows
    batch_size: int = 256
    optimizer: str = "adam"
    learning_rate: float = 0.0003  # size of a step of Adam; for sgd a factor of the gradient of each position
    schedule: str = "smoothstep"
    loss: str = "cross-entropy"
    seed: int = 1
    hidden: str = ""  # layers of the contact network
    crashed_hidden: str = ""
    race_hidden: str = ""
    validation_rows: int = 100_000  # rows that choose the best epoch, in whole batches; training is tested on as many
    average_decay: float = 0.0  # weight of the old moving average of weights in each batch; 0 for no average
    trainer: str = "kernels"  # kernels, or torch (PyTorch), whose sums have another order
    device: str = "cpu"  # PyTorch's device
    platform: str = ""  # PyTorch's platform, see `torch_trainer.platform_name`; empty for any
    inputs: str = "contact"  # input set of new contact and crashed networks
    activation: str = "logistic"  # activation of the hidden units of new networks
    revive: bool = False  # whether to revive hidden units that are always 0: see `networks.revive`
    add_inputs: str = ""  # inputs added to the contact and crashed networks; empty for none
    feed_format: int = 1  # format of the order of batches, see `feed.ORDERS`; 1 in older recipes

    def check(self) -> None:
        """Raise InvalidParameterError if a setting is invalid."""
        self.layers()
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise InvalidParameterError(f"expected {name} among {', '.join(choices)}, got {getattr(self, name)}")
        for name, (low, high) in RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise InvalidParameterError(f"expected {name} from {low} to {high:,}, got {getattr(self, name)}")
        most = MAX_LEARNING_RATE[self.optimizer]
        if not 0 < self.learning_rate <= most:
            raise InvalidParameterError(
                f"expected a learning_rate above 0, up to {most} for {self.optimizer}, got {self.learning_rate}"
            )
        _check_seed(self.seed)
        if not 0 <= self.average_decay < 1:
            raise InvalidParameterError(
                f"expected an average_decay of 0, or more and below 1, got {self.average_decay}"
            )
        if self.trainer == "kernels" and self.device != "cpu":
            raise InvalidParameterError(
                f"expected the trainer torch for the device {self.device}, got kernels; try: --trainer torch"
            )
        if self.trainer == "kernels" and self.platform:
            raise InvalidParameterError(f"expected no platform for the trainer kernels, got {self.platform!r}")

    def layers(self) -> tuple[tuple[int, ...], ...]:
        """Return the numbers of hidden units in the race, crashed and contact networks; empty for a network whose
        hidden units do not change."""
        texts = self.race_hidden, self.crashed_hidden, self.hidden
        return tuple(parse_layers(text) if text else () for text in texts)

    def learning_rate_at(self, share: float, level: int = 0) -> float:
        """Return the learning rate after a share of the run (0 to 1). `level` is an index into CYCLE, for a schedule in
        cycles. The schedule smoothstep falls from 1 to 0 as 1 - x^2 (3 - 2x), which is within 0.01 of half a cosine
        wave, but equal on every machine."""
        if self.schedule == "cycles":
            return self.learning_rate * CYCLE[level if share < 1 - LAST_SHARE else -1]
        if self.schedule == "constant":
            return self.learning_rate
        if self.schedule == "one-cycle":
            if share < WARM_SHARE:
                return self.learning_rate * (0.04 + 0.96 * share / WARM_SHARE)
            share = (share - WARM_SHARE) / (1 - WARM_SHARE)
        share = min(share, 1.0)
        return self.learning_rate * (1 - share * share * (3 - 2 * share))


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 1 << 63:
        raise InvalidParameterError(f"expected a seed from 0 to 2^63 - 1, got {seed}")


def parse_layers(text: str) -> tuple[int, ...]:
    """Return the numbers of hidden units in a string such as "120" or "120-60". Raises InvalidParameterError if the
    string has another form."""
    parts = text.split("-")
    if not all(re.fullmatch("[0-9]{1,4}", part) and 1 <= int(part) <= MAX_UNITS for part in parts):
        raise InvalidParameterError(f"expected units such as 120 or 120-60, each from 1 to {MAX_UNITS}, got {text!r}")
    return tuple(map(int, parts))
