"""Plays and classes according to gnubg, many positions per process."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bgdata.game.board import BAR, OPPONENT_BAR
from bgdata.game.position import Position
from tests.oracles import ask_gnubg

PREAMBLE = """
import gnubg, json
for command in [
    "set player 0 human", "set player 1 human", "set automatic game off", "set automatic roll off",
    "set automatic move off", "set automatic bearoff off", "new session", "set jacoby off", "set turn 1",
    "set evaluation chequerplay evaluation plies 0", "set evaluation chequerplay evaluation cubeful off",
]:
    gnubg.command(command)
"""
PLAYS = """
for position, die, other_die in json.load(open("questions.json")):
    gnubg.command("set board " + position)
    gnubg.command("set dice %d %d" % (die, other_die))
    try:
        plays = [play["move"] for play in gnubg.hint(4000)["hint"]]
    except Exception as error:
        plays = str(error)
    tell(json.dumps(plays))
"""
CLASSES = """
for rows in json.load(open("questions.json")):
    tell(gnubg.classifypos(rows, 0))
"""


def gnubg_plays(questions: Sequence[tuple[str, int, int]], folder: Path, processes: int = 4) -> list[list[str]]:
    """The plays of each (Position ID, die, die) as text. Several processes share the questions, since gnubg mostly
    waits."""

    def ask(part: int) -> list[Any]:
        own = folder / str(part)
        own.mkdir()
        (own / "questions.json").write_text(json.dumps(questions[part::processes]))
        return [json.loads(answer) for answer in ask_gnubg(PREAMBLE + PLAYS, own)]

    answers: list[Any] = [None] * len(questions)
    with ThreadPoolExecutor(processes) as executor:
        for part, found in enumerate(executor.map(ask, range(processes))):
            answers[part::processes] = found
    return answers


def gnubg_classes(positions: Sequence[Position], folder: Path) -> list[int]:
    """The class of each position."""
    (folder / "questions.json").write_text(json.dumps([[list(row) for row in position.rows] for position in positions]))
    return list(map(int, ask_gnubg(PREAMBLE + CLASSES, folder)))


def after_moves(position: Position, moves: list[int]) -> Position:
    """The position after checker moves in gnubg's form: from, to, from, to, ...; 25 is the bar, 0 is off."""
    board = list(position.board)
    for start, end in zip(moves[::2], moves[1::2], strict=True):
        board[start if start < BAR else BAR] -= 1
        if end > 0:
            if board[end] == -1:
                board[end] = 0
                board[OPPONENT_BAR] += 1
            board[end] += 1
    return Position(board)
