"""Networks that look ahead with the cube in a kernel, against the player that asks any evaluator."""

from __future__ import annotations

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.equity.cube import CubeRules
from bgdata.equity.doubling import janowski, jump
from bgdata.evaluation.answers import CUBELESS
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.bearoff_kernels import NO_TABLES, BearoffArrays
from bgdata.evaluation.cube_lookahead import (
    fill_play_ahead,
    fill_worths,
    keep_best,
    kernel_stakes,
    new_cube_tree,
    turned_stakes,
    worth_ahead,
)
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.roll_values import ALL_PLAYS, Sight
from bgdata.game.dice import to_roll
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import Position
from tests.command_line import position_id
from tests.equity.samples import published_met
from tests.evaluation.sample_networks import shipped_networks, shipped_player
from tests.together import each

OWNED = Cube(2, CubeOwner.ON_ROLL)
CONTACT, RACE = "4HPwATDgc/ABMA", position_id([2, 3, 2, 3, 2, 2], [2, 2, 3, 3, 3, 1, 1])
ENDING = position_id([2, 1, 2], [1, 2, 1])


def stakes_of(jacoby: bool | None, score: MatchScore | None = None, cube: Cube | None = None) -> Stakes:
    return Stakes(score or Money(is_jacoby=bool(jacoby)), cube or Cube())


def check(position: Position, roll: str, stakes: Stakes, rules: CubeRules, ply: int, tables: BearoffArrays) -> None:
    """The chosen play and its worth."""
    dice, board = to_roll(roll), np.array(position.board, np.int8)
    networks, theirs = shipped_networks(), turned_stakes(kernel_stakes(stakes, rules))
    tree, chosen = new_cube_tree(networks, ply), board.copy()
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
def test_plays_at_1_ply(stakes: Stakes, rules: CubeRules) -> None:
    for text, roll in ((CONTACT, "21"), (CONTACT, "64"), (RACE, "41"), (ENDING, "21")):
        check(Position(text), roll, stakes, rules, 1, NO_TABLES)


def test_plays_at_2_ply() -> None:
    check(Position(ENDING), "21", stakes_of(False), CubeRules(), 2, NO_TABLES)
    check(Position(RACE), "11", stakes_of(None, MatchScore(4, 2)), CubeRules(met=published_met()), 2, NO_TABLES)


def test_exact_tables_answer_in_money_play(tmp_path_factory: pytest.TempPathFactory) -> None:
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("tables") / "warehouse")
    tables = BearoffEvaluator(warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 4))).arrays
    for ply in (1, 2):
        check(Position(ENDING), "21", stakes_of(False), CubeRules(), ply, tables)
        check(Position(position_id([2, 2, 2], [2, 1, 2])), "32", stakes_of(True), CubeRules(), ply, tables)


def test_without_a_cube_plays_are_those_of_cubeless_equity() -> None:
    stakes = kernel_stakes(stakes_of(False), CubeRules())._replace(unit=CUBELESS)
    tree, player = new_cube_tree(shipped_networks(), 1), LookaheadPlayer(shipped_player(), 1)
    for text, roll in ((CONTACT, "21"), (RACE, "41")):
        board, dice = np.array(Position(text).board, np.int8), to_roll(roll)
        chosen = board.copy()
        fill_play_ahead(shipped_networks(), NO_TABLES, ALL_PLAYS, stakes, 1, board, (dice.high, dice.low), tree, chosen)
        best = player.best_play(text, roll)
        assert chosen.tolist() == list(best.play.after_play.board)
        after = np.array(best.play.next_position.board, np.int8)
        found = worth_ahead(Sight(shipped_networks(), NO_TABLES, ALL_PLAYS), stakes, 1, after, tree)
        assert -found == pytest.approx(best.evaluation.cubeless_equity, abs=2e-6)


def test_the_better_plays_are_kept() -> None:
    tree = new_cube_tree(shipped_networks(), 1)
    tree.worths[:5], tree.equities[:5], tree.rows[:5] = (0.5, 0.2, 0.2, 0.9, 0.25), (0, 2, 1, 0, 0), range(5)
    assert (keep_best(tree, 5, 3, 0.16), tree.rows[:3].tolist()) == (3, [2, 1, 4])
    assert keep_best(tree, 3, 3, 0.04) == 2
    assert keep_best(tree, 2, 1, 0.0) == 1


def test_all_plays_are_looked_at_statically() -> None:
    position = Position(CONTACT)
    stakes, tree = turned_stakes(kernel_stakes(stakes_of(False), CubeRules())), new_cube_tree(shipped_networks(), 1)
    n = fill_worths(shipped_networks(), NO_TABLES, stakes, np.array(position.board, np.int8), (1, 3), tree)
    ranked = LookaheadPlayer(shipped_player()).rank_plays(position, "31", stakes_of(False))
    assert sorted(-tree.worths[:n]) == pytest.approx(sorted(row.cubeful_equity or 0 for row in ranked), abs=1e-6)
