"""`decide_cube` and `position_values`: models, exact equities, ties, and invalid arguments."""

from functools import cache

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
JACOBY = Stakes(Money(is_jacoby=True))
MATCH = Stakes(MatchScore(3, 3))
CHANCES = (0.7, 0.2, 0.0, 0.1, 0.0)


def match_rules() -> CubeRules:
    return CubeRules(met=published_met())


OWN_CUBE = Cube(2, CubeOwner.ON_ROLL)
OPPONENTS_CUBE = Cube(2, CubeOwner.OPPONENT)


@pytest.mark.parametrize("stakes", [MONEY, Stakes(Money(is_jacoby=True)), Stakes(Money(is_jacoby=True), OWN_CUBE)])
def test_money_decisions_match_the_model(stakes: Stakes) -> None:
    assert isinstance(stakes.score, Money)
    for chances in random_chances(100, seed=12):
        decision = decide_cube(chances.tolist(), stakes, CubeRules(janowski(0.6)))
        equities, actions = decide_money(
            janowski(0.6), chances[None], owner=stakes.cube.owner, is_jacoby=stakes.score.is_jacoby
        )
        assert decision.equities == tuple(column.item() for column in equities)
        assert decision.action == actions.item()
        assert decision.double_beaver is None
        assert decision.unit == Unit.POINTS
        assert decision.method == Method.JANOWSKI


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
    decision = decide_cube(CHANCES, Stakes(Money(is_jacoby=True), OPPONENTS_CUBE))
    assert decision.double_take is None
    assert decision.double_pass is None
    assert decision.best == (Action.NO_DOUBLE,)
    assert decision.double_gain == 0
    assert decision.take_gain == 0
    assert decision.equity == decision.no_double
    assert decision.why_not == "the opponent owns the cube"


@pytest.mark.parametrize(
    "stakes", [Stakes(MatchScore(5, 7)), Stakes(MatchScore(3, 4), OWN_CUBE), Stakes(MatchScore(4, 1))]
)
def test_match_decisions_match_the_model(stakes: Stakes) -> None:
    assert isinstance(stakes.score, MatchScore)
    decision = decide_cube(CHANCES, stakes, CubeRules(janowski(0.6, 0.8), published_met()))
    game = MatchGame(stakes.score.away, stakes.score.opponent_away)
    owner = 1 if stakes.cube == OWN_CUBE else 0
    expected = match_equities(
        janowski(0.6, 0.8), published_met().cells, game, stakes.cube.value, owner, np.array(CHANCES)
    )
    assert decision.equities == expected
    assert decision.unit == Unit.MWC
    assert decision.method == Method.JANOWSKI
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
    ("stakes", "reason"),
    [
        (MONEY, ""),
        (Stakes(Money(is_jacoby=True), OPPONENTS_CUBE), "the opponent owns the cube"),
        (Stakes(MatchScore(1, 4, is_crawford=True)), "nobody doubles in the crawford game"),
        (Stakes(MatchScore(1, 4)), "at 1-away 4-away the cube is high enough to win the match"),
        (Stakes(MatchScore(2, 4), OWN_CUBE), "at 2-away 4-away the cube is high enough to win the match"),
        (Stakes(MatchScore(3, 4), OWN_CUBE), ""),
        (Stakes(MatchScore(4, 1)), ""),
    ],
)
def test_why_no_double_gives_the_reason(stakes: Stakes, reason: str) -> None:
    assert why_no_double(stakes) == reason
    rules = match_rules() if isinstance(stakes.score, MatchScore) else CubeRules()
    decision = decide_cube(CHANCES, stakes, rules)
    assert decision.why_not == reason
    assert decision.may_double == (not reason)


@pytest.mark.parametrize("score", [MatchScore(3, 5), Money(is_jacoby=False)])
def test_player_without_access_to_the_cube_has_only_a_take_point(score: MatchScore | Money) -> None:
    points = decide_cube(CHANCES, Stakes(score, OPPONENTS_CUBE), match_rules()).points
    assert points[1:] == (NEVER, NEVER, NEVER)
    assert 0 < points.take_point < 1


@pytest.mark.parametrize("as_money", [False, True])
def test_crawford_game_has_no_points(as_money: bool) -> None:
    crawford = Stakes(MatchScore(1, 5, is_crawford=True))
    decision = decide_cube(CHANCES, crawford, CubeRules(met=published_met(), as_money=as_money))
    assert set(decision.points) == {NEVER}


def test_crawford_game_as_money_has_no_cube() -> None:
    crawford = Stakes(MatchScore(5, 1, is_crawford=True))
    decision = decide_cube(CHANCES, crawford, CubeRules(as_money=True))
    assert decision.no_double == pytest.approx(0.9 - 0.4)
    assert decision.no_double != pytest.approx(decide_cube(CHANCES, MONEY).no_double, abs=0.01)


def test_exact_equities_replace_the_model() -> None:
    exact = CubeEquities(0.3, 0.4, 0.4, 1.0)
    decision = decide_cube(CHANCES, MONEY, better=exact, accuracy="a table")
    assert decision.equities == exact
    assert decision.method == Method.EXACT
    assert decision.accuracy == "a table"
    assert decision.action == Action.DOUBLE_TAKE
    assert decision.points == decide_cube(CHANCES, MONEY).points


def test_exact_equities_with_beavers() -> None:
    exact = CubeEquities(-0.4, -0.1, -0.1, 1.0)
    decision = decide_cube(CHANCES, MONEY, CubeRules(has_beavers=True), exact)
    assert decision.double_beaver == -0.2
    assert decision.action == Action.DOUBLE_BEAVER


def test_exact_mwc_is_used_except_for_matches_decided_as_money() -> None:
    exact = CubeEquities(0.6, NOT_ALLOWED, NOT_ALLOWED, NOT_ALLOWED)
    decision = decide_cube(CHANCES, Stakes(MatchScore(4, 4), OPPONENTS_CUBE), match_rules(), exact)
    assert decision.no_double == 0.6
    assert not decision.may_double
    assert decision.unit == Unit.MWC
    as_money = decide_cube(CHANCES, Stakes(MatchScore(4, 4)), CubeRules(as_money=True), exact)
    assert as_money.method == Method.JANOWSKI


def test_jump_model_equities_are_used() -> None:
    decision = decide_cube(CHANCES, MONEY, CubeRules(jump(0.1)))
    assert decision.method == Method.JUMP
    assert decision.accuracy == "jump model, volatility 0.1"
    equities, _ = decide_money(jump(0.1), np.array([CHANCES]))
    assert decision.equities == tuple(column.item() for column in equities)


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


@each(
    ("chances", "stakes", "rules", "message"),
    lambda: [
        ((0.5, 0.6, 0, 0, 0), MONEY, CubeRules(), "expected win >= win_gammon >= win_backgammon"),
        ("abc", MONEY, CubeRules(), "expected five chances, got 'abc'"),
        (["x"] * 5, MONEY, CubeRules(), "expected five chances, got "),
        (CHANCES, MATCH, CubeRules(), "expected a match equity table for a match, got none at 3-away"),
        (CHANCES, MATCH, CubeRules(met=published_met(), has_beavers=True), "expected beavers in money play only"),
        (CHANCES, MATCH, CubeRules(janowski_first(), published_met()), "expected a model that knows match scores, got"),
        (CHANCES, JACOBY, CubeRules(janowski_first()), "expected a model that knows the jacoby rule"),
    ],
)
def test_invalid_arguments_are_refused(
    chances: tuple[float, ...], stakes: Stakes, rules: CubeRules, message: str
) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        decide_cube(chances, stakes, rules)


def test_scores_beyond_the_table_are_refused() -> None:
    with pytest.raises(InvalidScoreError, match="expected at most 12 points to go, as published has, got 13-away"):
        decide_cube(CHANCES, Stakes(MatchScore(13, 3)), CubeRules(met=published_met()))


@cache
def random_sample() -> NDArray[np.float64]:
    chances = np.random.default_rng(5).random((60, 5)) * [1, 0.5, 0.1, 0.5, 0.1]
    return ordered_chances(chances).astype(np.float64)


@each(
    ("stakes", "rules"),
    lambda: [
        (MONEY, DEFAULT_RULES),
        (JACOBY, CubeRules(janowski(0.4))),
        (Stakes(Money(is_jacoby=False), Cube(4, CubeOwner.ON_ROLL)), CubeRules(has_beavers=True)),
        (Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.OPPONENT)), CubeRules(jump(0.1))),
        (JACOBY, CubeRules(jump(0.1))),
        (Stakes(MatchScore(5, 3)), match_rules()),
        (Stakes(MatchScore(5, 3), Cube(2, CubeOwner.ON_ROLL)), match_rules()),
        (Stakes(MatchScore(5, 3), Cube(4, CubeOwner.OPPONENT)), match_rules()),
        (Stakes(MatchScore(1, 4, is_crawford=True)), match_rules()),
        (Stakes(MatchScore(4, 1)), match_rules()),
    ],
)
def test_position_values_match_single_decisions(stakes: Stakes, rules: CubeRules) -> None:
    points = stakes.cube.value if isinstance(stakes.score, Money) else 1
    expected = [points * decide_cube(chances, stakes, rules).equity for chances in random_sample().tolist()]
    assert position_values(random_sample(), stakes, rules) == pytest.approx(expected, abs=1e-12)


def test_position_at_double_match_point_is_worth_its_winning_chance() -> None:
    values = position_values(random_sample(), Stakes(MatchScore(1, 1)), match_rules())
    assert values == pytest.approx(random_sample()[:, 0], abs=1e-12)


@pytest.mark.parametrize(
    ("stakes", "expected"),
    [(Stakes(Money(is_jacoby=False), OWN_CUBE), -4), (JACOBY, -1)],
    ids=["cube at 2", "jacoby, centered cube"],
)
def test_lost_gammon_is_worth_its_points(stakes: Stakes, expected: float) -> None:
    lost_gammon = np.array([[0, 0, 0, 1, 0]], float)
    assert position_values(lost_gammon, stakes, DEFAULT_RULES).tolist() == [expected]


def test_lost_gammon_in_a_match_is_worth_the_next_score() -> None:
    lost_gammon = np.array([[0, 0, 0, 1, 0]], float)
    assert position_values(lost_gammon, Stakes(MatchScore(5, 4)), match_rules()) == [published_met().mwc(5, 2)]


@pytest.mark.parametrize("score", [MatchScore(15, 15), MatchScore(30, 2), MatchScore(1, 40)])
def test_position_values_beyond_the_table_are_refused(score: MatchScore) -> None:
    with pytest.raises(InvalidScoreError, match="expected"):
        position_values(random_sample(), Stakes(score), match_rules())


def test_money_games_are_worth_points() -> None:
    stakes = Stakes(Money(is_jacoby=False), Cube(4, CubeOwner.OPPONENT))
    assert worth_of_result(-8, stakes, DEFAULT_RULES) == -8
    assert worth_of_game(stakes, DEFAULT_RULES) == 0
    assert normalised_point(stakes, DEFAULT_RULES) == 4
    win = random_sample()[:, 0]
    assert for_other_side(win, stakes).tolist() == (-win).tolist()


def test_games_of_a_match_are_worth_mwc() -> None:
    """A normalised point is half of what a single game decides."""
    met = published_met()
    stakes = Stakes(MatchScore(5, 3))
    assert worth_of_result(2, stakes, match_rules()) == met.mwc(3, 3)
    assert normalised_point(stakes, match_rules()) == pytest.approx((met.mwc(4, 3) - met.mwc(5, 2)) / 2)
    assert normalised_point(Stakes(MatchScore(1, 1)), match_rules()) == 0.5
    assert for_other_side(0.3, stakes) == pytest.approx(0.7)
    crawford = Stakes(MatchScore(1, 3, is_crawford=True))
    assert worth_of_game(crawford, match_rules()) == met.mwc(1, 3) != met.mwc(1, 3, is_post_crawford=True)


def test_invalid_arguments_of_position_values_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"^expected a match equity table for a match, got none$"):
        position_values(random_sample(), Stakes(MatchScore(5, 3)), DEFAULT_RULES)
    with pytest.raises(
        InvalidParameterError, match=r"^expected a model that knows the jacoby rule, got janowski-first$"
    ):
        position_values(random_sample(), JACOBY, CubeRules(janowski_first()))
    with pytest.raises(InvalidParameterError, match=r"^expected win >= win_gammon"):
        position_values(random_sample()[:, ::-1], MONEY, DEFAULT_RULES)
    with pytest.raises(InvalidScoreError, match=r"^expected at most "):
        normalised_point(Stakes(MatchScore(60, 3)), match_rules())
