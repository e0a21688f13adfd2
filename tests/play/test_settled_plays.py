"""Plays that are clearly behind get no more games, and all come out as if rolled out alone."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.errors import InvalidPositionError, InvalidRollError, UsageError
from bgdata.evaluation.choices import Chooser
from bgdata.game.position import START
from bgdata.play.rollout import Limits, RolloutSettings, equities_of, roll_out, rolled_blocks
from bgdata.play.rollout_decisions import Decision, Window, roll_out_decision
from bgdata.play.rollout_kernels import BLOCK
from bgdata.play.settled_plays import open_plays, ranked_unequal_plays, roll_out_unsettled
from tests.evaluation.sample_networks import pips_player

SHORT = RolloutSettings("end", 4)
WINDOW = Window(9.0, 2, 6)
LIMITS = Limits(2 * BLOCK, 1e-9, 12 * BLOCK)
BOARD = np.array(START.board, np.int8)


def settled(settled_at: float, limits: Limits = LIMITS) -> Decision:
    return roll_out_unsettled(BOARD, (3, 1), pips_player().chooser, 5, SHORT, WINDOW, limits, settled_at)


def test_without_a_settled_play_nothing_changes() -> None:
    found, expected = settled(1e9), roll_out_decision(BOARD, (3, 1), pips_player().chooser, 5, SHORT, WINDOW, LIMITS)
    assert np.array_equal(found.boards, expected.boards)
    for values, others in zip(found.result, expected.result, strict=True):
        assert np.array_equal(values, others)
    assert found.losses == pytest.approx(expected.losses, abs=1e-12)
    assert found.loss_standard_errors == pytest.approx(expected.loss_standard_errors, abs=1e-12)
    assert np.array_equal(found.static_losses, expected.static_losses)
    assert found.n_plays == expected.n_plays == 16


def test_plays_that_are_behind_get_fewer_games() -> None:
    """The best always has the most; a play has what it would have alone with as many games."""
    found = settled(2.0)
    trials = found.result.trials
    assert trials[0] == trials.max()
    assert trials.min() < trials.max()
    for row, count in enumerate(trials.tolist()):
        alone = roll_out(
            found.boards[row : row + 1], pips_player().chooser, count, 5, SHORT, items=np.zeros(1, np.int64)
        )
        assert found.result.equities[row] == pytest.approx(-alone.equities[0], abs=1e-12)
        assert found.result.equity_standard_errors[row] == pytest.approx(alone.equity_standard_errors[0])
    assert found.losses == pytest.approx(found.result.equities[0] - found.result.equities, abs=1e-12)
    behind = found.losses > 2 * found.loss_standard_errors
    assert behind[trials < trials.max()].all()


def test_errors_of_losses_know_what_games_are_common() -> None:
    """The mean of n games less that of the first m of them of another play."""
    found, zero = settled(2.0), np.zeros(6, np.int64)
    blocks = rolled_blocks(found.boards, pips_player().chooser, 5, SHORT, Limits(12 * BLOCK), zero, zero)
    equities = np.array([equities_of(block[:, 0] - block[:, 1]) for block in blocks])  # the opponent's
    for row, trials in enumerate(found.result.trials.tolist()):
        n, m = found.result.trials[0] // BLOCK, trials // BLOCK
        common, rest = equities[0][:m] * m / n - equities[row][:m], equities[0][:n]
        expected = (common.var(ddof=1) / m + (n - m) / n**2 * rest.var(ddof=1)) ** 0.5
        assert found.loss_standard_errors[row] == pytest.approx(expected, abs=1e-12)


def test_rounds_end_where_errors_are_small_enough() -> None:
    one_round = settled(1e9, Limits(2 * BLOCK, 9.0, 12 * BLOCK))
    assert set(one_round.result.trials.tolist()) == {2 * BLOCK}
    assert set(settled(1e9, Limits(2 * BLOCK)).result.trials.tolist()) == {2 * BLOCK}


EVEN = np.array([1.0, -1, 1, -1])


@pytest.mark.parametrize(
    ("equities", "until", "expected"),
    [
        ([EVEN, EVEN[::-1]], 0.1, [0, 1]),  # as good, and not known well enough
        ([EVEN, EVEN[::-1]], 1.0, []),
        ([EVEN, EVEN + 0.5], 0.1, []),  # the difference has no noise, so the best is known
        ([EVEN + 0.5, EVEN, EVEN[::-1]], 0.1, [1, 2]),
        ([0 * EVEN, EVEN + 4], 0.1, []),  # behind by more than three errors of 1 / sqrt(3)
        ([0 * EVEN, EVEN + 1], 0.1, [0, 1]),
        ([EVEN], 0.1, []),  # the only play
    ],
)
def test_which_plays_stay_open(equities: list[np.ndarray], until: float, expected: list[int]) -> None:
    """By the opponent's equities: the lower, the better."""
    assert np.flatnonzero(open_plays(equities, until, 3.0)).tolist() == expected


def test_unequal_plays_are_ranked() -> None:
    """A play with fewer games may be the best; blocks are the opponent's."""
    generator = np.random.default_rng(1)
    blocks = [generator.uniform(0, 0.1, (count, 2, 5)) for count in (4, 2)]
    blocks[0][:, 0, 0] += 0.5  # chances of the opponent to win
    found = ranked_unequal_plays(np.stack([BOARD, -BOARD]), blocks, np.zeros(2, np.float32), 7)
    assert np.array_equal(found.boards[0], -BOARD)
    assert found.result.trials.tolist() == [2 * BLOCK, 4 * BLOCK]
    assert found.loss_standard_errors[0] == found.losses[0] == 0
    assert found.losses[1] > 0 < found.loss_standard_errors[1]


@pytest.mark.parametrize("settled_at", [0.0, -1.0, float("nan")])
def test_wrong_numbers_of_errors(settled_at: float) -> None:
    with pytest.raises(UsageError, match="expected plays settled at more than 0 standard errors, got"):
        settled(settled_at)


def test_wrong_positions_windows_limits_and_players() -> None:
    given = (BOARD, (3, 1))
    with pytest.raises(InvalidPositionError):
        roll_out_unsettled(2 * BOARD, (3, 1), pips_player().chooser, 0, SHORT, WINDOW, LIMITS, 4.0)
    with pytest.raises(InvalidRollError):
        roll_out_unsettled(BOARD, (7, 1), pips_player().chooser, 0, SHORT, WINDOW, LIMITS, 4.0)
    with pytest.raises(UsageError, match="expected a window of 0 points or more"):
        roll_out_unsettled(*given, pips_player().chooser, 0, SHORT, Window(-1.0), LIMITS, 4.0)
    with pytest.raises(UsageError, match="expected a multiple of 36"):
        roll_out_unsettled(*given, pips_player().chooser, 0, SHORT, WINDOW, Limits(50), 4.0)
    with pytest.raises(UsageError, match="expected a player with networks"):
        roll_out_unsettled(*given, Chooser(0), 0, SHORT, WINDOW, LIMITS, 4.0)
