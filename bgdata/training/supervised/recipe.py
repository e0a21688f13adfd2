"""The recipe of a run of supervised learning: all that its result depends on besides the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidParameterError
from bgdata.training.temporal_difference.recipe import parse_layers

CHOICES = {
    "optimizer": ("adam", "sgd"),
    "schedule": ("smoothstep", "one-cycle", "cycles", "constant"),
    "loss": ("cross-entropy", "squared"),
    "trainer": ("kernels", "torch"),
    "device": ("cpu", "cuda"),
    "activation": ("logistic", "rectified"),
}
CYCLE = (1.0, 0.31622776601683794, 0.1, 0.031622776601683794)  # the rate falls by the root of 10
RISES = 3  # epochs in a row with a larger error that make it fall
WARM_SHARE = 0.1  # of a one-cycle run, in which the rate rises
LAST_SHARE = 0.2  # of a run in cycles, at the lowest rate
RANGES = {
    "epochs": (1, (1 << 31) - 1),
    "epoch_rows": (0, (1 << 31) - 1),
    "batch_size": (1, 1 << 20),
    "validation_rows": (1, (1 << 31) - 1),
}
MOST_LEARNING_RATE = {"adam": 0.1, "sgd": 10.0}


@dataclass(frozen=True)
class SupervisedRecipe:
    """The recipe of a run. Layers are numbers of hidden units such as "120" or "120-60", at least as many as those of
    the networks that it starts from; empty for the same ones."""

    epochs: int = 20
    epoch_rows: int = 0  # of an epoch; 0 for all that there are
    batch_size: int = 256
    optimizer: str = "adam"
    learning_rate: float = 0.0003  # of steps of Adam; times the gradient of every single position for sgd
    schedule: str = "smoothstep"
    loss: str = "cross-entropy"
    seed: int = 1
    hidden: str = ""  # layers of the contact network
    crashed_hidden: str = ""
    race_hidden: str = ""
    validation_rows: int = 100_000  # in whole batches: to choose the best epoch by; as many that were learned
    average_decay: float = 0.0  # share of the moving average of weights that each batch keeps; 0 for no average
    trainer: str = "kernels"  # or PyTorch, whose sums have another order
    device: str = "cpu"  # of PyTorch
    platform: str = ""  # of PyTorch, see `torch_trainer.platform_name`; empty for any
    inputs: str = "contact"  # of the contact and crashed networks, if they are new
    activation: str = "logistic"  # of the hidden units of new networks
    revive: bool = False  # hidden units that are always 0: see `networks.revive`
    add_inputs: str = ""  # what the contact and crashed networks to start from get; empty for none

    def check(self) -> None:
        """Raise InvalidParameterError for a recipe that cannot be followed."""
        self.layers()
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise InvalidParameterError(f"expected {name} among {', '.join(choices)}, got {getattr(self, name)}")
        for name, (low, high) in RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise InvalidParameterError(f"expected {name} from {low} to {high:,}, got {getattr(self, name)}")
        most = MOST_LEARNING_RATE[self.optimizer]
        if not 0 < self.learning_rate <= most:
            raise InvalidParameterError(
                f"expected a learning_rate above 0, up to {most} for {self.optimizer}, got {self.learning_rate}"
            )
        if not 0 <= self.seed < 1 << 63:
            raise InvalidParameterError(f"expected a seed from 0 to 2^63 - 1, got {self.seed}")
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
        """Hidden units of the race, crashed and contact networks; empty for those of the networks to start from."""
        return tuple(
            parse_layers(text) if text else () for text in (self.race_hidden, self.crashed_hidden, self.hidden)
        )

    def rate_after(self, share: float, level: int = 0) -> float:
        """The learning rate after this share of the run (0 to 1); `level` is that of `Cycles`.

        smoothstep falls from 1 to 0 as 1 - x^2 (3 - 2x): within 0.01 of half a cosine wave, but the same number on
        every machine.
        """
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


class Cycles:
    """The learning rate of each network in cycles: after three epochs in a row with a larger error, it is divided by
    the root of 10. Below a thirtieth of the first rate it starts again, to leave a poor local minimum.

    Source: the training of gnubg by Joseph Heled, and its retelling of 2012 with learning rates about ten times
    smaller.
    """

    def __init__(self, networks: int) -> None:
        self.state: NDArray[np.float64] = np.zeros((networks, 3))  # level, rises in a row, last error
        self.state[:, 2] = np.inf

    def level(self, which: int) -> int:
        """The place in CYCLE of the learning rate of a network, from 0."""
        return int(self.state[which, 0])

    def note(self, which: int, error: float) -> None:
        """Record the validation error of a network after an epoch; after RISES rises in a row, move on in CYCLE."""
        level, rises, last = self.state[which].tolist()
        rises = rises + 1 if error > last else 0
        if rises == RISES:
            level, rises = (level + 1) % len(CYCLE), 0
        self.state[which] = level, rises, error
