"""What players by other programs share: finished games are evaluated by the rules, all others by the program, and
plays in its notation are understood."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bgdata.errors import ExternalProgramError, IllegalPlayError
from bgdata.evaluation.chances import Chances, ordered_chances
from bgdata.evaluation.evaluator import AnswerSource, Evaluations
from bgdata.game.board_arrays import board_array
from bgdata.game.board_kernels import game_outcomes
from bgdata.game.codec import Boards
from bgdata.game.dice import Roll
from bgdata.game.plays import parse_play
from bgdata.game.position import Position

ROUNDING = 1e-3  # how far chances may be out of 0 to 1, or out of their order


def answers_of_program(boards: Boards, ask: Callable[[Boards], Chances], program: str) -> Evaluations:
    """Evaluations of int8[n, 26] boards by another program: finished games are evaluated by the rules, and `ask`
    returns float32[m, 5] chances of the others. Raises InvalidPositionError as an `Evaluator` does, and
    ExternalProgramError for answers that are no chances."""
    boards = board_array(boards)
    outcomes = game_outcomes(boards)
    is_over = outcomes != 0
    ends = (outcomes > 0, outcomes > 1, outcomes > 2, outcomes < -1, outcomes < -2)
    found = Evaluations(np.stack(ends, axis=1).astype(np.float32), np.full(len(boards), AnswerSource.PROGRAM, np.int8))
    found.sources[is_over] = AnswerSource.OVER
    asked = boards[~is_over]
    chances = ask(asked)
    check_chances(asked, chances, program)
    found.chances[~is_over] = ordered_chances(chances)  # rounded ones may be out of order
    return found


def check_chances(boards: Boards, chances: Chances, program: str, *, has_order: bool = True) -> None:
    """Raise ExternalProgramError unless float32[n, 5] are chances of the boards, in their order if `has_order`, within
    ROUNDING."""
    limits = ordered_chances(chances) if has_order else np.clip(chances, 0, 1)
    wrong = np.flatnonzero(~(np.abs(chances - limits) <= ROUNDING).all(axis=1))  # NaN is wrong too
    if len(wrong):
        row = int(wrong[0])
        figures = ", ".join(f"{chance:.4g}" for chance in chances[row].tolist())
        order = ", none above one that includes it" if has_order else ""
        raise ExternalProgramError(
            f"expected chances from 0 to 1{order} from {program} for {Position(boards[row].tolist()).id}, got {figures}"
        )


def position_after(text: str, position: Position, roll: Roll, program: str) -> Position:
    """The position after a play that a program answers by, with the opponent on roll; no text is no play. Raises
    ExternalProgramError."""
    try:
        return parse_play(text, position, roll).next_position
    except IllegalPlayError as error:
        raise ExternalProgramError(f"{error}, in the answer of {program} about {position.id}") from error
