"""Other programs as players. The program evaluates positions and chooses plays, and the rules evaluate finished games.
bgsage, from the optional extra `oracles`, is called by its public Python API."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import ExternalProgramError, IllegalPlayError, UnknownPlayerError, needing
from bgdata.evaluation.chances import AnswerSource, Chances, Evaluations, ordered_chances, turned_chances
from bgdata.evaluation.players import PLAYERS
from bgdata.game.board_arrays import board_array, dice_array
from bgdata.game.board_kernels import game_outcomes
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.dice import Roll, roll_of
from bgdata.game.plays import parse_play
from bgdata.game.position import Position

ROUNDING = 1e-3  # tolerance of the range and order of chances
SEEDS = 1 << 31  # seeds of rollouts are below this: gnubg replaces larger ones by a random seed, and says nothing


class ProgramEvaluator(ABC):
    """Base class of evaluators that are other programs; error messages call the program `name`. See
    `chances.Evaluator`."""

    def __init__(self, label: str, name: str = "") -> None:
        self.label, self.name = label, name or label

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label})"

    @abstractmethod
    def chances(self, boards: Boards) -> Chances:
        """Return the chances that the program estimates for int8[n, 26] boards of unfinished games, as float32[n, 5]. n
        may be 0."""

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """Evaluate int8[n, 26] boards: see `chances.Evaluator`. Raises ExternalProgramError if the program returns
        invalid chances."""
        boards = board_array(boards)
        outcomes = game_outcomes(boards)
        is_over = outcomes != 0
        ends = (outcomes > 0, outcomes > 1, outcomes > 2, outcomes < -1, outcomes < -2)
        chances = np.stack(ends, axis=1).astype(np.float32)
        unfinished = boards[~is_over]
        answers = self.chances(unfinished)
        check_chances(unfinished, answers, self.name)
        chances[~is_over] = ordered_chances(answers)  # rounding may change their order
        return Evaluations(chances, np.where(is_over, AnswerSource.OVER, AnswerSource.PROGRAM).astype(np.int8))


class ProgramPlayer(ProgramEvaluator):
    """Base class of players that are other programs, which answer with plays in standard notation: see
    `player.Player`."""

    @abstractmethod
    def plays(self, decisions: Sequence[tuple[Position, Roll]]) -> Iterable[str]:
        """Return the plays that the program chooses, an empty string where there is no legal play."""

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """The boards after the chosen plays: see `player.Player`. Raises ExternalProgramError if the program stops
        answering or answers with an illegal play."""
        boards = board_array(boards)
        rows = zip(boards.tolist(), dice_array(rolls, len(boards)).tolist(), strict=True)
        decisions = [(Position(board), roll_of(*roll)) for board, roll in rows]
        chosen = np.empty_like(boards)
        for row, (text, (position, roll)) in enumerate(zip(self.plays(decisions), decisions, strict=True)):
            try:
                chosen[row] = parse_play(text, position, roll).next_position.board
            except IllegalPlayError as error:
                raise ExternalProgramError(f"{error}, in the answer of {self.name} about {position.id}") from error
        return chosen


class BgsagePlayer(ProgramEvaluator):
    """bgsage as a player, which chooses plays by cubeless equity without the Jacoby rule. Raises UnknownPlayerError if
    it is not installed.

    bgsage counts plies from 1 (its 1-ply is the static evaluation), but `ply` counts from 0 as elsewhere in bgdata.
    bgsage evaluates positions after a play, for the player who moved, so a position before the roll is passed to it as
    the position after the opponent's play."""

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
        """The version of bgsage and its ply, as the accuracy of its answers; see `chances.Evaluator`."""
        return {AnswerSource.PROGRAM: f"bgsage {self.version}, its {self.ply + 1}-ply"}

    def chances(self, boards: Boards) -> Chances:
        positions = [{"board": board, "cube_owner": "centered"} for board in flip_boards(boards).tolist()]
        found: Any = []
        if positions:
            found = self._bgsage.batch_post_move_evaluate(positions, f"{self.ply + 1}ply", jacoby=False)
        return turned_chances(chance_array([each.probs.to_list() for each in found]))

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """The boards after the chosen plays: see `player.Player`."""
        boards = board_array(boards)
        rolls = dice_array(rolls, len(boards))
        chosen = np.empty_like(boards)
        for row, (board, (die1, die2)) in enumerate(zip(boards.tolist(), rolls.tolist(), strict=True)):
            moves = self._analyzer.checker_play(board, die1, die2, jacoby=False).moves
            chosen[row] = max(moves, key=lambda move: move.cubeless_equity).board
        return flip_boards(chosen)


def check_program_ply(name: str, ply: int) -> None:
    """Raise UnknownPlayerError if the program with this name cannot play at this ply."""
    most = PLAYERS[name].most_ply
    if not 0 <= ply <= most:
        raise UnknownPlayerError(f"expected --ply 0 to {most} for {name}, got {ply}")


def chance_array(rows: list[list[float]]) -> Chances:
    """Convert n rows of five chances to float32[n, 5]; n may be 0."""
    return np.array(rows, np.float32).reshape(-1, 5)


def check_chances(boards: Boards, chances: NDArray[np.floating], program: str, *, has_order: bool = True) -> None:
    """Raise ExternalProgramError, with the name of the program, unless float32[n, 5] are valid chances for the boards,
    within ROUNDING. If `has_order`, no gammon may be likelier than a win, and so on."""
    limits = ordered_chances(chances) if has_order else np.clip(chances, 0, 1)
    wrong = np.flatnonzero(~(np.abs(chances - limits) <= ROUNDING).all(axis=1))  # NaN is wrong too
    if len(wrong):
        row = int(wrong[0])
        figures = ", ".join(f"{chance:.4g}" for chance in chances[row].tolist())
        order = ", none above one that includes it" if has_order else ""
        raise ExternalProgramError(
            f"expected chances from 0 to 1{order} from {program} for {Position(boards[row].tolist()).id}, got {figures}"
        )
