"""Candidates of a decision: their choice, rollouts with the same dice, and when they stop."""

import numpy as np
import pytest

from bgdata.errors import InvalidRollError, UsageError
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities, turned_chances
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.game.codec import Boards, flip_boards
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


def roll_out(
    target: RolloutTarget, objective: Objective = Objective.MONEY, item: int = 3, most: int = 5
) -> RolledPlays:
    """Roll out the best plays of an opening 41, at most `most`."""
    chooser = objective.chooser(random_player(4).chooser)
    boards, _ = candidates_of(BOARD, (4, 1), chooser, objective, 9.0, most)
    return roll_out_candidates(boards, chooser, objective, target, THREE_TURNS, 7, item)


@pytest.mark.parametrize("objective", Objective)
def test_candidates_are_near_the_best_one_roll_ahead(objective: Objective) -> None:
    """By 1-ply equity for the objective; at least two, and at most the number allowed."""
    chooser = objective.chooser(random_player(4).chooser)
    after = flip_boards(batch_plays(BOARD[None], np.array([(6, 2)], np.int8))[1])
    network = NetworkPlayer(random_player(4).networks, NO_TABLES)
    if objective is Objective.GAME:
        network.networks = chooser.networks
    chances = turned_chances(network.evaluate_ahead(after, 1).chances)
    equities = cubeless_equities(chances) if objective is Objective.MONEY else 2 * chances[:, 0] - 1
    best_first = np.argsort(-equities, kind="stable")
    loss_of_fourth = float(equities[best_first[0]] - equities[best_first[3]]) + 1e-5

    def find_candidates(within: float, most: int) -> tuple[Boards, int]:
        return candidates_of(BOARD, (6, 2), chooser, objective, within, most)

    boards, n_legal = find_candidates(loss_of_fourth, 30)
    assert np.array_equal(boards, after[best_first[:4]])
    assert n_legal == len(after)
    assert len(find_candidates(loss_of_fourth, 3)[0]) == 3
    assert len(find_candidates(0.0, 30)[0]) == 2
    assert len(find_candidates(0.0, 1)[0]) == 1


def test_invalid_roll_is_refused() -> None:
    with pytest.raises(InvalidRollError):
        candidates_of(BOARD, (7, 1), random_player(4).chooser, Objective.MONEY, 9.0, 3)


def test_one_round_matches_roll_out_decision() -> None:
    expected = roll_out_decision(BOARD, (4, 1), random_player(4).chooser, 7, THREE_TURNS, Window(9.0, 2, 40), ROUND)
    rolled = roll_out(RolloutTarget(ROUND, 9.0), item=0, most=30)
    assert np.array_equal(rolled.boards, expected.boards)
    for name, values in expected.result._asdict().items():
        assert getattr(rolled.result, name) == pytest.approx(values, abs=1e-12)
    assert rolled.losses == pytest.approx(expected.losses, abs=1e-12)
    assert rolled.loss_standard_errors == pytest.approx(expected.loss_standard_errors, abs=1e-12)


def test_game_equity_counts_wins_only() -> None:
    result = roll_out(RolloutTarget(ROUND, 9.0), Objective.GAME).result
    assert result.equities == pytest.approx(2 * result.chances[:, 0] - 1, abs=1e-12)
    assert result.equity_standard_errors == pytest.approx(2 * result.standard_errors[:, 0], abs=1e-12)
    assert not np.array_equal(result.chances, roll_out(RolloutTarget(ROUND, 9.0)).result.chances)


def test_candidates_are_rolled_out_until_their_errors_are_small() -> None:
    """Candidates that are precise enough after the first round stay unchanged."""
    first = roll_out(RolloutTarget(ROUND, 9.0))
    error_limit = float(np.median(first.result.equity_standard_errors))
    rolled = roll_out(RolloutTarget(Limits(72, error_limit, 288), 9.0))
    result = rolled.result
    assert len(set(result.trials.tolist())) > 1
    assert (result.trials[result.equity_standard_errors > error_limit] == 288).all()
    first_row = {board.tobytes(): row for row, board in enumerate(first.boards)}
    for row in np.flatnonzero(result.trials == 72).tolist():
        before = first_row[rolled.boards[row].tobytes()]
        assert result.equity_standard_errors[row] == first.result.equity_standard_errors[before]
        assert result.equities[row] == first.result.equities[before]
    assert (np.diff(rolled.losses) >= 0).all()
    assert rolled.losses == pytest.approx(result.equities[0] - result.equities, abs=1e-15)


def test_clear_losers_get_no_more_games() -> None:
    unreachable = Limits(72, 1e-9, 288)
    first = roll_out(RolloutTarget(ROUND, 9.0))
    assert roll_out(RolloutTarget(unreachable, 9.0)).result.trials.tolist() == [288] * 5
    sure_losses = first.losses - 3 * first.loss_standard_errors
    within = float(sure_losses.max()) / 2
    assert within > 0
    rolled = roll_out(RolloutTarget(unreachable, within))
    clear_losers = {board.tobytes() for board in first.boards[sure_losses > within]}
    assert {board.tobytes() for board in rolled.boards[rolled.result.trials == 72]} == clear_losers
    assert rolled.result.trials[0] == 288


def test_candidate_is_known_by_its_error_or_loss() -> None:
    standard_errors, losses = np.array([0.1, 0.3, 0.3]), np.array([0.0, 0.5, 0.5])
    loss_standard_errors = np.array([0.0, 0.1, 0.2])
    target = RolloutTarget(Limits(72, 0.1), 0.15)
    assert is_known(standard_errors, losses, loss_standard_errors, target).tolist() == [True, True, False]


def test_results_depend_on_seed_and_item_only() -> None:
    target = RolloutTarget(Limits(72, 1e-9, 144), 9.0)
    expected = roll_out(target)
    with threads(1):
        rolled = roll_out(target)
    assert np.array_equal(rolled.losses, expected.losses)
    for name, values in expected.result._asdict().items():
        assert np.array_equal(getattr(rolled.result, name), values)
    assert not np.array_equal(roll_out(target, item=4).result.equities, expected.result.equities)


def test_invalid_limits_are_refused() -> None:
    with pytest.raises(UsageError, match="expected a multiple of 36 trials"):
        roll_out(RolloutTarget(Limits(100), 9.0))
    with pytest.raises(UsageError, match="expected a standard error above 0, got -1"):
        roll_out(RolloutTarget(Limits(72, -1.0), 9.0))
