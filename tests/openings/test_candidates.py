"""Candidates of a decision: their choice, rollouts with the same dice, and when they stop."""

import numpy as np
import pytest

from bgdata.errors import InvalidRollError, UsageError
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities, turned_chances
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.game.codec import flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.game.position import START
from bgdata.kernel import threads
from bgdata.openings.candidates import (
    Objective,
    RolledPlays,
    RolloutTarget,
    candidates_of,
    is_known,
    roll_out_candidates,
)
from bgdata.selfplay.rollout import Limits, RolloutSettings
from bgdata.selfplay.rollout_decisions import Window, roll_out_decision
from tests.evaluation.sample_networks import random_player

BOARD = np.array(START.board, np.int8)
THREE_TURNS = RolloutSettings("end", 3)
ROUND = Limits(72)


def roll_out(wanted: RolloutTarget, objective: Objective = Objective.MONEY, item: int = 3, k: int = 5) -> RolledPlays:
    chooser = objective.chooser(random_player(4).chooser)
    boards, _ = candidates_of(BOARD, (4, 1), chooser, objective, 9.0, k)
    return roll_out_candidates(boards, chooser, objective, wanted, THREE_TURNS, 7, item)


@pytest.mark.parametrize("objective", Objective)
def test_candidates_are_near_the_best_one_roll_ahead(objective: Objective) -> None:
    """Candidates are the plays near the best by 1-ply equity for the objective, between the least and the most
    allowed."""
    chooser = objective.chooser(random_player(4).chooser)
    after = flip_boards(batch_plays(BOARD[None], np.array([(6, 2)], np.int8))[1])
    ahead = NetworkPlayer(random_player(4).networks, NO_TABLES)
    if objective is Objective.GAME:
        ahead.networks = chooser.networks
    own = turned_chances(ahead.evaluate_ahead(after, 1).chances)
    equities = cubeless_equities(own) if objective is Objective.MONEY else 2 * own[:, 0] - 1
    order = np.argsort(-equities, kind="stable")
    within = float(equities[order[0]] - equities[order[3]]) + 1e-5  # the best four
    found, count = candidates_of(BOARD, (6, 2), chooser, objective, within, 30)
    assert np.array_equal(found, after[order[:4]])
    assert count == len(after)
    assert len(candidates_of(BOARD, (6, 2), chooser, objective, within, 3)[0]) == 3
    assert len(candidates_of(BOARD, (6, 2), chooser, objective, 0.0, 30)[0]) == 2
    assert len(candidates_of(BOARD, (6, 2), chooser, objective, 0.0, 1)[0]) == 1
    with pytest.raises(InvalidRollError):
        candidates_of(BOARD, (7, 1), chooser, objective, within, 3)


def test_one_round_matches_roll_out_decision() -> None:
    expected = roll_out_decision(BOARD, (4, 1), random_player(4).chooser, 7, THREE_TURNS, Window(9.0, 2, 40), ROUND)
    found = roll_out(RolloutTarget(ROUND, 9.0), item=0, k=30)
    assert np.array_equal(found.boards, expected.boards)
    for values, others in zip(found.result, expected.result, strict=True):
        assert values == pytest.approx(others, abs=1e-12)
    assert found.losses == pytest.approx(expected.losses, abs=1e-12)
    assert found.loss_standard_errors == pytest.approx(expected.loss_standard_errors, abs=1e-12)


def test_game_equity_counts_wins_only() -> None:
    result = roll_out(RolloutTarget(ROUND, 9.0), Objective.GAME).result
    assert result.equities == pytest.approx(2 * result.chances[:, 0] - 1, abs=1e-12)
    assert result.equity_standard_errors == pytest.approx(2 * result.standard_errors[:, 0], abs=1e-12)
    assert not np.array_equal(result.chances, roll_out(RolloutTarget(ROUND, 9.0)).result.chances)


def test_candidates_are_rolled_out_until_known() -> None:
    """Candidates get rounds until they are precise enough; those that are known after the first round stay
    unchanged."""
    first = roll_out(RolloutTarget(ROUND, 9.0))
    until = float(np.median(first.result.equity_standard_errors))
    found = roll_out(RolloutTarget(Limits(72, until, 288), 9.0))
    result = found.result
    places = {board.tobytes(): row for row, board in enumerate(first.boards)}
    assert len(set(result.trials.tolist())) > 1
    assert (result.trials[result.equity_standard_errors > until] == 288).all()
    for row in np.flatnonzero(result.trials == 72).tolist():  # candidates known after the first round are unchanged
        before = places[found.boards[row].tobytes()]
        assert result.equity_standard_errors[row] == first.result.equity_standard_errors[before]
        assert result.equities[row] == first.result.equities[before]
    assert (np.diff(found.losses) >= 0).all()
    assert found.losses == pytest.approx(result.equities[0] - result.equities, abs=1e-15)


def test_clear_losers_get_no_more_games() -> None:
    limits = Limits(72, 1e-9, 288)
    first = roll_out(RolloutTarget(ROUND, 9.0))
    assert roll_out(RolloutTarget(limits, 9.0)).result.trials.tolist() == [288] * 5
    sure = first.losses - 3 * first.loss_standard_errors
    within = float(sure.max()) / 2
    assert within > 0
    found = roll_out(RolloutTarget(limits, within))
    out = {board.tobytes() for board in first.boards[sure > within]}
    assert {board.tobytes() for board in found.boards[found.result.trials == 72]} == out
    assert found.result.trials[0] == 288


def test_is_known_by_error_or_loss() -> None:
    errors, losses, loss_errors = (np.array(values) for values in ((0.1, 0.3, 0.3), (0.0, 0.5, 0.5), (0.0, 0.1, 0.2)))
    assert is_known(errors, losses, loss_errors, RolloutTarget(Limits(72, 0.1), 0.15)).tolist() == [True, True, False]


def test_results_depend_on_seed_and_item_only() -> None:
    wanted = RolloutTarget(Limits(72, 1e-9, 144), 9.0)
    expected = roll_out(wanted)
    with threads(1):
        found = roll_out(wanted)
    assert np.array_equal(found.losses, expected.losses)
    for one, two in zip(found.result, expected.result, strict=True):
        assert np.array_equal(one, two)
    assert not np.array_equal(roll_out(wanted, item=4).result.equities, expected.result.equities)


def test_invalid_limits_are_refused() -> None:
    with pytest.raises(UsageError, match="expected a multiple of 36 trials"):
        roll_out(RolloutTarget(Limits(100), 9.0))
    with pytest.raises(UsageError, match="expected a standard error above 0, got -1"):
        roll_out(RolloutTarget(Limits(72, -1.0), 9.0))
