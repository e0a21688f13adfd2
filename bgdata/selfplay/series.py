"""The result of a series of games between two players: points per game, and its standard error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.selfplay.games import Games


class WinKinds(NamedTuple):
    """How one side won: shares of its wins, NaN if it never won."""

    single: float
    gammon: float
    backgammon: float


@dataclass(frozen=True)
class SeriesResult:
    """The result of a series, for the player named first."""

    games: int
    points_per_game: float
    standard_error: float  # of points_per_game, in points; nan for fewer than two pairs of games
    win_share: float  # games won, whatever they are worth, 0 to 1
    wins: WinKinds
    losses: WinKinds
    mean_turns: float  # rolls of both players

    def __str__(self) -> str:
        """`+0.595 +/- 0.006 points per game in 40,000 games, 62.1 % won`."""
        points = f"{self.points_per_game:+.3f} +/- {self.standard_error:.3f} points per game"
        return f"{points} in {self.games:,} games, {100 * self.win_share:.1f} % won"


def result_of(games: Games) -> SeriesResult:
    """The result of at least one game. Raises UsageError for none.

    The two games with one sequence of dice (numbers 2k and 2k + 1) are one observation, as the luck of the dice cancels
    between them; a game without its partner is an observation by itself.
    """
    count = len(games.outcomes)
    if count == 0:
        raise UsageError("expected at least one game, got none")
    won, lost = (np.bincount(np.maximum(side, 0), minlength=4)[1:] for side in (games.outcomes, -games.outcomes))
    return SeriesResult(
        count,
        float(games.outcomes.mean(dtype=np.float64)),
        pair_error(games.numbers, games.outcomes),
        int(won.sum()) / count,
        _kinds(won),
        _kinds(lost),
        float(games.turns.mean(dtype=np.float64)),
    )


def pair_error(numbers: NDArray[np.int64], points: NDArray[np.number]) -> float:
    """Standard error of the mean of [n] points of the games with these numbers, of which 2k and 2k + 1 depend on each
    other: the ratio estimator of cluster sampling. NaN for fewer than two pairs."""
    _, place = np.unique(numbers // 2, return_inverse=True)
    sums, sizes = np.bincount(place, points), np.bincount(place)
    if len(sums) < 2:
        return float("nan")
    spread = sums - sizes * points.mean(dtype=np.float64)
    squares = float(np.cumsum(spread * spread)[-1])  # in order: BLAS adds in another one on every processor
    return math.sqrt(squares * len(sums) / (len(sums) - 1)) / len(points)


def _kinds(counts: NDArray[np.int64]) -> WinKinds:
    """Shares of wins by kind, from int64[3] counts."""
    total = int(counts.sum())
    return WinKinds(*(int(count) / total if total else float("nan") for count in counts))
