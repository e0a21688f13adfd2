"""gnubg's rollouts of races, where both programs play nearly perfectly: bearoff tables choose most of the plays."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.datasets._race import RaceParameters
from bgdata.evaluation.bearoff import map_tables
from bgdata.evaluation.gnubg_player import after_moves
from bgdata.evaluation.network_player import NetworkPlayer
from bgdata.game.position import Position
from bgdata.play.rollout import How, roll_out
from tests.evaluation.networks import pips_networks
from tests.oracles import ask_gnubg, needs_gnubg_tool

SCRIPT = """
import gnubg, json
for command in ["set player 0 human", "set player 1 human", "set automatic game off", "set automatic roll off",
                "set automatic move off", "set automatic bearoff off", "new session", "set jacoby off",
                "set rollout trials 1296", "set rollout seed 1", "set rollout cubeful off",
                "set rollout chequerplay plies 0", "set rollout cubedecision plies 0", "set turn 1",
                "set board POSITION", "set dice 2 1", "move PLAY", "previous", "analyse move",
                "analyse rollout move 1 2"]:
    gnubg.command(command)
moves = gnubg.match(1, 1, 0, 1)["games"][0]["game"][-1]["analysis"]["moves"]
tell(json.dumps([[move["move"], move["probs"], move["probs-std"]] for move in moves if move["type"] == "rollout"]))
"""
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
def test_rollouts_agree_with_those_of_gnubg(tmp_path: Path, own: tuple[int, ...], other: tuple[int, ...]) -> None:
    warehouse = bgdata.open_warehouse(tmp_path / "warehouse")
    tables = map_tables(None, *(warehouse.build(name, RaceParameters(6)) for name in NAMES))
    board = np.zeros(26, np.int8)
    board[1 : len(own) + 1], board[24 : 24 - len(other) : -1] = own, [-count for count in other]
    position = Position.from_board(board)
    script = SCRIPT.replace("POSITION", position.id).replace("PLAY", "2/off 1/off")
    (told,) = ask_gnubg(script, tmp_path)
    rolled = json.loads(told)
    assert len(rolled) == 2
    for moves, expected, errors in rolled:
        after = after_moves(position, list(chain.from_iterable(moves))).flip()
        brain = NetworkPlayer(pips_networks(), tables).brain
        result = roll_out(np.array([after.board], np.int8), brain, 720, 1, How("end"))
        chances = result.chances[0][[0, 3, 4, 1, 2]]
        chances[0] = 1 - chances[0]
        margin = 0.002 + 4 * np.hypot(result.standard_errors[0][[0, 3, 4, 1, 2]], errors)
        assert (np.abs(chances - expected) < margin).all(), (chances, expected)
