"""Random games: legal from the first roll to the end, and independent of threads and batches."""

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.game.classes import game_outcome
from bgdata.game.codec import board_flaws, flip_boards
from bgdata.game.dice import roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.kernel import threads
from tests.random_games import random_game_positions, random_games
from tests.reference.plays import boards_after


def test_every_turn_follows_from_the_previous_one() -> None:
    """In random games each position is reached by a legal play from the one before, and the last play ends the game."""
    games = random_game_positions(20, seed=1)
    outcomes, turns = random_games(20, seed=1)
    assert np.array_equal(np.diff(games.offsets), turns)
    following = flip_boards(games.boards).tolist()
    for begin, end, outcome in zip(games.offsets[:-1], games.offsets[1:], outcomes, strict=True):
        assert tuple(games.boards[begin]) == START.board
        assert games.rolls[begin, 0] != games.rolls[begin, 1]
        for turn in range(begin, end - 1):
            assert tuple(following[turn + 1]) in boards_after(games.boards[turn].tolist(), *games.rolls[turn].tolist())
        last = legal_plays(Position(games.boards[end - 1].tolist()), roll_of(*games.rolls[end - 1].tolist()))
        sign = 1 if (end - begin) % 2 else -1
        assert sign * outcome in {game_outcome(play.after_play) for play in last} - {0}
    assert not board_flaws(games.boards).any()


def test_games_do_not_depend_on_threads() -> None:
    results = []
    for count in (1, 2):
        with threads(count):
            results.append((*random_games(100, seed=2), *random_game_positions(100, seed=2)))
    for one, two in zip(*results, strict=True):
        assert np.array_equal(one, two)


def test_games_do_not_depend_on_the_batch() -> None:
    outcomes, turns = random_games(100, seed=3)
    later = random_games(40, seed=3, first=60)
    assert np.array_equal(outcomes[60:], later.outcomes)
    assert np.array_equal(turns[60:], later.turns)


def test_games_are_fair_and_of_every_kind() -> None:
    outcomes, turns = random_games(20_000, seed=4)
    counts = np.bincount(outcomes + 3, minlength=7)
    assert counts[3] == 0
    assert min(counts[[0, 1, 2, 4, 5, 6]]) > 2000
    # the first roll matters little in random play: both sides win half of the games, within 4 standard errors
    assert abs(np.mean(outcomes > 0) - 0.5) < 4 * 0.5 / np.sqrt(len(outcomes))
    assert 90 < turns.mean() < 103


def test_different_seeds_give_different_games() -> None:
    assert not np.array_equal(random_games(50, seed=5).turns, random_games(50, seed=6).turns)


def test_zero_games_have_no_positions() -> None:
    assert random_games(0, seed=1).outcomes.shape == (0,)
    assert random_game_positions(0, seed=1).boards.shape == (0, 26)


@pytest.mark.parametrize(
    ("count", "seed", "first"), [(-1, 0, 0), (1, -1, 0), (1, 1 << 63, 0), (1, 0, -1), (2, 0, (1 << 63) - 1)]
)
def test_invalid_numbers_are_refused(count: int, seed: int, first: int) -> None:
    with pytest.raises(UsageError, match="expected numbers from 0 to"):
        random_games(count, seed, first)
