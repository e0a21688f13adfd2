"""Rollouts that grow have the figures of rollouts of as many games at once."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.equity.cube import CubeRules
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import Position
from bgdata.selfplay.cubeful_rollout import decision_starts, difference, play_starts, roll_out_with_cube
from bgdata.selfplay.growing_rollout import MWC, POINTS, GrowingRollout, rollout_of_cube, rollout_of_plays
from bgdata.selfplay.rollout import Limits
from bgdata.selfplay.rollout_decisions import Window, roll_out_decision
from tests.command_line import position_id
from tests.equity.samples import published_met
from tests.evaluation.sample_networks import shipped_player
from tests.subtests import each

POSITION = Position(position_id([2, 2, 2, 1], [1, 2, 1, 1]))
ROLL = "21"
STAKES = (
    Stakes(Money(is_jacoby=True)),
    Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.ON_ROLL)),
    Stakes(MatchScore(2, 4)),
)


@pytest.fixture(scope="module")
def player() -> NetworkPlayer:
    return shipped_player()


def rules_for(stakes: Stakes) -> CubeRules:
    return CubeRules(met=published_met()) if isinstance(stakes.score, MatchScore) else CubeRules()


def grow_evenly(rollout: GrowingRollout, rounds: int) -> None:
    """Add rounds of 72 games to every choice, the last choice first."""
    for _ in range(rounds):
        for row in reversed(range(len(rollout.names))):
            rollout.grow(row, 72)


@each("stakes", STAKES)
def test_growing_plays_equal_a_rollout_of_all_games(player: NetworkPlayer, stakes: Stakes) -> None:
    """Plays that get their games in rounds have the values, losses and errors of a rollout of all games at once."""
    rules = rules_for(stakes)
    ranked = LookaheadPlayer(player).rank_plays(POSITION, ROLL, stakes, rules)
    rollout = rollout_of_plays(ranked, stakes, rules, player.chooser, 0.16, 3)
    assert rollout.estimates() == []
    grow_evenly(rollout, 2)

    starts = play_starts(ranked, stakes, 0.16, 3)
    expected = roll_out_with_cube([*starts.values()], player.chooser, rules, Limits(144))
    is_match = isinstance(stakes.score, MatchScore)
    values = 1 - expected.values if is_match else -expected.values
    best = int(values.argmax())
    assert rollout.names == list(starts)
    estimates = {row.choice: row for row in rollout.estimates()}
    for number, play in enumerate(starts):
        row = estimates[play]
        assert row.trials == 144
        assert row.unit == (MWC if is_match else POINTS)
        assert row.value == pytest.approx(values[number], abs=1e-12)
        assert row.standard_error == pytest.approx(expected.standard_errors[number])
        loss, error = difference(expected, number, best)
        assert row.loss == pytest.approx(loss, abs=1e-12)
        assert row.loss_standard_error == pytest.approx(error, abs=1e-12)
    losses = [row.loss for row in rollout.estimates()]
    assert losses == sorted(losses)


def test_growing_plays_without_stakes_are_cubeless(player: NetworkPlayer) -> None:
    ranked = LookaheadPlayer(player).rank_plays(POSITION, ROLL)
    rollout = rollout_of_plays(ranked, None, CubeRules(), player.chooser, 0.16, 3)
    grow_evenly(rollout, 2)
    board = np.array(POSITION.board, np.int8)
    expected = roll_out_decision(board, (2, 1), player.chooser, window=Window(0.16, 2, 3), limits=Limits(144))
    rows = rollout.estimates()
    assert [row.value for row in rows] == pytest.approx(expected.result.equities.tolist(), abs=1e-12)
    assert [row.loss for row in rows] == pytest.approx(expected.losses.tolist(), abs=1e-12)
    assert [row.standard_error for row in rows] == pytest.approx(expected.result.equity_standard_errors.tolist())


@each("stakes", STAKES)
def test_growing_cube_equals_a_rollout_of_all_games(player: NetworkPlayer, stakes: Stakes) -> None:
    rules = rules_for(stakes)
    rollout = rollout_of_cube(POSITION, stakes, rules, player.chooser)
    grow_evenly(rollout, 2)
    starts = decision_starts(POSITION, stakes)
    expected = roll_out_with_cube([*starts.values()], player.chooser, rules, Limits(144))
    values = {row.choice: row.value for row in rollout.estimates()}
    assert values == pytest.approx(dict(zip(starts, expected.values.tolist(), strict=True)), abs=1e-12)


def test_estimates_of_fewer_games_stay_the_same(player: NetworkPlayer) -> None:
    """Estimates from at most so many games are the earlier ones, though choices have unequal numbers of games by
    now."""
    rollout = rollout_of_cube(POSITION, STAKES[0], CubeRules(), player.chooser)
    grow_evenly(rollout, 1)
    earlier = rollout.estimates()
    rollout.grow(1, 72)
    assert sorted(row.trials for row in rollout.estimates()) == [72, 144]
    assert rollout.estimates(most=72) == earlier


def test_choices_without_games_have_no_estimate(player: NetworkPlayer) -> None:
    rollout = rollout_of_cube(POSITION, STAKES[0], CubeRules(), player.chooser)
    rollout.grow(0, 72)
    assert [row.choice for row in rollout.estimates()] == ["no double"]
