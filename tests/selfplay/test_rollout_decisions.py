"""Rolled-out decisions: their plays, with the same dice, and the losses of plays."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.errors import InvalidPositionError, InvalidRollError, UsageError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities, turned_chances
from bgdata.evaluation.choices import Chooser
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.game.position import START
from bgdata.selfplay.rollout import (
    Limits,
    RolloutResult,
    RolloutSettings,
    Values,
    equities_of,
    open_groups,
    roll_out,
    rolled_blocks,
)
from bgdata.selfplay.rollout_decisions import Decision, Window, open_plays, rank_plays, roll_out_decision
from bgdata.selfplay.rollout_kernels import BLOCK
from tests.evaluation.sample_networks import pips_player, random_networks
from tests.random_games import random_game_positions

FOUR_TURNS = RolloutSettings("end", 4)
FEW_TRIALS = Limits(2 * BLOCK)
ALL_LIKELY = Window(9.0, 2, 6)
START_BOARD = np.array(START.board, np.int8)


def test_plays_in_the_window_are_rolled_out() -> None:
    """The plays that are rolled out are those near the best by static equity, at least two and at most four."""
    networks = random_networks(0, 30.0)
    chooser = NetworkPlayer(networks, NO_TABLES).chooser
    window = Window(0.05, 2, 4)
    positions = random_game_positions(2, seed=4)
    for board, roll in zip(positions.boards[::30], positions.rolls[::30].tolist(), strict=True):
        decision = roll_out_decision(board, roll, chooser, 1, RolloutSettings("end", 1), window, FEW_TRIALS)
        _, after_play = batch_plays(board[None], np.array([roll], np.int8))
        replies = flip_boards(after_play)
        equities = -cubeless_equities(evaluations(networks, NO_TABLES, replies).chances)
        order = np.argsort(-equities, kind="stable").tolist()
        near = [play for play in order[:4] if equities[order[0]] - equities[play] <= np.float32(0.05)]
        expected = {replies[play].tobytes() for play in [*order[:2], *near]}
        assert {reply.tobytes() for reply in decision.boards} == expected
        assert decision.n_plays == len(replies)
        assert decision.static_losses.min() == 0


def test_plays_are_ranked_by_rollouts() -> None:
    """Plays are in order of their rolled-out equities, which equal those of a rollout of the same boards."""
    chooser = pips_player().chooser
    decision = roll_out_decision(START_BOARD, (3, 1), chooser, 5, FOUR_TURNS, ALL_LIKELY, FEW_TRIALS)
    result = decision.result
    same_dice = np.zeros(6, np.int64)
    of_opponent = roll_out(decision.boards, chooser, 2 * BLOCK, 5, FOUR_TURNS, items=same_dice)
    assert result.chances == pytest.approx(turned_chances(of_opponent.chances.astype(np.float32)), abs=1e-6)
    assert result.equities == pytest.approx(-of_opponent.equities, abs=1e-12)
    assert result.equity_standard_errors == pytest.approx(of_opponent.equity_standard_errors)
    assert result.standard_errors == pytest.approx(of_opponent.standard_errors[:, [0, 3, 4, 1, 2]])
    assert (np.diff(result.equities) <= 0).all()
    assert decision.losses == pytest.approx(result.equities[0] - result.equities, abs=1e-12)
    assert decision.losses[0] == 0
    assert decision.loss_standard_errors[0] == 0
    assert set(result.trials.tolist()) == {2 * BLOCK}


def equities_by_blocks(after: Boards, limits: Limits) -> Values:
    """float64[plays, blocks]: the opponent's equities after each play, all with the same dice."""
    same_dice = np.zeros(len(after), np.int64)
    still_open = open_groups(same_dice, limits)
    blocks = rolled_blocks(after, pips_player().chooser, 5, FOUR_TURNS, limits, same_dice, still_open)
    return np.array([equities_of(block[:, 0] - block[:, 1]) for block in blocks])


def test_errors_of_losses_come_from_paired_differences() -> None:
    decision = roll_out_decision(
        START_BOARD, (6, 5), pips_player().chooser, 5, FOUR_TURNS, Window(9.0, 2, 3), Limits(4 * BLOCK)
    )
    equities = equities_by_blocks(decision.boards, Limits(4 * BLOCK))
    differences = equities - equities[0]
    assert decision.losses == pytest.approx(differences.mean(axis=1), abs=1e-12)
    assert decision.loss_standard_errors == pytest.approx(differences.std(axis=1, ddof=1) / 2, abs=1e-12)


def test_all_plays_of_a_decision_get_equal_games() -> None:
    """All plays get rounds until every play's error is small enough, and have the result of as many games at once."""

    def roll_out_plays(limits: Limits) -> RolloutResult:
        window = Window(9.0, 2, 4)
        return roll_out_decision(START_BOARD, (6, 5), pips_player().chooser, 5, FOUR_TURNS, window, limits).result

    errors = roll_out_plays(FEW_TRIALS).equity_standard_errors
    until = float(errors.min() + errors.max()) / 2
    result = roll_out_plays(Limits(2 * BLOCK, until, 20 * BLOCK))
    (trials,) = set(result.trials.tolist())
    assert trials > 2 * BLOCK
    assert trials == 20 * BLOCK or (result.equity_standard_errors <= until).all()
    assert np.array_equal(result.equities, roll_out_plays(Limits(trials)).equities)


def test_forced_play_has_no_loss() -> None:
    board = np.zeros(26, np.int8)
    board[[1, 24]] = 2, -2
    decision = roll_out_decision(board, (6, 6), pips_player().chooser, limits=FEW_TRIALS)
    assert decision.n_plays == 1
    assert decision.losses.tolist() == [0]
    assert decision.loss_standard_errors.tolist() == [0]
    assert decision.result.equities.tolist() == [1]


SIX_ROUNDS = Limits(2 * BLOCK, 1e-9, 12 * BLOCK)


def roll_out_settled(settled_at: float | None, limits: Limits = SIX_ROUNDS) -> Decision:
    """Roll out an opening 31 until plays are settled."""
    chooser = pips_player().chooser
    return roll_out_decision(START_BOARD, (3, 1), chooser, 5, FOUR_TURNS, ALL_LIKELY, limits, settled_at=settled_at)


def test_high_settled_at_changes_nothing() -> None:
    decision = roll_out_settled(1e9)
    expected = roll_out_settled(None)
    assert np.array_equal(decision.boards, expected.boards)
    for values, expected_values in zip(decision.result, expected.result, strict=True):
        assert np.array_equal(values, expected_values)
    assert decision.losses == pytest.approx(expected.losses, abs=1e-12)
    assert decision.loss_standard_errors == pytest.approx(expected.loss_standard_errors, abs=1e-12)
    assert np.array_equal(decision.static_losses, expected.static_losses)
    assert decision.n_plays == expected.n_plays == 16


def test_settled_plays_get_fewer_games() -> None:
    """Plays that are clearly worse get fewer games than the best one; each has the result of as many games alone."""
    decision = roll_out_settled(2.0)
    result = decision.result
    assert result.trials[0] == result.trials.max()
    assert result.trials.min() < result.trials.max()
    for row, trials in enumerate(result.trials.tolist()):
        alone = roll_out(decision.boards[[row]], pips_player().chooser, trials, 5, FOUR_TURNS, items=np.array([0]))
        assert result.equities[row] == pytest.approx(-alone.equities[0], abs=1e-12)
        assert result.equity_standard_errors[row] == pytest.approx(alone.equity_standard_errors[0])
    assert decision.losses == pytest.approx(result.equities[0] - result.equities, abs=1e-12)
    is_clearly_worse = decision.losses > 2 * decision.loss_standard_errors
    assert is_clearly_worse[result.trials < result.trials.max()].all()


def test_errors_of_losses_use_common_games() -> None:
    """The error of a loss is that of the mean of n games of one play minus the mean of the first m games of another."""
    decision = roll_out_settled(2.0)
    equities = equities_by_blocks(decision.boards, Limits(12 * BLOCK))
    n = decision.result.trials[0] // BLOCK
    best = equities[0, :n]
    for row, trials in enumerate(decision.result.trials.tolist()):
        m = trials // BLOCK
        common = best[:m] * m / n - equities[row, :m]
        expected = (common.var(ddof=1) / m + (n - m) / n**2 * best.var(ddof=1)) ** 0.5
        assert decision.loss_standard_errors[row] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("limits", [Limits(2 * BLOCK, 9.0, 12 * BLOCK), Limits(2 * BLOCK)])
def test_rounds_stop_at_small_errors(limits: Limits) -> None:
    assert set(roll_out_settled(1e9, limits).result.trials.tolist()) == {2 * BLOCK}


EVEN_EQUITIES = np.array([1.0, -1, 1, -1])


@pytest.mark.parametrize(
    ("equities", "until", "expected"),
    [
        ([EVEN_EQUITIES, EVEN_EQUITIES[::-1]], 0.1, [0, 1]),  # equal, with large errors
        ([EVEN_EQUITIES, EVEN_EQUITIES[::-1]], 1.0, []),
        ([EVEN_EQUITIES, EVEN_EQUITIES + 0.5], 0.1, []),  # the difference has no noise, so the best is known
        ([EVEN_EQUITIES + 0.5, EVEN_EQUITIES, EVEN_EQUITIES[::-1]], 0.1, [1, 2]),
        ([0 * EVEN_EQUITIES, EVEN_EQUITIES + 4], 0.1, []),  # behind by more than three errors of 1 / sqrt(3)
        ([0 * EVEN_EQUITIES, EVEN_EQUITIES + 1], 0.1, [0, 1]),
        ([EVEN_EQUITIES], 0.1, []),  # the only play
    ],
)
def test_close_plays_stay_open(equities: list[np.ndarray], until: float, expected: list[int]) -> None:
    """Plays stay open while they are close to the best by the opponent's equities, of which lower is better."""
    assert np.flatnonzero(open_plays(equities, until, 3.0)).tolist() == expected


def test_plays_with_different_numbers_of_games_are_ranked() -> None:
    """Plays are ranked whatever their numbers of games, from the opponent's blocks; the best may have fewer games."""
    generator = np.random.default_rng(1)
    worse = generator.uniform(0, 0.1, (4, 2, 5))
    worse[:, 0, 0] += 0.5  # chances of the opponent to win
    better = generator.uniform(0, 0.1, (2, 2, 5))
    after_play = np.stack([START_BOARD, -START_BOARD])
    decision = rank_plays(after_play, [worse, better], np.zeros(2, np.float32), 7, is_paired=False)
    assert np.array_equal(decision.boards[0], -START_BOARD)
    assert decision.result.trials.tolist() == [2 * BLOCK, 4 * BLOCK]
    assert decision.losses[0] == 0
    assert decision.loss_standard_errors[0] == 0
    assert decision.losses[1] > 0
    assert decision.loss_standard_errors[1] > 0


@pytest.mark.parametrize("settled_at", [0.0, -1.0, float("nan")])
def test_invalid_settled_at_is_refused(settled_at: float) -> None:
    with pytest.raises(UsageError, match="expected plays settled at more than 0 standard errors, got"):
        roll_out_settled(settled_at)


@pytest.mark.parametrize("window", [Window(-0.1), Window(float("nan")), Window(0.1, 0), Window(0.1, 5, 4)])
def test_invalid_windows_are_refused(window: Window) -> None:
    with pytest.raises(UsageError, match="expected a window of 0 points or more"):
        roll_out_decision(START_BOARD, (3, 1), pips_player().chooser, window=window)


@pytest.mark.parametrize("settled_at", [None, 4.0])
def test_invalid_positions_limits_and_players_are_refused(settled_at: float | None) -> None:
    chooser = pips_player().chooser
    with pytest.raises(InvalidPositionError):
        roll_out_decision(2 * START_BOARD, (3, 1), chooser, limits=FEW_TRIALS, settled_at=settled_at)
    with pytest.raises(InvalidRollError):
        roll_out_decision(START_BOARD, (7, 1), chooser, limits=FEW_TRIALS, settled_at=settled_at)
    with pytest.raises(UsageError, match="expected a multiple of 36"):
        roll_out_decision(START_BOARD, (3, 1), chooser, limits=Limits(50), settled_at=settled_at)
    with pytest.raises(UsageError, match="expected a player with networks"):
        roll_out_decision(START_BOARD, (3, 1), Chooser(0), limits=FEW_TRIALS, settled_at=settled_at)
