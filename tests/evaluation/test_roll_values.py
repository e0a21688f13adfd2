"""Values of the 21 rolls: the plays that are looked at, each position once, and the play of the roll that is played."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.choices import chosen_boards, network_chooser
from bgdata.evaluation.roll_values import (
    ALL_PLAYS,
    FULL,
    Found,
    LikelyPlays,
    collect_plays,
    fill_roll_values,
    likely_plays,
    new_roll_scratch,
    row_of,
)
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.dice import ROLLS
from bgdata.game.play_kernels import batch_plays
from tests.evaluation.sample_networks import random_networks
from tests.random_games import random_game_positions

ENDING = np.zeros((1, 26), np.int8)  # two checkers left, against some
ENDING[0, [1, 2, 20]] = 1, 1, -12
DICE = np.array([(roll.high, roll.low) for roll in ROLLS], np.int8)


@cache
def sample_boards() -> Boards:
    boards = random_game_positions(12, seed=8).boards
    classes = position_classes(boards)
    return np.concatenate([boards[classes > PositionClass.RACE][::30], boards[classes == PositionClass.RACE][::12]])


def played(board: Boards, roll: int, likely: LikelyPlays) -> Any:
    """The scratch after `fill_roll_values` for a position of which a roll is played."""
    scratch = new_roll_scratch(random_networks(4))
    fill_roll_values(random_networks(4), NO_TABLES, likely, board, scratch, None, roll)
    return scratch


@pytest.mark.parametrize("most", [0, 1, 4])
def test_the_play_of_a_roll_is_the_best_of_all(most: int) -> None:
    """However few plays of it are likely; values stay those of the likely ones."""
    likely, narrower = likely_plays(most), 0
    for number, board in enumerate(np.concatenate([sample_boards(), ENDING])):
        roll = number % len(ROLLS)
        scratch = played(board, roll, likely)
        expected = chosen_boards(network_chooser(random_networks(4), NO_TABLES), board[None], DICE[roll : roll + 1])
        assert flip_boards(scratch.played[None]).tolist() == expected.tolist()
        alone = played(board, -1, likely)
        assert np.array_equal(scratch.values, alone.values)
        assert np.array_equal(scratch.best, alone.best)
        narrower += not np.array_equal(scratch.best[roll], scratch.played)
    assert narrower > 5 if most == 1 else most or narrower == 0


def test_each_position_once() -> None:
    """All plays of all rolls, in the order of their rolls; positions that several rolls lead to have one row."""
    saved = 0
    for board in sample_boards():
        scratch = new_roll_scratch(random_networks(4))
        n = collect_plays(ALL_PLAYS, board, scratch, -1)
        offsets, plays = batch_plays(np.repeat(board[None], len(ROLLS), 0), DICE)
        assert scratch.ends.tolist() == [*offsets[1:].tolist(), len(plays)]
        assert np.array_equal(scratch.plays[scratch.rows[: len(plays)]], plays)
        assert n == len(np.unique(plays, axis=0))
        saved += len(plays) - n
    assert saved > 100


def test_likely_plays_of_rolls() -> None:
    """At most so many of each roll, among them one that ends the game."""
    for board in np.concatenate([sample_boards(), ENDING]):
        scratch = new_roll_scratch(random_networks(4))
        collect_plays(likely_plays(2), board, scratch, 20)
        counts = np.diff(scratch.ends[:-1], prepend=0)
        offsets, plays = batch_plays(np.repeat(board[None], len(ROLLS), 0), DICE)
        assert counts.tolist() == np.minimum(np.diff(offsets), 2).tolist()
        assert scratch.ends[-1] - scratch.ends[-2] == offsets[-1] - offsets[-2]  # all of the roll that is played
        for roll in range(len(ROLLS)):
            every = plays[offsets[roll] : offsets[roll + 1]]
            likely = scratch.plays[scratch.rows[scratch.ends[roll] - counts[roll] : scratch.ends[roll]]]
            ends = [(some[:, 1:] <= 0).all(axis=1).any() for some in (every, likely)]
            assert ends[0] == ends[1]


def test_many_positions() -> None:
    """After FULL positions nothing is looked for: a position may then have two rows."""
    scratch = new_roll_scratch(random_networks(4))
    scratch.buckets[:] = 0
    found = Found(scratch.plays, scratch.hashes, scratch.buckets)
    assert [row_of(board, found, n) for n, board in enumerate(sample_boards()[:3])] == [(0, 1), (1, 2), (2, 3)]
    assert row_of(sample_boards()[1], found, 3) == (1, 3)
    assert row_of(sample_boards()[1], found, FULL) == (FULL, FULL + 1)
    assert np.array_equal(scratch.plays[FULL], sample_boards()[1])
