"""Rolled-out decisions: which plays, with the same dice, and what they lose."""

from __future__ import annotations

import numpy as np
import pytest

from bgdata.errors import InvalidRollError, UsageError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities, turned_chances
from bgdata.evaluation.choices import Chooser
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.game.codec import flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.game.position import START
from bgdata.play.random_games import random_game_positions
from bgdata.play.rollout import Limits, RolloutSettings, equities_of, roll_out, rolled_blocks
from bgdata.play.rollout_decisions import Window, roll_out_decision, roll_out_decisions
from bgdata.play.rollout_kernels import BLOCK
from tests.evaluation.sample_networks import pips_player, random_networks

SHORT = RolloutSettings("end", 4)
FEW = Limits(2 * BLOCK)
START_BOARD = np.array(START.board, np.int8)


def test_plays_are_those_of_the_window() -> None:
    positions = random_game_positions(2, 4)
    boards, rolls = positions.boards[::30], positions.rolls[::30]
    chooser = NetworkPlayer(random_networks(0, 30.0), NO_TABLES).chooser
    window = Window(0.05, 2, 4)
    found = roll_out_decisions(boards, rolls, chooser, 1, RolloutSettings("end", 1), window, FEW)
    assert len(found) == len(boards)
    for board, roll, decision in zip(boards, rolls, found, strict=True):
        _, after_play = batch_plays(board[None], roll[None])
        after = flip_boards(after_play)
        equities = -cubeless_equities(evaluations(random_networks(0, 30.0), NO_TABLES, after).chances)
        order = np.argsort(-equities, kind="stable")
        near = [row for row in order[:4] if equities[order[0]] - equities[row] <= np.float32(0.05)]
        expected = {after[row].tobytes() for row in [*near, *order[:2]]}
        assert {play.tobytes() for play in decision.boards} == expected
        assert decision.n_plays == len(after)
        assert decision.static_losses.min() == 0


def test_plays_are_ranked_by_their_rollouts() -> None:
    decision = roll_out_decision(START_BOARD, (3, 1), pips_player().chooser, 5, SHORT, Window(9.0, 2, 6), FEW)
    alone = roll_out(decision.boards, pips_player().chooser, 2 * BLOCK, 5, SHORT, items=np.zeros(6, np.int64))
    assert decision.result.chances == pytest.approx(turned_chances(alone.chances.astype(np.float32)), abs=1e-6)
    assert decision.result.equities == pytest.approx(-alone.equities, abs=1e-12)
    assert decision.result.equity_standard_errors == pytest.approx(alone.equity_standard_errors)
    assert decision.result.standard_errors == pytest.approx(alone.standard_errors[:, [0, 3, 4, 1, 2]])
    assert (np.diff(decision.result.equities) <= 0).all()
    assert decision.losses == pytest.approx(decision.result.equities[0] - decision.result.equities, abs=1e-12)
    assert decision.losses[0] == decision.loss_standard_errors[0] == 0
    assert len(set(decision.result.trials.tolist())) == 1


def test_errors_of_losses_come_from_paired_differences() -> None:
    decision = roll_out_decision(
        START_BOARD, (6, 5), pips_player().chooser, 5, SHORT, Window(9.0, 2, 3), Limits(4 * BLOCK)
    )
    zero = np.zeros(3, np.int64)
    blocks = rolled_blocks(decision.boards, pips_player().chooser, 5, SHORT, Limits(4 * BLOCK), zero, zero)
    equities = np.array([equities_of(block[:, 0] - block[:, 1]) for block in blocks])
    differences = equities - equities[0]
    assert decision.losses == pytest.approx(differences.mean(axis=1), abs=1e-12)
    assert decision.loss_standard_errors == pytest.approx(differences.std(axis=1, ddof=1) / 2, abs=1e-12)


def test_all_plays_of_a_decision_go_on_together() -> None:
    boards, rolls = np.stack([START_BOARD, START_BOARD]), np.array([[3, 1], [6, 5]])
    window = Window(9.0, 2, 4)
    single = roll_out_decisions(boards, rolls, pips_player().chooser, 5, SHORT, window, FEW)
    errors = [decision.result.equity_standard_errors for decision in single]
    until = float(np.mean([error.max() for error in errors]))
    found = roll_out_decisions(
        boards, rolls, pips_player().chooser, 5, SHORT, window, Limits(2 * BLOCK, until, 20 * BLOCK)
    )
    trials = [set(decision.result.trials.tolist()) for decision in found]
    assert [len(counts) for counts in trials] == [1, 1]
    assert trials[int(np.argmin([error.max() for error in errors]))] == {2 * BLOCK}
    assert trials[int(np.argmax([error.max() for error in errors]))] > {2 * BLOCK} or max(trials[0] | trials[1]) > 72
    items = np.array([0])
    alone = roll_out_decisions(boards[:1], rolls[:1], pips_player().chooser, 5, SHORT, window, FEW, items)[0]
    assert np.array_equal(alone.result.equities, single[0].result.equities)
    other = roll_out_decisions(boards[:1], rolls[:1], pips_player().chooser, 5, SHORT, window, FEW, items + 1)[0]
    assert not np.array_equal(other.result.equities, single[0].result.equities)


def test_an_only_play() -> None:
    board = np.zeros(26, np.int8)
    board[[1, 24]] = 2, -2
    decision = roll_out_decision(board, (6, 6), pips_player().chooser, limits=FEW)
    assert decision.n_plays == 1
    assert decision.losses.tolist() == decision.loss_standard_errors.tolist() == [0]
    assert decision.result.equities.tolist() == [1]
    assert roll_out_decisions(np.empty((0, 26), np.int8), np.empty((0, 2), np.int8), pips_player().chooser) == []


@pytest.mark.parametrize("window", [Window(-0.1), Window(float("nan")), Window(0.1, 0), Window(0.1, 5, 4)])
def test_wrong_windows(window: Window) -> None:
    with pytest.raises(UsageError, match="expected a window of 0 points or more"):
        roll_out_decision(START_BOARD, (3, 1), pips_player().chooser, window=window)


def test_wrong_rolls_and_players() -> None:
    with pytest.raises(InvalidRollError):
        roll_out_decision(START_BOARD, (7, 1), pips_player().chooser)
    with pytest.raises(UsageError, match="expected a player with networks"):
        roll_out_decision(START_BOARD, (3, 1), Chooser(0))
    with pytest.raises(UsageError, match="expected a multiple of 36"):
        roll_out_decision(START_BOARD, (3, 1), pips_player().chooser, limits=Limits(50))
