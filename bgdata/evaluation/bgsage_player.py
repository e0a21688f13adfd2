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
from bgdata.evaluation.evaluator import AnswerSource
from bgdata.evaluation.programs import ProgramEvaluator, chance_array, check_program_ply
from bgdata.game.board_arrays import board_array, dice_array
from bgdata.game.codec import Boards, flip_boards


class BgsagePlayer(ProgramEvaluator):
    """Chooses by cubeless equity without the Jacoby rule. Raises UnknownPlayerError where it is not installed."""

    def __init__(self, ply: int = 0) -> None:
        check_program_ply("bgsage", ply)
        super().__init__(f"bgsage-{ply}ply")
        with needing("oracles", "in this environment", UnknownPlayerError):
            self._bgsage: Any = import_module("bgsage")
        self.ply, self.version = ply, version("bgsage")
        self._analyzer = self._bgsage.BgBotAnalyzer(eval_level=f"{ply + 1}ply", cubeful=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.ply,)

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        """The version of bgsage and its ply; see `evaluator.Evaluator`."""
        return {AnswerSource.PROGRAM: f"bgsage {self.version}, its {self.ply + 1}-ply"}

    def chances(self, boards: Boards) -> Chances:
        """See `ProgramEvaluator`."""
        positions = [{"board": board, "cube_owner": "centered"} for board in flip_boards(boards).tolist()]
        found: Any = []
        if positions:
            found = self._bgsage.batch_post_move_evaluate(positions, f"{self.ply + 1}ply", jacoby=False)
        return turned_chances(chance_array([each.probs.to_list() for each in found]))

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """The positions after the chosen plays: see `player.Player`."""
        boards = board_array(boards)
        rolls = dice_array(rolls, len(boards))
        chosen = np.empty_like(boards)
        for row, (board, (die1, die2)) in enumerate(zip(boards.tolist(), rolls.tolist(), strict=True)):
            moves = self._analyzer.checker_play(board, die1, die2, jacoby=False).moves
            chosen[row] = max(moves, key=lambda move: move.cubeless_equity).board
        return flip_boards(chosen)
