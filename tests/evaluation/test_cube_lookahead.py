"""Looking ahead with the cube: against a reference, exact tables for ends of games, and the kernel against both."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import pytest

from bgdata.equity.cube import CubeRules
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
from tests.subtests import each


class Pips:
    """The side with fewer pips leads; a fifth of its wins and a seventh of its losses are gammons."""

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


LOOK = partial(evaluate_ahead, Pips())
OWNERS = (CubeOwner.CENTERED, CubeOwner.ON_ROLL, CubeOwner.OPPONENT)
ENDINGS = [
    position_id(*sides) for sides in (([1, 2], [2, 0, 1]), ([0, 2, 0, 1], [3]), ([2], [4]), ([0, 0, 0, 0, 2], [1]))
]
BACKWARDS = position_id([0] * 18 + [1], [0] * 20 + [1])  # in contact


def judge(board: Board) -> tuple[Chances, bool]:
    """The answers of `Pips`."""
    found = Pips().evaluate_many(np.array([board], np.int8))
    return found.chances[0].tolist(), bool(found.sources[0] == AnswerSource.OVER)


def boards(*texts: str) -> np.ndarray:
    return np.array([Position(text).board for text in texts], np.int8)


def mwc(away: int, opponent_away: int, is_post_crawford: bool) -> float:
    return published_met().mwc(away, opponent_away, is_post_crawford=is_post_crawford)


def check(stakes: Stakes, rules: CubeRules, model: Model, ply: int, *texts: str) -> None:
    """Compare the values of positions with the reference."""
    found = cubeful_values(LOOK, NO_TABLES, kernel_stakes(stakes, rules), boards(*texts), ply)
    score = stakes.score
    seen = Score(0, 0, False)
    if isinstance(score, MatchScore):
        seen = Score(score.away, score.opponent_away, score.is_crawford)
    now = Situation(stakes.cube.value, stakes.cube.owner.value, seen)
    tree = Tree(judge, model)
    expected = [tree.decided(Position(text).board, now, now, ply) for text in texts]
    assert found.tolist() == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("is_jacoby", [False, True])
def test_money_values_match_the_reference(owner: CubeOwner, is_jacoby: bool) -> None:
    stakes = Stakes(Money(is_jacoby), Cube(1 if owner == CubeOwner.CENTERED else 2, owner))
    rules = CubeRules(janowski(0.6))
    model = slow_janowski(0.6, is_jacoby=is_jacoby)
    check(stakes, rules, model, 0, *ENDINGS, BACKWARDS)
    check(stakes, rules, model, 1, *ENDINGS[:2], BACKWARDS)


def test_two_ply_values_match_the_reference() -> None:
    check(Stakes(Money(is_jacoby=False)), CubeRules(janowski(0.6)), slow_janowski(0.6), 2, ENDINGS[2], ENDINGS[0])


@pytest.mark.parametrize("score", [MatchScore(3, 5), MatchScore(1, 3, is_crawford=True), MatchScore(4, 1)])
def test_match_values_match_the_reference(score: MatchScore) -> None:
    rules = CubeRules(janowski(0.6), published_met())
    model = match_janowski(0 if score.is_crawford else 0.6, mwc)
    check(Stakes(score), rules, model, 0, *ENDINGS)
    check(Stakes(score), rules, model, 1, *ENDINGS[:2])
    if not score.is_crawford:
        check(Stakes(score, Cube(2, CubeOwner.ON_ROLL)), rules, model, 1, ENDINGS[0])


# these games end in at most four rolls, and no side ever has a choice of plays
SHORT = [position_id([theirs], [ours]) for ours in range(1, 5) for theirs in range(1, 5)]


def test_games_that_end_on_the_way_have_exact_values(four_checkers: Table) -> None:
    """If all games end within the plies, values are those of the solved cubeful table, for any evaluations of earlier
    positions and any model."""
    money = MoneyBearoff(four_checkers)
    for owner in OWNERS:
        stakes = Stakes(Money(is_jacoby=False), Cube(1 if owner == CubeOwner.CENTERED else 2, owner))
        asked = kernel_stakes(stakes, CubeRules(jump(0.2)))
        for text in SHORT:
            known = money.cube_equities(Position(text), stakes)
            assert known is not None
            (found,) = cubeful_values(LOOK, NO_TABLES, asked, boards(text), 4)
            assert found == pytest.approx(max(known.no_double, min(known.double_take, known.double_pass)), abs=1e-4)


def test_two_sided_tables_answer_in_money_play(four_checkers: Table) -> None:
    arrays = BearoffEvaluator(four_checkers).arrays
    for owner in OWNERS:
        stakes = Stakes(Money(is_jacoby=True), Cube(1 if owner == CubeOwner.CENTERED else 2, owner))
        for ply in (0, 1):
            found = cubeful_values(LOOK, arrays, kernel_stakes(stakes, CubeRules()), boards(*ENDINGS), ply)
            for value, text in zip(found.tolist(), ENDINGS, strict=True):
                known = MoneyBearoff(four_checkers).cube_equities(Position(text), stakes)
                assert known is not None
                assert value == pytest.approx(max(known.no_double, min(known.double_take, known.double_pass)), abs=1e-9)


def test_lowest_of_prefers_the_lower_equity() -> None:
    values, equities = np.array([1.0, 1.0, 0.5, 2.0, 2.0]), np.array([0.2, 0.1, 9.0, 3.0, 3.0], np.float32)
    assert lowest_in_group(values, equities, np.array([0, 2, 3, 5])).tolist() == [1, 2, 3]


def test_turned_stakes_exchange_the_sides() -> None:
    stakes = kernel_stakes(
        Stakes(MatchScore(2, 5), Cube(2, CubeOwner.ON_ROLL)), CubeRules(janowski(0.3, 0.8), published_met())
    )
    turned = turned_stakes(stakes)
    assert (turned.game, turned.owner) == ((5, 2, False), 2)
    assert turned.strategy[1:3] == (0.8, 0.3)
    back = turned_stakes(turned)
    assert (back.game, back.owner, back.strategy) == (stakes.game, stakes.owner, stakes.strategy)


@pytest.mark.parametrize("ply", [0, 1])
def test_best_play_leaves_the_opponent_the_least(ply: int) -> None:
    """The best play leaves the opponent the least, and in a match its mwc and equity agree."""
    player = LookaheadPlayer(Pips(), ply)
    rules = CubeRules(janowski(0.5), published_met())
    position = Position(ENDINGS[0])
    for stakes in (Stakes(Money(is_jacoby=False)), Stakes(MatchScore(3, 5), Cube(2, CubeOwner.OPPONENT))):
        theirs = turned_stakes(kernel_stakes(stakes, rules))
        ranked = player.rank_plays(position, "21", stakes, rules)
        assert player.best_play(position, "21", stakes, rules) == ranked[0]
        for row in ranked:
            (value,) = cubeful_values(LOOK, NO_TABLES, theirs, boards(row.play.next_position.id), row.evaluation.ply)
            if row.mwc is None:
                assert row.cubeful_equity == pytest.approx(-value, abs=1e-6)
            else:
                assert row.mwc == pytest.approx(1 - value, abs=1e-6)
                lose, win = published_met().after(stakes.score, -2), published_met().after(stakes.score, 2)  # type: ignore[arg-type]
                assert row.cubeful_equity == pytest.approx(2 * (row.mwc - lose) / (win - lose) - 1, abs=1e-5)
        deepest = [row for row in ranked if row.evaluation.ply == ranked[0].evaluation.ply]
        equities = [row.cubeful_equity for row in deepest]
        assert equities == sorted(equities, reverse=True)  # type: ignore[type-var]
        assert [row.loss for row in deepest] == pytest.approx([equities[0] - each for each in equities], abs=1e-6)  # type: ignore[operator]


def test_only_play_has_a_value() -> None:
    player = LookaheadPlayer(Pips(), 1)
    (only,) = player.rank_plays(position_id([1], [2]), "65", Stakes(Money(is_jacoby=False)))
    assert only.cubeful_equity == 1.0
    assert player.rank_plays(START, "21")[0].cubeful_equity is None


def wrong_rules() -> list[tuple[Stakes, CubeRules, str]]:
    return [
        (Stakes(MatchScore(3, 3)), CubeRules(), "expected a match equity table for a match, got none at "),
        (
            Stakes(MatchScore(3, 3)),
            CubeRules(janowski_first(), published_met()),
            "expected a model that knows match scores, got ",
        ),
        (
            Stakes(Money(is_jacoby=True)),
            CubeRules(janowski_first()),
            "expected a model that knows the jacoby rule, got janowski-first",
        ),
        (Stakes(MatchScore(13, 3)), CubeRules(met=published_met()), ""),
    ]


@each(("stakes", "rules", "message"), wrong_rules)
def test_contradictory_rules_are_refused(stakes: Stakes, rules: CubeRules, message: str) -> None:
    with pytest.raises((InvalidParameterError, ValueError), match=f"^{message}"):
        LookaheadPlayer(Pips()).rank_plays(START, "31", stakes, rules)


OWNED = Cube(2, CubeOwner.ON_ROLL)
CONTACT, RACE = "4HPwATDgc/ABMA", position_id([2, 3, 2, 3, 2, 2], [2, 2, 3, 3, 3, 1, 1])
ENDING = position_id([2, 1, 2], [1, 2, 1])


def stakes_of(jacoby: bool | None, score: MatchScore | None = None, cube: Cube | None = None) -> Stakes:
    return Stakes(score or Money(is_jacoby=bool(jacoby)), cube or Cube())


def check_kernel(
    position: Position, roll: str, stakes: Stakes, rules: CubeRules, ply: int, tables: BearoffArrays
) -> None:
    """Compare the kernel's chosen play and its value with Python's."""
    dice = to_roll(roll)
    board = np.array(position.board, np.int8)
    networks = shipped_networks()
    theirs = turned_stakes(kernel_stakes(stakes, rules))
    tree = new_cube_tree(networks, ply)
    chosen = board.copy()
    fill_play_ahead(networks, tables, ALL_PLAYS, theirs, ply, board, (dice.low, dice.high), tree, chosen)
    ranked = LookaheadPlayer(NetworkPlayer(networks, tables), ply).rank_plays(position, roll, stakes, rules)
    assert chosen.tolist() == list(ranked[0].play.after_play.board)
    after = np.array(ranked[0].play.next_position.board, np.int8)
    found = worth_ahead(Sight(networks, tables, ALL_PLAYS), theirs, ply, after, tree)
    assert -found == pytest.approx(ranked[0].cubeful_equity, abs=2e-6)


@each(
    ("stakes", "rules"),
    lambda: {
        "money": (stakes_of(False), CubeRules(janowski(0.7))),
        "jacoby": (stakes_of(True), CubeRules(janowski(0.7))),
        "owned": (stakes_of(True, cube=OWNED), CubeRules(jump(0.1))),
        "match": (stakes_of(None, MatchScore(4, 2)), CubeRules(janowski(0.6), published_met())),
        "owned in a match": (stakes_of(None, MatchScore(5, 4), OWNED), CubeRules(jump(0.1), published_met())),
        "crawford": (stakes_of(None, MatchScore(1, 3, is_crawford=True)), CubeRules(met=published_met())),
    },
)
def test_kernel_chooses_plays_of_python_at_1_ply(stakes: Stakes, rules: CubeRules) -> None:
    for text, roll in ((CONTACT, "21"), (CONTACT, "64"), (RACE, "41"), (ENDING, "21")):
        check_kernel(Position(text), roll, stakes, rules, 1, NO_TABLES)


def test_kernel_chooses_plays_of_python_at_2_ply() -> None:
    check_kernel(Position(ENDING), "21", stakes_of(False), CubeRules(), 2, NO_TABLES)
    check_kernel(Position(RACE), "11", stakes_of(None, MatchScore(4, 2)), CubeRules(met=published_met()), 2, NO_TABLES)


def test_kernels_use_exact_tables_in_money_play(four_checkers: Table) -> None:
    tables = BearoffEvaluator(four_checkers).arrays
    for ply in (1, 2):
        check_kernel(Position(ENDING), "21", stakes_of(False), CubeRules(), ply, tables)
        check_kernel(Position(position_id([2, 2, 2], [2, 1, 2])), "32", stakes_of(True), CubeRules(), ply, tables)


def test_plays_without_a_cube_are_those_by_cubeless_equity() -> None:
    stakes = kernel_stakes(stakes_of(False), CubeRules())._replace(unit=CUBELESS)
    tree = new_cube_tree(shipped_networks(), 1)
    player = LookaheadPlayer(shipped_player(), 1)
    for text, roll in ((CONTACT, "21"), (RACE, "41")):
        board = np.array(Position(text).board, np.int8)
        dice = to_roll(roll)
        chosen = board.copy()
        fill_play_ahead(shipped_networks(), NO_TABLES, ALL_PLAYS, stakes, 1, board, (dice.high, dice.low), tree, chosen)
        best = player.best_play(text, roll)
        assert chosen.tolist() == list(best.play.after_play.board)
        after = np.array(best.play.next_position.board, np.int8)
        found = worth_ahead(Sight(shipped_networks(), NO_TABLES, ALL_PLAYS), stakes, 1, after, tree)
        assert -found == pytest.approx(best.evaluation.cubeless_equity, abs=2e-6)


def test_keep_best_keeps_the_better_plays() -> None:
    tree = new_cube_tree(shipped_networks(), 1)
    tree.play_values[:5] = 0.5, 0.2, 0.2, 0.9, 0.25  # of the opponent: lower is better
    tree.equities[:5] = 0, 2, 1, 0, 0  # decide between equal values
    tree.rows[:5] = range(5)
    assert keep_best(tree, 5, 3, 0.16) == 3  # at most three plays, within 0.16 of the best
    assert tree.rows[:3].tolist() == [2, 1, 4]
    assert keep_best(tree, 3, 3, 0.04) == 2
    assert keep_best(tree, 2, 1, 0.0) == 1


def test_all_plays_are_evaluated_statically() -> None:
    position = Position(CONTACT)
    stakes = turned_stakes(kernel_stakes(stakes_of(False), CubeRules()))
    tree = new_cube_tree(shipped_networks(), 1)
    n = fill_play_values(shipped_networks(), NO_TABLES, stakes, np.array(position.board, np.int8), (1, 3), tree)
    ranked = LookaheadPlayer(shipped_player()).rank_plays(position, "31", stakes_of(False))
    assert sorted(-tree.play_values[:n]) == pytest.approx(sorted(row.cubeful_equity or 0 for row in ranked), abs=1e-6)
