"""The evaluator protocol, and evaluations from answers of other programs."""

from collections.abc import Sequence

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
from bgdata.game.codec import Boards
from bgdata.game.position import START
from tests.evaluation.network_versions import random_networks
from tests.evaluation.sample_evaluators import OnRollWins, chances_of_outcome


def test_players_that_only_choose_plays_are_no_evaluators() -> None:
    network = NetworkPlayer(random_networks(1), NO_TABLES)
    for evaluator in (network, LookaheadPlayer(network, 1), OnRollWins()):
        assert isinstance(evaluator, Evaluator)
    for chooser in (PubEval(), RandomPlayer()):
        assert not isinstance(chooser, Evaluator)


def test_final_sources_are_exact() -> None:
    final = [source for source in AnswerSource if source.is_final]
    assert final == [AnswerSource.OVER, AnswerSource.EXACT, AnswerSource.COMBINED]
    assert AnswerSource.EXACT == BearoffSource.EXACT
    assert AnswerSource.COMBINED == BearoffSource.COMBINED


VALID = (0.5, 0.2, 0.1, 0.2, 0.1)


def board_with_one_side(slot: int, count: int) -> list[int]:
    """A board with checkers of only one side, on one slot."""
    board = [0] * 26
    board[slot] = count
    return board


WON_GAMMON = board_with_one_side(18, -15)


class SampleProgram(ProgramEvaluator):
    """A program that answers with these chances, for any boards."""

    def __init__(self, *chances: Sequence[float]) -> None:
        super().__init__("somebody")
        self.answer = np.array(chances, np.float32).reshape(-1, 5)
        self.calls = list[Boards]()

    def chances(self, boards: Boards) -> NDArray[np.float32]:
        self.calls.append(boards)
        return self.answer


@pytest.mark.parametrize(
    ("slot", "count", "points"),
    [(4, -3, 1), (18, -15, 2), (6, -15, 3), (4, 3, -1), (18, 15, -2), (19, 15, -3), (0, 15, 3)],
)
def test_finished_games_are_answered_by_the_rules(slot: int, count: int, points: int) -> None:
    evaluations = SampleProgram().evaluate_many(np.array([board_with_one_side(slot, count)], np.int8))
    assert evaluations.sources.tolist() == [AnswerSource.OVER]
    assert evaluations.chances[0].tolist() == list(chances_of_outcome(points))


def test_unfinished_games_are_passed_to_the_program_in_one_batch() -> None:
    program = SampleProgram(VALID, VALID)
    boards = np.array([START.board, WON_GAMMON, START.flip().board], np.int8)
    evaluations = program.evaluate_many(boards)
    assert [call.tolist() for call in program.calls] == [boards[[0, 2]].tolist()]
    assert evaluations.sources.tolist() == [AnswerSource.PROGRAM, AnswerSource.OVER, AnswerSource.PROGRAM]
    assert evaluations.chances.tolist() == [pytest.approx(VALID), [1, 1, 0, 0, 0], pytest.approx(VALID)]


def test_no_boards_have_no_chances() -> None:
    evaluations = SampleProgram().evaluate_many(np.zeros((0, 26), np.int8))
    assert evaluations.chances.shape == (0, 5)
    assert evaluations.sources.shape == (0,)


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
    message = f"^expected chances from 0 to 1, none above one that includes it from somebody for {START.id}, got "
    with pytest.raises(ExternalProgramError, match=message):
        SampleProgram(VALID, chances).evaluate_many(boards)


def test_rounded_chances_are_put_in_order() -> None:
    program = SampleProgram((0.5, 0.5004, 0.1, 0.2, 0.1))
    (chances,) = program.evaluate_many(np.array([START.board], np.int8)).chances.tolist()
    assert chances == pytest.approx([0.5, 0.5, 0.1, 0.2, 0.1])


@pytest.mark.parametrize(
    ("boards", "message"),
    [
        (np.zeros((2, 25), np.int8), "expected boards as int8"),
        (np.array([START.board, board_with_one_side(3, 16)], np.int8), "in row 1"),
    ],
)
def test_illegal_boards_are_refused(boards: Boards, message: str) -> None:
    program = SampleProgram()
    for evaluator in (program, NetworkPlayer(random_networks(1), NO_TABLES)):
        with pytest.raises(InvalidPositionError, match=message):
            evaluator.evaluate_many(boards)
    assert program.calls == []
