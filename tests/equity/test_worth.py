"""What positions are worth with the cube, against single cube decisions, and where the cube is dead."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.equity.cube import DEFAULT_RULES, CubeRules, decide_cube
from bgdata.equity.doubling import janowski, janowski_first, jump
from bgdata.equity.worth import normalised_point, seen_by_other, worth_of_game, worth_of_result, worths
from bgdata.errors import InvalidParameterError, InvalidScoreError
from bgdata.evaluation.chances import ordered_chances
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from tests.equity.samples import published_met
from tests.together import each


def match_rules() -> CubeRules:
    return CubeRules(met=published_met())


@cache
def random_sample() -> NDArray[np.float64]:
    chances = np.random.default_rng(5).random((60, 5)) * [1, 0.5, 0.1, 0.5, 0.1]
    return ordered_chances(chances).astype(np.float64)


def stakes_and_rules() -> list[tuple[Stakes, CubeRules]]:
    return [
        (Stakes(Money(is_jacoby=False)), DEFAULT_RULES),
        (Stakes(Money(is_jacoby=True)), CubeRules(janowski(0.4))),
        (Stakes(Money(is_jacoby=False), Cube(4, CubeOwner.ON_ROLL)), CubeRules(has_beavers=True)),
        (Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.OPPONENT)), CubeRules(jump(0.1))),
        (Stakes(Money(is_jacoby=True)), CubeRules(jump(0.1))),
        (Stakes(MatchScore(5, 3)), match_rules()),
        (Stakes(MatchScore(5, 3), Cube(2, CubeOwner.ON_ROLL)), match_rules()),
        (Stakes(MatchScore(5, 3), Cube(4, CubeOwner.OPPONENT)), match_rules()),
        (Stakes(MatchScore(1, 4, is_crawford=True)), match_rules()),
        (Stakes(MatchScore(4, 1)), match_rules()),
    ]


@each(("stakes", "rules"), stakes_and_rules)
def test_worths_are_those_of_single_decisions(stakes: Stakes, rules: CubeRules) -> None:
    unit = stakes.cube.value if isinstance(stakes.score, Money) else 1
    expected = [unit * decide_cube(chances, stakes, rules).equity for chances in random_sample().tolist()]
    assert worths(random_sample(), stakes, rules) == pytest.approx(expected, abs=1e-12)


def test_the_last_game_is_about_the_chance_to_win() -> None:
    """At double match point nothing else counts, whoever has the cube."""
    assert worths(random_sample(), Stakes(MatchScore(1, 1)), match_rules()) == pytest.approx(
        random_sample()[:, 0], abs=1e-12
    )


def test_finished_games_are_worth_their_results() -> None:
    lost = np.array([[0, 0, 0, 1, 0]], float)  # a gammon
    assert worths(lost, Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.ON_ROLL)), DEFAULT_RULES).tolist() == [-4]
    assert worths(lost, Stakes(Money(is_jacoby=True)), DEFAULT_RULES).tolist() == [-1]
    assert worths(lost, Stakes(MatchScore(5, 4)), match_rules()).tolist() == [published_met().mwc(5, 2)]


@pytest.mark.parametrize("score", [MatchScore(15, 15), MatchScore(30, 2), MatchScore(1, 40)])
def test_scores_that_the_table_does_not_have(score: MatchScore) -> None:
    with pytest.raises(InvalidScoreError, match="expected"):
        worths(random_sample(), Stakes(score), match_rules())


def test_units() -> None:
    met = published_met()
    money, match = Stakes(Money(is_jacoby=False), Cube(4, CubeOwner.OPPONENT)), Stakes(MatchScore(5, 3))
    assert worth_of_result(-8, money, DEFAULT_RULES) == -8
    assert worth_of_result(2, match, match_rules()) == met.mwc(3, 3)
    crawford = MatchScore(1, 3, is_crawford=True)
    assert worth_of_game(Stakes(crawford), match_rules()) == met.mwc(1, 3) != met.mwc(1, 3, is_post_crawford=True)
    assert worth_of_game(money, DEFAULT_RULES) == 0
    assert normalised_point(money, DEFAULT_RULES) == 4
    assert normalised_point(match, match_rules()) == pytest.approx((met.mwc(4, 3) - met.mwc(5, 2)) / 2)
    assert normalised_point(Stakes(MatchScore(1, 1)), match_rules()) == 0.5
    assert seen_by_other(0.3, match) == pytest.approx(0.7)
    assert seen_by_other(random_sample()[:, 0], money).tolist() == (-random_sample()[:, 0]).tolist()


def test_invalid_questions_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"^expected a match equity table for a match, got none$"):
        worths(random_sample(), Stakes(MatchScore(5, 3)), DEFAULT_RULES)
    with pytest.raises(
        InvalidParameterError, match=r"^expected a model that knows the jacoby rule, got janowski-first$"
    ):
        worths(random_sample(), Stakes(Money(is_jacoby=True)), CubeRules(janowski_first()))
    with pytest.raises(InvalidParameterError, match=r"^expected win >= win_gammon"):
        worths(random_sample()[:, ::-1], Stakes(Money(is_jacoby=False)), DEFAULT_RULES)
    with pytest.raises(InvalidScoreError, match=r"^expected at most "):
        normalised_point(Stakes(MatchScore(60, 3)), match_rules())
