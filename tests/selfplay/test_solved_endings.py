"""The solved endings of rollouts: which positions they cover, and their values against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from bgdata.equity.cube import CubeRules
from bgdata.equity.curves import OWNER_CODES
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.game.codec import Boards
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.selfplay.solved_endings import DEAD, ending_value, endings_of, is_ending
from tests.equity.samples import published_met
from tests.reference.bearoff import equities
from tests.reference.match_bearoff import MatchGame

MONEY = Stakes(Money(is_jacoby=False))
ON_ROLL, OPPONENT = (1, 1, 0, 0, 0, 1), (2, 0, 1, 0, 0, 0)  # checkers by point
BAR_ON_ROLL, BAR_OPPONENT = 25, 0


def board_with(on_roll: tuple[int, ...], opponent: tuple[int, ...]) -> Boards:
    """int8[26]: a board on which both sides have checkers in their home boards only."""
    board = np.zeros(26, np.int8)
    board[1:7] = on_roll
    board[24:18:-1] = np.negative(opponent)
    return board


def test_endings_have_up_to_six_checkers_a_side_at_home() -> None:
    endings = endings_of(MONEY, CubeRules(), NO_TABLES)
    assert is_ending(endings, board_with(ON_ROLL, OPPONENT))
    assert is_ending(endings, board_with((6, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 6)))
    assert not is_ending(endings, board_with((7, 0, 0, 0, 0, 0), OPPONENT))
    assert not is_ending(endings, board_with(ON_ROLL, (0, 0, 0, 0, 0, 7)))


@pytest.mark.parametrize(("point", "count"), [(7, 1), (18, -1), (19, 1), (6, -1), (BAR_ON_ROLL, 1), (BAR_OPPONENT, 1)])
def test_checkers_elsewhere_make_no_ending(point: int, count: int) -> None:
    board = board_with((1, 1, 0, 0, 0, 0), (2, 1, 0, 0, 0, 0))
    board[point] = count
    assert not is_ending(endings_of(MONEY, CubeRules(), NO_TABLES), board)


def test_money_endings_are_exact() -> None:
    cubeless, owned, centered, opponent_owned = equities(ON_ROLL, OPPONENT)
    doubled = min(2 * opponent_owned, Fraction(1))
    expected = {
        CubeOwner.CENTERED: max(centered, doubled),
        CubeOwner.ON_ROLL: max(owned, doubled),
        CubeOwner.OPPONENT: opponent_owned,
    }
    endings, board = endings_of(MONEY, CubeRules(), NO_TABLES), board_with(ON_ROLL, OPPONENT)
    for owner, equity in expected.items():
        for player in (0, 1):
            value = ending_value(endings, board, endings.columns[player, 2, OWNER_CODES[owner]])
            assert 2 * value - 1 == pytest.approx(float(equity), abs=1e-12)
    assert 2 * ending_value(endings, board, DEAD) - 1 == pytest.approx(float(cubeless), abs=1e-12)


@pytest.mark.parametrize(
    "score", [MatchScore(5, 5), MatchScore(3, 5), MatchScore(7, 2), MatchScore(4, 1), MatchScore(1, 3)], ids=str
)
def test_match_endings_are_exact_at_every_live_cube(score: MatchScore) -> None:
    met = published_met()
    exact = MatchGame(lambda after: Fraction(met.at(after)))
    endings, board = endings_of(Stakes(score), CubeRules(met=met), NO_TABLES), board_with(ON_ROLL, OPPONENT)
    live = np.argwhere(endings.columns != DEAD).tolist()
    assert live
    for player, cube_value, owner_code in live:
        owner = next(owner for owner, code in OWNER_CODES.items() if code == owner_code)
        stakes = Stakes(score if player == 0 else score.flip(), Cube(cube_value, owner))
        value = ending_value(endings, board, endings.columns[player, cube_value, owner_code])
        assert value == pytest.approx(float(exact.decided(ON_ROLL, OPPONENT, stakes)), abs=1e-9)


def test_crawford_game_has_dead_cubes_only() -> None:
    stakes = Stakes(MatchScore(1, 3, is_crawford=True))
    endings = endings_of(stakes, CubeRules(met=published_met()), NO_TABLES)
    assert (endings.columns == DEAD).all()
    chance = ending_value(endings, board_with(ON_ROLL, OPPONENT), DEAD)
    assert 2 * chance - 1 == pytest.approx(float(equities(ON_ROLL, OPPONENT)[0]), abs=1e-12)


def test_match_played_as_money_has_no_endings() -> None:
    rules = CubeRules(met=published_met(), as_money=True)
    assert not is_ending(endings_of(Stakes(MatchScore(5, 5)), rules, NO_TABLES), board_with(ON_ROLL, OPPONENT))


def test_cube_above_64_has_no_endings() -> None:
    stakes = Stakes(Money(is_jacoby=False), Cube(128, CubeOwner.ON_ROLL))
    assert not is_ending(endings_of(stakes, CubeRules(), NO_TABLES), board_with(ON_ROLL, OPPONENT))


def test_exact_tables_replace_endings_in_money_play_only() -> None:
    tables = NO_TABLES._replace(two_sided_points=6, two_sided_checkers=6)
    board = board_with(ON_ROLL, OPPONENT)
    assert not is_ending(endings_of(MONEY, CubeRules(), tables), board)
    assert is_ending(endings_of(Stakes(MatchScore(5, 5)), CubeRules(met=published_met()), tables), board)
