"""Cube, score and what a game is worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bgdata.errors import InvalidScoreError
from bgdata.game.match import MOST_CUBE, Cube, CubeOwner, MatchScore, Money, Stakes


def test_owners_are_the_words_of_columns() -> None:
    assert list(map(str, CubeOwner)) == ["centered", "on_roll", "opponent"]
    assert [owner.flip() for owner in CubeOwner] == [CubeOwner.CENTERED, CubeOwner.OPPONENT, CubeOwner.ON_ROLL]


def test_doubling() -> None:
    cube = Cube().doubled()
    assert cube == Cube(2, CubeOwner.OPPONENT)
    assert cube.flip().doubled() == Cube(4, CubeOwner.OPPONENT)
    with pytest.raises(InvalidScoreError, match="got the opponent's"):
        cube.doubled()


@pytest.mark.parametrize("value", [0, -2, 3, 6])
def test_wrong_cube_value(value: int) -> None:
    with pytest.raises(InvalidScoreError, match=f"expected a power of two as cube value, got {value}"):
        Cube(value)


def test_a_cube_that_no_game_can_have() -> None:
    assert Cube(MOST_CUBE, CubeOwner.ON_ROLL).value == 1 << 30
    with pytest.raises(InvalidScoreError, match="expected a cube of at most 1,073,741,824, got 2,147,483,648"):
        Cube(2 * MOST_CUBE, CubeOwner.ON_ROLL)


def test_wrong_cube_owner() -> None:
    with pytest.raises(InvalidScoreError, match="expected a cube of 1 to be centered, got owner 'on_roll'"):
        Cube(1, CubeOwner.ON_ROLL)
    with pytest.raises(InvalidScoreError, match="centered, on_roll, opponent}, got 'white'"):
        Cube(2, "white")  # type: ignore[arg-type]


def test_score() -> None:
    score = MatchScore(1, 3, is_crawford=True)
    assert score.flip() == MatchScore(3, 1, is_crawford=True)
    assert str(score) == "1-away 3-away crawford"
    assert not score.is_post_crawford
    assert MatchScore(1, 3).is_post_crawford
    assert not MatchScore(2, 3).is_post_crawford


@pytest.mark.parametrize(
    ("before", "points", "after"),
    [
        (MatchScore(5, 5), 2, MatchScore(3, 5)),
        (MatchScore(5, 5), -4, MatchScore(5, 1, is_crawford=True)),
        (MatchScore(1, 3, is_crawford=True), -1, MatchScore(1, 2)),
        (MatchScore(1, 3), -1, MatchScore(1, 2)),
        (MatchScore(1, 2), -1, MatchScore(1, 1)),
        (MatchScore(2, 1, is_crawford=True), 1, MatchScore(1, 1)),
        (MatchScore(2, 3), 2, None),
        (MatchScore(2, 3), -4, None),
    ],
)
def test_score_after_a_game(before: MatchScore, points: int, after: MatchScore | None) -> None:
    assert before.after_game(points) == after


@pytest.mark.parametrize(("away", "opponent_away"), [(0, 3), (3, -1)])
def test_wrong_score(away: int, opponent_away: int) -> None:
    with pytest.raises(InvalidScoreError, match="expected at least 1 point to go for each side, got"):
        MatchScore(away, opponent_away)


@pytest.mark.parametrize(("away", "opponent_away"), [(2, 3), (1, 1)])
def test_wrong_crawford(away: int, opponent_away: int) -> None:
    with pytest.raises(InvalidScoreError, match="expected one side at 1-away in the crawford game, got"):
        MatchScore(away, opponent_away, is_crawford=True)


@pytest.mark.parametrize(("away", "opponent_away"), [(2.5, 3), ("2", 3), (2, None)])
def test_points_that_are_no_whole_numbers(away: Any, opponent_away: Any) -> None:
    with pytest.raises(InvalidScoreError, match=f"^expected whole points to go, got {away!r} and {opponent_away!r}$"):
        MatchScore(away, opponent_away)


@pytest.mark.parametrize("value", [2.0, "2", None])
def test_cubes_that_are_no_whole_numbers(value: Any) -> None:
    with pytest.raises(InvalidScoreError, match=f"^expected a whole number as cube value, got {value!r}$"):
        Cube(value)


def test_who_may_double() -> None:
    assert Stakes(Money(is_jacoby=True)).may_double
    assert not Stakes(MatchScore(1, 3, is_crawford=True)).may_double
    taken = Stakes(MatchScore(5, 3)).after_take()
    assert taken == Stakes(MatchScore(5, 3), Cube(2, CubeOwner.OPPONENT))
    assert not taken.may_double
    assert taken.flip() == Stakes(MatchScore(3, 5), Cube(2, CubeOwner.ON_ROLL))
    assert taken.flip().may_double
    with pytest.raises(InvalidScoreError, match="expected a player on roll who may double, got 5-away 3-away with"):
        taken.after_take()


@pytest.mark.parametrize(
    ("stakes", "outcome", "points"),
    [
        (Stakes(Money(is_jacoby=True)), 3, 1),
        (Stakes(Money(is_jacoby=True)), -2, -1),
        (Stakes(Money(is_jacoby=True), Cube(2, CubeOwner.ON_ROLL)), -2, -4),
        (Stakes(Money(is_jacoby=False)), 2, 2),
        (Stakes(MatchScore(5, 5), Cube(4, CubeOwner.OPPONENT)), 3, 12),
        (Stakes(MatchScore(5, 5)), 0, 0),
    ],
)
def test_points_of_a_game(stakes: Stakes, outcome: int, points: int) -> None:
    assert stakes.points(outcome) == points
    assert stakes.flip().points(-outcome) == -points


def test_wrong_stakes() -> None:
    assert Stakes(Money(is_jacoby=True), Cube(2)).cube.value == 2  # after an automatic double
    with pytest.raises(InvalidScoreError, match="expected a centered cube of 1 in a match, got 2"):
        Stakes(MatchScore(5, 5), Cube(2))
    with pytest.raises(InvalidScoreError, match="expected a centered cube of 1 in the crawford game"):
        Stakes(MatchScore(1, 5, is_crawford=True), Cube(2, CubeOwner.ON_ROLL))


def test_numbers_of_numpy_do_not_wrap_around() -> None:
    score = MatchScore(np.uint8(3), np.uint8(5))  # type: ignore[arg-type]
    assert score.after_game(np.uint8(4)) is None  # type: ignore[arg-type]
    assert score.after_game(np.int8(-4)) == MatchScore(3, 1, is_crawford=True)  # type: ignore[arg-type]
    stakes = Stakes(Money(is_jacoby=False), Cube(np.int8(64), CubeOwner.ON_ROLL))  # type: ignore[arg-type]
    assert stakes.points(3) == 192
    assert Stakes(Money(is_jacoby=True)).points(np.uint8(3)) == 1  # type: ignore[arg-type]
    assert {type(number) for number in (score.away, score.opponent_away, stakes.cube.value)} == {int}
