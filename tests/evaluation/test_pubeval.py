"""PubEval against a slow reference, and its weights against the published ones."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.evaluation import pubeval
from bgdata.evaluation.player import PubEval
from bgdata.evaluation.pubeval import published_tables, weights
from bgdata.game.classes import game_outcome
from bgdata.game.codec import flip_boards
from bgdata.game.dice import roll_of
from bgdata.game.play_kernels import batch_plays
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from tests.formats.samples import shared_file
from tests.random_games import GamePositions, random_game_positions
from tests.reference.pubeval import CONTACT, RACE, best_plays, is_race, score


@cache
def sample_games() -> GamePositions:
    return random_game_positions(60, seed=31)


def choose(board: list[int], roll: tuple[int, int]) -> Position:
    """The position after PubEval's play, with the opponent on roll."""
    chosen = PubEval().choose_plays(np.array([board], np.int8), np.array([roll], np.int8))
    return Position(chosen[0].tolist())


def test_weights_begin_and_end_as_published() -> None:
    assert weights().shape == (2, 122)
    assert (weights() * 100_000).round().astype(int).tolist() == [CONTACT, RACE]
    first, last = weights()[:, 0].tolist(), weights()[:, -1].tolist()
    assert first == [0.25696, 0]
    assert last == [-2.75800, 3.42040]


@pytest.mark.parametrize(("row", "name"), [(0, "contact"), (1, "race")])
def test_weights_are_the_published_ones(row: int, name: str) -> None:
    numbers = shared_file("pubeval", f"{name}.txt").read_text().split()
    assert weights()[row].tolist() == [float(number) for number in numbers]


def test_choices_in_random_games_match_the_reference() -> None:
    """The first play with the highest score in exact arithmetic."""
    boards, rolls = sample_games().boards, sample_games().rolls
    assert len(boards) > 5000
    assert sum(map(is_race, boards.tolist())) > 300
    offsets, after_play = batch_plays(boards, rolls)
    candidates = after_play.tolist()
    chosen = flip_boards(PubEval().choose_plays(boards, rolls)).tolist()
    ties = 0
    for row, board in enumerate(boards.tolist()):
        best = best_plays(board, candidates[offsets[row] : offsets[row + 1]], CONTACT, RACE)
        assert chosen[row] == best[0]
        ties += len(best) > 1
    assert ties < 100


# positions and rolls: two plays have the same exact score, but floating-point sums may prefer the second
TIES = [
    ([0, 3, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 2, 2, 0, 0, 1, 0, 0, 0, -3, -11, 3, 0], (1, 3)),
    ([0, 2, 2, 6, -1, -4, -1, 0, 2, 1, -1, -1, 0, 0, -1, 0, 1, 0, -1, 0, 1, 0, -1, 0, -4, 0], (3, 1)),
    ([0, -1, -1, 3, 0, -1, 3, 1, 0, 0, 1, 0, -2, -1, 0, -2, 0, -1, 2, -3, -2, 2, 0, -1, 2, 1], (1, 1)),
]


@pytest.mark.parametrize(("board", "roll"), TIES)
def test_ties_go_to_the_first_play(board: list[int], roll: tuple[int, int]) -> None:
    candidates = [list(play.after_play.board) for play in legal_plays(Position(board), roll_of(*roll))]
    best = best_plays(board, candidates, CONTACT, RACE)
    assert len(best) == 2
    assert list(choose(board, roll).flip().board) == best[0]


@pytest.mark.parametrize(("row", "exact_weights"), [(0, CONTACT), (1, RACE)])
def test_scores_of_every_count_match_the_reference(row: int, exact_weights: Sequence[int]) -> None:
    table = published_tables()[row]
    for slot in range(26):
        for count in range(0 if slot in (0, 25) else -15, 16):
            board = [0] * 26
            board[slot] = count
            assert table[slot, count & 31] == score(board, exact_weights) - 30 * exact_weights[121]


@pytest.mark.parametrize("table", published_tables(), ids=["contact", "race"])
def test_largest_score_fits_into_32_bits(table: NDArray[np.int32]) -> None:
    """Of 15 checkers a side."""
    counts = np.maximum(np.abs((np.arange(32) + 16) % 32 - 16), 1)
    assert 2 * 15 * (np.abs(table.astype(np.int64)) / counts).max() < 1 << 31


def test_races_of_games_match_the_reference() -> None:
    boards = sample_games().boards
    assert [pubeval.is_race(board) for board in boards] == [is_race(board) for board in boards.tolist()]


@pytest.mark.parametrize(
    ("slot", "opponent_slot", "expected"), [(25, 24, False), (1, 0, False), (12, 13, True), (13, 12, False)]
)
def test_sides_that_have_just_passed_are_a_race(slot: int, opponent_slot: int, expected: bool) -> None:
    """Not with a checker on the bar."""
    board = np.zeros(26, np.int8)
    board[slot] = 1
    board[opponent_slot] = 1 if opponent_slot == 0 else -1
    assert pubeval.is_race(board) == is_race(board.tolist()) == expected


def test_opening_play_is_the_known_one() -> None:
    assert choose(list(START.board), (3, 1)) == START.play("8/5 6/5", "31")


def test_last_checkers_are_borne_off() -> None:
    board = [0, 1, 0, 0, 0, 0, 1, *[0] * 17, -15, 0]
    assert [str(play) for play in legal_plays(Position(board), "61")] == ["6/off 1/off", "6/off"]
    assert game_outcome(choose(board, (6, 1))) == -2, "the opponent has lost a gammon"


def test_player_without_a_legal_play_passes() -> None:
    closed_out = [0, 0, 0, 0, 0, 0, 2, *[0] * 12, -2, -2, -2, -2, -2, -2, 1]
    assert choose(closed_out, (6, 5)) == Position(closed_out).flip()
