"""Checker moves found in bulk: for every legal play they are a way to play it, and say it in the same words."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest

from bgdata.errors import InvalidRollError
from bgdata.game.board import BAR
from bgdata.game.dice import ORDERED_ROLLS, roll_of
from bgdata.game.move_kernels import checker_moves_of
from bgdata.game.plays import OFF, CheckerMove, Play, checker_moves, format_play, legal_plays
from bgdata.game.position import START, Position
from bgdata.kernel import threads
from tests.random_games import GamePositions, random_game_positions


@cache
def random_games() -> GamePositions:
    return random_game_positions(24, seed=58)


@cache
def all_plays() -> list[tuple[Position, tuple[int, int], Play]]:
    """Every play of the rolls in some random games, and of every roll of some of their positions."""
    rolls = [(row, tuple(roll)) for row, roll in enumerate(random_games().rolls.tolist())]
    rolls += [(row, roll) for row in range(0, len(random_games().boards), 83) for roll in ORDERED_ROLLS]
    found = []
    for row, roll in rolls:
        position = Position(random_games().boards[row].tolist())
        found += [(position, roll, play) for play in legal_plays(position, roll_of(*roll))]
    return found


def moves_of(moves: list[list[int]]) -> tuple[CheckerMove, ...]:
    return tuple(CheckerMove(start, end, bool(hits)) for start, end, hits in moves if start >= 0)


def found_moves(plays: list[tuple[Position, tuple[int, int], Play]]) -> list[tuple[CheckerMove, ...]]:
    boards = np.array([position.board for position, _, _ in plays], np.int8)
    after = np.array([play.after_play.board for _, _, play in plays], np.int8)
    rolls = np.array([roll for _, roll, _ in plays], np.int8)
    return [moves_of(moves) for moves in checker_moves_of(boards, rolls, after).tolist()]


def can_be_played(position: Position, roll: tuple[int, int], moves: tuple[CheckerMove, ...]) -> bool:
    """Whether the moves are legal one after the other, with each die used as often as it was rolled."""
    dice = Counter(roll * 2 if roll[0] == roll[1] else roll)
    board = position.board
    for move in moves:
        fitting = [die for die in dice if move in checker_moves(board, die)]
        if not fitting:
            return False
        dice[min(fitting)] -= 1  # bearing off, the lowest that does is as good
        dice += Counter()
        changed = list(board)
        changed[move.start] -= 1
        changed[move.end] += 0 if move.end == OFF else 1 + move.is_hit
        changed[0] += move.is_hit
        board = tuple(changed)
    return True


def test_texts_are_those_of_the_legal_plays() -> None:
    texts = [
        format_play(Play(moves, play.after_play))
        for moves, (*_, play) in zip(found_moves(all_plays()), all_plays(), strict=True)
    ]
    assert texts == [str(play) for *_, play in all_plays()]
    assert len(all_plays()) > 20_000
    assert {"no play"} < set(texts)
    assert any("bar/" in text and "*" in text for text in texts)
    assert any("off(4)" in text for text in texts)


def test_moves_are_those_of_the_legal_plays() -> None:
    """As many, from the same points to the same points with the same hits."""
    for moves, (*_, play) in zip(found_moves(all_plays()), all_plays(), strict=True):
        assert len(moves) == len(play.moves)
        assert Counter(moves) == Counter(play.moves)


def test_moves_can_be_played_in_their_order() -> None:
    for moves, (position, roll, _) in zip(found_moves(all_plays()), all_plays(), strict=True):
        assert can_be_played(position, roll, moves), (position, roll, moves)


def test_any_threads() -> None:
    boards = random_games().boards[:-1]
    after = boards.copy()  # no way for most, but not an error
    for count in (1, 2):
        with threads(count):
            assert (checker_moves_of(boards, random_games().rolls[:-1], after) == -1).all()


def test_boards_that_no_play_connects_have_no_moves() -> None:
    board = np.array([START.board], np.int8)
    after = board.copy()
    after[0, 24], after[0, 1] = 1, -1
    assert (checker_moves_of(board, np.array([[3, 1]], np.int8), after) == -1).all()
    after = board.copy()
    after[0, 24] = 0  # a double: as if two checkers had vanished
    assert (checker_moves_of(board, np.array([[2, 2]], np.int8), after) == -1).all()
    assert checker_moves_of(board[:0], np.zeros((0, 2), np.int8), board[:0]).shape == (0, 4, 3)


def test_moves_of_a_known_play() -> None:
    board = np.array([START.board], np.int8)
    play = next(play for play in legal_plays(START, roll_of(3, 1)) if str(play) == "8/5 6/5")
    for roll in ([3, 1], [1, 3]):
        found = checker_moves_of(board, np.array([roll]), np.array([play.after_play.board], np.int8))
        assert found.tolist() == [[[8, 5, 0], [6, 5, 0], [-1, -1, -1], [-1, -1, -1]]]
    assert BAR == 25


def test_wrong_rolls() -> None:
    board = np.array([START.board], np.int8)
    for rolls in ([[0, 1]], [[3, 7]]):
        with pytest.raises(InvalidRollError):
            checker_moves_of(board, np.array(rolls), board)
