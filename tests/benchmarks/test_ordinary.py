"""Tests of errors in ordinary positions on known figures."""

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.evaluation.chances import Evaluations
from bgdata.game.codec import Boards
from tests.benchmarks import ordinary
from tests.benchmarks.ordinary import figures_of, ordinary_positions, shares_of, squares_of

CLASSES = np.array(["contact"] * 4 + ["race"] * 2)


class Sure:
    """An evaluator for which the player on roll always loses a single game."""

    def evaluate_many(self, boards: Boards) -> Evaluations:
        return Evaluations(np.zeros((len(boards), 5), np.float32), np.zeros(len(boards), np.int8))


def test_classes_are_weighted_by_share() -> None:
    squares = np.array([1.0, 3.0, 1.0, 3.0, 0.0, 0.0])
    found = figures_of(squares, CLASSES, {"contact": 0.75, "race": 0.25})
    assert found["contact"].rmse == pytest.approx(2**0.5)
    assert found["contact"].error == pytest.approx((4 / 3) ** 0.5 / 2 / (2 * 2**0.5))
    assert found["race"] == (0.0, 0.0)
    assert found["all"].rmse == pytest.approx(1.5**0.5)
    assert found["all"].error == pytest.approx(0.75 * (4 / 3) ** 0.5 / 2 / (2 * 1.5**0.5))


def test_shares_are_of_existing_classes() -> None:
    assert shares_of({"contact": 60, "race": 20, "crashed": 20}, CLASSES) == {"contact": 0.75, "race": 0.25}


def test_equities_have_the_sign_of_the_player_who_moved() -> None:
    """Rollouts have the same sign."""
    positions = ordinary_positions()
    assert len(positions.boards) == 800
    assert squares_of(Sure(), positions) == pytest.approx((1 - positions.equities) ** 2)  # type: ignore[arg-type]


def test_invalid_players_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["ordinary", "network:x", "--warehouse", "nowhere"])
    with pytest.raises(UsageError, match=r"^expected a player such as gnubg or gnubg:2, got 'network:x'$"):
        ordinary.main()
