"""Values with the cube, and the plays chosen by them, against exact tables and the decisions of `equity.cube`."""

from __future__ import annotations

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.equity.cube import CubeRules, decide_cube
from bgdata.equity.curves import OWNER_CODES
from bgdata.equity.doubling import janowski
from bgdata.equity.match_cube import MatchGame
from bgdata.evaluation.answers import (
    CUBELESS,
    MATCH,
    MONEY,
    CubeStakes,
    choose_by_chances,
    evaluations,
    new_scratch,
    turned_owner,
    value_of,
)
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import AnswerSource, cubeless_equities
from bgdata.evaluation.cube_tables import MoneyBearoff
from bgdata.game.dice import ROLLS
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from tests.command_line import position_id
from tests.equity.samples import published_met
from tests.evaluation.sample_networks import shipped_networks

STRATEGY = janowski(0.6)
OWNERS = (CubeOwner.CENTERED, CubeOwner.ON_ROLL, CubeOwner.OPPONENT)
BOARD = np.array(Position("start").board, np.int8)
CHANCES = np.array([[0.7, 0.2, 0.01, 0.1, 0.0], [0.35, 0.1, 0.0, 0.2, 0.02], [0.9, 0.5, 0.02, 0.01, 0.0]], np.float32)


def stakes_for(
    unit: int, owner: CubeOwner, score: MatchScore | None = None, cube: int = 1, *, jacoby: bool = False
) -> CubeStakes:
    """Stakes as kernels have them."""
    game = MatchGame(score.away, score.opponent_away, score.is_crawford) if score else MatchGame(0, 0)
    return CubeStakes(unit, STRATEGY, jacoby, published_met().cells, game, cube, OWNER_CODES[owner])


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("chances", CHANCES.tolist())
def test_values_are_the_equities_of_best_decisions(chances: list[float], owner: CubeOwner) -> None:
    row, money = np.array(chances, np.float32), CubeRules(STRATEGY)
    cube = 1 if owner == CubeOwner.CENTERED else 2

    def value(stakes: CubeStakes | None) -> float:
        return float(value_of(stakes, NO_TABLES, BOARD, int(AnswerSource.CONTACT_NETWORK), row))

    for jacoby in (False, True):
        decided = decide_cube(row.tolist(), Stakes(Money(jacoby), Cube(cube, owner)), money)
        assert value(stakes_for(MONEY, owner, jacoby=jacoby)) == pytest.approx(decided.equity, abs=1e-6)
    for score in (MatchScore(5, 3), MatchScore(2, 7), MatchScore(1, 4, is_crawford=cube == 1), MatchScore(9, 9)):
        decided = decide_cube(row.tolist(), Stakes(score, Cube(cube, owner)), CubeRules(STRATEGY, published_met()))
        assert value(stakes_for(MATCH, owner, score, cube)) == pytest.approx(decided.equity, abs=1e-6)
    cubeless = float(cubeless_equities(row[None])[0])
    assert value(None) == value(stakes_for(CUBELESS, owner)) == cubeless


def test_owners_turn() -> None:
    codes = [OWNER_CODES[owner] for owner in OWNERS]
    assert [turned_owner(code) for code in codes] == [codes[0], codes[2], codes[1]]


@pytest.fixture(scope="module")
def bearoff(tmp_path_factory: pytest.TempPathFactory) -> BearoffEvaluator:
    """The 6x6 table."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("values") / "warehouse")
    return BearoffEvaluator(warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 6)))


@pytest.mark.parametrize("owner", OWNERS)
def test_plays_by_exact_tables(bearoff: BearoffEvaluator, owner: CubeOwner) -> None:
    """Where the two-sided table covers a position, its column for the cube chooses, not always the cubeless play."""
    assert bearoff.two_sided is not None
    table, random = MoneyBearoff(bearoff.two_sided), np.random.default_rng(5)
    theirs = Stakes(Money(is_jacoby=False), Cube(1 if owner == CubeOwner.CENTERED else 2, owner))
    differ, scratch = 0, new_scratch(shipped_networks())
    for _ in range(100):
        sides = [np.bincount(random.integers(0, 6, 6), minlength=6).tolist() for _ in range(2)]
        position = Position(position_id(*sides))
        for roll in ROLLS:
            plays = legal_plays(position, roll)
            after = np.array([play.after_play.board for play in plays], np.int8)
            args = shipped_networks(), bearoff.arrays, after, len(plays), scratch
            chosen, _ = choose_by_chances(*args, stakes_for(MONEY, owner))
            values = [exact_value(table, play.next_position, theirs) for play in plays]
            assert values[chosen] == min(values)
            differ += values[choose_by_chances(*args)[0]] > min(values) + 1e-4
    assert differ > 3


def exact_value(table: MoneyBearoff, position: Position, stakes: Stakes) -> float:
    """What a position is worth to the player on roll with the best cube actions; a finished game is lost."""
    if not any(position.rows[0]):
        return -1.0
    found = table.cube_equities(position, stakes)
    assert found is not None
    return max(found.no_double, min(found.double_take, found.double_pass))


def test_static_evaluations_stay_what_they_were() -> None:
    """Without stakes, and with those of a game without a cube, the same plays are chosen."""
    scratch = new_scratch(shipped_networks())
    for roll in ROLLS:
        after = np.array([play.after_play.board for play in legal_plays(Position("start"), roll)], np.int8)
        args = shipped_networks(), NO_TABLES, after, len(after), scratch
        chances = evaluations(
            shipped_networks(), NO_TABLES, np.array([Position(row.tolist()).flip().board for row in after], np.int8)
        )
        lowest = int(np.argmin(cubeless_equities(chances.chances)))
        assert choose_by_chances(*args)[0] == lowest
        assert choose_by_chances(*args, stakes_for(CUBELESS, CubeOwner.CENTERED))[0] == lowest
