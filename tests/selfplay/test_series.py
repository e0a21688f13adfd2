"""Results of series, against figures by hand and by independent formulas."""

from __future__ import annotations

import math
import random
import statistics

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.evaluation.player import PubEval, RandomPlayer
from bgdata.selfplay.games import Games, play_games
from bgdata.selfplay.series import pair_error, result_of


def games_with(outcomes: list[int], first: int = 0) -> Games:
    numbers = np.arange(first, first + len(outcomes))
    turns = np.arange(40, 40 + len(outcomes), dtype=np.int32)
    return Games(numbers, np.array(outcomes, np.int8), turns, numbers % 2 == 0)


def test_by_hand() -> None:
    result = result_of(games_with([3, -1, 1, 1, -2, 1, 1, -3]))
    assert result.games == 8
    assert result.points_per_game == 1 / 8
    assert result.win_share == 5 / 8
    assert result.wins == (4 / 5, 0, 1 / 5)
    assert result.losses == (1 / 3, 1 / 3, 1 / 3)
    assert result.mean_turns == 43.5
    # the pairs' points per game are 1, 1, -1/2, -1
    assert result.standard_error == pytest.approx(statistics.stdev([1, 1, -0.5, -1]) / 2)
    assert str(result) == "+0.125 +/- 0.515 points per game in 8 games, 62.5 % won"


def test_the_last_bit_of_the_error_is_that_of_adding_in_order() -> None:
    """It is part of the digest of a learning curve, and must not depend on the processor."""
    chance = random.Random(4)
    for games in (6, 100, 1000, 1002, 2000):
        points = np.array([chance.choice([-3, -2, -1, 1, 2, 3]) for _ in range(games)])
        squares = 0.0
        for value in (points.reshape(-1, 2).sum(axis=1) - 2 * points.mean(dtype=np.float64)).tolist():
            squares += value * value
        pairs = games // 2
        assert pair_error(np.arange(games), points) == math.sqrt(squares * pairs / (pairs - 1)) / games


def test_pairs_are_one_observation() -> None:
    """Where dice decide, pairs cancel: no error is left; in other pairs the same games say less than they seem to."""
    outcomes = [2, -2, 1, -1, 3, -3, 1, -1]
    assert result_of(games_with(outcomes)).standard_error == 0
    doubled = [2, 2, -1, -1, 3, 3, -1, -1]
    assert result_of(games_with(doubled)).standard_error == pytest.approx(statistics.stdev([2, -1, 3, -1]) / 2)


def test_games_without_their_partner() -> None:
    """A series that begins and ends inside a pair: clusters of 1, 2, 2 and 1 games."""
    result = result_of(games_with([1, 2, 1, -1, 1, 3], first=1))
    mean = 7 / 6
    spread = [1 - mean, 3 - 2 * mean, 0 - 2 * mean, 3 - mean]
    assert result.points_per_game == pytest.approx(mean)
    assert result.standard_error == pytest.approx(math.sqrt(sum(x * x for x in spread) * 4 / 3) / 6)


def test_one_sided_and_short_series() -> None:
    result = result_of(games_with([1, 2]))
    assert result.wins == (0.5, 0.5, 0)
    assert all(math.isnan(share) for share in result.losses)
    assert math.isnan(result.standard_error)
    with pytest.raises(UsageError, match="expected at least one game, got none"):
        result_of(games_with([]))


def test_standard_errors_hold() -> None:
    """The spread of many short series is what their own standard errors say, within a tenth."""
    played = play_games(RandomPlayer(1), PubEval(), 20_000, seed=21)
    parts = [result_of(Games(*(array[row : row + 40] for array in played))) for row in range(0, 20_000, 40)]  # type: ignore[arg-type]
    spread = statistics.stdev(part.points_per_game for part in parts)
    claimed = math.sqrt(statistics.mean(part.standard_error**2 for part in parts))
    assert spread == pytest.approx(claimed, rel=0.1)
