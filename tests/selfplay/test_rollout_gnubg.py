"""Rollouts against gnubg's: of races, where bearoff tables make both programs play nearly perfectly, and of contact
positions, where the players differ a little."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.evaluation.bearoff import map_tables
from bgdata.evaluation.networks.player import NetworkPlayer, open_network_player
from bgdata.game.position import Position
from bgdata.kinds import all_kinds
from bgdata.selfplay.rollout import RolloutResult, RolloutSettings, roll_out
from bgdata.warehouse import Warehouse
from tests.evaluation.sample_networks import pips_networks
from tests.oracles import needs_gnubg_tool
from tests.selfplay.cubeful_rollouts_of_gnubg import decisions, pairs_of, rollouts_of_gnubg

NAMES = ("bearoff_one_sided", "bearoff_gammon")


@needs_gnubg_tool("gnubg")
@pytest.mark.parametrize(
    ("own", "other"),
    [
        ((2, 2, 3, 3, 3, 2), (3, 3, 2, 3, 2, 2)),  # even
        ((2, 2, 1, 1), (3, 3, 2, 3, 2, 2)),  # ahead, and a gammon is possible
        ((3, 3, 3, 2, 2, 2), (1, 1, 1)),  # behind
    ],
)
def test_race_rollouts_agree_with_gnubg(tmp_path: Path, own: tuple[int, ...], other: tuple[int, ...]) -> None:
    warehouse = bgdata.open_warehouse(tmp_path / "warehouse")
    tables = map_tables(None, *(warehouse.build(name, RaceParameters(6)) for name in NAMES))
    board = np.zeros(26, np.int8)
    board[1 : len(own) + 1], board[24 : 24 - len(other) : -1] = own, [-count for count in other]
    position = Position(board)
    for after, expected, errors in rollouts_of_gnubg(position, (2, 1), "2/off 1/off", 1296, tmp_path, cubeful=False):
        chooser = NetworkPlayer(pips_networks(), tables).chooser
        result = roll_out(np.array([after.board], np.int8), chooser, 720, 1, RolloutSettings("end"))
        check_agreement(result, expected, errors, 0.002)


@needs_gnubg_tool("gnubg")
@pytest.mark.parametrize(
    ("position_id", "dice", "play"),
    [
        ("4HPwATDgc/ABMA", (3, 1), "8/5 6/5"),  # the start
        ("sGfwgAPbuIEDIA", (6, 2), "24/18 13/11"),
        ("4NvBEQiYz+ABAA", (5, 4), "13/8 6/2"),
    ],
)
def test_contact_rollouts_agree_with_gnubg(tmp_path: Path, position_id: str, dice: tuple[int, int], play: str) -> None:
    """The network is about as good as gnubg, and plays like it. `network` differs more: in the third position it finds
    plays for the side behind that gnubg does not, see docs/research/networks.md."""
    player = open_network_player("network/taught-400", 0, Warehouse("nowhere", all_kinds()))
    assert isinstance(player, NetworkPlayer)
    for after, expected, errors in rollouts_of_gnubg(Position(position_id), dice, play, 216, tmp_path, cubeful=False):
        result = roll_out(np.array([after.board], np.int8), player.chooser, 144, 1)
        check_agreement(result, expected, errors, 0.02)


def check_agreement(result: RolloutResult, expected: list[float], errors: list[float], skill: float) -> None:
    """Check that chances agree within four standard errors and a difference in skill."""
    chances = result.chances[0][[0, 3, 4, 1, 2]]
    chances[0] = 1 - chances[0]
    margin = skill + 4 * np.hypot(result.standard_errors[0][[0, 3, 4, 1, 2]], errors)
    assert (np.abs(chances - expected) < margin).all(), (chances, expected)


SKILL = 0.05  # points that a difference in skill may make


@needs_gnubg_tool("gnubg")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("position_id", "dice"), [("4HPwATDgc/ABMA", (2, 1)), ("sGfwgAPbuIEDIA", (6, 2)), ("4NvBEQiYz+ABAA", (5, 4))]
)
def test_cubeful_rollouts_agree_with_gnubg(position_id: str, dice: tuple[int, int], tmp_path: Path) -> None:
    pairs = list(pairs_of(Position(position_id), dice, (216, 72), tmp_path))
    assert len(pairs) == 2
    for pair in pairs:
        assert abs(pair.ours - pair.theirs) < SKILL + 4 * np.hypot(pair.error, pair.their_error), pair


def test_decisions_come_from_different_games() -> None:
    found = list(decisions(5, 3))
    assert len({position.id for position, _ in found}) == 5
    assert found == list(decisions(5, 3))
