"""Cube, score and the points of a game."""

from typing import Any

import numpy as np
import pytest

from bgdata.errors import InvalidScoreError
from bgdata.game.match import MAX_CUBE, Cube, CubeOwner, MatchScore, Money, Stakes
from tests.subtests import each


def test_cube_owners_flip() -> None:
    assert list(map(str, CubeOwner)) == ["centered", "on_roll", "opponent"]
    assert [owner.flip() for owner in CubeOwner] == [CubeOwner.CENTERED, CubeOwner.OPPONENT, CubeOwner.ON_ROLL]


def test_after_double_opponent_owns_the_cube() -> None:
    cube = Cube().after_double()
    assert cube == Cube(2, CubeOwner.OPPONENT)
    assert cube.flip().after_double() == Cube(4, CubeOwner.OPPONENT)
    assert Cube(MAX_CUBE, CubeOwner.ON_ROLL).value == 1 << 30
    assert Stakes(Money(is_jacoby=True), Cube(2)).cube.value == 2  # after an automatic double


def test_crawford_score_flips() -> None:
    score = MatchScore(1, 3, is_crawford=True)
    assert score.flip() == MatchScore(3, 1, is_crawford=True)
    assert str(score) == "1-away 3-away crawford"
    assert not score.is_post_crawford
    assert MatchScore(1, 3).is_post_crawford
    assert not MatchScore(2, 3).is_post_crawford


@each(
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
def test_score_after_a_game_counts_its_points(before: MatchScore, points: int, after: MatchScore | None) -> None:
    assert before.after_game(points) == after


def test_may_double_depends_on_cube_and_crawford() -> None:
    assert Stakes(Money(is_jacoby=True)).may_double
    assert not Stakes(MatchScore(1, 3, is_crawford=True)).may_double
    taken = Stakes(MatchScore(5, 3)).after_take()
    assert taken == Stakes(MatchScore(5, 3), Cube(2, CubeOwner.OPPONENT))
    assert not taken.may_double
    assert taken.flip() == Stakes(MatchScore(3, 5), Cube(2, CubeOwner.ON_ROLL))
    assert taken.flip().may_double


@each(
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
def test_points_of_a_game_follow_from_its_outcome(stakes: Stakes, outcome: int, points: int) -> None:
    assert stakes.points(outcome) == points
    assert stakes.flip().points(-outcome) == -points


@each(
    ("arguments", "message"),
    [
        *(((value,), f"^expected a power of two .*, got {value}$") for value in (0, -2, 3, 6)),
        ((2 * MAX_CUBE, CubeOwner.ON_ROLL), "a cube of at most 1,073,741,824, got 2,147,483,648"),
        ((1, CubeOwner.ON_ROLL), "a cube of 1 to be centered, got owner 'on_roll'"),
        ((2, "white"), "centered, on_roll, opponent}, got 'white'"),
        ((2.0,), r"^expected a whole number as cube value, got 2\.0$"),
        (("2",), "^expected a whole number as cube value, got '2'$"),
        ((None,), "^expected a whole number as cube value, got None$"),
    ],
)
def test_invalid_cubes_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidScoreError, match=message):
        Cube(*arguments)


@each(
    ("away", "opponent_away", "is_crawford", "message"),
    [
        (0, 3, False, "expected at least 1 point to go for each side, got"),
        (3, -1, False, "expected at least 1 point to go for each side, got"),
        (2, 3, True, "one side at 1-away in the crawford game, got"),
        (1, 1, True, "one side at 1-away in the crawford game, got"),
        (2.5, 3, False, r"^expected whole points to go, got 2\.5 and 3$"),
        ("2", 3, False, "^expected whole points to go, got '2' and 3$"),
        (2, None, False, "^expected whole points to go, got 2 and None$"),
    ],
)
def test_invalid_scores_are_refused(away: Any, opponent_away: Any, is_crawford: bool, message: str) -> None:
    with pytest.raises(InvalidScoreError, match=message):
        MatchScore(away, opponent_away, is_crawford=is_crawford)


def test_invalid_stakes_are_refused() -> None:
    with pytest.raises(InvalidScoreError, match="a centered cube of 1 in a match, got 2"):
        Stakes(MatchScore(5, 5), Cube(2))
    with pytest.raises(InvalidScoreError, match="a centered cube of 1 in the crawford game"):
        Stakes(MatchScore(1, 5, is_crawford=True), Cube(2, CubeOwner.ON_ROLL))


def test_only_owner_of_the_cube_may_double() -> None:
    cube = Cube(2, CubeOwner.OPPONENT)
    with pytest.raises(InvalidScoreError, match="got the opponent's"):
        cube.after_double()
    with pytest.raises(InvalidScoreError, match="a player on roll who may double, got 5-away 3-away with"):
        Stakes(MatchScore(5, 3), cube).after_take()


def test_numpy_integers_do_not_wrap_around() -> None:
    score = MatchScore(np.uint8(3), np.uint8(5))  # type: ignore[arg-type]
    assert score.after_game(np.uint8(4)) is None  # type: ignore[arg-type]
    assert score.after_game(np.int8(-4)) == MatchScore(3, 1, is_crawford=True)  # type: ignore[arg-type]
    stakes = Stakes(Money(is_jacoby=False), Cube(np.int8(64), CubeOwner.ON_ROLL))  # type: ignore[arg-type]
    assert stakes.points(3) == 192
    assert Stakes(Money(is_jacoby=True)).points(np.uint8(3)) == 1  # type: ignore[arg-type]
    assert {type(number) for number in (score.away, score.opponent_away, stakes.cube.value)} == {int}
