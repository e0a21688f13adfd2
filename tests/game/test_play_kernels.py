"""The play kernels against the reference and `plays`, order included, for every roll and on several threads."""

import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import pairwise
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError, InvalidRollError
from bgdata.game import play_kernels
from bgdata.game.board import BAR
from bgdata.game.codec import Boards, flip_boards, pip_counts
from bgdata.game.dice import ORDERED_ROLLS, ROLLS, Roll, roll_of
from bgdata.game.plays import OFF, CheckerMove, Play, checker_moves, format_play, legal_plays
from bgdata.game.position import START, Position
from bgdata.kernel import threads
from tests.game.strategies import boards
from tests.random_games import GamePositions, random_game_positions
from tests.reference.plays import boards_after

exhaustive = pytest.mark.skipif("BGDATA_EXHAUSTIVE" not in os.environ, reason="minutes; set BGDATA_EXHAUSTIVE=1 to run")
batches = st.lists(boards(), min_size=1, max_size=8).map(lambda rows: np.array(rows, np.int8))
rolls = st.sampled_from(ROLLS)


def split_rows(offsets: NDArray[np.int64], after_play: Boards) -> list[list[tuple[int, ...]]]:
    rows = list(map(tuple, after_play.tolist()))
    return [rows[begin:end] for begin, end in pairwise(offsets)]


def check_against_reference(positions: Boards, dice: NDArray[np.int8]) -> int:
    """Compare every row; returns the number of rows."""
    found = split_rows(*play_kernels.batch_plays(positions, dice))
    for board, roll, plays in zip(positions.tolist(), dice.tolist(), found, strict=True):
        assert len(set(plays)) == len(plays), (board, roll)
        assert set(plays) == boards_after(board, *roll), (board, roll)
    return len(found)


def check_games(first: int) -> int:
    games = random_game_positions(500, seed=11, first=first)
    return check_against_reference(games.boards, games.rolls)


def test_plays_have_the_order_of_legal_plays() -> None:
    games = random_game_positions(30, seed=1)
    found = split_rows(*play_kernels.batch_plays(games.boards, games.rolls))
    for board, (die, other_die), plays in zip(games.boards.tolist(), games.rolls.tolist(), found, strict=True):
        roll = Roll(max(die, other_die), min(die, other_die))
        assert plays == [play.after_play.board for play in legal_plays(Position(board), roll)]


@given(batches, rolls)
def test_unreachable_boards_have_the_plays_of_legal_plays(batch: Boards, roll: Roll) -> None:
    found = split_rows(*play_kernels.batch_plays(batch, np.tile([roll.low, roll.high], (len(batch), 1))))
    for board, plays in zip(batch.tolist(), found, strict=True):
        assert plays == [play.after_play.board for play in legal_plays(Position(board), roll)]


def test_order_of_dice_does_not_matter() -> None:
    positions = random_game_positions(100, seed=2).boards[::30]
    for first, second in ORDERED_ROLLS:
        dice = np.tile(np.array([first, second], np.int8), (len(positions), 1))
        if first >= second:
            check_against_reference(positions, dice)
        offsets, after_play = play_kernels.batch_plays(positions, dice)
        swapped_offsets, swapped = play_kernels.batch_plays(positions, dice[:, ::-1])
        assert np.array_equal(offsets, swapped_offsets)
        assert np.array_equal(after_play, swapped)


def test_positions_of_games_match_the_reference() -> None:
    games = random_game_positions(150, seed=3)
    assert check_against_reference(games.boards, games.rolls) > 10_000


@pytest.mark.slow
@exhaustive
def test_millions_of_positions_match_the_reference() -> None:
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as executor:
        assert sum(executor.map(check_games, range(0, 22_000, 500))) > 2_000_000


@pytest.mark.slow
@exhaustive
def test_plays_keep_checkers_and_pips() -> None:
    for first in range(0, 20_000, 1000):
        games = random_game_positions(1000, seed=4, first=first)
        offsets, after_play = play_kernels.batch_plays(games.boards, games.rolls)
        before = np.repeat(games.boards, np.diff(offsets), axis=0)
        dice = np.repeat(games.rolls, np.diff(offsets), axis=0).astype(np.int64)
        assert (checkers(flip_boards(before)) == checkers(flip_boards(after_play))).all()
        assert (checkers(before) >= checkers(after_play)).all()
        pips, hit_pips = (pip_counts(before).astype(np.int64) - pip_counts(after_play)).T
        assert (hit_pips <= 0).all()
        assert (pips <= dice.sum(axis=1) * np.where(dice[:, 0] == dice[:, 1], 2, 1)).all()
        assert (pips >= 0).all()


def checkers(boards: Boards) -> NDArray[np.int64]:
    """Number of checkers on the board of the player on roll."""
    return np.maximum(boards[:, 1:], 0).sum(axis=1, dtype=np.int64)


def test_plays_do_not_depend_on_threads() -> None:
    games = random_game_positions(20, seed=5)
    results = []
    for count in (1, 2):
        with threads(count):
            results.append(play_kernels.batch_plays(games.boards, games.rolls))
    for one, two in zip(*results, strict=True):
        assert np.array_equal(one, two)


def test_play_counts_match_batch_plays() -> None:
    games = random_game_positions(20, seed=6)
    offsets, _ = play_kernels.batch_plays(games.boards, games.rolls)
    assert np.array_equal(play_kernels.play_counts(games.boards, games.rolls), np.diff(offsets))


def test_fill_plays_counts_beyond_the_given_rows() -> None:
    """`fill_plays` counts all 73 plays of 33, and writes only as many boards as there are rows."""
    board = np.array(START.board, np.int8)
    notes = np.empty(play_kernels.MAX_NOTES, np.int64)
    _, expected = play_kernels.batch_plays(board[None], np.array([[3, 3]]))
    after = np.full((play_kernels.MAX_PLAYS, 26), 77, np.int8)
    assert play_kernels.fill_plays(board, 3, 3, after, notes) == len(expected) == 73
    assert np.array_equal(after[:73], expected)
    assert (after[73:] == 77).all()
    for scratch in (0, 1, 5):
        few = np.full((scratch + 1, 26), 77, np.int8)
        assert play_kernels.fill_plays(board, 3, 3, few[:scratch], notes) == 73
        assert np.array_equal(few[:scratch], expected[:scratch])
        assert (few[scratch] == 77).all()
    assert board.tolist() == list(START.board)


def test_boards_with_most_plays_fit() -> None:
    """The plays of fifteen single checkers without blocks, and of other boards with very many plays, fit into MAX_PLAYS
    rows."""
    spread = np.zeros((3, 26), np.int8)
    spread[0, 10:25] = spread[1, 5:20] = spread[2, 2:25:2] = 1
    spread[2, 24] = 4
    spread[:, 0] = 1
    for die in range(1, 7):
        dice = np.full((3, 2), die, np.int8)
        check_against_reference(spread, dice)
        assert play_kernels.play_counts(spread, dice).max() <= play_kernels.MAX_PLAYS


def test_no_boards_have_no_plays() -> None:
    offsets, after_play = play_kernels.batch_plays(np.empty((0, 26), np.int8), np.empty((0, 2), np.int8))
    assert offsets.tolist() == [0]
    assert after_play.shape == (0, 26)


def test_invalid_boards_and_rolls_are_refused() -> None:
    """Arrays of another shape or type, impossible dice and illegal boards raise an error that names the row."""
    board = np.array([START.board], np.int8)
    with pytest.raises(InvalidPositionError, match=r"expected boards as int8\[n, 26\], got int64\[1, 26\]"):
        play_kernels.batch_plays(board.astype(np.int64), np.array([[3, 1]]))
    with pytest.raises(InvalidRollError, match=r"expected rolls as integers\[1, 2\], got int64\[1, 3\]"):
        play_kernels.batch_plays(board, np.array([[3, 1, 1]]))
    with pytest.raises(InvalidRollError, match=r"expected rolls as integers\[1, 2\], got float64\[1, 2\]"):
        play_kernels.batch_plays(board, np.array([[3.0, 1.0]]))
    with pytest.raises(InvalidRollError, match=r"expected dice from 1 to 6, got \[3, 7\] in row 0"):
        play_kernels.play_counts(board, np.array([[3, 7]]))
    with pytest.raises(
        InvalidPositionError, match=r"expected at most 15 checkers of the player on roll, got .* in row 0"
    ):
        play_kernels.batch_plays(board + np.int8(1), np.array([[3, 1]]))


COUNT = 120


@cache
def turns() -> tuple[Boards, NDArray[np.int8]]:
    """Boards and rolls of random games."""
    games = random_game_positions(3, seed=41)
    return games.boards[:COUNT], games.rolls[:COUNT]


@cache
def all_after() -> list[set[tuple[int, ...]]]:
    boards, rolls = turns()
    return [boards_after(board, *roll) for board, roll in zip(boards.tolist(), rolls.tolist(), strict=True)]


def candidate_boards(row: int) -> list[tuple[int, ...]]:
    """Candidates for the next board: all that can follow here or in the decision before, and the board itself. Every
    seventh row has no candidates."""
    after = all_after()
    return [] if row % 7 == 3 else sorted(after[row] | after[row - 1] | {tuple(turns()[0][row].tolist())})


def results(boards: list[list[tuple[int, ...]]]) -> tuple[np.ndarray, np.ndarray]:
    """(first result of each decision, boards with the other side on roll)."""
    first = np.cumsum([0, *map(len, boards)])
    return first, flip_boards(np.array([board for some in boards for board in some], np.int8).reshape(-1, 26))


def test_legal_results_match_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    first, following = results(list(map(candidate_boards, range(COUNT))))
    expected = [board in all_after()[row] for row in range(COUNT) for board in candidate_boards(row)]
    assert 0.2 < np.mean(expected) < 0.8
    for count in (1, 2):
        with threads(count):
            assert play_kernels.are_legal_results(*turns(), first, following).tolist() == expected
    monkeypatch.setattr(play_kernels, "_BLOCK", 7)
    assert play_kernels.are_legal_results(*turns(), first, following).tolist() == expected


def test_published_opening_is_a_legal_result() -> None:
    """A published opening play is legal with the dice in either order, but not if the board is seen by the player who
    moved."""
    board = np.array([START.board], np.int8)
    after = Position("4HPwATDgc/ABMA").board
    play = np.array([0, -2, 0, 0, 2, 0, 4, 0, 2, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2, 0], np.int8)
    both = np.vstack([flip_boards(play[np.newaxis]), play[np.newaxis], np.array([after], np.int8)])
    for roll in ([4, 2], [2, 4]):
        found = play_kernels.are_legal_results(board, np.array([roll], np.int64), np.array([0, 3]), both)
        assert found.tolist() == [True, False, False]
    assert not play_kernels.are_legal_results(board, np.array([[4, 1]], np.int8), np.array([0, 3]), both).any()


def test_extra_checker_on_the_bar_is_not_legal() -> None:
    board, roll = np.array([START.board], np.int8), np.array([[3, 1]], np.int8)
    after = np.array([legal_plays(START, "31")[0].next_position.board], np.int8).repeat(3, axis=0)
    after[1, 0] += 1
    after[2, 25] += 1
    assert play_kernels.are_legal_results(board, roll, np.array([0, 3]), after).tolist() == [True, False, False]


def test_no_boards_have_no_legal_results() -> None:
    empty = np.empty((0, 26), np.int8)
    assert play_kernels.are_legal_results(empty, np.empty((0, 2), np.int8), np.array([0]), empty).shape == (0,)
    boards, rolls = turns()
    assert play_kernels.are_legal_results(boards[:2], rolls[:2], np.array([0, 0, 0]), empty).shape == (0,)


@cache
def random_games() -> GamePositions:
    return random_game_positions(24, seed=58)


@cache
def all_plays() -> list[tuple[Position, tuple[int, int], Play]]:
    """Every play of the rolls in random games, and of all rolls in some of their positions."""
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
    return [moves_of(moves) for moves in play_kernels.checker_moves_of(boards, rolls, after).tolist()]


def can_be_played(position: Position, roll: tuple[int, int], moves: tuple[CheckerMove, ...]) -> bool:
    """Whether the moves are legal one after the other, using each die as often as it was rolled."""
    dice = Counter(roll * 2 if roll[0] == roll[1] else roll)
    board = position.board
    for move in moves:
        fitting = [die for die in dice if move in checker_moves(board, die)]
        if not fitting:
            return False
        dice[min(fitting)] -= 1  # when bearing off, the lowest die that works is enough
        dice += Counter()
        changed = list(board)
        changed[move.start] -= 1
        changed[move.end] += 0 if move.end == OFF else 1 + move.is_hit
        changed[0] += move.is_hit
        board = tuple(changed)
    return True


def test_moves_have_the_text_of_legal_plays() -> None:
    texts = [
        format_play(Play(moves, play.after_play))
        for moves, (*_, play) in zip(found_moves(all_plays()), all_plays(), strict=True)
    ]
    assert texts == [str(play) for *_, play in all_plays()]
    assert len(all_plays()) > 20_000
    assert {"no play"} < set(texts)
    assert any("bar/" in text and "*" in text for text in texts)
    assert any("off(4)" in text for text in texts)


def test_moves_match_legal_plays() -> None:
    for moves, (*_, play) in zip(found_moves(all_plays()), all_plays(), strict=True):
        assert len(moves) == len(play.moves)
        assert Counter(moves) == Counter(play.moves)


def test_moves_can_be_played_in_order() -> None:
    for moves, (position, roll, _) in zip(found_moves(all_plays()), all_plays(), strict=True):
        assert can_be_played(position, roll, moves), (position, roll, moves)


def test_moves_do_not_depend_on_threads() -> None:
    boards = random_games().boards[:-1]
    after = boards.copy()  # no play leads there for most, which is not an error
    for count in (1, 2):
        with threads(count):
            assert (play_kernels.checker_moves_of(boards, random_games().rolls[:-1], after) == -1).all()


def test_unconnected_boards_have_no_moves() -> None:
    board = np.array([START.board], np.int8)
    after = board.copy()
    after[0, 24], after[0, 1] = 1, -1
    assert (play_kernels.checker_moves_of(board, np.array([[3, 1]], np.int8), after) == -1).all()
    after = board.copy()
    after[0, 24] = 0  # a double; two checkers are missing
    assert (play_kernels.checker_moves_of(board, np.array([[2, 2]], np.int8), after) == -1).all()
    assert play_kernels.checker_moves_of(board[:0], np.zeros((0, 2), np.int8), board[:0]).shape == (0, 4, 3)


def test_moves_of_a_known_play() -> None:
    board = np.array([START.board], np.int8)
    play = next(play for play in legal_plays(START, roll_of(3, 1)) if str(play) == "8/5 6/5")
    for roll in ([3, 1], [1, 3]):
        found = play_kernels.checker_moves_of(board, np.array([roll]), np.array([play.after_play.board], np.int8))
        assert found.tolist() == [[[8, 5, 0], [6, 5, 0], [-1, -1, -1], [-1, -1, -1]]]
    assert BAR == 25


def test_invalid_rolls_have_no_moves() -> None:
    board = np.array([START.board], np.int8)
    for rolls in ([[0, 1]], [[3, 7]]):
        with pytest.raises(InvalidRollError):
            play_kernels.checker_moves_of(board, np.array(rolls), board)
