"""The evaluator protocol, and evaluations from answers of other programs."""

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.errors import ExternalProgramError, InvalidPositionError
from bgdata.evaluation.bearoff_kernels import NO_TABLES, BearoffSource
from bgdata.evaluation.chances import AnswerSource, Evaluator
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.player import PubEval, RandomPlayer
from bgdata.evaluation.programs import ProgramEvaluator
from bgdata.game.classes import game_outcome
from bgdata.game.codec import Boards
from bgdata.game.position import START, Position
from tests.evaluation.network_versions import random_networks
from tests.evaluation.sample_evaluators import OnRollWins, chances_of_outcome


def test_programs_are_evaluators_or_choosers() -> None:
    player = NetworkPlayer(random_networks(1), NO_TABLES)
    for evaluator in (player, LookaheadPlayer(player, 1), OnRollWins()):
        assert isinstance(evaluator, Evaluator)
    for chooser in (PubEval(), RandomPlayer()):  # they only choose plays
        assert not isinstance(chooser, Evaluator)


def test_final_sources_are_exact() -> None:
    assert [source for source in AnswerSource if source.is_final] == [
        AnswerSource.OVER,
        AnswerSource.EXACT,
        AnswerSource.COMBINED,
    ]
    assert AnswerSource.EXACT == BearoffSource.EXACT
    assert AnswerSource.COMBINED == BearoffSource.COMBINED


def board_with_one_side(slot: int, count: int) -> list[int]:
    """A board with checkers of only one side, on one slot."""
    board = [0] * 26
    board[slot] = count
    return board


# we win one, two and three points, then lose one, two and three
FINISHED_BOARDS = [
    board_with_one_side(4, -3),
    board_with_one_side(18, -15),
    board_with_one_side(6, -15),
    board_with_one_side(4, 3),
    board_with_one_side(18, 15),
    board_with_one_side(19, 15),
]


class SampleProgram(ProgramEvaluator):
    """A program with the same chances for every position, or given chances."""

    def __init__(self, given: NDArray[np.float32] | None = None) -> None:
        super().__init__("somebody")
        self.given, self.asked = given, list[Boards]()

    def chances(self, boards: Boards) -> NDArray[np.float32]:
        self.asked.append(boards)
        return np.full((len(boards), 5), 0.25, np.float32) if self.given is None else self.given


def test_rules_answer_for_finished_games_and_the_program_for_others() -> None:
    """Only unfinished games are passed to the program, in one batch; finished ones have the chances of their
    outcome."""
    boards = np.array([*FINISHED_BOARDS, START.board, board_with_one_side(0, 15), START.flip().board], np.int8)
    program = SampleProgram()
    found = program.evaluate_many(boards)
    assert [given.tolist() for given in program.asked] == [[list(START.board)] * 2]
    assert found.sources.tolist() == [AnswerSource.OVER] * 6 + [
        AnswerSource.PROGRAM,
        AnswerSource.OVER,
        AnswerSource.PROGRAM,
    ]
    outcomes = [int(game_outcome(Position(board))) for board in boards.tolist()]
    assert outcomes == [1, 2, 3, -1, -2, -3, 0, 3, 0]
    for outcome, chances in zip(outcomes, found.chances.tolist(), strict=True):
        assert chances == ([0.25] * 5 if outcome == 0 else list(chances_of_outcome(outcome)))
    nothing = program.evaluate_many(boards[:0])
    assert (nothing.chances.shape, nothing.sources.shape) == ((0, 5), (0,))


@pytest.mark.parametrize(
    "chances",
    [
        (np.nan,) * 5,
        (2, 0, 0, 0, 0),
        (0.5, -0.1, 0, 0, 0),
        (0.1, 0.9, 0, 0, 0),
        (0.5, 0.2, 0.3, 0, 0),
        (0.9, 0, 0, 0.2, 0),
    ],
)
def test_invalid_chances_are_refused(chances: tuple[float, ...]) -> None:
    boards = np.array([START.board, START.board], np.int8)
    given = np.array([(0.5, 0.2, 0.1, 0.2, 0.1), chances], np.float32)
    message = f"^expected chances from 0 to 1, none above one that includes it from somebody for {START.id}, got "
    with pytest.raises(ExternalProgramError, match=message):
        SampleProgram(given).evaluate_many(boards)
    rounded = given.copy()
    rounded[1] = 0.5, 0.5004, 0.1, 0.2, 0.1
    assert SampleProgram(rounded).evaluate_many(boards).chances.tolist() == [
        given[0].tolist(),
        pytest.approx([0.5, 0.5, 0.1, 0.2, 0.1]),
    ]


@pytest.mark.parametrize(("board", "message"), [
    (np.zeros((2, 25), np.int8), "expected boards as int8"),
    (np.zeros((2, 26)), "expected boards as int8"),
    (np.array([START.board, board_with_one_side(3, 16)], np.int8), "in row 1"),
])  # fmt: skip
def test_illegal_boards_are_refused(board: Boards, message: str) -> None:
    program = SampleProgram()
    for evaluator in (program, NetworkPlayer(random_networks(1), NO_TABLES)):
        with pytest.raises(InvalidPositionError, match=message):
            evaluator.evaluate_many(board)
    assert program.asked == []
