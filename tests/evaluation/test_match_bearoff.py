"""Exact cube decisions at match scores: where simpler tables must agree, what is not covered, and who is asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds import bearoff_match_compute as bearoff_match
from bgdata.bearoff.kinds.bearoff_match import MatchBearoffParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.equity.cube import CubeRules, Method, decide_cube
from bgdata.equity.doubling import NOT_ALLOWED, Action
from bgdata.equity.match_equity import MatchEquity, find_met
from bgdata.evaluation.cube_tables import MatchBearoff
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import START, Position
from bgdata.warehouse import Warehouse
from tests.command_line import position_id
from tests.evaluation.network_versions import random_networks, write_network
from tests.evaluation.test_cube_tables import bearoffs

OWNED, OPPONENTS = Cube(2, CubeOwner.ON_ROLL), Cube(2, CubeOwner.OPPONENT)
ERROR = 1e-6  # of the money table, in equity


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return bgdata.open_warehouse(tmp_path_factory.mktemp("match") / "warehouse")


@pytest.fixture(scope="module")
def winner(warehouse: Warehouse) -> TwoSidedTable:
    """A table that knows the chance of winning without a cube."""
    return TwoSidedTable(warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 3)))


@pytest.fixture(scope="module")
def met(warehouse: Warehouse) -> MatchEquity:
    exact_table(warehouse, MatchScore(5, 5))
    return find_met(warehouse, "published-12")


def exact_table(warehouse: Warehouse, score: MatchScore, cube_value: int = 1) -> MatchBearoff:
    """The table of 6 points and 3 checkers for a score and cube."""
    recipe = MatchBearoffParameters(
        6, 3, score.away, score.opponent_away, score.is_crawford, cube_value, met="published-12"
    )
    return MatchBearoff(warehouse.build("bearoff_match", recipe))


def win_chance(table: TwoSidedTable, text: str) -> float:
    opponent, on_roll = (list(row[:24]) for row in Position(text).rows)
    return (table.probe(on_roll, opponent).cubeless + 1) / 2


@pytest.mark.parametrize(
    ("score", "cube"),
    [
        (MatchScore(1, 1), Cube()),
        (MatchScore(1, 4, is_crawford=True), Cube()),
        (MatchScore(4, 1, is_crawford=True), Cube()),
        (MatchScore(3, 4), Cube(4, CubeOwner.ON_ROLL)),
        (MatchScore(3, 4), Cube(4, CubeOwner.OPPONENT)),
    ],
    ids=str,
)
def test_a_dead_cube_is_worth_the_chance_of_winning(
    warehouse: Warehouse, winner: TwoSidedTable, met: MatchEquity, score: MatchScore, cube: Cube
) -> None:
    table = exact_table(warehouse, score, cube.value)
    won, lost = met.after(score, cube.value), met.after(score, -cube.value)
    for text in bearoffs(200, 3, seed=4):
        found = table.cube_equities(Position(text), Stakes(score, cube), met)
        assert found is not None
        assert found.no_double == pytest.approx(lost + win_chance(winner, text) * (won - lost), abs=ERROR)
        assert found[1:] == (NOT_ALLOWED,) * 3


def test_a_double_that_decides_the_match(warehouse: Warehouse, winner: TwoSidedTable, met: MatchEquity) -> None:
    """At 2-away 2-away a taken cube is dead; at 2-away 1-away the trailer has nothing to lose by doubling."""
    for score in (MatchScore(2, 2), MatchScore(2, 1)):
        table, actions = exact_table(warehouse, score), set()
        for text in bearoffs(200, 3, seed=5):
            found = table.cube_equities(Position(text), Stakes(score), met)
            assert found is not None
            assert found.double_take == found.double_beaver == pytest.approx(win_chance(winner, text), abs=ERROR)
            assert found.double_pass == pytest.approx(met.after(score, 1), abs=ERROR)
            decision = decide_cube((0.5, 0, 0, 0, 0), Stakes(score), CubeRules(met=met), found)
            actions |= set(decision.best)
        assert {Action.DOUBLE_TAKE, Action.DOUBLE_PASS} <= actions


def test_the_cube_of_the_opponent_is_the_worst_and_his_own_the_best(warehouse: Warehouse, met: MatchEquity) -> None:
    score = MatchScore(5, 7)
    table = exact_table(warehouse, score, 2)
    for text in bearoffs(100, 3, seed=6):
        own, other = (table.cube_equities(Position(text), Stakes(score, cube), met) for cube in (OWNED, OPPONENTS))
        assert own is not None
        assert other is not None
        assert own.no_double >= other.no_double
        assert np.isfinite(own).all()
        assert other[1:] == (NOT_ALLOWED,) * 3


@pytest.mark.parametrize("rounded", [False, True])
def test_a_win_that_is_certain_is_worth_a_pass(
    warehouse: Warehouse, met: MatchEquity, monkeypatch: pytest.MonkeyPatch, rounded: bool
) -> None:
    """Whatever mwc is rounded to: doubling and playing on are worth the same, where one point is as good as two."""
    monkeypatch.setattr(bearoff_match, "is_rounded", lambda *_: rounded)
    text = position_id([0, 0, 2], [1])
    for score in (MatchScore(3, 5), MatchScore(5, 3), MatchScore(7, 7)):
        recipe = MatchBearoffParameters(3, 2, score.away, score.opponent_away, met="published-12")
        table = MatchBearoff(warehouse.build("bearoff_match", recipe, force=True))
        assert table.reader.stored.dtype == (np.uint16 if rounded else np.float32)
        found = table.cube_equities(Position(text), Stakes(score), met)
        assert found is not None
        assert found.no_double == found.double_pass == pytest.approx(met.after(score, 1), abs=1e-5)
        decision = decide_cube((1, 0, 0, 0, 0), Stakes(score), CubeRules(met=met), found)
        assert decision.best == (Action.DOUBLE_PASS, Action.TOO_GOOD)


def test_positions_outside_the_table(warehouse: Warehouse, met: MatchEquity) -> None:
    score = MatchScore(5, 5)
    table, position = exact_table(warehouse, score), Position(position_id([1, 1], [0, 2]))
    assert table.cube_equities(position, Stakes(score), met) is not None
    assert table.accuracy.startswith("exact, bearoff_match/6x3-away-5-5-cube-1-published-12/r")
    assert table.accuracy.endswith(": each mwc within 3e-08")
    others = [Stakes(Money(is_jacoby=False)), Stakes(MatchScore(5, 4)), Stakes(MatchScore(4, 5)), Stakes(score, OWNED)]
    for stakes in others:
        assert table.cube_equities(position, stakes, met) is None
    another = MatchEquity(met.name, np.where(met.cells == met.mwc(4, 5), 0.57, met.cells))
    for wrong in (None, MatchEquity("another", met.cells), another):
        assert table.cube_equities(position, Stakes(score), wrong) is None
    larger, on_bar = position_id([4], [1]), position_id([0] * 24 + [1], [1])
    for text in (START.id, larger, on_bar, position_id([1], [0, 0, 0, 0, 0, 0, 1])):
        assert table.cube_equities(Position(text), Stakes(score), met) is None


def test_players_ask_the_tables_of_their_warehouse(warehouse: Warehouse, met: MatchEquity) -> None:
    score, text = MatchScore(5, 5), position_id([1, 1], [0, 2])
    table = exact_table(warehouse, score)
    write_network(warehouse.root, "random", random_networks(7))
    player = bgdata.open_player(warehouse.root, "random")
    found = player.decide_cube(text, Stakes(score), CubeRules(met=met))
    assert (found.method, found.accuracy) == (Method.EXACT, table.accuracy)
    assert found.equities == table.cube_equities(Position(text), Stakes(score), met)
    assert player.decide_cube(text, Stakes(score), CubeRules(met=met, by_model=True)).method == Method.JANOWSKI
    other = player.decide_cube(text, Stakes(MatchScore(5, 6)), CubeRules(met=met))
    assert (other.method, other.accuracy) == (Method.EXACT, "exact, solved for this position")
    assert player.decide_cube(START, Stakes(score), CubeRules(met=met)).method == Method.JANOWSKI


def test_the_model_can_be_asked_for_money_too(player_root: Path) -> None:
    player, text = bgdata.open_player(player_root, "random"), position_id([1, 1], [0, 2])
    assert player.decide_cube(text).method == Method.EXACT
    assert player.decide_cube(text, rules=CubeRules(by_model=True)).method == Method.JANOWSKI
