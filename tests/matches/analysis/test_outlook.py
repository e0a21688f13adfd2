"""What rolls and cube actions are worth: a twin, exact tables, a dead cube, and looking ahead."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.equity.cube import CubeRules
from bgdata.evaluation.bearoff import map_tables
from bgdata.evaluation.cube_tables import MoneyBearoff
from bgdata.evaluation.lookahead import evaluate_ahead
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.game.codec import Boards
from bgdata.game.dice import ROLLS
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import START, Position
from bgdata.matches.analysis.outlook import Analyst
from tests.equity.samples import published_met
from tests.evaluation.sample_networks import pips_networks, pips_player
from tests.matches.analysis.recorded import MONEY, analyst, bearoff_board
from tests.random_games import random_game_positions
from tests.reference.analysis import Board, worth_of_roll, worth_of_rolling
from tests.together import each

SCORE = Stakes(MatchScore(5, 3))


@cache
def some_boards() -> Boards:
    return random_game_positions(2, seed=3).boards[5:60:18]


def cubes() -> list[tuple[Stakes, CubeRules]]:
    match = CubeRules(met=published_met())
    return [
        (MONEY, CubeRules()),
        (Stakes(Money(is_jacoby=True)), CubeRules(has_beavers=True)),
        (Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.OPPONENT)), CubeRules()),
        (SCORE, match),
        (Stakes(MatchScore(3, 5), Cube(2, CubeOwner.ON_ROLL)), match),
        (Stakes(MatchScore(1, 2, is_crawford=True)), match),
    ]


def evaluate(board: Board) -> list[float]:
    chances: list[float] = pips_player().evaluate_many(np.array([board], np.int8)).chances[0].tolist()
    return chances


@each(("stakes", "rules"), cubes)
def test_rolls_are_worth_what_the_twin_says(stakes: Stakes, rules: CubeRules) -> None:
    by = analyst(rules=rules)
    for board in some_boards():
        found = by.rolls(board, stakes)
        assert found.mean() == pytest.approx(worth_of_rolling(evaluate, board.tolist(), stakes, rules), abs=1e-6)
        for roll, worth in zip(ROLLS[::6], found.worths[::6], strict=True):
            expected = worth_of_roll(evaluate, board.tolist(), (roll.high, roll.low), stakes, rules)
            assert worth == pytest.approx(expected, abs=1e-6)


def test_a_double_is_worth_what_rolling_is_with_the_cube_on_the_other_side() -> None:
    for board in some_boards():
        cube = analyst().cube(board, SCORE)
        doubled = Stakes(SCORE.score, Cube(2, CubeOwner.OPPONENT))
        expected = worth_of_rolling(evaluate, board.tolist(), doubled, CubeRules(met=published_met()))
        assert cube.double_take == pytest.approx(expected, abs=1e-6)
        assert cube.double_pass == published_met().mwc(4, 3)
        assert cube.answered == min(cube.double_take, cube.double_pass)


def test_exact_tables_agree_with_themselves_one_roll_later(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The mean over the rolls of what a table says is what it says before them: for every cube, doubled or not."""
    table = bgdata.open_warehouse(tmp_path_factory.mktemp("exact")).build("bearoff_two_sided", TwoSidedParameters(5, 3))
    player = NetworkPlayer(pips_networks(), map_tables(table, None, None))
    exact = MoneyBearoff(table)
    by = Analyst(LookaheadPlayer(player, 1, cubes=[exact]), CubeRules())
    n = 0
    for own, other in (([1, 0, 0, 1, 1], [0, 2, 1]), ([0, 0, 2, 0, 1], [0, 0, 1, 2]), ([2], [0, 0, 1])):
        board = bearoff_board(own, other)
        for cube in (Cube(), Cube(4, CubeOwner.ON_ROLL)):
            stakes = Stakes(Money(is_jacoby=False), cube)
            expected = exact.cube_equities(Position(board.tolist()), stakes)
            assert expected is not None
            found = by.cube(board, stakes)
            assert found.no_double / cube.value == pytest.approx(expected.no_double, abs=1e-5)
            assert found.double_take / cube.value == pytest.approx(expected.double_take, abs=1e-5)
            n += expected.double_take > expected.no_double
    assert n > 1, "the cube matters"


def test_a_dead_cube_is_the_chance_to_win() -> None:
    """At double match point, 1-ply chances are those of the player that looks ahead twice as far."""
    stakes = Stakes(MatchScore(1, 1))
    board = bearoff_board([0, 0, 0, 0, 2, 2], [0, 0, 0, 2, 2])
    look_ahead = evaluate_ahead(pips_player(), board[None], 1).chances[0, 0]
    assert analyst().rolls(board, stakes).mean() == pytest.approx(look_ahead, abs=1e-6)


def test_looking_ahead_values_the_play_that_is_best_at_0_ply() -> None:
    by, static = analyst(1), analyst()
    board = np.array(START.board, np.int8)
    plays, found = by.plays(board), by.rolls(board, MONEY)
    for roll in range(21):
        rows = np.arange(*plays.offsets[roll : roll + 2])
        best = rows[[int(np.argmax(found.static[rows]))]]
        assert found.worths[roll] == by.rows(board, best, MONEY, 1)[0]
        assert static.rolls(board, MONEY).worths[roll] == found.static[best[0]]
