"""What positions are worth with the cube, against single cube decisions, and where the cube is dead."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.equity.cube import DEFAULT_RULES, CubeRules, decide_cube
from bgdata.equity.doubling import janowski, janowski_first, jump
from bgdata.equity.worth import normalised_point, seen_by_other, worth_of_game, worth_of_result, worths
from bgdata.errors import InvalidParameterError, InvalidScoreError
from bgdata.evaluation.chances import ordered_chances
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from tests.equity.samples import published_met

MET = published_met()
MATCH = CubeRules(met=MET)
CHANCES = ordered_chances(np.random.default_rng(5).random((60, 5)) * [1, 0.5, 0.1, 0.5, 0.1]).astype(np.float64)
STAKES = [
    (Stakes(Money(is_jacoby=False)), DEFAULT_RULES),
    (Stakes(Money(is_jacoby=True)), CubeRules(janowski(0.4))),
    (Stakes(Money(is_jacoby=False), Cube(4, CubeOwner.ON_ROLL)), CubeRules(has_beavers=True)),
    (Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.OPPONENT)), CubeRules(jump(0.1))),
    (Stakes(Money(is_jacoby=True)), CubeRules(jump(0.1))),
    (Stakes(MatchScore(5, 3)), MATCH),
    (Stakes(MatchScore(5, 3), Cube(2, CubeOwner.ON_ROLL)), MATCH),
    (Stakes(MatchScore(5, 3), Cube(4, CubeOwner.OPPONENT)), MATCH),
    (Stakes(MatchScore(1, 4, is_crawford=True)), MATCH),
    (Stakes(MatchScore(4, 1)), MATCH),
]


@pytest.mark.parametrize(("stakes", "rules"), STAKES, ids=str)
def test_worths_are_those_of_single_decisions(stakes: Stakes, rules: CubeRules) -> None:
    unit = stakes.cube.value if isinstance(stakes.score, Money) else 1
    expected = [unit * decide_cube(chances, stakes, rules).equity for chances in CHANCES.tolist()]
    assert worths(CHANCES, stakes, rules) == pytest.approx(expected, abs=1e-12)


def test_the_last_game_is_about_the_chance_to_win() -> None:
    """At double match point nothing else counts, whoever has the cube."""
    assert worths(CHANCES, Stakes(MatchScore(1, 1)), MATCH) == pytest.approx(CHANCES[:, 0], abs=1e-12)


def test_finished_games_are_worth_their_results() -> None:
    lost = np.array([[0, 0, 0, 1, 0]], float)  # a gammon
    assert worths(lost, Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.ON_ROLL)), DEFAULT_RULES).tolist() == [-4]
    assert worths(lost, Stakes(Money(is_jacoby=True)), DEFAULT_RULES).tolist() == [-1]
    assert worths(lost, Stakes(MatchScore(5, 4)), MATCH).tolist() == [MET.mwc(5, 2)]


@pytest.mark.parametrize("score", [MatchScore(15, 15), MatchScore(30, 2), MatchScore(1, 40)])
def test_scores_that_the_table_does_not_have(score: MatchScore) -> None:
    with pytest.raises(InvalidScoreError, match="expected"):
        worths(CHANCES, Stakes(score), MATCH)


def test_units() -> None:
    money, match = Stakes(Money(is_jacoby=False), Cube(4, CubeOwner.OPPONENT)), Stakes(MatchScore(5, 3))
    assert worth_of_result(-8, money, DEFAULT_RULES) == -8
    assert worth_of_result(2, match, MATCH) == MET.mwc(3, 3)
    crawford = MatchScore(1, 3, is_crawford=True)
    assert worth_of_game(Stakes(crawford), MATCH) == MET.mwc(1, 3) != MET.mwc(1, 3, is_post_crawford=True)
    assert worth_of_game(money, DEFAULT_RULES) == 0
    assert normalised_point(money, DEFAULT_RULES) == 4
    assert normalised_point(match, MATCH) == pytest.approx((MET.mwc(4, 3) - MET.mwc(5, 2)) / 2)
    assert normalised_point(Stakes(MatchScore(1, 1)), MATCH) == 0.5
    assert seen_by_other(0.3, match) == pytest.approx(0.7)
    assert seen_by_other(CHANCES[:, 0], money).tolist() == (-CHANCES[:, 0]).tolist()


def test_what_cannot_be() -> None:
    with pytest.raises(InvalidParameterError, match=r"^expected a match equity table for a match, got none$"):
        worths(CHANCES, Stakes(MatchScore(5, 3)), DEFAULT_RULES)
    with pytest.raises(
        InvalidParameterError, match=r"^expected a model that knows the jacoby rule, got janowski-first$"
    ):
        worths(CHANCES, Stakes(Money(is_jacoby=True)), CubeRules(janowski_first()))
    with pytest.raises(InvalidParameterError, match=r"^expected win >= win_gammon"):
        worths(CHANCES[:, ::-1], Stakes(Money(is_jacoby=False)), DEFAULT_RULES)
    with pytest.raises(InvalidScoreError, match=r"^expected at most "):
        normalised_point(Stakes(MatchScore(60, 3)), MATCH)
