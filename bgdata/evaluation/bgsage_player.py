"""bgsage as a player and evaluator, through its public API. It is in the optional extra `oracles`; nothing here needs
it.

bgsage counts plies from 1 (its 1-ply is the static evaluation); here `ply` counts from 0 as everywhere. It evaluates
positions after a play, seen by the player who moved, so a position before the roll is passed as the one after the
opponent's play.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UnknownPlayerError, needing
from bgdata.evaluation.chances import Chances, turned_chances
from bgdata.evaluation.evaluator import AnswerSource, Evaluations
from bgdata.evaluation.programs import answers_of_program
from bgdata.game.board_arrays import board_array, dice_array
from bgdata.game.codec import Boards, flip_boards

MOST_PLY = 3


class BgsagePlayer:
    """Chooses by cubeless equity without the Jacoby rule. Raises UnknownPlayerError where it is not installed."""

    def __init__(self, ply: int = 0) -> None:
        if not 0 <= ply <= MOST_PLY:
            raise UnknownPlayerError(f"expected --ply 0 to {MOST_PLY} for bgsage, got {ply}")
        with needing("oracles", "in this environment", UnknownPlayerError):
            self._bgsage: Any = import_module("bgsage")
        self.ply = ply
        self.version = version("bgsage")
        self._analyzer = self._bgsage.BgBotAnalyzer(eval_level=f"{ply + 1}ply", cubeful=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.ply,)

    @property
    def label(self) -> str:
        """Name and ply, such as bgsage-1ply."""
        return f"bgsage-{self.ply}ply"

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        """The version of bgsage and its ply; see `evaluator.Evaluator`."""
        return {AnswerSource.PROGRAM: f"bgsage {self.version}, its {self.ply + 1}-ply"}

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """Chances and sources of int8[n, 26] boards: see `evaluator.Evaluator`."""
        return answers_of_program(boards, self._chances, self.label)

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """The positions after the chosen plays: see `player.Player`."""
        boards = board_array(boards)
        rolls = dice_array(rolls, len(boards))
        chosen = np.empty_like(boards)
        for row, (board, (die1, die2)) in enumerate(zip(boards.tolist(), rolls.tolist(), strict=True)):
            moves = self._analyzer.checker_play(board, die1, die2, jacoby=False).moves
            chosen[row] = max(moves, key=lambda move: move.cubeless_equity).board
        return flip_boards(chosen)

    def _chances(self, boards: Boards) -> Chances:
        asked = [{"board": board, "cube_owner": "centered"} for board in flip_boards(boards).tolist()]
        found = self._bgsage.batch_post_move_evaluate(asked, f"{self.ply + 1}ply", jacoby=False) if asked else []
        return turned_chances(np.array([each.probs.to_list() for each in found], np.float32).reshape(-1, 5))
