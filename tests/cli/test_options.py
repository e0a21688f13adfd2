"""What several commands read from their arguments."""

from __future__ import annotations

import pytest

from bgdata.errors import InvalidScoreError, UsageError
from bgdata.evaluation.rows import parse_away
from bgdata.game.match import MatchScore
from tests.together import each


@pytest.mark.parametrize(("text", "numbers"), [("3-5", (3, 5)), ("1-1", (1, 1)), ("07-120", (7, 120))])
def test_points_away(text: str, numbers: tuple[int, int]) -> None:
    assert parse_away(text, is_crawford=False) == MatchScore(*numbers)


def test_the_crawford_game() -> None:
    assert parse_away("1-5", is_crawford=True) == MatchScore(1, 5, is_crawford=True)
    with pytest.raises(InvalidScoreError, match="expected one side at 1-away in the crawford game, got 3-away 5-away"):
        parse_away("3-5", is_crawford=True)


@each("text", ["", "3", "3:5", "3-", "-3-5", "3-5-7", "3-5\n", " 3-5", "a-b", "٣-٥", "1000-5"])
def test_invalid_scores_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_away(text, is_crawford=False)
    assert (
        str(caught.value) == f"expected points that the player on roll and the opponent need, such as 3-5, got {text!r}"
    )


def test_a_score_of_no_points_is_refused() -> None:
    with pytest.raises(InvalidScoreError, match="expected at least 1 point to go for each side, got 0-away 5-away"):
        parse_away("0-5", is_crawford=False)
