"""Rollouts against gnubg's: of races, where bearoff tables make both programs play nearly perfectly, and of contact
positions, where the players differ a little."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.equity.cube import CubeRules
from bgdata.evaluation.bearoff import map_tables
from bgdata.evaluation.networks.player import NetworkPlayer, open_network_player
from bgdata.game.dice import roll_of
from bgdata.game.match import Money, Stakes
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.kinds import all_kinds
from bgdata.selfplay.cubeful_rollout import CubefulStart, roll_out_with_cube
from bgdata.selfplay.rollout import Limits, RolloutResult, RolloutSettings, roll_out
from bgdata.warehouse import Warehouse
from tests.evaluation.sample_networks import pips_networks, shipped_player
from tests.game.gnubg_rules import after_moves
from tests.oracles import ask_gnubg, needs_gnubg_tool

# without "chequerplay cubeful off" cubeless rollouts choose plays with the cube, and win a quarter fewer gammons
SCRIPT = """
import gnubg, json
for command in ["set player 0 human", "set player 1 human", "set automatic game off", "set automatic roll off",
                "set automatic move off", "set automatic bearoff off", "set jacoby off", "new session",
                "set rollout trials TRIALS", "set rollout seed 1", "set rollout cubeful CUBEFUL",
                "set rollout chequerplay plies 0", "set rollout cubedecision plies 0",
                "set rollout chequerplay cubeful CUBEFUL", "set turn 1", "set board POSITION", "set dice DICE",
                "move PLAY", "previous", "analyse move", "analyse rollout move 1 2"]:
    gnubg.command(command)
moves = gnubg.match(1, 1, 0, 1)["games"][0]["game"][-1]["analysis"]["moves"]
names = ["cubeful-eq", "cubeful-eq-std"] if "CUBEFUL" == "on" else ["probs", "probs-std"]
tell(json.dumps([[move["move"], *(move[name] for name in names)] for move in moves if move["type"] == "rollout"]))
"""


def rollouts_by_gnubg(
    position: Position, dice: tuple[int, int], play: str, trials: int, folder: Path, *, cubeful: bool
) -> list[tuple[Position, Any, Any]]:
    """(position after the play, the opponent on roll; equity or chances of the player who moved; standard errors) of
    gnubg's best two plays. `play` is any legal play."""
    script = SCRIPT.replace("POSITION", position.id).replace("DICE", f"{dice[0]} {dice[1]}").replace("PLAY", play)
    script = script.replace("TRIALS", str(trials)).replace("CUBEFUL", "on" if cubeful else "off")
    (answer,) = ask_gnubg(script, folder)
    rollouts = [
        (after_moves(position, list(chain.from_iterable(moves))).flip(), values, errors)
        for moves, values, errors in json.loads(answer)
    ]
    assert len(rollouts) == 2
    return rollouts


def check_agreement(result: RolloutResult, expected: list[float], errors: list[float], skill: float) -> None:
    """Check that chances of the player who moved agree within four standard errors and a difference in skill."""
    chances = result.chances[0][[0, 3, 4, 1, 2]]
    chances[0] = 1 - chances[0]
    margin = skill + 4 * np.hypot(result.standard_errors[0][[0, 3, 4, 1, 2]], errors)
    assert (np.abs(chances - expected) < margin).all(), (chances, expected)


@needs_gnubg_tool("gnubg")
@pytest.mark.parametrize(
    ("on_roll", "opponent"),
    [
        ((2, 2, 3, 3, 3, 2), (3, 3, 2, 3, 2, 2)),
        ((2, 2, 1, 1), (3, 3, 2, 3, 2, 2)),  # a gammon is possible
        ((3, 3, 3, 2, 2, 2), (1, 1, 1)),
    ],
    ids=["even", "ahead", "behind"],
)
def test_race_rollouts_agree_with_gnubg(tmp_path: Path, on_roll: tuple[int, ...], opponent: tuple[int, ...]) -> None:
    warehouse = bgdata.open_warehouse(tmp_path / "warehouse")
    one_sided = warehouse.build("bearoff_one_sided", RaceParameters(6))
    gammon = warehouse.build("bearoff_gammon", RaceParameters(6))
    chooser = NetworkPlayer(pips_networks(), map_tables(None, one_sided, gammon)).chooser
    board = np.zeros(26, np.int8)
    board[1 : len(on_roll) + 1] = on_roll
    board[24 : 24 - len(opponent) : -1] = [-count for count in opponent]
    rollouts = rollouts_by_gnubg(Position(board), (2, 1), "2/off 1/off", 1296, tmp_path, cubeful=False)
    for after_play, chances, errors in rollouts:
        result = roll_out(np.array([after_play.board], np.int8), chooser, 720, 1, RolloutSettings("end"))
        check_agreement(result, chances, errors, skill=0.002)


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
    rollouts = rollouts_by_gnubg(Position(position_id), dice, play, 216, tmp_path, cubeful=False)
    for after_play, chances, errors in rollouts:
        result = roll_out(np.array([after_play.board], np.int8), player.chooser, 144, 1)
        check_agreement(result, chances, errors, skill=0.02)


@needs_gnubg_tool("gnubg")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("position_id", "dice"), [("4HPwATDgc/ABMA", (2, 1)), ("sGfwgAPbuIEDIA", (6, 2)), ("4NvBEQiYz+ABAA", (5, 4))]
)
def test_cubeful_rollouts_agree_with_gnubg(position_id: str, dice: tuple[int, int], tmp_path: Path) -> None:
    """Equities agree within four standard errors and 0.05 points that a difference in skill may make."""
    position = Position(position_id)
    play = str(legal_plays(position, roll_of(*dice))[0])
    money = Stakes(Money(is_jacoby=False))
    for after_play, equity, error in rollouts_by_gnubg(position, dice, play, 72, tmp_path, cubeful=True):
        start = CubefulStart(np.array(after_play.board, np.int8), money)
        result = roll_out_with_cube([start], shipped_player().chooser, CubeRules(), Limits(216), 1)
        assert abs(-result.values[0] - equity) < 0.05 + 4 * np.hypot(result.standard_errors[0], error)
