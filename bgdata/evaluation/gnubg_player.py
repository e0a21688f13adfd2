"""gnubg as a player: the installed program chooses, by cubeless money equity without the Jacoby rule.

Each answer is mostly waiting inside gnubg, about a hundred a second for each process, so several processes share them.
"""

from __future__ import annotations

import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UnknownPlayerError
from bgdata.evaluation.gnubg_program import ask_gnubg, gnubg_version
from bgdata.game.codec import Boards
from bgdata.game.position import BAR, OPPONENT_BAR, Position

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
for rows, dice in json.load(open("questions.json")):
    tell(json.dumps(gnubg.findbestmove(rows, info, context, tuple(dice))))
"""


class GnubgPlayer:
    """`ply` counts as gnubg does: 0 is its static evaluation. Raises UnknownPlayerError where it is not installed."""

    def __init__(self, ply: int = 0) -> None:
        if not 0 <= ply <= MOST_PLY:
            raise UnknownPlayerError(f"expected --ply 0 to {MOST_PLY} for gnubg, got {ply}")
        self.ply = ply
        self.version = gnubg_version()

    @property
    def label(self) -> str:
        """gnubg-<ply>ply."""
        return f"gnubg-{self.ply}ply"

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """See player.Player. Raises ExternalProgramError when gnubg stops answering."""
        positions = [Position.from_board(board) for board in boards.tolist()]
        questions = [([list(row) for row in p.rows], roll) for p, roll in zip(positions, rolls.tolist(), strict=True)]
        with tempfile.TemporaryDirectory(prefix="gnubg-") as folder, ThreadPoolExecutor(PROCESSES) as executor:
            parts = [questions[part::PROCESSES] for part in range(PROCESSES)]
            folders = [Path(folder, str(part)) for part in range(PROCESSES)]
            answers = list(executor.map(self._ask, parts, folders))
        chosen = np.empty_like(boards)
        for row, position in enumerate(positions):
            moves = answers[row % PROCESSES][row // PROCESSES]
            chosen[row] = after_moves(position, moves).flip().board
        return chosen

    def _ask(self, questions: list[object], folder: Path) -> list[list[int]]:
        if not questions:
            return []
        folder.mkdir()
        (folder / "questions.json").write_text(json.dumps(questions))
        return [json.loads(answer) for answer in ask_gnubg(SCRIPT.replace("PLY", str(self.ply)), folder)]


def after_moves(position: Position, moves: list[int]) -> Position:
    """The position after checker moves as gnubg lists them: from, to, from, to, ...; 25 is the bar, 0 is off."""
    board = list(position.board)
    for start, end in zip(moves[::2], moves[1::2], strict=True):
        board[start if start < BAR else BAR] -= 1
        if end > 0:
            if board[end] == -1:
                board[end] = 0
                board[OPPONENT_BAR] += 1
            board[end] += 1
    return Position.from_board(board)
