"""Looking ahead with the cube: against a reference, exact tables for ends of games, and the kernel against both."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from bgdata.equity.cube import CubeRules, Method
from bgdata.equity.curves import OWNER_CODES
from bgdata.equity.doubling import janowski, janowski_first, jump
from bgdata.errors import InvalidParameterError
from bgdata.evaluation.answers import CUBELESS
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.bearoff_kernels import NO_TABLES, BearoffArrays
from bgdata.evaluation.chances import AnswerSource, Evaluations
from bgdata.evaluation.cube_lookahead import (
    cubeful_values,
    fill_play_ahead,
    fill_play_values,
    keep_best,
    kernel_stakes,
    lowest_in_group,
    new_cube_tree,
    turned_stakes,
    worth_ahead,
)
from bgdata.evaluation.cube_tables import MoneyBearoff
from bgdata.evaluation.lookahead import evaluate_ahead
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.roll_values import ALL_PLAYS, Sight
from bgdata.game.classes import game_outcome
from bgdata.game.codec import Boards
from bgdata.game.dice import to_roll
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import START, Position
from bgdata.store.table import Table
from tests.command_line import position_id
from tests.equity.samples import published_met
from tests.evaluation.sample_networks import shipped_networks, shipped_player
from tests.reference.cube_lookahead import Situation, Tree
from tests.reference.cubeful_games import Chances, Model, Score, match_janowski
from tests.reference.cubeful_games import janowski as slow_janowski
from tests.reference.lookahead import Board


class Pips:
    """The side with fewer pips leads; a fifth of the wins and a seventh of the losses are gammons."""

    label, version = "pips", "1"
    accuracy: Mapping[AnswerSource, str] = {}

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """See chances.Evaluator."""
        chances = np.empty((len(boards), 5), np.float32)
        sources = np.full(len(boards), AnswerSource.PROGRAM, np.int8)
        for row, board in enumerate(boards.tolist()):
            position = Position(board)
            outcome = game_outcome(position)
            if outcome:
                sources[row], chances[row] = AnswerSource.OVER, (outcome > 0, 0, 0, 0, 0)
                continue
            win = min(max(0.55 + (position.opponent_pip_count - position.pip_count) / 40, 0.05), 0.95)
            chances[row] = win, win / 5, win / 50, (1 - win) / 7, 0
        return Evaluations(chances, sources)


EVALUATE = partial(evaluate_ahead, Pips())
OWNERS = (CubeOwner.CENTERED, CubeOwner.ON_ROLL, CubeOwner.OPPONENT)
OWNED = Cube(2, CubeOwner.ON_ROLL)
ENDINGS = [
    position_id([1, 2], [2, 0, 1]),
    position_id([0, 2, 0, 1], [3]),
    position_id([2], [4]),
    position_id([0, 0, 0, 0, 2], [1]),
]
BACKWARDS = position_id([0] * 18 + [1], [0] * 20 + [1])  # in contact


def judge(board: Board) -> tuple[Chances, bool]:
    """The chances of `Pips`, and whether the game is over, for the reference."""
    chances, sources = Pips().evaluate_many(np.array([board], np.int8))
    return chances[0].tolist(), bool(sources[0] == AnswerSource.OVER)


def boards_of(*texts: str) -> Boards:
    return np.array([Position(text).board for text in texts], np.int8)


def cube_of(owner: CubeOwner) -> Cube:
    return Cube(1 if owner == CubeOwner.CENTERED else 2, owner)


def mwc(away: int, opponent_away: int, is_post_crawford: bool) -> float:
    return published_met().mwc(away, opponent_away, is_post_crawford=is_post_crawford)


def best_equity(table: MoneyBearoff, text: str, stakes: Stakes) -> float:
    """The exact equity of a position with the best cube actions."""
    equities = table.cube_equities(Position(text), stakes)
    assert equities is not None
    return max(equities.no_double, min(equities.double_take, equities.double_pass))


def check_values(stakes: Stakes, rules: CubeRules, model: Model, ply: int, *texts: str) -> None:
    """Compare the values of positions with the reference."""
    values = cubeful_values(EVALUATE, NO_TABLES, kernel_stakes(stakes, rules), boards_of(*texts), ply)
    score = Score(0, 0, False)
    if isinstance(stakes.score, MatchScore):
        score = Score(stakes.score.away, stakes.score.opponent_away, stakes.score.is_crawford)
    situation = Situation(stakes.cube.value, stakes.cube.owner.value, score)
    tree = Tree(judge, model)
    expected = [tree.decided(Position(text).board, situation, situation, ply) for text in texts]
    assert values.tolist() == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("is_jacoby", [False, True])
def test_money_values_match_the_reference(owner: CubeOwner, is_jacoby: bool) -> None:
    stakes = Stakes(Money(is_jacoby), cube_of(owner))
    rules = CubeRules(janowski(0.6))
    model = slow_janowski(0.6, is_jacoby=is_jacoby)
    check_values(stakes, rules, model, 0, *ENDINGS, BACKWARDS)
    check_values(stakes, rules, model, 1, *ENDINGS[:2], BACKWARDS)


def test_two_ply_values_match_the_reference() -> None:
    check_values(
        Stakes(Money(is_jacoby=False)), CubeRules(janowski(0.6)), slow_janowski(0.6), 2, ENDINGS[2], ENDINGS[0]
    )


@pytest.mark.parametrize("score", [MatchScore(3, 5), MatchScore(1, 3, is_crawford=True), MatchScore(4, 1)])
def test_match_values_match_the_reference(score: MatchScore) -> None:
    rules = CubeRules(janowski(0.6), published_met())
    model = match_janowski(0 if score.is_crawford else 0.6, mwc)
    check_values(Stakes(score), rules, model, 0, *ENDINGS)
    check_values(Stakes(score), rules, model, 1, *ENDINGS[:2])
    if not score.is_crawford:
        check_values(Stakes(score, Cube(2, CubeOwner.ON_ROLL)), rules, model, 1, ENDINGS[0])


# these games end in at most four rolls, and no side ever has a choice of plays
SHORT = [position_id([theirs], [ours]) for ours in range(1, 5) for theirs in range(1, 5)]


@pytest.mark.parametrize("owner", OWNERS)
def test_games_that_end_within_the_plies_have_exact_values(four_checkers: Table, owner: CubeOwner) -> None:
    """For any evaluations of earlier positions and any model."""
    stakes = Stakes(Money(is_jacoby=False), cube_of(owner))
    by_jump_model = kernel_stakes(stakes, CubeRules(jump(0.2)))
    for text in SHORT:
        (value,) = cubeful_values(EVALUATE, NO_TABLES, by_jump_model, boards_of(text), 4)
        assert value == pytest.approx(best_equity(MoneyBearoff(four_checkers), text, stakes), abs=1e-4)


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("ply", [0, 1])
def test_two_sided_tables_answer_in_money_play(four_checkers: Table, owner: CubeOwner, ply: int) -> None:
    stakes = Stakes(Money(is_jacoby=True), cube_of(owner))
    tables = BearoffEvaluator(four_checkers).arrays
    values = cubeful_values(EVALUATE, tables, kernel_stakes(stakes, CubeRules()), boards_of(*ENDINGS), ply)
    expected = [best_equity(MoneyBearoff(four_checkers), text, stakes) for text in ENDINGS]
    assert values.tolist() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("owner", [CubeOwner.CENTERED, CubeOwner.ON_ROLL])
@pytest.mark.parametrize("score", [Money(is_jacoby=False), Money(is_jacoby=True), MatchScore(3, 5)], ids=str)
def test_decisions_look_ahead_with_the_cube(owner: CubeOwner, score: Money | MatchScore) -> None:
    """The equities of a decision are those of the reference; at 0-ply they are the model's, and so they are for a
    player who looks ahead if the rules ask for the model."""
    stakes, rules = Stakes(score, cube_of(owner)), CubeRules(janowski(0.6), published_met())
    is_match = isinstance(score, MatchScore)
    model = match_janowski(0.6, mwc) if is_match else slow_janowski(0.6, is_jacoby=score == Money(is_jacoby=True))
    tree, board = Tree(judge, model), Position(BACKWARDS).board
    plain_score = Score(score.away, score.opponent_away, False) if isinstance(score, MatchScore) else Score(0, 0, False)
    now = Situation(stakes.cube.value, owner.value, plain_score)
    doubled = Situation(2 * now.cube, "opponent", now.score)
    found = LookaheadPlayer(Pips(), 1).decide_cube(BACKWARDS, stakes, rules)
    assert found.method == Method.LOOKAHEAD
    assert found.accuracy.startswith("1 roll ahead, in which both sides may double; then Janowski's model")
    assert found.no_double == pytest.approx(tree.no_double(board, now, now, 1), abs=2e-6)
    taken = tree.no_double(board, doubled, now, 1) * (1 if is_match else 2)
    assert found.double_take == pytest.approx(taken, abs=2e-6)
    static = LookaheadPlayer(Pips()).decide_cube(BACKWARDS, stakes, rules)
    assert static.method == Method.JANOWSKI
    assert found.double_pass == static.double_pass
    assert found.no_double != pytest.approx(static.no_double, abs=1e-3)
    by_model = LookaheadPlayer(Pips(), 1).decide_cube(BACKWARDS, stakes, replace(rules, by_model=True))
    assert by_model.method == Method.JANOWSKI


def test_decisions_without_a_double_look_ahead(four_checkers: Table) -> None:
    """Where no double is allowed or sensible, no double still has its value ahead. A table comes first, and a local
    volatility is for the position itself only."""
    rules = CubeRules(janowski(0.6), published_met())
    player = LookaheadPlayer(Pips(), 1)
    for stakes in (
        Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.OPPONENT)),
        Stakes(MatchScore(2, 2), Cube(2, CubeOwner.ON_ROLL)),
        Stakes(MatchScore(2, 4), Cube(2, CubeOwner.ON_ROLL)),
    ):
        found = player.decide_cube(BACKWARDS, stakes, rules)
        assert found.method == Method.LOOKAHEAD
        assert not found.may_double
        is_match = isinstance(stakes.score, MatchScore)
        check_values(stakes, rules, match_janowski(0.6, mwc) if is_match else slow_janowski(0.6), 1, BACKWARDS)
        own = kernel_stakes(stakes, rules)
        assert [found.no_double] == cubeful_values(EVALUATE, NO_TABLES, own, boards_of(BACKWARDS), 1).tolist()
    assert player.decide_cube(BACKWARDS, Stakes(MatchScore(1, 3, is_crawford=True)), rules).method == Method.JANOWSKI
    assert player.decide_cube(BACKWARDS, rules=CubeRules(jump(0.1, 0.2))).method == Method.JUMP
    assert player.decide_cube(BACKWARDS, rules=CubeRules(jump(0.1))).method == Method.LOOKAHEAD
    covered = LookaheadPlayer(Pips(), 1, cubes=[MoneyBearoff(four_checkers)]).decide_cube(ENDINGS[0])
    assert covered.method == Method.EXACT


def test_beavers_are_twice_a_take_ahead() -> None:
    """A right double is never beavered, so beavers do not change the values of the rolls ahead."""
    player, stakes = LookaheadPlayer(Pips(), 1), Stakes(Money(is_jacoby=False))
    found = player.decide_cube(BACKWARDS, stakes, CubeRules(janowski(0.6), has_beavers=True))
    without = player.decide_cube(BACKWARDS, stakes, CubeRules(janowski(0.6)))
    assert without.double_take is not None
    assert found.double_beaver == 2 * without.double_take


def test_lowest_of_equal_values_has_the_lower_equity() -> None:
    values, equities = np.array([1.0, 1.0, 0.5, 2.0, 2.0]), np.array([0.2, 0.1, 9.0, 3.0, 3.0], np.float32)
    assert lowest_in_group(values, equities, np.array([0, 2, 3, 5])).tolist() == [1, 2, 3]


def test_turned_stakes_exchange_the_sides() -> None:
    rules = CubeRules(janowski(0.3, 0.8), published_met())
    stakes = kernel_stakes(Stakes(MatchScore(2, 5), OWNED), rules)
    turned = turned_stakes(stakes)
    assert turned.game == (5, 2, False)
    assert turned.owner == OWNER_CODES[CubeOwner.OPPONENT]
    assert turned.strategy[1:3] == (0.8, 0.3)
    back = turned_stakes(turned)
    assert back.game == stakes.game
    assert back.owner == stakes.owner
    assert back.strategy == stakes.strategy


for_money_and_a_match = pytest.mark.parametrize(
    "stakes",
    [Stakes(Money(is_jacoby=False)), Stakes(MatchScore(3, 5), Cube(2, CubeOwner.OPPONENT))],
    ids=["money", "match"],
)


@pytest.mark.parametrize("ply", [0, 1])
@for_money_and_a_match
def test_best_play_leaves_the_opponent_the_least(ply: int, stakes: Stakes) -> None:
    rules = CubeRules(janowski(0.5), published_met())
    opponents = turned_stakes(kernel_stakes(stakes, rules))
    ranked = LookaheadPlayer(Pips(), ply).rank_plays(ENDINGS[0], "21", stakes, rules)
    assert LookaheadPlayer(Pips(), ply).best_play(ENDINGS[0], "21", stakes, rules) == ranked[0]
    for row in ranked:
        after = boards_of(row.play.next_position.id)
        (value,) = cubeful_values(EVALUATE, NO_TABLES, opponents, after, row.evaluation.ply)
        assert row.cubeful_equity is not None
        if isinstance(stakes.score, MatchScore):
            assert row.mwc is not None
            assert row.mwc == pytest.approx(1 - value, abs=1e-6)
            lose, win = published_met().after(stakes.score, -2), published_met().after(stakes.score, 2)
            assert row.cubeful_equity == pytest.approx(2 * (row.mwc - lose) / (win - lose) - 1, abs=1e-5)
        else:
            assert row.mwc is None
            assert row.cubeful_equity == pytest.approx(-value, abs=1e-6)


@pytest.mark.parametrize("ply", [0, 1])
@for_money_and_a_match
def test_plays_are_ranked_by_cubeful_equity(ply: int, stakes: Stakes) -> None:
    rules = CubeRules(janowski(0.5), published_met())
    ranked = LookaheadPlayer(Pips(), ply).rank_plays(ENDINGS[0], "21", stakes, rules)
    deepest = [row for row in ranked if row.evaluation.ply == ranked[0].evaluation.ply]
    equities = [row.cubeful_equity or 0 for row in deepest]
    assert equities == sorted(equities, reverse=True)
    assert [row.loss for row in deepest] == pytest.approx([equities[0] - equity for equity in equities], abs=1e-6)


def test_only_play_has_a_value() -> None:
    player = LookaheadPlayer(Pips(), 1)
    (bearing_off,) = player.rank_plays(position_id([1], [2]), "65", Stakes(Money(is_jacoby=False)))
    assert bearing_off.cubeful_equity == 1.0


def test_plays_without_stakes_have_no_cubeful_equity() -> None:
    assert LookaheadPlayer(Pips(), 1).rank_plays(START, "21")[0].cubeful_equity is None


@pytest.mark.parametrize(
    ("score", "rules", "has_met", "message"),
    [
        (MatchScore(3, 3), CubeRules(), False, "expected a match equity table for a match, got none at "),
        (MatchScore(3, 3), CubeRules(janowski_first()), True, "expected a model that knows match scores"),
        (Money(is_jacoby=True), CubeRules(janowski_first()), False, "expected a model that knows the jacoby rule"),
        (MatchScore(13, 3), CubeRules(), True, ""),
    ],
)
def test_contradictory_rules_are_refused(
    score: MatchScore | Money, rules: CubeRules, has_met: bool, message: str
) -> None:
    rules = replace(rules, met=published_met() if has_met else None)
    with pytest.raises((InvalidParameterError, ValueError), match=f"^{message}"):
        LookaheadPlayer(Pips()).rank_plays(START, "31", Stakes(score), rules)


CONTACT, RACE = "4HPwATDgc/ABMA", position_id([2, 3, 2, 3, 2, 2], [2, 2, 3, 3, 3, 1, 1])
ENDING = position_id([2, 1, 2], [1, 2, 1])


MONEY, JACOBY = Money(is_jacoby=False), Money(is_jacoby=True)


def check_kernel_chooses(
    position: Position, roll: str, stakes: Stakes, rules: CubeRules, ply: int, tables: BearoffArrays
) -> None:
    """Compare the kernel's play and its value with those of `LookaheadPlayer`."""
    networks = shipped_networks()
    (best, *_) = LookaheadPlayer(NetworkPlayer(networks, tables), ply).rank_plays(position, roll, stakes, rules)
    opponents = turned_stakes(kernel_stakes(stakes, rules))
    tree = new_cube_tree(networks, ply)
    dice, board = to_roll(roll), np.array(position.board, np.int8)
    after_play = board.copy()
    fill_play_ahead(networks, tables, ALL_PLAYS, opponents, ply, board, (dice.low, dice.high), tree, after_play)
    assert after_play.tolist() == list(best.play.after_play.board)
    next_board = np.array(best.play.next_position.board, np.int8)
    value = worth_ahead(Sight(networks, tables, ALL_PLAYS), opponents, ply, next_board, tree)
    assert -value == pytest.approx(best.cubeful_equity, abs=2e-6)


@pytest.mark.parametrize(
    ("stakes", "rules"),
    [
        pytest.param(Stakes(MONEY), CubeRules(janowski(0.7)), id="money"),
        pytest.param(Stakes(JACOBY), CubeRules(janowski(0.7)), id="jacoby"),
        pytest.param(Stakes(JACOBY, OWNED), CubeRules(jump(0.1)), id="owned"),
        pytest.param(Stakes(MatchScore(4, 2)), CubeRules(janowski(0.6)), id="match"),
        pytest.param(Stakes(MatchScore(5, 4), OWNED), CubeRules(jump(0.1)), id="owned in a match"),
        pytest.param(Stakes(MatchScore(1, 3, is_crawford=True)), CubeRules(), id="crawford"),
    ],
)
@pytest.mark.parametrize(("text", "roll"), [(CONTACT, "21"), (CONTACT, "64"), (RACE, "41"), (ENDING, "21")])
def test_kernel_chooses_plays_of_python_at_1_ply(text: str, roll: str, stakes: Stakes, rules: CubeRules) -> None:
    rules = replace(rules, met=published_met() if isinstance(stakes.score, MatchScore) else None)
    check_kernel_chooses(Position(text), roll, stakes, rules, 1, NO_TABLES)


def test_kernel_chooses_plays_of_python_at_2_ply() -> None:
    check_kernel_chooses(Position(ENDING), "21", Stakes(MONEY), CubeRules(), 2, NO_TABLES)
    match = Stakes(MatchScore(4, 2))
    check_kernel_chooses(Position(RACE), "11", match, CubeRules(met=published_met()), 2, NO_TABLES)


@pytest.mark.parametrize("ply", [1, 2])
def test_kernels_use_exact_tables_in_money_play(four_checkers: Table, ply: int) -> None:
    tables = BearoffEvaluator(four_checkers).arrays
    check_kernel_chooses(Position(ENDING), "21", Stakes(MONEY), CubeRules(), ply, tables)
    six_checkers = Position(position_id([2, 2, 2], [2, 1, 2]))
    check_kernel_chooses(six_checkers, "32", Stakes(JACOBY), CubeRules(), ply, tables)


@pytest.mark.parametrize(("text", "roll"), [(CONTACT, "21"), (RACE, "41")])
def test_plays_without_a_cube_are_those_by_cubeless_equity(text: str, roll: str) -> None:
    stakes = kernel_stakes(Stakes(MONEY), CubeRules())._replace(unit=CUBELESS)
    best = LookaheadPlayer(shipped_player(), 1).best_play(text, roll)
    tree = new_cube_tree(shipped_networks(), 1)
    dice, board = to_roll(roll), np.array(Position(text).board, np.int8)
    after_play = board.copy()
    fill_play_ahead(shipped_networks(), NO_TABLES, ALL_PLAYS, stakes, 1, board, (dice.high, dice.low), tree, after_play)
    assert after_play.tolist() == list(best.play.after_play.board)
    next_board = np.array(best.play.next_position.board, np.int8)
    value = worth_ahead(Sight(shipped_networks(), NO_TABLES, ALL_PLAYS), stakes, 1, next_board, tree)
    assert -value == pytest.approx(best.evaluation.cubeless_equity, abs=2e-6)


def test_keep_best_keeps_the_better_plays() -> None:
    tree = new_cube_tree(shipped_networks(), 1)
    tree.play_values[:5] = 0.5, 0.2, 0.2, 0.9, 0.25  # of the opponent: lower is better
    tree.equities[:5] = 0, 2, 1, 0, 0  # decide between equal values
    tree.rows[:5] = range(5)
    assert keep_best(tree, 5, 3, 0.16) == 3  # of five plays at most three, within 0.16 of the best
    assert tree.rows[:3].tolist() == [2, 1, 4]
    assert keep_best(tree, 3, 3, 0.04) == 2
    assert keep_best(tree, 2, 1, 0.0) == 1


def test_all_plays_are_evaluated_statically() -> None:
    opponents = turned_stakes(kernel_stakes(Stakes(MONEY), CubeRules()))
    tree = new_cube_tree(shipped_networks(), 1)
    board = np.array(START.board, np.int8)
    n_plays = fill_play_values(shipped_networks(), NO_TABLES, opponents, board, (1, 3), tree)
    ranked = LookaheadPlayer(shipped_player()).rank_plays(START, "31", Stakes(MONEY))
    expected = sorted(row.cubeful_equity or 0 for row in ranked)
    assert sorted(-tree.play_values[:n_plays]) == pytest.approx(expected, abs=1e-6)
