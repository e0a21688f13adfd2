"""The play kernels against the reference and `plays`, order included, for every roll and on several threads."""

import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError, InvalidRollError
from bgdata.game import play_kernels
from bgdata.game.board import BAR
from bgdata.game.codec import Boards, flip_boards
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


def kernel_plays(boards: Boards, rolls: NDArray[np.int8]) -> list[list[tuple[int, ...]]]:
    """The boards after the plays of each board."""
    offsets, after_play = play_kernels.batch_plays(boards, rolls)
    rows = list(map(tuple, after_play.tolist()))
    return [rows[begin:end] for begin, end in pairwise(offsets)]


def check_against_reference(boards: Boards, rolls: NDArray[np.int8]) -> None:
    for board, roll, plays in zip(boards.tolist(), rolls.tolist(), kernel_plays(boards, rolls), strict=True):
        assert len(set(plays)) == len(plays), (board, roll)
        assert set(plays) == boards_after(board, *roll), (board, roll)


def check_games(first: int) -> int:
    """Check 500 games, from number `first` on; returns the number of positions."""
    games = random_game_positions(500, seed=11, first=first)
    check_against_reference(games.boards, games.rolls)
    return len(games.boards)


@given(batches, rolls)
def test_plays_are_those_of_legal_plays_in_order(batch: Boards, roll: Roll) -> None:
    plays_by_board = kernel_plays(batch, np.tile(np.array([roll.low, roll.high], np.int8), (len(batch), 1)))
    for board, plays in zip(batch.tolist(), plays_by_board, strict=True):
        assert plays == [play.after_play.board for play in legal_plays(Position(board), roll)]


def test_order_of_dice_does_not_matter() -> None:
    boards = random_game_positions(100, seed=2).boards[::30]
    for roll in ROLLS:
        dice = np.tile(np.array([roll.high, roll.low], np.int8), (len(boards), 1))
        check_against_reference(boards, dice)
        assert kernel_plays(boards, dice) == kernel_plays(boards, dice[:, ::-1])


def test_positions_of_games_match_the_reference() -> None:
    games = random_game_positions(150, seed=3)
    check_against_reference(games.boards, games.rolls)
    assert len(games.boards) > 10_000


@pytest.mark.slow
@exhaustive
def test_millions_of_positions_match_the_reference() -> None:
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as executor:
        assert sum(executor.map(check_games, range(0, 22_000, 500))) > 2_000_000


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


@pytest.mark.parametrize("rows", [0, 1, 5, play_kernels.MAX_PLAYS])
def test_fill_plays_counts_all_plays_and_writes_as_many_as_fit(rows: int) -> None:
    board = np.array(START.board, np.int8)
    notes = np.empty(play_kernels.MAX_NOTES, np.int64)
    _, expected = play_kernels.batch_plays(board[None], np.array([[3, 3]]))
    untouched = 77
    after = np.full((rows + 1, 26), untouched, np.int8)
    assert play_kernels.fill_plays(board, 3, 3, after[:rows], notes) == len(expected) == 73
    written = min(rows, 73)
    assert np.array_equal(after[:written], expected[:written])
    assert (after[written:] == untouched).all()
    assert board.tolist() == list(START.board)


def test_boards_with_most_plays_fit() -> None:
    spread = np.zeros((3, 26), np.int8)
    spread[0, 10:25] = 1
    spread[1, 5:20] = 1
    spread[2, 2:24:2] = 1
    spread[2, 24] = 4
    spread[:, 0] = 1  # the opponent is on the bar
    for die in range(1, 7):
        dice = np.full((3, 2), die, np.int8)
        check_against_reference(spread, dice)
        assert play_kernels.play_counts(spread, dice).max() <= play_kernels.MAX_PLAYS


def test_no_boards_have_no_plays() -> None:
    offsets, after_play = play_kernels.batch_plays(np.empty((0, 26), np.int8), np.empty((0, 2), np.int8))
    assert offsets.tolist() == [0]
    assert after_play.shape == (0, 26)


def test_invalid_boards_and_rolls_are_refused() -> None:
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


class Decisions(NamedTuple):
    """Boards and rolls, candidates for the board after each play, and whether they are legal."""

    boards: Boards
    rolls: NDArray[np.int8]
    first_candidates: NDArray[np.int64]
    candidates: Boards
    is_legal: list[bool]


@pytest.fixture(scope="module")
def decisions() -> Decisions:
    """Decisions of random games. Candidates are the boards after every play here and in the decision before, and the
    board itself; every seventh decision has none."""
    games = random_game_positions(3, seed=41)
    boards, rolls = games.boards[:120], games.rolls[:120]
    legal = [boards_after(board, *roll) for board, roll in zip(boards.tolist(), rolls.tolist(), strict=True)]
    counts, candidates, is_legal = [0], list[tuple[int, ...]](), list[bool]()
    for row, board in enumerate(boards.tolist()):
        own = [] if row % 7 == 3 else sorted(legal[row] | legal[row - 1] | {tuple(board)})
        counts.append(len(own))
        candidates += own
        is_legal += [candidate in legal[row] for candidate in own]
    following = flip_boards(np.array(candidates, np.int8))  # with the other side on roll
    return Decisions(boards, rolls, np.cumsum(counts), following, is_legal)


def test_legal_results_match_the_reference(decisions: Decisions, monkeypatch: pytest.MonkeyPatch) -> None:
    boards, rolls, first, candidates, expected = decisions
    assert 0.2 < np.mean(expected) < 0.8
    for count in (1, 2):
        with threads(count):
            assert play_kernels.are_legal_results(boards, rolls, first, candidates).tolist() == expected
    monkeypatch.setattr(play_kernels, "_BLOCK", 7)
    assert play_kernels.are_legal_results(boards, rolls, first, candidates).tolist() == expected


def test_published_opening_is_a_legal_result() -> None:
    """A published opening play is legal with the dice in either order, but not if the board is seen by the player who
    moved."""
    board = np.array([START.board], np.int8)
    after = Position("4HPwATDgc/ABMA").board
    play = np.array([0, -2, 0, 0, 2, 0, 4, 0, 2, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2, 0], np.int8)
    candidates = np.vstack([flip_boards(play[np.newaxis]), play[np.newaxis], np.array([after], np.int8)])
    for roll in ([4, 2], [2, 4]):
        is_legal = play_kernels.are_legal_results(board, np.array([roll], np.int64), np.array([0, 3]), candidates)
        assert is_legal.tolist() == [True, False, False]
    assert not play_kernels.are_legal_results(board, np.array([[4, 1]], np.int8), np.array([0, 3]), candidates).any()


def test_extra_checker_on_the_bar_is_not_legal() -> None:
    board, roll = np.array([START.board], np.int8), np.array([[3, 1]], np.int8)
    after = np.array([legal_plays(START, "31")[0].next_position.board], np.int8).repeat(3, axis=0)
    after[1, 0] += 1
    after[2, 25] += 1
    assert play_kernels.are_legal_results(board, roll, np.array([0, 3]), after).tolist() == [True, False, False]


def test_no_candidates_have_no_results(decisions: Decisions) -> None:
    empty = np.empty((0, 26), np.int8)
    assert play_kernels.are_legal_results(empty, np.empty((0, 2), np.int8), np.array([0]), empty).shape == (0,)
    boards, rolls = decisions.boards[:2], decisions.rolls[:2]
    assert play_kernels.are_legal_results(boards, rolls, np.array([0, 0, 0]), empty).shape == (0,)


@pytest.fixture(scope="module")
def games() -> GamePositions:
    return random_game_positions(24, seed=58)


class PlayWithMoves(NamedTuple):
    """A legal play, and its checker moves as the kernel finds them."""

    position: Position
    roll: tuple[int, int]
    play: Play
    moves: tuple[CheckerMove, ...]


@pytest.fixture(scope="module")
def plays(games: GamePositions) -> list[PlayWithMoves]:
    """Every play of the rolls in random games, and of all rolls in every 83rd of their positions."""
    rolls = [(row, tuple(roll)) for row, roll in enumerate(games.rolls.tolist())]
    rolls += [(row, roll) for row in range(0, len(games.boards), 83) for roll in ORDERED_ROLLS]
    legal = list[tuple[Position, tuple[int, int], Play]]()
    for row, roll in rolls:
        position = Position(games.boards[row].tolist())
        legal += [(position, roll, play) for play in legal_plays(position, roll_of(*roll))]
    assert len(legal) > 20_000
    before = np.array([position.board for position, _, _ in legal], np.int8)
    after = np.array([play.after_play.board for *_, play in legal], np.int8)
    moves = play_kernels.checker_moves_of(before, np.array([roll for _, roll, _ in legal], np.int8), after)
    return [PlayWithMoves(*row, as_moves(rows)) for row, rows in zip(legal, moves.tolist(), strict=True)]


def as_moves(rows: list[list[int]]) -> tuple[CheckerMove, ...]:
    return tuple(CheckerMove(start, end, bool(hits)) for start, end, hits in rows if start >= 0)


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


def test_moves_have_the_text_of_legal_plays(plays: list[PlayWithMoves]) -> None:
    texts = [format_play(Play(entry.moves, entry.play.after_play)) for entry in plays]
    assert texts == [str(entry.play) for entry in plays]
    assert "no play" in texts
    assert any("bar/" in text and "*" in text for text in texts)
    assert any("off(4)" in text for text in texts)


def test_moves_match_legal_plays(plays: list[PlayWithMoves]) -> None:
    for entry in plays:
        assert Counter(entry.moves) == Counter(entry.play.moves)


def test_moves_can_be_played_in_order(plays: list[PlayWithMoves]) -> None:
    for entry in plays:
        assert can_be_played(entry.position, entry.roll, entry.moves), entry


def test_moves_do_not_depend_on_threads(games: GamePositions) -> None:
    """A play that would leave the board unchanged has no moves, which is not an error."""
    boards, rolls = games.boards[:-1], games.rolls[:-1]
    for count in (1, 2):
        with threads(count):
            assert (play_kernels.checker_moves_of(boards, rolls, boards) == -1).all()


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
        moves = play_kernels.checker_moves_of(board, np.array([roll]), np.array([play.after_play.board], np.int8))
        assert moves.tolist() == [[[8, 5, 0], [6, 5, 0], [-1, -1, -1], [-1, -1, -1]]]
    assert BAR == 25


def test_invalid_rolls_have_no_moves() -> None:
    board = np.array([START.board], np.int8)
    for rolls in ([[0, 1]], [[3, 7]]):
        with pytest.raises(InvalidRollError):
            play_kernels.checker_moves_of(board, np.array(rolls), board)
