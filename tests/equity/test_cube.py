"""`decide_cube` and `position_values`: models, exact equities, ties, and invalid arguments."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.equity.cube import (
    DEFAULT_RULES,
    CubeRules,
    Method,
    Unit,
    best_actions,
    decide_cube,
    for_other_side,
    normalised_point,
    position_values,
    why_no_double,
    worth_of_game,
    worth_of_result,
)
from bgdata.equity.curves import NEVER
from bgdata.equity.doubling import NOT_ALLOWED, Action, CubeEquities, janowski, janowski_first, jump
from bgdata.equity.match_cube import MatchGame, match_equities
from bgdata.errors import InvalidParameterError, InvalidScoreError
from bgdata.evaluation.chances import ordered_chances
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from tests.equity.samples import decide_money, published_met, random_chances
from tests.subtests import each

MONEY = Stakes(Money(is_jacoby=False))
CHANCES = (0.7, 0.2, 0.0, 0.1, 0.0)
OWN, OTHER = Cube(2, CubeOwner.ON_ROLL), Cube(2, CubeOwner.OPPONENT)


def test_money_decisions_match_the_model() -> None:
    for row in random_chances(100, seed=12):
        for stakes in (MONEY, Stakes(Money(is_jacoby=True)), Stakes(Money(is_jacoby=True), OWN)):
            assert isinstance(stakes.score, Money)
            decision = decide_cube(row.tolist(), stakes, CubeRules(janowski(0.6)))
            found, actions = decide_money(
                janowski(0.6), row[None], owner=stakes.cube.owner, is_jacoby=stakes.score.is_jacoby
            )
            assert decision.equities == tuple(column.item() for column in found)
            assert decision.action == actions.item()
            assert decision.double_beaver is None
            assert (decision.unit, decision.method) == (Unit.POINTS, Method.JANOWSKI)


def test_decision_matches_hand_calculation() -> None:
    """With W = 0.9 / 0.7, L = 0.4 / 0.3 and a dead cube, the equity is 0.5, and 1 after a double, as calculated by
    hand."""
    decision = decide_cube(CHANCES, MONEY, CubeRules(janowski(0)))
    assert decision.equities == pytest.approx((0.5, 1.0, 1.0, 1.0))
    assert decision.double_gain == pytest.approx(0.5)
    assert decision.take_gain == pytest.approx(0)
    assert decision.equity == pytest.approx(1)
    assert set(decision.best) == {Action.DOUBLE_TAKE, Action.DOUBLE_PASS}
    assert decision.accuracy == "Janowski's model, cube life index 0"


def test_opponents_cube_gives_no_decision() -> None:
    decision = decide_cube(CHANCES, Stakes(Money(is_jacoby=True), OTHER))
    assert (decision.double_take, decision.double_pass, decision.best) == (None, None, (Action.NO_DOUBLE,))
    assert (decision.double_gain, decision.take_gain, decision.equity) == (0, 0, decision.no_double)
    assert decision.why_not == "the opponent owns the cube"


@pytest.mark.parametrize("stakes", [Stakes(MatchScore(5, 7)), Stakes(MatchScore(3, 4), OWN), Stakes(MatchScore(4, 1))])
def test_match_decisions_match_the_model(stakes: Stakes) -> None:
    assert isinstance(stakes.score, MatchScore)
    decision = decide_cube(CHANCES, stakes, CubeRules(janowski(0.6, 0.8), published_met()))
    game = MatchGame(stakes.score.away, stakes.score.opponent_away)
    owner = 1 if stakes.cube == OWN else 0
    expected = match_equities(
        janowski(0.6, 0.8), published_met().cells, game, stakes.cube.value, owner, np.array(CHANCES)
    )
    assert decision.equities == expected
    assert (decision.unit, decision.method) == (Unit.MWC, Method.JANOWSKI)
    assert decision.accuracy == "Janowski's model, cube life index 0.6 (opponent 0.8), published"


def test_matches_can_be_decided_as_money() -> None:
    stakes = Stakes(MatchScore(2, 7))
    as_money = decide_cube(CHANCES, stakes, CubeRules(as_money=True))
    money = decide_cube(CHANCES, MONEY)
    assert as_money.equities == money.equities
    assert as_money.unit == Unit.POINTS
    crawford = Stakes(MatchScore(1, 7, is_crawford=True))
    assert not decide_cube(CHANCES, crawford, CubeRules(as_money=True)).may_double


@pytest.mark.parametrize(
    ("stakes", "words"),
    [
        (MONEY, ""),
        (Stakes(Money(is_jacoby=True), OTHER), "the opponent owns the cube"),
        (Stakes(MatchScore(1, 4, is_crawford=True)), "nobody doubles in the crawford game"),
        (Stakes(MatchScore(1, 4)), "at 1-away 4-away the cube is high enough to win the match"),
        (Stakes(MatchScore(2, 4), OWN), "at 2-away 4-away the cube is high enough to win the match"),
        (Stakes(MatchScore(3, 4), OWN), ""),
        (Stakes(MatchScore(4, 1)), ""),
    ],
)
def test_why_no_double_gives_the_reason(stakes: Stakes, words: str) -> None:
    assert why_no_double(stakes) == words
    decision = decide_cube(
        CHANCES, stakes, CubeRules(met=published_met() if isinstance(stakes.score, MatchScore) else None)
    )
    assert (decision.why_not, decision.may_double) == (words, not words)


def test_points_exist_only_with_a_decision() -> None:
    """A player without access to the cube has only a take point, and no player has one in the Crawford game."""
    for stakes in (Stakes(MatchScore(3, 5), OTHER), Stakes(Money(is_jacoby=False), OTHER)):
        points = decide_cube(CHANCES, stakes, CubeRules(met=published_met())).points
        assert points[1:] == (NEVER, NEVER, NEVER)
        assert 0 < points.take_point < 1
    for as_money in (False, True):
        crawford = Stakes(MatchScore(1, 5, is_crawford=True))
        assert set(decide_cube(CHANCES, crawford, CubeRules(met=published_met(), as_money=as_money)).points) == {NEVER}


def test_crawford_game_as_money_has_no_cube() -> None:
    crawford = Stakes(MatchScore(5, 1, is_crawford=True))
    decision = decide_cube(CHANCES, crawford, CubeRules(as_money=True))
    assert decision.no_double == pytest.approx(0.9 - 0.4)
    assert decision.no_double != pytest.approx(decide_cube(CHANCES, MONEY).no_double, abs=0.01)


def test_exact_equities_replace_the_model() -> None:
    """Exact equities decide in place of the model, also for an owned cube and with beavers, but not for a match that is
    decided as money."""
    exact = CubeEquities(0.3, 0.4, 0.4, 1.0)
    decision = decide_cube(CHANCES, MONEY, exact=exact, accuracy="a table")
    assert decision.equities == exact
    assert (decision.method, decision.accuracy, decision.action) == (Method.EXACT, "a table", Action.DOUBLE_TAKE)
    assert decision.points == decide_cube(CHANCES, MONEY).points
    mwc = CubeEquities(0.6, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED)
    owned = decide_cube(CHANCES, Stakes(MatchScore(4, 4), OTHER), CubeRules(met=published_met()), mwc)
    assert (owned.no_double, owned.may_double, owned.unit) == (0.6, False, Unit.MWC)
    ignored = decide_cube(CHANCES, Stakes(MatchScore(4, 4)), CubeRules(as_money=True), mwc)
    assert ignored.method == Method.JANOWSKI
    beavered = decide_cube(CHANCES, MONEY, CubeRules(has_beavers=True), CubeEquities(-0.4, -0.1, -0.1, 1.0))
    assert (beavered.double_beaver, beavered.action) == (-0.2, Action.DOUBLE_BEAVER)


def test_jump_model_equities_are_used() -> None:
    decision = decide_cube(CHANCES, MONEY, CubeRules(jump(0.1)))
    assert (decision.method, decision.accuracy) == (Method.JUMP, "jump model, volatility 0.1")
    assert decision.equities == tuple(column.item() for column in decide_money(jump(0.1), np.array([CHANCES]))[0])


@pytest.mark.parametrize(
    ("equities", "best"),
    [
        ((0.1, 0.2, 0.2, 1.0), (Action.DOUBLE_TAKE,)),
        ((0.2, 0.2, 0.2, 1.0), (Action.DOUBLE_TAKE, Action.NO_DOUBLE)),
        ((0.2 + 1e-12, 0.2, 0.2, 1.0), (Action.NO_DOUBLE, Action.DOUBLE_TAKE)),
        ((0.5, 1.0, 1.0, 1.0), (Action.DOUBLE_PASS, Action.DOUBLE_TAKE)),
        ((1.0, 1.3, 1.3, 1.0), (Action.DOUBLE_PASS, Action.TOO_GOOD)),
        ((1.0, 1.0, 1.0, 1.0), (Action.DOUBLE_PASS, Action.DOUBLE_TAKE, Action.TOO_GOOD)),
        ((-0.5, -0.1, -0.2, 1.0), (Action.DOUBLE_BEAVER,)),
        ((1.2, 1.3, 1.3, 1.0), (Action.TOO_GOOD,)),
    ],
)
def test_ties_list_all_best_actions(equities: tuple[float, ...], best: tuple[Action, ...]) -> None:
    assert best_actions(CubeEquities(*equities)) == best


def refused_cases() -> list[tuple[Any, Stakes, CubeRules, str]]:
    match, jacoby = Stakes(MatchScore(3, 3)), Stakes(Money(is_jacoby=True))
    beavers, first = CubeRules(met=published_met(), has_beavers=True), CubeRules(janowski_first(), published_met())
    return [
        ((0.5, 0.6, 0, 0, 0), MONEY, CubeRules(), "expected win >= win_gammon >= win_backgammon"),
        (CHANCES, match, CubeRules(), "expected a match equity table for a match, got none at 3-away"),
        (CHANCES, match, beavers, "expected beavers in money play only"),
        (CHANCES, match, first, "expected a model that knows match scores, got janowski-first"),
        (CHANCES, jacoby, CubeRules(janowski_first()), "expected a model that knows the jacoby rule"),
        ("abc", MONEY, CubeRules(), "expected five chances, got 'abc'"),
        (["x"] * 5, MONEY, CubeRules(), "expected five chances, got "),
    ]


@each(("chances", "stakes", "rules", "message"), refused_cases)
def test_invalid_arguments_are_refused(
    chances: tuple[float, ...], stakes: Stakes, rules: CubeRules, message: str
) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        decide_cube(chances, stakes, rules)


def test_scores_beyond_the_table_are_refused() -> None:
    with pytest.raises(InvalidScoreError, match="expected at most 12 points to go, as published has, got 13-away"):
        decide_cube(CHANCES, Stakes(MatchScore(13, 3)), CubeRules(met=published_met()))


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
def test_position_values_match_single_decisions(stakes: Stakes, rules: CubeRules) -> None:
    unit = stakes.cube.value if isinstance(stakes.score, Money) else 1
    expected = [unit * decide_cube(chances, stakes, rules).equity for chances in random_sample().tolist()]
    assert position_values(random_sample(), stakes, rules) == pytest.approx(expected, abs=1e-12)


def test_worth_at_double_match_point_is_the_winning_chance() -> None:
    """At double match point a position is worth its winning chance, for any cube owner, because gammons do not
    count."""
    assert position_values(random_sample(), Stakes(MatchScore(1, 1)), match_rules()) == pytest.approx(
        random_sample()[:, 0], abs=1e-12
    )


def test_finished_games_are_worth_their_results() -> None:
    lost = np.array([[0, 0, 0, 1, 0]], float)  # a gammon
    assert position_values(
        lost, Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.ON_ROLL)), DEFAULT_RULES
    ).tolist() == [-4]
    assert position_values(lost, Stakes(Money(is_jacoby=True)), DEFAULT_RULES).tolist() == [-1]
    assert position_values(lost, Stakes(MatchScore(5, 4)), match_rules()).tolist() == [published_met().mwc(5, 2)]


@pytest.mark.parametrize("score", [MatchScore(15, 15), MatchScore(30, 2), MatchScore(1, 40)])
def test_position_values_beyond_the_table_are_refused(score: MatchScore) -> None:
    with pytest.raises(InvalidScoreError, match="expected"):
        position_values(random_sample(), Stakes(score), match_rules())


def test_position_values_have_units() -> None:
    """Results and games are worth points for money and mwc in a match, and a normalised point is half of what a single
    game decides."""
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
    assert for_other_side(0.3, match) == pytest.approx(0.7)
    assert for_other_side(random_sample()[:, 0], money).tolist() == (-random_sample()[:, 0]).tolist()


def test_invalid_arguments_of_position_values_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"^expected a match equity table for a match, got none$"):
        position_values(random_sample(), Stakes(MatchScore(5, 3)), DEFAULT_RULES)
    with pytest.raises(
        InvalidParameterError, match=r"^expected a model that knows the jacoby rule, got janowski-first$"
    ):
        position_values(random_sample(), Stakes(Money(is_jacoby=True)), CubeRules(janowski_first()))
    with pytest.raises(InvalidParameterError, match=r"^expected win >= win_gammon"):
        position_values(random_sample()[:, ::-1], Stakes(Money(is_jacoby=False)), DEFAULT_RULES)
    with pytest.raises(InvalidScoreError, match=r"^expected at most "):
        normalised_point(Stakes(MatchScore(60, 3)), match_rules())
