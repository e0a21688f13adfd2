"""gnubg as a player and evaluator: the installed program, asked for cubeless money play without the Jacoby rule.

Its processes are started with the first questions and stay: each answers thousands of questions a second at 0-ply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import ExternalProgramError
from bgdata.evaluation.chances import Chances
from bgdata.evaluation.evaluator import AnswerSource
from bgdata.evaluation.gnubg_program import gnubg_version
from bgdata.evaluation.gnubg_server import ANSWER_SECONDS, GnubgServer
from bgdata.evaluation.programs import ProgramEvaluator, chance_array, check_program_ply, position_after
from bgdata.game.board_arrays import board_array, dice_array
from bgdata.game.codec import Boards
from bgdata.game.dice import roll_of
from bgdata.game.position import Position
from bgdata.kernel import thread_count

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class GnubgPlayer(ProgramEvaluator):
    """gnubg at a ply; `ply` counts as in gnubg: 0 is the static evaluation. An answer may take `patience_seconds`.
    Raises UnknownPlayerError where gnubg is not installed, and later ExternalProgramError if it stops answering."""

    def __init__(self, ply: int = 0, patience_seconds: float = ANSWER_SECONDS) -> None:
        check_program_ply("gnubg", ply)
        super().__init__(f"gnubg-{ply}ply")
        self.ply, self.patience_seconds = ply, patience_seconds
        self.version = f"{gnubg_version()}-external"  # to six decimals, which scripts are not
        self._servers: list[GnubgServer] = []
        self._asking = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.ply, self.patience_seconds)

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        """The version of gnubg and its ply; see `evaluator.Evaluator`."""
        return {AnswerSource.PROGRAM: f"GNU Backgammon {gnubg_version()}, its {self.ply}-ply"}

    def chances(self, boards: Boards) -> Chances:
        """See `ProgramEvaluator`."""
        return chance_array(self._ask_all(GnubgServer.chances, [Position(board) for board in boards.tolist()]))

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """See `player.Player`. Raises ExternalProgramError for an answer that is no legal play."""
        boards = board_array(boards)
        rows = zip(boards.tolist(), dice_array(rolls, len(boards)).tolist(), strict=True)
        decisions = [(Position(board), roll_of(*roll)) for board, roll in rows]
        told = self._ask_all(lambda server, decision: server.play(*decision), decisions)
        chosen = np.empty_like(boards)
        for row, (text, decision) in enumerate(zip(told, decisions, strict=True)):
            chosen[row] = position_after(text, *decision, "gnubg").board
        return chosen

    def _ask_all(self, ask: Callable[[GnubgServer, Question], Answer], questions: Sequence[Question]) -> list[Answer]:
        """The answers in the order of the questions, from as many processes as there are threads to use."""
        count = min(thread_count(), len(questions))
        if not count:
            return []
        parts = [questions[part::count] for part in range(count)]
        with self._asking, ThreadPoolExecutor(count) as executor:
            try:
                missing = count - len(self._servers)
                self._servers += executor.map(GnubgServer, [self.ply] * missing, [self.patience_seconds] * missing)
                answers = list(
                    executor.map(lambda server, part: [ask(server, each) for each in part], self._servers, parts)
                )
            except ExternalProgramError:
                self._servers = []  # others will answer the next questions
                raise
        return [answers[row % count][row // count] for row in range(len(questions))]
