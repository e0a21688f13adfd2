"""Players as kernels see them: choices are legal, and decided by what they say."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError, InvalidRollError
from bgdata.evaluation.choices import KernelPlayer, choice_scratch, choose, chosen_boards
from bgdata.evaluation.player import PubEval, RandomPlayer
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.kernel import threads
from tests.random_games import random_game_positions
from tests.reference.games import random_chooser


@cache
def turns() -> tuple[Boards, NDArray[np.int8]]:
    games = random_game_positions(30, seed=41)
    return games.boards, games.rolls


def test_random_choices_follow_the_twin() -> None:
    boards, rolls = turns()
    offsets, after_play = batch_plays(boards, rolls)
    numbers = np.arange(len(boards), dtype=np.int64)[::-1].copy()
    chosen = flip_boards(chosen_boards(RandomPlayer(9).chooser, boards, rolls, numbers, 6)).tolist()
    twin = random_chooser(9)
    for row, game in enumerate(numbers.tolist()):
        candidates = after_play[offsets[row] : offsets[row + 1]].tolist()
        assert chosen[row] == twin(boards[row].tolist(), candidates, game, 6)


def test_choices_do_not_depend_on_threads_or_batches() -> None:
    boards, rolls = turns()
    for chooser in (RandomPlayer(4).chooser, PubEval().chooser):
        numbers = np.arange(len(boards))
        expected = chosen_boards(chooser, boards, rolls)
        for count in (1, 2):
            with threads(count):
                assert np.array_equal(chosen_boards(chooser, boards, rolls, numbers), expected)
        late = slice(100, None)
        assert np.array_equal(chosen_boards(chooser, boards[late], rolls[late], numbers[late]), expected[late])


def test_a_single_play_needs_no_choice() -> None:
    board = turns()[0][0]
    assert choose(PubEval().chooser, board, board[None], 1, 0, 0, choice_scratch(PubEval().chooser)) == 0
    assert choose(RandomPlayer().chooser, board, board[None], 1, 0, 0, choice_scratch(RandomPlayer().chooser)) == 0


def test_invalid_positions_and_rolls_are_refused() -> None:
    chooser, boards, rolls = PubEval().chooser, *(values[:3] for values in turns())
    assert isinstance(PubEval(), KernelPlayer)
    with pytest.raises(InvalidPositionError, match="expected"):
        chosen_boards(chooser, 3 * boards, rolls)
    with pytest.raises(InvalidRollError, match="expected dice from 1 to 6"):
        chosen_boards(chooser, boards, rolls + 6)
    with pytest.raises(InvalidRollError, match=r"expected rolls as integers\[3, 2\]"):
        chosen_boards(chooser, boards, rolls[:2])
