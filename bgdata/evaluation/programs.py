"""What players by other programs share: finished games are evaluated by the rules, all others by the program, and
plays in its notation are understood."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bgdata.errors import ExternalProgramError, IllegalPlayError
from bgdata.evaluation.chances import Chances
from bgdata.evaluation.evaluator import AnswerSource, Evaluations
from bgdata.game.board_arrays import board_array
from bgdata.game.board_kernels import game_outcomes
from bgdata.game.codec import Boards
from bgdata.game.dice import Roll
from bgdata.game.plays import parse_play
from bgdata.game.position import Position


def answers_of_program(boards: Boards, ask: Callable[[Boards], Chances]) -> Evaluations:
    """Evaluations of int8[n, 26] boards by another program: finished games are evaluated by the rules, and `ask`
    returns float32[m, 5] chances of the others. Raises InvalidPositionError as an `Evaluator` does."""
    boards = board_array(boards)
    outcomes = game_outcomes(boards)
    is_over = outcomes != 0
    ends = (outcomes > 0, outcomes > 1, outcomes > 2, outcomes < -1, outcomes < -2)
    found = Evaluations(np.stack(ends, axis=1).astype(np.float32), np.full(len(boards), AnswerSource.PROGRAM, np.int8))
    found.sources[is_over] = AnswerSource.OVER
    found.chances[~is_over] = ask(boards[~is_over])
    return found


def position_after(text: str, position: Position, roll: Roll, program: str) -> Position:
    """The position after a play that a program answers by, with the opponent on roll; no text is no play. Raises
    ExternalProgramError."""
    try:
        return parse_play(text, position, roll).next_position
    except IllegalPlayError as error:
        raise ExternalProgramError(f"{error}, in the answer of {program} about {position.id}") from error
