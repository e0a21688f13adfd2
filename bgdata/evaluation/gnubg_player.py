"""gnubg as a player and evaluator: the installed program, asked for cubeless money play without the Jacoby rule.

A process answers about a hundred questions a second, mostly waiting inside gnubg, so several processes share the
questions.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UnknownPlayerError
from bgdata.evaluation.chances import Chances
from bgdata.evaluation.evaluator import AnswerSource, Evaluations
from bgdata.evaluation.gnubg_program import ask_gnubg, gnubg_version
from bgdata.evaluation.programs import answers_of_program
from bgdata.game.board import BAR, OPPONENT_BAR
from bgdata.game.codec import Boards
from bgdata.game.position import Position
from bgdata.process import when_cut_off

PROCESSES = 4
MOST_PLY = 4
SCRIPT = """
import gnubg, json
for command in ["set player 0 human", "set player 1 human", "set automatic game off", "set automatic roll off",
                "set automatic move off", "set automatic bearoff off", "new session", "set jacoby off"]:
    gnubg.command(command)
info = gnubg.cubeinfo(1, -1, 1, 0, (0, 0), 0)
info['jacoby'] = 0
context = gnubg.evalcontext(0, PLY, 1, 0, 0.0)
for QUESTION in json.load(open("questions.json")):
    tell(json.dumps(ANSWER))
"""
CHOOSE = ("rows, dice", "gnubg.findbestmove(rows, info, context, tuple(dice))")
EVALUATE = ("rows", "gnubg.evaluate(rows, info, context)[:5]")


class GnubgPlayer:
    """gnubg at a ply; `ply` counts as in gnubg: 0 is the static evaluation. Raises UnknownPlayerError where gnubg is
    not installed."""

    def __init__(self, ply: int = 0) -> None:
        if not 0 <= ply <= MOST_PLY:
            raise UnknownPlayerError(f"expected --ply 0 to {MOST_PLY} for gnubg, got {ply}")
        self.ply = ply
        self.version = gnubg_version()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label})"

    @property
    def label(self) -> str:
        """Name and ply, such as gnubg-2ply."""
        return f"gnubg-{self.ply}ply"

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        """The version of gnubg and its ply; see `evaluator.Evaluator`."""
        return {AnswerSource.PROGRAM: f"GNU Backgammon {self.version}, its {self.ply}-ply"}

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """See `evaluator.Evaluator`. Raises ExternalProgramError if gnubg stops answering."""
        return answers_of_program(boards, self._chances)

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """See `player.Player`. Raises ExternalProgramError if gnubg stops answering."""
        positions = [Position(board) for board in boards.tolist()]
        questions = [(rows_of(position), roll) for position, roll in zip(positions, rolls.tolist(), strict=True)]
        chosen = np.empty_like(boards)
        for row, moves in enumerate(self._ask_all(CHOOSE, questions)):
            chosen[row] = after_moves(positions[row], moves).flip().board
        return chosen

    def _chances(self, boards: Boards) -> Chances:
        questions = [rows_of(Position(board)) for board in boards.tolist()]
        return np.array(self._ask_all(EVALUATE, questions), np.float32).reshape(-1, 5)

    def _ask_all(self, form: tuple[str, str], questions: Sequence[object]) -> list[Any]:
        """The answers in the order of the questions, from several processes."""
        with (
            tempfile.TemporaryDirectory(prefix="gnubg-") as folder,
            when_cut_off(partial(shutil.rmtree, folder, ignore_errors=True)),
            ThreadPoolExecutor(PROCESSES) as executor,
        ):
            parts = [questions[part::PROCESSES] for part in range(PROCESSES)]
            folders = [Path(folder, str(part)) for part in range(PROCESSES)]
            answers = list(executor.map(partial(self._ask, form), parts, folders))
        return [answers[row % PROCESSES][row // PROCESSES] for row in range(len(questions))]

    def _ask(self, form: tuple[str, str], questions: Sequence[object], folder: Path) -> list[Any]:
        if not questions:
            return []
        folder.mkdir()
        (folder / "questions.json").write_text(json.dumps(questions))
        question, answer = form
        script = SCRIPT.replace("PLY", str(self.ply)).replace("QUESTION", question).replace("ANSWER", answer)
        return [json.loads(told) for told in ask_gnubg(script, folder)]


def rows_of(position: Position) -> list[list[int]]:
    """A position in the form of gnubg: the opponent's 25 counts, then those of the player on roll."""
    return [list(row) for row in position.rows]


def after_moves(position: Position, moves: list[int]) -> Position:
    """The position after checker moves in the form of gnubg: from, to, from, to, ...; 25 is the bar, 0 is off."""
    board = list(position.board)
    for start, end in zip(moves[::2], moves[1::2], strict=True):
        board[start if start < BAR else BAR] -= 1
        if end > 0:
            if board[end] == -1:
                board[end] = 0
                board[OPPONENT_BAR] += 1
            board[end] += 1
    return Position(board)
