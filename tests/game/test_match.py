"""Cube, score and the points of a game."""

from functools import partial
from typing import Any

import numpy as np

from bgdata.errors import InvalidScoreError
from bgdata.game.match import MAX_CUBE, Cube, CubeOwner, MatchScore, Money, Stakes
from tests.subtests import all_raise, each


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


def test_invalid_cubes_scores_and_stakes_are_refused() -> None:
    """Impossible values, owners and scores raise an error that names the rule and the value."""
    make_cube: Any = Cube
    make_score: Any = MatchScore
    theirs = Cube(2, CubeOwner.OPPONENT)
    all_raise(
        InvalidScoreError,
        [
            *((partial(Cube, value), f"^expected a power of two .*, got {value}$") for value in (0, -2, 3, 6)),
            (lambda: Cube(2 * MAX_CUBE, CubeOwner.ON_ROLL), "a cube of at most 1,073,741,824, got 2,147,483,648"),
            (lambda: Cube(1, CubeOwner.ON_ROLL), "a cube of 1 to be centered, got owner 'on_roll'"),
            (lambda: make_cube(2, "white"), "centered, on_roll, opponent}, got 'white'"),
            (lambda: make_cube(2.0), r"^expected a whole number as cube value, got 2\.0$"),
            (lambda: make_cube("2"), "^expected a whole number as cube value, got '2'$"),
            (lambda: make_cube(None), "^expected a whole number as cube value, got None$"),
            (theirs.after_double, "got the opponent's"),
            (lambda: MatchScore(0, 3), "expected at least 1 point to go for each side, got"),
            (lambda: MatchScore(3, -1), "expected at least 1 point to go for each side, got"),
            (lambda: MatchScore(2, 3, is_crawford=True), "one side at 1-away in the crawford game, got"),
            (lambda: MatchScore(1, 1, is_crawford=True), "one side at 1-away in the crawford game, got"),
            (lambda: make_score(2.5, 3), r"^expected whole points to go, got 2\.5 and 3$"),
            (lambda: make_score("2", 3), "^expected whole points to go, got '2' and 3$"),
            (lambda: make_score(2, None), "^expected whole points to go, got 2 and None$"),
            (lambda: Stakes(MatchScore(5, 5), Cube(2)), "a centered cube of 1 in a match, got 2"),
            (
                lambda: Stakes(MatchScore(1, 5, is_crawford=True), Cube(2, CubeOwner.ON_ROLL)),
                "a centered cube of 1 in the crawford game",
            ),
            (Stakes(MatchScore(5, 3), theirs).after_take, "a player on roll who may double, got 5-away 3-away with"),
        ],
    )


def test_numpy_integers_do_not_wrap_around() -> None:
    score = MatchScore(np.uint8(3), np.uint8(5))  # type: ignore[arg-type]
    assert score.after_game(np.uint8(4)) is None  # type: ignore[arg-type]
    assert score.after_game(np.int8(-4)) == MatchScore(3, 1, is_crawford=True)  # type: ignore[arg-type]
    stakes = Stakes(Money(is_jacoby=False), Cube(np.int8(64), CubeOwner.ON_ROLL))  # type: ignore[arg-type]
    assert stakes.points(3) == 192
    assert Stakes(Money(is_jacoby=True)).points(np.uint8(3)) == 1  # type: ignore[arg-type]
    assert {type(number) for number in (score.away, score.opponent_away, stakes.cube.value)} == {int}
