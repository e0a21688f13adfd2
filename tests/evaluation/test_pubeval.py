"""PubEval against a slow reference, and its weights against the published ones."""

from functools import cache

import numpy as np
import pytest

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
    chosen = PubEval().choose_plays(np.array([board], np.int8), np.array([roll], np.int8))
    return Position(chosen[0].tolist())


def test_weights_begin_and_end_as_published() -> None:
    assert weights().shape == (2, 122)
    assert (weights() * 100_000).round().astype(int).tolist() == [CONTACT, RACE]
    # the first and last numbers of the published files
    assert weights()[:, 0].tolist() == [0.25696, 0]
    assert weights()[:, -1].tolist() == [-2.75800, 3.42040]


@pytest.mark.parametrize("row", [0, 1])
def test_weights_are_the_published_ones(row: int) -> None:
    path = shared_file("pubeval", f"{('contact', 'race')[row]}.txt")
    assert weights()[row].tolist() == [float(word) for word in path.read_text().split()]


def test_choices_in_random_games_match_the_reference() -> None:
    """The choice is the first play with the highest score in exact arithmetic; ties are rare."""
    boards, rolls = sample_games().boards, sample_games().rolls
    assert len(boards) > 5000
    offsets, after_play = batch_plays(boards, rolls)
    chosen = flip_boards(PubEval().choose_plays(boards, rolls)).tolist()
    candidates = after_play.tolist()
    ties = 0
    races = 0
    for row, before in enumerate(boards.tolist()):
        best = best_plays(before, candidates[offsets[row] : offsets[row + 1]], CONTACT, RACE)
        assert chosen[row] == best[0]
        ties += len(best) > 1
        races += is_race(before)
    assert ties < 100
    assert races > 300


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


def test_scores_of_every_count() -> None:
    """Scores of every count on every slot equal the reference, and the largest, of 15 checkers a side, fit into 32-bit
    sums."""
    for used, exact in zip(published_tables(), (CONTACT, RACE), strict=True):
        for slot in range(26):
            for count in range(0 if slot in (0, 25) else -15, 16):
                board = [0] * 26
                board[slot] = count
                expected = score(board, exact) - 30 * exact[121]
                assert used[slot, count & 31] == expected
        counts = np.maximum(np.abs((np.arange(32) + 16) % 32 - 16), 1)
        assert 2 * 15 * (np.abs(used.astype(np.int64)) / counts).max() < 1 << 31


def test_races_are_recognized() -> None:
    """Positions of games, and those with the last checkers on the bar, on neighbouring points or off, are races by
    definition."""
    edges = [[0] * 26 for _ in range(4)]
    edges[0][25], edges[0][24] = 1, -1
    edges[1][0], edges[1][1] = 1, 1
    edges[2][12], edges[2][13] = 1, -1
    edges[3][12], edges[3][13] = -1, 1
    boards = np.concatenate([sample_games().boards, np.array(edges, np.int8)])
    found = [pubeval.is_race(board) for board in boards]
    assert found == [is_race(board) for board in boards.tolist()]
    assert found[-4:] == [False, False, True, False]


def test_choices_match_values_by_hand() -> None:
    assert (
        choose(list(START.board), (3, 1))
        == Position([0, -2, 0, 0, 0, 2, 4, 0, 2, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2, 0]).flip()
    )
    # the last checkers are borne off
    last = Position([0, 1, 0, 0, 0, 0, 1, *[0] * 17, -15, 0])
    assert [str(play) for play in legal_plays(last, "61")] == ["6/off 1/off", "6/off"]
    assert game_outcome(choose(list(last.board), (6, 1))) == -2
    # no legal play
    closed_out = [0, 0, 0, 0, 0, 0, 2, *[0] * 12, -2, -2, -2, -2, -2, -2, 1]
    assert choose(closed_out, (6, 5)) == Position(closed_out).flip()
