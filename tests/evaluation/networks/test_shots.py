"""Sets of points, escapes and shots: every mask against a reference, known counts of the field, and all legal plays."""

from functools import cache

import numpy as np
import pytest

from bgdata.evaluation.networks import shots
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards
from bgdata.game.dice import ROLLS
from bgdata.game.play_kernels import batch_plays
from tests.random_games import random_game_positions
from tests.reference.contact_inputs import escapes
from tests.reference.contact_inputs import longest_run as slow_longest_run


def points(*numbers: int) -> int:
    return sum(1 << number for number in numbers)


def test_every_mask_matches_the_reference() -> None:
    counts = shots.escape_counts()
    assert counts.shape == (shots.MASKS,)
    for mask in range(shots.MASKS):
        assert counts[mask] == escapes([distance for distance in range(1, 13) if mask >> (distance - 1) & 1])


@pytest.mark.parametrize(
    ("blocked", "rolls"),
    [
        ([], 36),
        ([8, 9, 10, 11, 12], 36),  # no block near enough
        ([1, 2, 3, 4, 5], 11),  # a 6 leaps a prime of five from its edge
        ([1, 2, 3, 4, 5, 6], 0),  # no roll leaps six
        ([2, 3, 4, 5, 6, 7], 0),
        ([2, 3, 4, 5, 6], 2),  # a pip short of its edge: 61
        ([6], 18 + 2),  # seven pips or more by two dice, and 44 and 55: 33 and 66 stop on 6
    ],
)
def test_escapes_over_known_blocks_are_counted(blocked: list[int], rolls: int) -> None:
    mask = sum(1 << (distance - 1) for distance in blocked)
    assert shots.escape_counts()[mask] == rolls


def test_fewest_escapes_are_found_by_square() -> None:
    prime = points(4, 5, 6, 7, 8, 9)  # holds the opponent, who moves up from the bar at 0
    assert shots.escapes_from(3, prime) == 0
    assert shots.escapes_from(0, prime) == 0
    assert shots.escapes_from(12, prime) == 36
    assert shots.fewest_escapes(0, prime) == (0, 0)
    assert shots.fewest_escapes(10, prime) == (36, 0)  # past it
    assert shots.fewest_escapes(25, 0) == (36, 36)
    lone = points(20)
    assert shots.fewest_escapes(3, lone) == (min(shots.escapes_from(square, lone) for square in range(3, 16)),) * 2


@pytest.mark.parametrize(
    "numbers", [[], [1], [24], [1, 2, 3, 24], [18, 19, 20, 21, 22, 23, 24], [1, 3, 5, 7], list(range(1, 25))]
)
def test_runs_and_windows_of_points_are_counted(numbers: list[int]) -> None:
    assert shots.longest_run(points(*numbers)) == slow_longest_run(numbers)
    in_window = [len(set(numbers) & set(range(first, first + 6))) for first in range(1, 20)]
    assert shots.most_in_six(points(*numbers)) == max(in_window)


def test_points_within_six_in_front_are_counted() -> None:
    assert shots.points_in_front(0, points(1, 6, 7, 12, 13)) == 2 + 2 + 1 + 1
    assert shots.points_in_front(25, points(1, 24)) == 0


@cache
def sample_boards() -> Boards:
    boards = random_game_positions(40, seed=6).boards
    return np.ascontiguousarray(boards[position_classes(boards) >= PositionClass.CRASHED][::3])


def shot_counts(board: np.ndarray) -> tuple[int, int, int]:
    """Of the 36 rolls of the player on roll: those that hit, those that hit two blots, and the pips that the opponent
    loses by the best hits of all of them."""
    on_roll, opponent = shots.side_sets(board)
    movers, landings = on_roll.ahead & shots.FIELD, shots.FIELD & ~opponent.own_made
    targets = opponent.own & landings
    if board[25]:
        return shots.entering_shots(movers, int(board[25]), targets, landings)
    numbers = np.zeros(shots.ROLL_NUMBERS, np.int32)
    numbers[[shots.MOVERS, shots.SINGLES, shots.TARGETS, shots.LANDINGS]] = (
        movers,
        movers & ~on_roll.ahead_made,
        targets,
        landings,
    )
    shots.fill_roll_counts(numbers)
    hitting, hitting_two, pips = numbers[[shots.HITTING, shots.HITTING_TWO, shots.PIPS]].tolist()
    return hitting, hitting_two, pips


def board_of(own: dict[int, int], opponent: dict[int, int]) -> np.ndarray:
    """A board from both sides' checkers by points of the player on roll; 25 is its bar, 0 the opponent's."""
    board = np.zeros(26, np.int8)
    for point, count in own.items():
        board[point] = count
    for point, count in opponent.items():
        board[point] = -count
    return board


# the well-known table of shots at one blot 1 to 23 pips away, without obstacles
KNOWN_SHOTS = [11, 12, 14, 15, 15, 17, 6, 6, 5, 3, 2, 3, 0, 0, 1, 1, 0, 1, 0, 1, 0, 0, 0]


@pytest.mark.parametrize(("away", "rolls"), list(enumerate(KNOWN_SHOTS, start=1)))
def test_shots_at_one_blot_match_the_known_table(away: int, rolls: int) -> None:
    assert shot_counts(board_of({24: 2}, {24 - away: 1})) == (rolls, 0, rolls * (24 - away))


def test_shots_over_blocked_points() -> None:
    # the blot is 6 away, points 4 and 5 away are blocked: any 6 hits, 51 and 42 if the small die is played first, 33
    assert shot_counts(board_of({20: 1}, {14: 1, 15: 2, 16: 2}))[0] == 11 + 2 + 2 + 1
    # the blot is 12 away, the point 6 away is blocked: 44 hits, 66 and 33 do not
    assert shot_counts(board_of({20: 1}, {8: 1, 14: 2}))[0] == 1
    # the blot is behind the checker
    assert shot_counts(board_of({20: 1}, {21: 1}))[0] == 0


def test_shots_at_two_blots_are_counted_once() -> None:
    # blots 1 and 2 away: the 11 rolls with a 1 hit the first, which costs most, and 9 more rolls have a 2; 11 hits both
    assert shot_counts(board_of({20: 1}, {19: 1, 18: 1})) == (20, 1, 11 * 19 + 9 * 18)
    assert shot_counts(board_of({20: 2}, {19: 1, 16: 1}))[1] > shot_counts(board_of({20: 1}, {19: 1, 16: 1}))[1]


def test_shots_from_the_bar_enter_first() -> None:
    assert shot_counts(board_of({25: 1}, {24: 1}))[0] == 11
    assert shot_counts(board_of({25: 2}, {24: 1}))[0] == 11
    # with two checkers on the bar, only 11 leaves moves after both have entered
    assert shot_counts(board_of({25: 2, 10: 1}, {9: 1}))[:2] == (1, 0)
    assert shot_counts(board_of({25: 5, 10: 1}, {9: 1}))[0] == 0
    closed = dict.fromkeys(range(19, 25), 2)
    assert shot_counts(board_of({25: 1, 10: 1}, {9: 1, **closed}))[0] == 0
    # 21 (two rolls) and 11 hit both blots
    assert shot_counts(board_of({25: 2}, {24: 1, 23: 1}))[:2] == (20, 3)


def test_shots_are_legal_hits_in_99_of_100_positions() -> None:
    """In the others, a hit with one die is counted although another checker can play both dice, which makes it
    illegal."""
    boards = sample_boards()
    counts = np.array([shot_counts(board) for board in boards])
    legal_counts = np.zeros_like(counts)
    for roll in ROLLS:
        offsets, after = batch_plays(boards, np.tile(np.array([roll.high, roll.low], np.int8), (len(boards), 1)))
        before = np.repeat(boards, np.diff(offsets), axis=0)
        hits = after[:, 0] - before[:, 0]
        lost_pips = (((before == -1) & (after >= 0))[:, 1:25] * np.arange(1, 25)).max(axis=1)
        by_play = np.stack([hits > 0, hits > 1, lost_pips], axis=1)
        legal_counts += roll.weight * np.maximum.reduceat(by_play, offsets[:-1])
    assert (legal_counts.max(axis=0) > (35, 30, 400)).all()
    assert (counts >= legal_counts).all()
    assert (counts != legal_counts).any(axis=1).mean() < 0.01


def test_side_sets_have_a_bit_for_each_point() -> None:
    board = board_of({3: 2, 24: 1, 25: 1}, {1: 1, 12: 3})
    board[0] = 2
    on_roll, opponent = shots.side_sets(board)
    assert on_roll.own == points(3, 24, 25)
    assert on_roll.own_made == points(3)
    assert on_roll.ahead == points(22, 1, 0)
    assert on_roll.ahead_made == points(22)
    assert opponent.own == points(24, 13, 25)
    assert opponent.own_made == points(13)
    assert opponent.ahead == points(1, 12, 0)
    assert opponent.ahead_made == points(12)


@pytest.mark.parametrize("mask", [0, 1, shots.FIELD, 1 << 25, 0b1011000])
def test_bits_are_counted(mask: int) -> None:
    assert shots.bit_count(mask) == mask.bit_count()
    assert shots.lowest(mask) == ((mask & -mask).bit_length() - 1 if mask else 64)
