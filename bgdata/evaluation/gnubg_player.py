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

from bgdata.errors import ExternalProgramError, UnknownPlayerError
from bgdata.evaluation.chances import Chances
from bgdata.evaluation.evaluator import AnswerSource, Evaluations
from bgdata.evaluation.gnubg_program import gnubg_version
from bgdata.evaluation.gnubg_server import ANSWER_SECONDS, GnubgServer
from bgdata.evaluation.programs import answers_of_program, position_after
from bgdata.game.board_arrays import board_array, dice_array
from bgdata.game.codec import Boards
from bgdata.game.dice import Roll, roll_of
from bgdata.game.position import Position
from bgdata.kernel import thread_count

MOST_PLY = 4
Question = TypeVar("Question")
Answer = TypeVar("Answer")


class GnubgPlayer:
    """gnubg at a ply; `ply` counts as in gnubg: 0 is the static evaluation. An answer may take `patience_seconds`.
    Raises UnknownPlayerError where gnubg is not installed."""

    def __init__(self, ply: int = 0, patience_seconds: float = ANSWER_SECONDS) -> None:
        if not 0 <= ply <= MOST_PLY:
            raise UnknownPlayerError(f"expected --ply 0 to {MOST_PLY} for gnubg, got {ply}")
        self.ply, self.patience_seconds = ply, patience_seconds
        self.version = f"{gnubg_version()}-external"  # to six decimals, which scripts are not
        self._servers: list[GnubgServer] = []
        self._asking = Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.ply, self.patience_seconds)

    @property
    def label(self) -> str:
        """Name and ply, such as gnubg-2ply."""
        return f"gnubg-{self.ply}ply"

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        """The version of gnubg and its ply; see `evaluator.Evaluator`."""
        return {AnswerSource.PROGRAM: f"GNU Backgammon {gnubg_version()}, its {self.ply}-ply"}

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """See `evaluator.Evaluator`. Raises ExternalProgramError if gnubg stops answering."""
        return answers_of_program(boards, self._chances, self.label)

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """See `player.Player`. Raises ExternalProgramError if gnubg stops answering, or does not answer by a legal
        play."""
        boards = board_array(boards)
        rolled = [roll_of(*roll) for roll in dice_array(rolls, len(boards)).tolist()]
        chosen = self._ask_all(_position_after, list(zip(map(Position, boards.tolist()), rolled, strict=True)))
        return np.array([position.board for position in chosen], np.int8).reshape(-1, 26)

    def _chances(self, boards: Boards) -> Chances:
        found = self._ask_all(GnubgServer.chances, list(map(Position, boards.tolist())))
        return np.array(found, np.float32).reshape(-1, 5)

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


def _position_after(server: GnubgServer, decision: tuple[Position, Roll]) -> Position:
    """The position after the play that it chooses, with the opponent on roll. Raises ExternalProgramError."""
    position, roll = decision
    return position_after(server.play(position, roll), position, roll, "gnubg")
