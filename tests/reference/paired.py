"""Slow reference implementation of `benchmark_differences`: two players on the same decisions, from the blocks of the
rollouts."""

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Plays:
    """The rolled-out plays of a decision, best first, with equities float64[plays, blocks]."""

    blocks: NDArray[np.float64]

    @property
    def losses(self) -> NDArray[np.float64]:
        """float64[plays]: points behind the best play."""
        means = self.blocks.mean(axis=1)
        return np.asarray(means[0] - means)

    def standard_error(self, play: int) -> float:
        """Standard error of the equity of a play."""
        return error_of_mean(self.blocks[play])

    def difference_error(self, play: int, other: int) -> float:
        """Standard error of the difference of two plays, which share the dice of each block."""
        return error_of_mean(self.blocks[play] - self.blocks[other])


class Difference(NamedTuple):
    """A row of `benchmark_differences`. Errors and difference are in thousandths of a point."""

    decisions: int
    same_choices: int
    difference: float
    standard_error: float
    rollout_standard_error: float


def error_of_mean(values: NDArray[np.float64]) -> float:
    """Standard error of the mean of some values."""
    return float(np.std(values, ddof=1)) / sqrt(len(values))


def paired(decisions: list[Plays], own: list[int | None], other: list[int | None]) -> Difference:
    """The difference of two players, each given by the index of its choice for every decision (None: an unlisted play).
    The error of the rollouts is a true error, not a bound, so it requires blocks."""
    differences, squares, same = [], [], 0
    for plays, mine, theirs in zip(decisions, own, other, strict=True):
        last = len(plays.blocks) - 1
        first, second = (last if place is None else place for place in (mine, theirs))
        differences.append(plays.losses[first] - plays.losses[second])
        squares.append(plays.difference_error(first, second) ** 2)
        same += mine == theirs
    found = np.array(differences)
    noise = 1000 * sqrt(sum(squares)) / len(found)
    return Difference(len(found), same, 1000 * found.mean(), 1000 * error_of_mean(found), noise)
