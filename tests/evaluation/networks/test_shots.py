"""Shots: the field's known counts by hand, and every board against all legal plays."""

from __future__ import annotations

from functools import cache

import numpy as np

from bgdata.evaluation.networks.shots import (
    FIELD,
    HITTING,
    HITTING_TWO,
    LANDINGS,
    MOVERS,
    PIPS,
    ROLL_NUMBERS,
    SINGLES,
    TARGETS,
    bit_count,
    entering_shots,
    fill_roll_counts,
    lowest,
    side_sets,
)
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards
from bgdata.game.play_kernels import batch_plays
from tests.random_games import random_game_positions
from tests.together import each


@cache
def sample_boards() -> Boards:
    boards = random_game_positions(40, seed=6).boards
    return np.ascontiguousarray(boards[position_classes(boards) >= PositionClass.CRASHED][::3])


def counts(board: np.ndarray) -> tuple[int, int, int]:
    """Shots of the player on roll."""
    ours, theirs = side_sets(board)
    movers, landings = ours.ahead & FIELD, FIELD & ~theirs.own_made
    targets = theirs.own & landings
    if board[25]:
        return entering_shots(movers, int(board[25]), targets, landings)
    numbers = np.zeros(ROLL_NUMBERS, np.int32)
    numbers[[MOVERS, SINGLES, TARGETS, LANDINGS]] = movers, movers & ~ours.ahead_made, targets, landings
    fill_roll_counts(numbers)
    hitting, hitting_two, pips = numbers[[HITTING, HITTING_TWO, PIPS]].tolist()
    return hitting, hitting_two, pips


def board_of(own: dict[int, int], opponent: dict[int, int]) -> np.ndarray:
    """Both by the points of the player on roll; 25 is his bar, 0 the opponent's."""
    board = np.zeros(26, np.int8)
    for point, count in own.items():
        board[point] = count
    for point, count in opponent.items():
        board[point] = -count
    return board


# the well-known table of shots at one blot 1 to 23 pips away, with nothing in the way
KNOWN = [11, 12, 14, 15, 15, 17, 6, 6, 5, 3, 2, 3, 0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 0]


@each(("away", "rolls"), list(enumerate(KNOWN, start=1)))
def test_known_shots(away: int, rolls: int) -> None:
    assert counts(board_of({24: 2}, {24 - away: 1})) == (rolls, 0, rolls * (24 - away))


def test_blocked_ways() -> None:
    # 6s, 51 and 42 by the small die first, and 33, but not 22
    assert counts(board_of({20: 1}, {14: 1, 15: 2, 16: 2}))[0] == 11 + 2 + 2 + 1
    assert counts(board_of({20: 1}, {8: 1, 14: 2}))[0] == 1  # 12 away: 44, neither 66 nor 33
    assert counts(board_of({20: 1}, {21: 1}))[0] == 0  # behind


def test_two_blots() -> None:
    # 1s and 2s hit, the 1s first: 11 hits both
    assert counts(board_of({20: 1}, {19: 1, 18: 1})) == (20, 1, 11 * 19 + 9 * 18)
    assert counts(board_of({20: 2}, {19: 1, 16: 1}))[1] > counts(board_of({20: 1}, {19: 1, 16: 1}))[1]


def test_from_the_bar() -> None:
    assert counts(board_of({25: 1}, {24: 1}))[0] == 11
    assert counts(board_of({25: 2}, {24: 1}))[0] == 11
    assert counts(board_of({25: 2, 10: 1}, {9: 1}))[:2] == (1, 0)  # 11 alone leaves a move after entering both
    assert counts(board_of({25: 5, 10: 1}, {9: 1}))[0] == 0
    closed = dict.fromkeys(range(19, 25), 2)
    assert counts(board_of({25: 1, 10: 1}, {9: 1, **closed}))[0] == 0
    assert counts(board_of({25: 2}, {24: 1, 23: 1}))[:2] == (20, 3)  # both by 21, and by 11


def test_against_legal_plays() -> None:
    """Equal but for rolls that must be played in full by other checkers, which are rare and only count too many."""
    found = np.array([counts(board) for board in sample_boards()])
    expected = np.zeros_like(found)
    for die in range(1, 7):
        for other in range(1, die + 1):
            offsets, after = batch_plays(
                sample_boards(), np.tile(np.array([die, other], np.int8), (len(sample_boards()), 1))
            )
            before = np.repeat(sample_boards(), np.diff(offsets), axis=0)
            hits = after[:, 0] - before[:, 0]
            lost = (((before == -1) & (after >= 0))[:, 1:25] * np.arange(1, 25)).max(axis=1)
            best = [np.maximum.reduceat(each, offsets[:-1]) for each in (hits > 0, hits > 1, lost)]
            expected += np.stack(best, axis=1) * (1 if die == other else 2)
    assert (expected.max(axis=0) > (35, 30, 400)).all()
    assert (found >= expected).all()
    assert (found != expected).any(axis=1).mean() < 0.01


def test_sets() -> None:
    board = board_of({3: 2, 24: 1, 25: 1}, {1: 1, 12: 3})
    board[0] = 2
    ours, theirs = side_sets(board)
    assert (ours.own, ours.own_made) == (1 << 3 | 1 << 24 | 1 << 25, 1 << 3)
    assert (ours.ahead, ours.ahead_made) == (1 << 22 | 1 << 1 | 1, 1 << 22)
    assert (theirs.own, theirs.own_made) == (1 << 24 | 1 << 13 | 1 << 25, 1 << 13)
    assert (theirs.ahead, theirs.ahead_made) == (1 << 1 | 1 << 12 | 1, 1 << 12)
    for points in (0, 1, FIELD, 1 << 25, 0b1011000):
        assert bit_count(points) == points.bit_count()
        assert lowest(points) == ((points & -points).bit_length() - 1 if points else 64)
