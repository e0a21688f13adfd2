"""Rollouts by any player: the same as those of the kernel where a network plays."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.pubeval import PubEval
from bgdata.game.codec import Boards
from bgdata.kernel import threads
from bgdata.play import rollout
from bgdata.play.player_rollouts import rolled_by
from bgdata.play.random_games import random_game_positions
from bgdata.play.rollout import Rolled, RolloutResult, RolloutSettings, roll_out
from bgdata.play.rollout_kernels import BLOCK
from tests.evaluation.sample_networks import pips_player, random_player

ITEMS = np.array([3, 1, 4, 1])
SHORT, WHOLE = RolloutSettings("end", 5), RolloutSettings("end")


@cache
def game_boards(settings: RolloutSettings) -> Boards:
    """Of one game; the last ones, without contact, where games go to the end: random networks may never end others."""
    return random_game_positions(1, seed=4).boards[[-12, -9, -6, -3] if settings == WHOLE else [0, 9, 20, -3]]


class Asked:
    """A network that no kernel plays."""

    label = version = "asked"

    def __init__(self, player: NetworkPlayer | LookaheadPlayer) -> None:
        self.player = player

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        return self.player.choose_plays(boards, rolls)


def rolled(player: object, settings: RolloutSettings = SHORT) -> Rolled:
    return rolled_by(player, game_boards(settings), random_player(0).chooser, 7, settings, ITEMS)  # type: ignore[arg-type]


def rolled_out(blocks: int, settings: RolloutSettings = SHORT, player: object = None) -> RolloutResult:
    """By a player, or without one by the kernel."""
    through = (lambda _: rolled(player, settings)) if player else (lambda kernel: kernel)
    boards, chooser = game_boards(settings), random_player(0).chooser
    return roll_out(boards, chooser, blocks * BLOCK, 7, settings, items=ITEMS, through=through)


@pytest.mark.parametrize("settings", [SHORT, WHOLE, SHORT._replace(with_luck=False, likely=0)])
@pytest.mark.parametrize("known", [True, False])
def test_a_network_rolls_out_as_the_kernel(known: bool, settings: RolloutSettings) -> None:
    found = rolled_out(4, settings, random_player(0) if known else Asked(random_player(0)))
    for values, others in zip(found, rolled_out(4, settings), strict=True):
        assert np.array_equal(values, others)


def test_batches_do_not_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = rolled_out(4)
    monkeypatch.setattr(rollout, "BATCH_BLOCKS", 8)  # two of the four positions at a time
    found = rolled_out(4, player=random_player(0))
    assert np.array_equal(found.equities, expected.equities)
    assert len(set(found.equities.tolist())) > 2


def test_one_that_looks_ahead_rolls_out_as_the_kernel() -> None:
    """All plays are seen, and the same ones let through."""
    settings = RolloutSettings("end", 3, likely=0, play_ply=1)
    found = rolled_out(2, settings, Asked(LookaheadPlayer(random_player(0).seeing_all(), 1)))
    assert np.array_equal(found.equities, rolled_out(2, settings).equities)


def test_blocks_of_some_rows() -> None:
    blocks = rolled(random_player(0))(np.arange(4), 0, 5)
    assert np.array_equal(rolled(random_player(0))(np.array([2, 0]), 3, 5), blocks[[2, 0], 3:])
    with threads(1):
        assert np.array_equal(rolled(random_player(0))(np.arange(4), 0, 5), blocks)


def test_another_player_has_the_same_luck_on_average() -> None:
    """PubEval plays, and networks that count pips see the luck: what is subtracted averages to zero."""
    player = pips_player()
    settings = RolloutSettings("end", 6)
    boards = game_boards(settings)
    through = rolled_by(PubEval(), boards, player.chooser, 7, settings, ITEMS)
    found = roll_out(
        game_boards(settings), player.chooser, 36 * BLOCK, 7, settings, items=ITEMS, through=lambda _: through
    )
    without = settings._replace(with_luck=False)
    through = rolled_by(PubEval(), boards, player.chooser, 7, without, ITEMS)
    plain = roll_out(
        game_boards(settings), player.chooser, 36 * BLOCK, 7, without, items=ITEMS, through=lambda _: through
    )
    assert found.plain_standard_errors == pytest.approx(plain.equity_standard_errors)
    errors = np.hypot(found.equity_standard_errors, plain.equity_standard_errors)
    assert (np.abs(found.equities - plain.equities) < 4 * errors + 1e-9).all()
    assert (found.reductions[:3] > 1).all()


def test_answers_that_are_no_positions() -> None:
    class Wrong(Asked):
        def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
            return super().choose_plays(boards, rolls)[:-1]

    with pytest.raises(InvalidPositionError, match="expected 288 boards from player asked, got int8"):
        rolled_out(2, player=Wrong(random_player(0)))
