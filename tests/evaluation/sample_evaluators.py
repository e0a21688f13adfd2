"""Evaluators for tests, with answers that are easy to compute."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from bgdata.evaluation.chances import AnswerSource, Evaluations
from bgdata.game.classes import game_outcome
from bgdata.game.codec import Boards, check_boards
from bgdata.game.position import Position

# the addition of a checker on each slot to each of the five chances, in 1/1024; primes give no pattern
_STEPS = np.array(
    [[(7 + 4 * part) * slot * slot + (5 + 6 * part) * slot + 311 for part in range(5)] for slot in range(26)]
)
_FINAL = 5  # one of this many boards is final


def chances_of_outcome(outcome: int) -> tuple[bool, ...]:
    """The chances of a finished game."""
    return outcome > 0, outcome > 1, outcome > 2, outcome < -1, outcome < -2


def judge(board: tuple[int, ...]) -> tuple[tuple[Fraction, ...], bool]:
    """(five chances, whether final): the answers of `Scrambled`, for `tests.reference.lookahead`."""
    outcome = game_outcome(Position(board))
    if outcome:
        return tuple(map(Fraction, chances_of_outcome(outcome))), True
    sums = [sum(int(_STEPS[slot, part]) * count for slot, count in enumerate(board)) for part in range(5)]
    return tuple(Fraction(total % 1024, 1024) for total in sums), sums[0] % _FINAL == 0


class Scrambled:
    """Arbitrary chances without pattern, exact in float32, some of them final; the rules for finished games."""

    label, version = "scrambled", "1"
    accuracy: Mapping[AnswerSource, str] = {AnswerSource.EXACT: "made up"}

    def __init__(self) -> None:
        self.n_evaluated = 0  # boards

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """See chances.Evaluator."""
        self.n_evaluated += len(check_boards(boards))
        sums = boards.astype(np.int64) @ _STEPS
        chances = (sums % 1024 / 1024).astype(np.float32)
        sources = np.where(sums[:, 0] % _FINAL == 0, AnswerSource.EXACT, AnswerSource.CONTACT_NETWORK).astype(np.int8)
        for row, board in enumerate(boards.tolist()):
            outcome = game_outcome(Position(board))
            if outcome:
                chances[row], sources[row] = chances_of_outcome(outcome), AnswerSource.OVER
        return Evaluations(chances, sources)


class NearlyWon(Scrambled):
    """The player on roll wins 90 to 99 % of unfinished games, so a double is passed after any play."""

    label, version = "nearly-won", "1"

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """See chances.Evaluator."""
        scrambled = super().evaluate_many(boards)
        is_unfinished = scrambled.sources != AnswerSource.OVER
        chances = np.where(is_unfinished[:, None], np.float32(0), scrambled.chances)
        chances[is_unfinished, 0] = np.float32(0.9) + np.float32(0.09) * scrambled.chances[is_unfinished, 0]
        sources = np.where(is_unfinished, AnswerSource.CONTACT_NETWORK, AnswerSource.OVER)
        return Evaluations(chances, sources.astype(np.int8))


class OnRollWins:
    """The player on roll always wins a single game, so all plays but the last are equal."""

    label, version = "on-roll-wins", "1"
    accuracy: Mapping[AnswerSource, str] = {}

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """See chances.Evaluator."""
        outcomes = [game_outcome(Position(board)) for board in boards.tolist()]
        chances = [chances_of_outcome(outcome or 1) for outcome in outcomes]
        sources = [AnswerSource.CONTACT_NETWORK if outcome == 0 else AnswerSource.OVER for outcome in outcomes]
        return Evaluations(np.array(chances, np.float32).reshape(-1, 5), np.array(sources, np.int8))
